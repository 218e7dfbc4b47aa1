"""Commands write plain characters where a stream has no others, and load no library of models."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import needlework
from tests.results.builders import new_record, write_run

ROOT = Path(needlework.__path__[0]).parent
HEAVY = ("torch", "transformers", "openai", "tokenizers", "tiktoken")


@pytest.mark.parametrize("words", [["compare", "a", "b"], ["rescore", "a", "--scorer", "match"]])
def test_a_command_writes_its_files_on_a_plain_stream_and_loads_no_model_library(tmp_path, words):
    for name in ("a", "b"):
        records = [new_record(repeat=i, model="通义 \ud800", reference={"answers": ["4711"]}) for i in range(3)]
        write_run(tmp_path / name, records)
    argv = [*words, *(["--format", "svg"] if words[0] != "rescore" else [])]
    code = (
        f"import sys, needlework; assert needlework.main({argv!r}) == 0; assert not {{*{HEAVY!r}}} & {{*sys.modules}}"
    )
    plain = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=plain, capture_output=True, check=False)

    assert done.returncode == 0, done.stderr
    said = done.stdout.decode("ascii")
    assert said.strip()
    if words[0] == "rescore":
        assert " ? niah ? code" in said


@pytest.mark.slow
def test_progress_is_plain_where_the_table_is(tmp_path):
    quick = ("-p", "needlework.plugin", "-p", "no:cacheprovider", "--pyargs", "needlework.benchmarks.test_niah")
    options = ("--model=mock:middle", "--lengths=400", "--depths=0,50", "--corpus=pydoc")
    plain = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"}
    words = [sys.executable, "-m", "pytest", *quick, *options]
    done = subprocess.run(words, cwd=tmp_path, env=plain, capture_output=True, text=True)

    assert done.returncode == 0, done.stdout
    assert re.search(r" 70 +\[100%\]", done.stdout)
    assert "\\u25" not in done.stdout
