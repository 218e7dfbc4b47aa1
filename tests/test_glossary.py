"""The glossary names every outcome, and nothing that is none."""

from __future__ import annotations

import re
from pathlib import Path

from needlework.results.statistics.panels import OUTCOMES

PAGE = Path(__file__).parent.parent / "docs" / "glossary.md"


def test_every_outcome_is_explained() -> None:
    table = PAGE.read_text(encoding="utf-8").split("| outcome | meaning |")[1].split("\n\n")[0]
    named = {
        name
        for row in table.splitlines()
        for name in re.findall(r"`([a-z]+)`", row.split("|")[1] if "|" in row else "")
    }
    assert named >= set(OUTCOMES)
    assert named - set(OUTCOMES) <= {"unclear"}
