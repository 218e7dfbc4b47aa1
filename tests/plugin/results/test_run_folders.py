"""After a run its prompts can be made again byte for byte; somebody else's folder reaches no server, key or file.

It is opened with each command while a listener, a key and a private folder wait for it.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from needlework import main
from tests.loopback import embeddings, loopback
from tests.plugin.families.test_families import row
from tests.published_rows import written
from tests.source import ROOT

CELL = "niah-len400-depth50-code-r0"
KEY = "sk-canary-key-0815"
TEXT = "canary sentence of a private document. "
# Runs commands, one behind the other, and notes what Python itself says of files, sockets, programs, and the variable
# with the key. A command `page` is what a trial's page of `needlework serve` calls.
DRIVER = """
import contextlib, io, json, os, sys, traceback
from pathlib import Path
commands = json.load(sys.stdin)
now = ""
sys.path.insert(0, {root!r})
log = os.open({log!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
def note(event):
    os.write(log, f"{{now}}: {{event}}\\n".encode())
def hook(event, args):
    named = str(args[0]) if args else ""
    if event in ("open", "os.listdir", "os.scandir") and named.startswith({private!r}):
        note(f"{{event}} {{named}}")
    elif event in ("socket.connect", "os.system") or (event == "subprocess.Popen" and "evil" in str(args[1])):
        note(f"{{event}} {{args[:2]}}")
sys.addaudithook(hook)
get = os._Environ.__getitem__
def noting(self, name):
    callers = [sys._getframe(depth).f_code.co_filename for depth in range(1, 4)]  # a copy for a child reads them all
    if name == "CANARY_KEY" and any(each.startswith({root!r}) and ".venv" not in each for each in callers):
        note("environment")
    return get(self, name)
os._Environ.__getitem__ = noting
import needlework
from needlework.results.prompt import prompt_builder
def page(run, cell):
    print(prompt_builder()(Path(run), cell).text)
    return 0
done = []
for now in commands:
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = page(*now[1:]) if now[0] == "page" else needlework.main(now)
        except SystemExit as error:
            code = error.code
        except BaseException:
            traceback.print_exc()
            code = -1
    done.append([code, *(each.buffer.getvalue().decode() for each in (out, err))])
sys.__stdout__.write(json.dumps(done))
"""
MATRIX = """
task = "niah"
lengths = "400"
depths = "50"
[[configuration]]
label = "r"
model = "mock:half"
"""
EVIL = "from pathlib import Path\nPath({mark!r}).write_text('executed')\n"


class Done(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


class Trap:
    """Run folders that try everything at once, and what is watched."""

    def __init__(self, project, server):
        self.folder = Path(project.pytester.path)
        self.runs = project.runs
        self.server = server
        self.private = self.folder / "private"
        self.private.mkdir()
        (self.private / "diary.txt").write_text(TEXT * 500)
        self.executed = self.folder / "executed"
        self.log = self.folder / "log"

    def run(self, name="r"):
        """The run's folder, or a copy of it with this name."""
        folder = self.runs / name
        if not folder.exists():
            shutil.copytree(self.runs / "r", folder)
        return folder

    def add_code(self, run):
        """Python files that pytest would run, and a command that runs them."""
        for name in ("conftest.py", "evil.py", "sitecustomize.py", "test_evil.py", "needlework.py"):
            (run / name).write_text(EVIL.format(mark=str(self.executed)))
        (run / "pytest.ini").write_text("[pytest]\naddopts = -p evil\n")
        (run / "launch").mkdir()
        (run / "launch" / "launch.json").write_text(json.dumps({"shards": 2, "words": ["-p", "evil"]}))
        command = ["pytest", "-p", "evil", f"--junitxml={self.private}/report.xml", str(run / "test_evil.py")]
        change(run, command=command, folder=str(run))

    def open(self, *commands):
        """Give these commands, and require that nothing was reached, read, run or told; how each ended."""
        before = len(self.server.requests) + len(self.server.looked_up)
        driver = DRIVER.format(root=str(ROOT), log=str(self.log), private=str(self.private))
        environment = {name: value for name, value in os.environ.items() if not name.endswith("_BASE_URL")}
        process = subprocess.run(
            [sys.executable, "-c", driver], cwd=self.folder, env={**environment, "CANARY_KEY": KEY},
            input=json.dumps(commands), capture_output=True, encoding="utf-8", check=False, timeout=300,
        )  # fmt: skip
        assert process.returncode == 0, process.stderr
        lines = process.stdout.splitlines()  # before the last one: what programs print that a command starts
        done = [Done(*each) for each in json.loads(lines[-1])]
        assert self.log.read_text() == ""
        assert len(self.server.requests) + len(self.server.looked_up) == before
        assert not self.executed.exists()
        assert sorted(path.name for path in self.private.iterdir()) == ["diary.txt"]
        assert not any(secret in process.stdout + process.stderr for secret in (KEY, TEXT.strip()))
        assert not any(_holds(path, KEY) for path in self.runs.rglob("*") if path.is_file())
        return done


def change(run, options=None, suites=None, **fields):
    """Change its manifest: options, suites and other fields."""
    path = run / "manifest.json"
    content = json.loads(path.read_text())
    content["options"] |= options or {}
    content["suites"] = [suite | (suites or {}) for suite in content["suites"]]
    path.write_text(json.dumps(content | fields))


def _holds(path, secret):
    return path.stat().st_size < 2**24 and secret.encode() in path.read_bytes()


@pytest.fixture
def trap(project):
    with loopback() as server:
        project.run("--lengths=400", "--depths=50", f"--base-url={server.url}", "--template=raw", model="openai:gpt-4")
        yield Trap(project, server)


# What a manifest may name that the commands once obeyed: options of the run, beside a server that counts tokens.
LIES = {
    "server tokenizer": {},
    "key": {"api_key_env": "CANARY_KEY"},
    "header": {"model_arg": ["header.X-Team=ENV:CANARY_KEY"]},
}


def lie(trap, run, trick):
    if trick in LIES:
        change(run, {"tokenizer": "server", "base_url": trap.server.url} | LIES[trick])
    else:
        change(run, suites={"corpus": str(trap.private)})


def test_rebuilding_a_prompt_obeys_no_address_key_or_path(trap):
    tricks = (*LIES, "folder")
    for trick in tricks:
        lie(trap, trap.run(trick), trick)
    commands = [(program, trick) for program in ("prompt", "page") for trick in tricks]
    done = trap.open(*((program, str(trap.run(trick)), CELL) for program, trick in commands))
    for (_, trick), each in zip(commands, done, strict=True):
        assert each.code != 0
        remedy = f"give --read {trap.private}" if trick == "folder" else "--tokenizer SPEC"
        assert remedy in each.err.splitlines()[-1]


def test_rebuilding_a_prompt_asks_no_embedder(project, monkeypatch):
    monkeypatch.setenv("NEEDLEWORK_CACHE", str(project.pytester.mkdir("cache")))
    monkeypatch.setenv("EMBEDDER_KEY", "x")
    rows = [row("The ferry ran on Thursdays. " * 99, ["When?\nA. x\nB. y"], ["A"])]
    written(project.pytester.path / "tpo.jsonl", rows)
    project.asks("leval")
    with loopback(embeddings) as server:
        project.run(
            "--preset=leval-closed", "--task=leval_tpo", "--leval-data=tpo.jsonl", "--lengths=1200", "--depths=50",
            "--retriever=dense", "--embedder=openai:words", f"--embedder-base-url={server.url}",
            "--embedder-api-key-env=EMBEDDER_KEY",
        )  # fmt: skip
        trap = Trap(project, server)
        data = shutil.copy("tpo.jsonl", trap.run())
        shutil.rmtree("cache")  # the one who looks has embedded nothing yet
        options = {"embedder_api_key_env": "CANARY_KEY"}
        change(trap.run(), options, {"leval_data": str(data)}, folder=str(trap.run()))
        (record,) = project.records()
        for done in trap.open(*([program, str(trap.run()), record["id"]] for program in ("prompt", "page"))):
            assert done.code == 0, done.err
            assert "The ferry ran on Thursdays." in done.out


def others(run):
    """The other commands that read a run, on this one."""
    results, into = run / "results.json", f"--results-dir={run.parent} --run-name={run.name}"
    cells = f"--pyargs needlework.benchmarks --model=mock:half --task=niah --lengths=400 --depths=50 {into}"
    commands = (
        f"compare {run} {run}", f"export {run} --to inspect", f"history {run.parent}",
        f"judge {results} --judge=mock:judge --rival-model=x", f"judge-audit {run}",
        f"launch local --shards=2 --dry-run -- {cells}", f"leaderboard {run}", f"leval-export {run}",
        "matrix matrix.toml --plan", f"merge {run}", f"plot {run}", f"questions check {run} {results}",
        f"rescore {run} --scorer keyword", f"score leval {results}", f"status {run}",
    )  # fmt: skip
    return {words.split()[0]: words.split() for words in commands}


@pytest.mark.slow
def test_no_other_command_obeys_all_ways_at_once(trap):
    """A private folder is named wherever a path is."""
    run = trap.run()
    trap.add_code(run)
    for trick in (*LIES, "folder"):
        lie(trap, run, trick)
    judge = {"judge": ["openai:judge"], "judge_base_url": [trap.server.url], "judge_prompt": str(trap.private)}
    served = {"serve": "touch executed --port {port}", "gate": ["not worse"], "baseline": str(trap.private)}
    embedder = {"embedder": "openai:words", "questions": f"{trap.private}/diary.txt", "documents": str(trap.private)}
    change(run, judge | served | {"embedder_base_url": trap.server.url}, embedder)
    Path("matrix.toml").write_text(MATRIX)
    commands = others(run)
    done = dict(zip(commands, trap.open(*commands.values()), strict=True))
    assert {name: each.err for name, each in done.items() if each.code not in (0, 1, 2, 3)} == {}
    assert f"give --read {trap.private}" in done["merge"].err


SPOIL = {
    "fifo": lambda path, private: os.mkfifo(path),
    "device": lambda path, private: path.symlink_to("/dev/zero"),
    "link": lambda path, private: path.symlink_to(private / "diary.txt"),
    "endless": lambda path, private: (path.touch(), os.truncate(path, 2**42)),  # a sparse file
}


def test_files_without_an_end_links_and_what_is_no_record_or_table_are_one_line(trap):
    commands = []
    for how, spoil in SPOIL.items():
        run = trap.run(how)
        for name in ("results.json", "manifest.json", "journal.jsonl", "summary.json", "results.csv"):
            (run / name).unlink(missing_ok=True)
            spoil(run / name, trap.private)
        commands += [others(run)[name] for name in ("compare", "merge", "plot", "rescore", "status", "leaderboard")]
        commands.append(("prompt", str(run), CELL))
    for number, record in enumerate([None, "text", {"id": CELL}, {"id": CELL, "prompt": None}]):
        path = trap.run(f"record{number}") / "results.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"records": [record]}))
        commands.append(("prompt", str(path.parent), CELL))
    path = trap.run() / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"options": [1]}))
    *refused, plotted = trap.open(*commands, ("plot", str(trap.run())))
    for words, done in zip(commands, refused, strict=True):
        assert words[0] == "status" or done.code in (1, 2, 3), (words, done)
        assert len(done.err.splitlines()) == 1 or words[0] == "status", (words, done)
        assert "Traceback" not in done.err
    assert plotted.code == 0, "options that are no table are passed over"


# -- one's own: prompts are made again, and the files that they come from may have changed ----------------------------

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
