"""Somebody else's run folder, opened with each command while a listener, a key and a private folder wait for it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.haystack_fixtures.retrieval.embeddings import embeddings
from tests.loopback import loopback
from tests.plugin.families.test_leval_runs import row
from tests.published_rows import written

ROOT = Path(__file__).parents[3]
CELL = "niah-len400-depth50-code-r0"
KEY = "sk-canary-key-0815"
TEXT = "canary sentence of a private document. "
# Notes what Python itself says of files, sockets, programs, and the variable with the key.
DRIVER = """
import os, sys
sys.path.insert(0, {root!r})
log = os.open({log!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
def hook(event, args):
    named = str(args[0]) if args else ""
    if event in ("open", "os.listdir", "os.scandir") and named.startswith({private!r}):
        os.write(log, f"{{event}} {{named}}\\n".encode())
    elif event in ("socket.connect", "os.system") or (event == "subprocess.Popen" and "evil" in str(args[1])):
        os.write(log, f"{{event}} {{args[:2]}}\\n".encode())
sys.addaudithook(hook)
get = os._Environ.__getitem__
def noting(self, name):
    callers = [sys._getframe(depth).f_code.co_filename for depth in range(1, 4)]  # a copy for a child reads them all
    if name == "CANARY_KEY" and any(each.startswith({root!r}) and ".venv" not in each for each in callers):
        os.write(log, b"environment\\n")
    return get(self, name)
os._Environ.__getitem__ = noting
import needlework
{program}
"""
COMMAND = "sys.exit(needlework.main(sys.argv[1:]))"
PAGE = (  # what a trial's page of `needlework serve` calls
    "from pathlib import Path; from needlework.results.prompt import PromptsOfRuns\n"
    "print(PromptsOfRuns()(Path(sys.argv[1]), sys.argv[2]).text)"
)
MATRIX = """
task = "niah"
lengths = "400"
depths = "50"
[[configuration]]
label = "r"
model = "mock:half"
"""
EVIL = "from pathlib import Path\nPath({mark!r}).write_text('executed')\n"


class Trap:
    """A run folder that tries everything at once, and what is watched."""

    def __init__(self, project, server):
        self.folder = Path(project.pytester.path)
        self.run = project.runs / "r"
        self.server = server
        self.private = self.folder / "private"
        self.private.mkdir()
        (self.private / "diary.txt").write_text(TEXT * 500)
        self.executed = self.folder / "executed"
        self.log = self.folder / "log"

    def change(self, options, suites, **fields):
        path = self.run / "manifest.json"
        content = json.loads(path.read_text())
        content["options"] |= options
        content["suites"] = [suite | suites for suite in content["suites"]]
        path.write_text(json.dumps(content | fields))

    def add_code(self):
        """Python files that pytest would run, and a command that runs them."""
        for name in ("conftest.py", "evil.py", "sitecustomize.py", "test_evil.py", "needlework.py"):
            (self.run / name).write_text(EVIL.format(mark=str(self.executed)))
        (self.run / "pytest.ini").write_text("[pytest]\naddopts = -p evil\n")
        (self.run / "launch").mkdir()
        (self.run / "launch" / "launch.json").write_text(json.dumps({"shards": 2, "words": ["-p", "evil"]}))
        command = ["pytest", "-p", "evil", f"--junitxml={self.private}/report.xml", str(self.run / "test_evil.py")]
        self.change({}, {}, command=command, folder=str(self.run))

    def open(self, *words, program=COMMAND):
        """Start a command, and require that nothing was reached, read, run or told."""
        before = len(self.server.requests) + self.server.gets
        driver = DRIVER.format(root=str(ROOT), log=str(self.log), private=str(self.private), program=program)
        environment = {name: value for name, value in os.environ.items() if not name.endswith("_BASE_URL")}
        done = subprocess.run(
            [sys.executable, "-c", driver, *words], cwd=self.folder, env={**environment, "CANARY_KEY": KEY},
            capture_output=True, encoding="utf-8", check=False, timeout=120,
        )  # fmt: skip
        assert (self.log.read_text() if self.log.exists() else "") == "", done.stderr
        assert len(self.server.requests) + self.server.gets == before
        assert not self.executed.exists()
        assert sorted(path.name for path in self.private.iterdir()) == ["diary.txt"]
        assert not any(secret in done.stdout + done.stderr for secret in (KEY, TEXT.strip()))
        assert not any(_holds(path, KEY) for path in self.run.rglob("*") if path.is_file())
        if program == COMMAND:
            assert "Traceback" not in done.stderr
        return done


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


def lie(trap, trick):
    if trick == "folder":
        trap.change({}, {"corpus": str(trap.private)})
    else:
        trap.change({"tokenizer": "server", "base_url": trap.server.url} | LIES[trick], {})


TRICKS = (*LIES, "folder")


@pytest.mark.parametrize("trick", TRICKS)
@pytest.mark.parametrize("program", [COMMAND, PAGE], ids=["prompt", "page"])
def test_rebuilding_a_prompt_obeys_no_address_key_or_path(trap, trick, program):
    lie(trap, trick)
    words = (str(trap.run), CELL)
    done = trap.open(*(("prompt", *words) if program == COMMAND else words), program=program)
    assert done.returncode != 0
    last = done.stderr.splitlines()[-1]
    assert ("--tokenizer SPEC" if trick != "folder" else f"give --read {trap.private}") in last


@pytest.mark.parametrize("program", [COMMAND, PAGE], ids=["prompt", "page"])
def test_rebuilding_a_prompt_asks_no_embedder(project, monkeypatch, program):
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
        data = shutil.copy("tpo.jsonl", trap.run)
        shutil.rmtree("cache")  # the one who looks has embedded nothing yet
        trap.change({"embedder_api_key_env": "CANARY_KEY"}, {"leval_data": str(data)}, folder=str(trap.run))
        (record,) = project.records()
        words = (str(trap.run), record["id"])
        done = trap.open(*(("prompt", *words) if program == COMMAND else words), program=program)
    assert done.returncode == 0, done.stderr
    assert "The ferry ran on Thursdays." in done.stdout


OTHERS = {
    "compare": lambda trap: ("compare", str(trap.run), str(trap.run)),
    "export": lambda trap: ("export", str(trap.run), "--to", "inspect"),
    "history": lambda trap: ("history", str(trap.run.parent)),
    "judge": lambda trap: ("judge", str(trap.run / "results.json"), "--judge=mock:judge", "--rival-model=x"),
    "judge-audit": lambda trap: ("judge-audit", str(trap.run)),
    "launch": lambda trap: (
        "launch", "local", "--shards=2", "--dry-run", "--", "--pyargs", "needlework.benchmarks", "--model=mock:half",
        "--task=niah", "--lengths=400", "--depths=50", f"--results-dir={trap.run.parent}", "--run-name=r",
    ),
    "leaderboard": lambda trap: ("leaderboard", str(trap.run)),
    "leval-export": lambda trap: ("leval-export", str(trap.run)),
    "matrix": lambda trap: ("matrix", "matrix.toml", "--plan"),
    "merge": lambda trap: ("merge", str(trap.run)),
    "plot": lambda trap: ("plot", str(trap.run)),
    "questions": lambda trap: ("questions", "check", str(trap.run), str(trap.run / "results.json")),
    "rescore": lambda trap: ("rescore", str(trap.run), "--scorer", "keyword"),
    "score": lambda trap: ("score", "leval", str(trap.run / "results.json")),
    "status": lambda trap: ("status", str(trap.run)),
}  # fmt: skip


@pytest.fixture
def worst(trap):
    """All ways in one manifest, with a private folder wherever a path is named."""
    trap.add_code()
    for trick in TRICKS:
        lie(trap, trick)
    judge = {"judge": ["openai:judge"], "judge_base_url": [trap.server.url], "judge_prompt": str(trap.private)}
    served = {"serve": "touch executed --port {port}", "gate": ["not worse"], "baseline": str(trap.private)}
    embedder = {"embedder": "openai:words", "questions": f"{trap.private}/diary.txt", "documents": str(trap.private)}
    trap.change(judge | served | {"embedder_base_url": trap.server.url}, embedder)
    return trap


@pytest.mark.parametrize("command", OTHERS)
def test_no_other_command_obeys_it(worst, command):
    Path("matrix.toml").write_text(MATRIX)
    done = worst.open(*OTHERS[command](worst))
    assert done.returncode in (0, 1, 2, 3), done.stderr
    if command == "merge":
        assert f"give --read {worst.private}" in done.stderr


SPOIL = {
    "fifo": lambda path, private: os.mkfifo(path),
    "device": lambda path, private: path.symlink_to("/dev/zero"),
    "link": lambda path, private: path.symlink_to(private / "diary.txt"),
    "endless": lambda path, private: (path.touch(), os.truncate(path, 2**42)),  # a sparse file
}


@pytest.mark.parametrize("how", SPOIL)
def test_files_without_an_end_and_links_are_one_line(trap, how):
    for name in ("results.json", "manifest.json", "journal.jsonl", "summary.json", "results.csv"):
        (trap.run / name).unlink(missing_ok=True)
        SPOIL[how](trap.run / name, trap.private)
    commands = [OTHERS[name](trap) for name in ("compare", "merge", "plot", "rescore", "status", "leaderboard")]
    for words in (*commands, ("prompt", str(trap.run), CELL)):
        done = trap.open(*words)
        assert done.returncode in (0, 1, 2, 3), (words, done.stderr)
        assert len(done.stderr.splitlines()) <= 1, (words, done.stderr)


def change(path, **fields):
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


@pytest.mark.parametrize("record", [None, "text", {"id": CELL}, {"id": CELL, "prompt": None}])
def test_a_record_that_is_none_is_one_line(trap, record):
    change(trap.run / "results.json", records=[record])
    done = trap.open("prompt", str(trap.run), CELL)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1


def test_plotting_options_that_are_no_table(trap):
    change(trap.run / "manifest.json", options=[1])
    assert trap.open("plot", str(trap.run)).returncode == 0
