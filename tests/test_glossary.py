"""The glossary names every outcome, and nothing that is none; types and words of the glossary agree."""

import re

from needlework.results.statistics.panels import OUTCOMES
from tests.source import ROOT, python_files, text_of

PAGE = ROOT / "docs" / "glossary.md"


def test_every_outcome_is_explained():
    table = PAGE.read_text(encoding="utf-8").split("| outcome | meaning |")[1].split("\n\n")[0]
    named = {
        name
        for row in table.splitlines()
        for name in re.findall(r"`([a-z]+)`", row.split("|")[1] if "|" in row else "")
    }
    assert named >= set(OUTCOMES)
    assert named - set(OUTCOMES) <= {"unclear"}


# Types of docs/architecture.md that the glossary explains to users, by the glossary's word.
TYPES = {
    "Cell": "cell", "Suite": "suite", "Task": "task", "Trial": "trial", "Response": "response", "Score": "score",
    "Record": "record", "Needle": "needle", "Preset": "preset", "Scorer": "scorer", "Journal": "journal",
}  # fmt: skip


def test_a_word_of_the_glossary_names_the_class_of_that_name():
    words = set(re.findall(r"^- \*\*([a-z ]+)\*\*: ", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    code = "\n".join(map(text_of, python_files()))
    assert [name for name in TYPES if not re.search(rf"^class {name}\b", code, re.MULTILINE)] == []
    assert set(TYPES.values()) <= words


def test_the_types_of_the_architecture_page_are_classes():
    page = (PAGE.parent / "architecture.md").read_text(encoding="utf-8")
    table = page.split("## The types")[1].split("\n## ")[0]
    names = {name for row in table.splitlines() if row.startswith("| `") for name in re.findall(r"`([A-Z]\w+)`", row)}
    code = "\n".join(map(text_of, python_files()))
    assert [name for name in sorted(names) if not re.search(rf"^class {name}\b", code, re.MULTILINE)] == []
    assert 12 <= len(names) <= 20
