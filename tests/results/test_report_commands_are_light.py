"""Commands that read records load no library that runs models."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from needlework.core.record import Record
from needlework.results.files.json_files import write_json
from needlework.results.statistics.run_report import run_report

ROOT = Path(__file__).parents[2]
HEAVY = ("torch", "transformers", "openai", "tokenizers", "tiktoken")


@pytest.mark.parametrize(
    "words", [["plot", "a"], ["compare", "a", "b"], ["rescore", "a", "--scorer", "match"]], ids=lambda words: words[0]
)
def test_no_model_library_is_loaded(make_record: Callable[..., Record], tmp_path: Path, words: list[str]) -> None:
    for name in ("a", "b"):
        records = [make_record(repeat=i, reference={"answers": ("4711",)}) for i in range(12)]
        write_json(tmp_path / name / "results.json", run_report(records))
    argv = [str(tmp_path / word) if word in ("a", "b") else word for word in words]
    code = (
        f"import sys, needlework; code = needlework.main({argv!r});"
        f" assert code == 0; assert not {set(HEAVY)!r} & set(sys.modules), set(sys.modules)"
    )

    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, cwd=ROOT)
