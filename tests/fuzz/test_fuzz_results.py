"""Result files, damaged: journals, results.json, results.csv, manifests, other systems' files; to every command."""

import json
import random
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

import needlework
from needlework.results.files.csv_files import csv_text
from needlework.results.files.json_files import read_json, results_bytes
from needlework.results.files.read_run import load_panels
from needlework.results.prompt import rebuild, stored_of
from needlework.results.records.journal import Journal, line_of, read_journal, stored_answers
from needlework.results.records.samples import whole_run
from needlework.results.rescore import rescored
from needlework.results.run.finish import write_files
from needlework.results.statistics.comparison.comparison import compare as paired
from needlework.results.statistics.run_report import run_report
from tests.fuzz.junk import ODD_WORDS, ROUNDS, SEED, bounded, check_line, complaint, damaged, swapped

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A real run of two tasks: its folder."""
    runs = tmp_path_factory.mktemp("runs")
    done = subprocess.run(
        [
            sys.executable, "-m", "pytest", "benchmarks", "-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest",
            "--task=niah,multi_needle", "--controls=none", "--language=en", "--lengths=500,700", "--depths=0,60",
            "--corpus=pydoc",
            "--model=mock:rate=0.6", f"--results-dir={runs}", "--run-name=r",
        ],
        cwd=ROOT, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout.decode()
    return runs / "r"


@pytest.fixture(autouse=True)
def undrawn(request, monkeypatch):
    if "command" not in request.fixturenames:
        monkeypatch.setattr("needlework.results.run.finish.write_charts", lambda *_, **__: [])


@pytest.fixture
def chance(request):
    return random.Random(f"{SEED} {request.node.name}")


def every_report(path, whole):
    """All that is ever made of a results.json, without the drawing."""
    records = read_json(path)
    write_files(path.parent, run_report(records))
    csv_text([rescored(record, "match") for record in records])
    if records:
        paired(whole, records)
        paired(records, whole)


def resume_from(path):
    """What a run that goes on does with a journal, apart from asking."""
    journal = Journal(path, fresh=False)
    try:
        records = read_journal(path)
        stored_answers(records, [])
        everything = whole_run(records, records, records[0].details.recipe if records else "")
        csv_text(everything)
        results_bytes(run_report(everything))
        if records:
            journal.append(line_of(records[0]))
    finally:
        journal.close()
    again = read_journal(path)
    assert len(again) == len(records) + bool(records)


def test_damaged_results(run, tmp_path, chance):
    path, data = tmp_path / "results.json", (run / "results.json").read_bytes()
    whole, few = read_json(run / "results.json"), {"schema": 1, "records": json.loads(data)["records"][:3]}
    usable = 0
    for _ in range(15 * ROUNDS):
        for content in (damaged(data, chance), json.dumps(swapped(few, chance)).encode()):
            path.write_bytes(content)
            usable += not complaint(partial(every_report, path, whole))
            complaint(partial(load_panels, path))
    assert usable > 3 * ROUNDS, "most changes are refused; what is not must work"


def test_damaged_journals(run, tmp_path, chance):
    path, data = tmp_path / "journal.jsonl", (run / "journal.jsonl").read_bytes()
    first, *others = data.decode().splitlines()
    for _ in range(25 * ROUNDS):
        record = json.dumps(swapped(json.loads(first), chance))
        for content in (damaged(data, chance), "\n".join([record, *others, ""]).encode()):
            path.write_bytes(content)
            assert complaint(partial(resume_from, path)) == "", "a spoilt line costs its trial, never the run"
            complaint(partial(load_panels, path))


LLMTEST = {
    "model": "gpt-4", "context_length": 1000, "depth_percent": 50, "version": 1, "needle": "n", "model_response": "r",
    "score": 10,
}  # fmt: skip
PUBLISHED = [
    {"token_limit": 1000, "depth_percent": 0.0, "score": 7},
    {"token_limit": 2000, "depth_percent": 50, "score": 1},
]
SAMPLES = {"score": 50.0, "details": {"0": {"score": 100}, "1": {"score": 0}}}
SUMMARY = (
    "dataset,version,metric,mode,model-a,model-b\n"
    "Length1000Depth0_origin_en_4k,aa,score,gen,100.00,-\nLength1000_parallel_en_4k,aa,Depth10,gen,3.5,99\n"
)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.json", LLMTEST),
        ("x.json", PUBLISHED),
        ("Length1000Depth0_origin_en_4k.json", SAMPLES),
        ("summary.csv", SUMMARY),
    ],
    ids=["cell", "published", "samples", "table"],
)
def test_other_systems_files(name, content, tmp_path, chance):
    path = tmp_path / "model" / name
    path.parent.mkdir()
    for _ in range(30 * ROUNDS):
        path.write_bytes(damaged((content if name.endswith("csv") else json.dumps(content)).encode(), chance))
        complaint(partial(load_panels, path))
        complaint(partial(load_panels, path.parent))
        path.write_text(json.dumps(swapped(content, chance)))
        complaint(partial(load_panels, path))


def test_damaged_manifests(run, chance):
    manifest = json.loads((run / "manifest.json").read_bytes())
    cells = [record.id for record in read_json(run / "results.json")]
    made = 0
    for _ in range(30 * ROUNDS):
        spoilt = swapped({"options": manifest["options"], "suites": manifest["suites"]}, chance)
        made += not complaint(lambda spoilt=spoilt: rebuild(stored_of(spoilt, run), chance.choice(cells)))
    assert made > ROUNDS


@pytest.fixture
def command(capfd):
    """Run a sub-command as the shell would: its exit code, after a look at what it said."""

    def call(*words):
        with bounded(60):
            try:
                code = needlework.main(list(words))
            except SystemExit as error:
                code = int(error.code or 0)
        out, err = capfd.readouterr()
        assert code in (0, 1, 2), (words, err)
        assert "Traceback" not in out + err
        if code == 2:
            check_line(err.removesuffix("\n"))
        return code

    return call


def test_commands_take_odd_words(run, tmp_path, command):
    for word in ODD_WORDS:
        if "\0" in word or word in ("/", "~", ".", "..", "") or word.startswith("-"):
            continue
        assert command("prompt", str(run), word) == 2
        assert command("prompt", word, "niah-len500-depth0-code-r0") == 2
        assert command("rescore", str(run), f"--scorer={word}") == 2
        assert command("rescore", word, "--scorer=match") == 2
        assert command("compare", word, str(run)) == 2
        assert command("plot", word) == 2
        assert command("plot", str(run), f"--format={word}") == 2


def test_commands_take_damaged_runs(run, tmp_path, command, chance):
    names = ("results.json", "manifest.json")
    for name in names * 3 * ROUNDS:
        for each in names:
            (tmp_path / each).write_bytes((run / each).read_bytes())
        (tmp_path / name).write_bytes(damaged((run / name).read_bytes(), chance))
        command("prompt", str(tmp_path), "niah-len500-depth0-code-r0")
        if name == "results.json":
            command("rescore", str(tmp_path), "--scorer=keyword")
            command("compare", str(tmp_path), str(run), "--format=svg", "--out", str(tmp_path))
            command("plot", str(tmp_path), "--format=svg", "--out", str(tmp_path))
