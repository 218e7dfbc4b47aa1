"""After a run: its prompts can be made again byte for byte, its answers judged again; no text of others is stored."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from needlework import main

ROOT = Path(__file__).parents[3]
PRESET = """
[mine]
[[mine.suite]]
task = "niah"
language = "en,zh"
lengths = "400"
depths = "0,33.3,100"
[[mine.suite]]
task = "multi_needle"
language = "en,zh"
lengths = "700"
depths = "50"
[[mine.suite]]
task = "parallel"
language = "en,zh"
lengths = "900"
depths = "10,50,90"
"""


def needlework(program, folder, *words):
    """A fresh process in another folder."""
    return subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); {program}", *words],
        cwd=folder, capture_output=True, check=False,
    )  # fmt: skip


@pytest.mark.slow
def test_every_prompt_of_every_task_and_language_is_made_again(project, tmp_path):
    project.asks("niah", "multi_needle", "parallel")
    (project.pytester.path / "mine.toml").write_text(PRESET)
    project.pytester.runpytest_inprocess(
        "-p", "no:cacheprovider", "--preset=mine.toml", "--model=mock:perfect", "--run-name=r", "--save-prompts",
        "--corpus=generated", "--seed=5", "--cache-policy=isolated",
    )  # fmt: skip
    records = project.records()
    saved = {path.stem: path.read_bytes() for path in (project.runs / "r" / "prompts").iterdir()}
    # One process for all of them, and none of this process's memory.
    every = (
        "import io, needlework, contextlib; sys.stdout = io.TextIOWrapper(io.BytesIO())\n"
        "for cell in sys.argv[2:]:\n"
        "    assert needlework.main(['prompt', sys.argv[1], cell]) == 0\n"
        "    sys.stdout.flush(); sys.stdout.buffer.write(b'\\0')\n"
        "sys.__stdout__.buffer.write(sys.stdout.buffer.getvalue())"
    )
    done = needlework(every, tmp_path, str(project.runs / "r"), *[record["id"] for record in records])

    assert done.returncode == 0, done.stderr.decode()
    assert {(record["task"], record["language"]) for record in records} == {
        (task, language) for task in ("niah", "multi_needle", "parallel") for language in ("en", "zh")
    }
    assert len(saved) == len(records) == 2 * (3 + 1 + 1)
    assert done.stdout.split(b"\0")[:-1] == [saved[record["key"]] for record in records]


def test_a_run_on_files_of_the_users_from_another_folder_and_when_they_have_changed(project, tmp_path, capsys):
    """They are named as one types them: from where one is."""
    folder = Path(project.pytester.path)
    (folder / "docs").mkdir()
    for part in range(3):
        text = " ".join(f"Zebra {part}-{n} rested by the quiet harbour." for n in range(400))
        (folder / "docs" / f"{part}.txt").write_text(text)
    (folder / "owls.toml").write_text('[[needle]]\nneedle="Ada keeps owls."\nquestion="What?"\nanswer="owls"\n')
    (folder / "asked.toml").write_text('[[en.message]]\nrole="user"\ncontent="Read.\\n{context}\\n{question}"\n')
    project.run("--corpus=docs", "--needle-set=owls.toml", "--prompt=asked.toml", "--lengths=2000", "--depths=50")
    words = ("prompt", str(project.runs / "r"), "niah-len2000-depth50-owls-r0")
    run_main = "import needlework; sys.exit(needlework.main(sys.argv[1:]))"
    done = needlework(run_main, tmp_path, *words, "--read", str(folder))

    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.count(b"Zebra") > 50
    assert b"Ada keeps owls." in done.stdout
    assert main(words) == 2
    assert "lies outside the run's folder: if it is yours, give --read /" in capsys.readouterr().err
    for file, before, after in (
        ("docs/0.txt", "rested", "slept"),
        ("owls.toml", "owls.", "hens."),
        ("asked.toml", "Read.", "See."),
    ):
        text = (folder / file).read_text()
        (folder / file).write_text(text.replace(before, after))
        assert main((*words, "--read", str(folder))) == 1
        shown = capsys.readouterr()
        assert shown.out == ""
        (line,) = shown.err.splitlines()
        assert re.search(r"not the prompt that was sent: sha256 \w+, recorded \w+", line)
        (folder / file).write_text(text)
