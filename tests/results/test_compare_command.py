"""`needlework compare`, `history` and `leaderboard`: from runs on disk to tables, pictures and files; refusals."""

import csv
import json
import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import pytest

from needlework.core.record import PromptFacts
from needlework.results.compare.collect import collect_models, collect_runs
from tests.results.builders import exit_code, grid_of, new_record, output, refusal, run_of
from tests.results.builders import write_run as write_records
from tests.source import ROOT


@pytest.fixture
def write_run(tmp_path):
    """Write a run of 2 lengths x 3 depths x 12 repeats; `fails` says which (length, depth) are wrong."""

    def write(name, fails=lambda *_: False, *, prompt="p", manifest=None, planned=None, **fields):
        def outcome(length, depth, _):
            return "error" if (length, depth) == (8000, 100.0) else "wrong" if fails(length, depth) else "found"

        records = grid_of((1000, 8000), (0.0, 50.0, 100.0), 12, outcome, **fields)
        for each in records:
            each.prompt = PromptFacts(sha256=f"{prompt} {each.id}", filler_sha256=prompt, tokens=980)
        return write_records(tmp_path / name, records, manifest=manifest, planned=planned)

    return write


def test_a_regression_is_shown_listed_and_drawn(write_run, tmp_path, capsys):
    a, b = write_run("old"), write_run("new", lambda length, depth: depth == 50, model="mock-2", planned=80)
    out = tmp_path / "pictures"

    printed = output(capsys, "compare", a, b / "results.json", "--out", out, "--fail-if", "worse", code=1)
    row = r"new +60 of 72  60\.0 \(\S+\)  -40\.0  +-\d+\.\d\.\.-\d+\.\d  +<0\.001 +\S+ +worse"
    assert re.search(row, printed)
    assert "  B: new (mock-2), interrupted after 72 of 80 trials: 72 trials, 60 scored, 12 error\n" in printed
    assert "What differs between the runs (A / B)\n  A and B without a readable manifest.json" in printed
    files = ["report.html", "scores.png", "scores.svg", "comparison.json"]
    files += ["difference-niah-code.png", "difference-niah-code.svg"]
    assert printed.split()[-6:] == [str(out / name) for name in files]

    picture = (out / "difference-niah-code.svg").read_text(encoding="utf-8")
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", picture)
    assert {"-100", "0", "n=12", "1k", "8k", "mean", "B - A (points)", "new - old · niah · code"} <= set(texts)
    assert any(re.fullmatch(r"-100\.\.-\d+", text) for text in texts)
    assert "no pair: not scored in both runs" in texts
    assert picture.count("<pattern") == 1
    assert (out / "difference-niah-code.png").read_bytes().startswith(b"\x89PNG")


def test_files_go_beside_the_second_run_with_a_title(write_run, tmp_path, monkeypatch, capsys):
    a, b = (write_run(name, lambda length, depth: depth == 0) for name in ("old", "new"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    picture = b / "compared-with-old" / "difference-niah-code.svg"

    assert exit_code("compare", a, b, "--format", "svg", "--title", "My title", "--fail-if", "worse") == 0
    assert sorted(path.name for path in picture.parent.iterdir()) == [
        "comparison.json", picture.name, "report.html", "scores.png", "scores.svg"
    ]  # fmt: skip
    assert list((tmp_path / "here").iterdir()) == []
    capsys.readouterr()
    assert exit_code("compare", a, b, "--out", a / "results.json") == 2
    assert "old/results.json': " in capsys.readouterr().err
    assert ">My title · niah · code<" in picture.read_text(encoding="utf-8")


def test_other_prompts_are_refused_unless_allowed(write_run, tmp_path, capsys):
    corpora = [{"corpora": {"essays/en": {"sha256": str(number)}}} for number in (1, 2)]
    a, b = write_run("a", manifest=corpora[0]), write_run("b", prompt="q", manifest=corpora[1])
    argv = ["compare", a, b, "--out", tmp_path / "out", "--format", "svg"]

    error = refusal(capsys, *argv)
    assert "prompts of 72 of 72 trials differ (corpora essays/en: sha256 1 / 2; filler: p / q)" in error
    assert "--allow-different-prompts" in error
    assert "x and z" in refusal(capsys, "compare", a, *argv[1:], "--labels", "x,y,z")
    assert not (tmp_path / "out").exists()
    printed = output(capsys, *argv, "--allow-different-prompts")
    assert "caution: b was asked other prompts in 72 trials" in printed
    assert "What differs between the runs (A / B)\n  corpora essays/en: sha256 1 / 2\n  filler: p / q\n" in printed


def test_smaller_windows_stand_first_with_those_they_are_compared_with_and_fail_if_wanted(tmp_path, capsys):
    for window in (8192, 4096, 1024):
        records = grid_of((500,), repeats=12)
        for length in (2000, 6000):
            records += grid_of((length,), repeats=12, outcome="found" if window > length else "skipped")
        manifest = {"models": {"mock": {"window": window}}}
        write_records(tmp_path / f"w{window}", records, manifest=manifest)
    runs = [tmp_path / name for name in ("w8192", "w4096", "w1024")]

    words = ("compare", *runs, "--base", "previous", "--format", "svg", "--fail-if", "worse", "--out", tmp_path / "out")
    lines = [line.strip() for line in output(capsys, *words, code=1).splitlines()]
    losses = [
        "w4096 cannot answer 12 of 36 trials that w8192 scored: all 12 at 6k (12 skipped); window 4096, w8192 had 8192",
        "w1024 cannot answer 12 of 24 trials that w4096 scored: all 12 at 2k (12 skipped); window 1024, w4096 had 4096",
    ]
    assert lines[1:3] == losses
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert f"<bdi>{losses[0]}</bdi>" in page
    assert "losses as misses" in page


@pytest.mark.parametrize(
    ("fields", "options", "message"),
    [
        ({}, ["missing"], "does not exist"),
        ({}, ["folder"], "has no results.json"),
        ({}, ["empty.json"], "is empty: give a run's folder"),
        ({}, ["none.json"], "holds no trials"),
        ({}, ["other.json"], "record 1 is damaged: Object missing required field `model`"),
        ({"seed": 1}, [], "compare: runs: 'a and b': they have no trial in common: seed 0 / 1\n"),
        ({"prompt": "q"}, [], "A and B without a readable manifest.json"),
        ({}, ["--format", "gif"], "gif"),
        ({}, ["--nonsense"], "there is no --nonsense"),
        ({}, ["--order", "date"], "has no manifest.json that says when it began; use step"),
        ({}, ["--order", "step"], "no number in 'a'"),
        ({}, ["a", "--labels", "a,b"], "--labels: 'a,b': give one for each of the 3 runs"),
        ({}, ["a", "--labels", "a,b,a"], "--labels: 'a, b, a': one label is given twice"),
        ({}, ["a"], "one of them is given twice"),
    ],
)
def test_what_cannot_be_compared_or_written_is_one_line(
    write_run, tmp_path, monkeypatch, capsys, fields, options, message
):
    monkeypatch.chdir(tmp_path)
    write_run("a")
    write_run("b", **fields)
    (tmp_path / "folder").mkdir()
    (tmp_path / "empty.json").touch()
    (tmp_path / "none.json").write_text('{"schema": 1, "records": []}', encoding="utf-8")
    (tmp_path / "other.json").write_text('{"schema": 1, "records": [{}]}', encoding="utf-8")

    error = refusal(capsys, "compare", "a", "b", *options)
    assert error.startswith("needlework compare: ")
    assert message in error


NAMES = ("step-1k", "step-500", "step-2k")


@pytest.fixture
def series(write_run):
    """Three checkpoints, unordered; the last falls at 8000."""
    weights = {"step-500": "a" * 64, "step-1k": "b" * 64, "step-2k": "b" * 64}
    return [
        str(
            write_run(
                name,
                lambda length, _, name=name: name == "step-2k" and length == 8000,
                manifest={
                    "started": f"2026-0{3 - number}-01T00:00:00+00:00",
                    "models": {f"out/{name}": {"weights_sha256": weights[name]}},
                },
                model=f"out/{name}",
            )
        )
        for number, name in enumerate(NAMES)
    ]


def test_a_series_is_put_in_order_and_each_compared_with_the_one_before(series, tmp_path, capsys):
    out, copy = tmp_path / "out", tmp_path / "copy.json"
    options = ("--labels", "mid, early, late", "--order", "step", "--base", "previous", "--fail-if", "worse")

    printed = output(capsys, "compare", *series, *options, "--json", copy, "--out", out, code=1)
    content = json.loads(copy.read_text(encoding="utf-8"))
    assert [(each["configuration"], each["compared_with"], each["verdict"]) for each in content["configurations"]] == [
        ("early", None, None),
        ("mid", "early", "no difference shown"),
        ("late", "mid", "worse"),
    ]
    same = f"mid and late are the same weights (sha256 {'b' * 12})"
    assert (content["schema"], content["same_weights"]) == ("needlework-comparison-1", [same])
    assert f"\n  {same}\n" in printed
    assert same in (out / "report.html").read_text(encoding="utf-8")
    assert {path.name for path in out.iterdir() if path.suffix != ".png"} == {
        "report.html", "scores.svg", "comparison.json",
        "difference-mid-niah-code.svg", "difference-late-niah-code.svg",
    }  # fmt: skip
    drawn = " ".join("".join(ElementTree.parse(out / "scores.svg").getroot().itertext()).split())
    assert "Compared with the run before it, worse: late (-" in drawn


@pytest.mark.parametrize(
    ("order", "names"), [("given", [0, 1, 2]), ("name", [0, 2, 1]), ("date", [2, 1, 0]), ("step", [1, 0, 2])]
)
def test_runs_stand_in_the_order_wanted(series, order, names):
    assert list(collect_runs(list(map(Path, series)), order)) == [NAMES[at] for at in names]


@pytest.fixture
def write(tmp_path):
    """Write a run into `runs/NAME`."""
    return lambda name, right=12, **options: run_of(tmp_path / "runs" / name, right, **options)


def test_nights_stand_by_date_a_fall_is_told_and_a_night_of_errors_alone_is_named(write, tmp_path, capsys):
    for day, (name, right, failed) in enumerate((("d", 12, 0), ("c", 12, 4), ("b", 12, 24), ("a", 0, 0)), start=1):
        write(name, right, failed=failed, day=day)
    out = tmp_path / "out"

    assert exit_code("history", tmp_path / "runs", "--out", out) == 0
    printed = output(capsys, "history", tmp_path / "runs", "--out", out, "--fail-if", "worse", code=1).splitlines()
    assert printed[0] == "mock · niah: 3 runs of 24 trials of 12 samples"
    assert [line.split()[2:4] for line in printed[2:5]] == [["d", "100"], ["c", "(4"], ["a", "0"]]
    fall = "fell between 2026-01-02 00:00 and 2026-01-04 00:00, from 91.7 to 0 % (-91.7 points; p <0.001, Holm)"
    assert printed[5].strip() == fall
    assert printed[6] == "  4 error: counted as misses"
    assert "mock · b is not ranked: all of its trials failed (24 errors)" in printed
    (series,) = json.loads((out / "history.json").read_text(encoding="utf-8"))["series"]
    assert [(run["run"], run["score_with_misses"]) for run in series["runs"]] == [
        ("d", 1),
        ("c", pytest.approx(20 / 24)),
        ("a", 0),
    ]
    assert series["changes"][0]["words"] == fall
    assert fall.partition("; p")[0] in (out / "report.html").read_text(encoding="utf-8")
    assert (out / "history-niah.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("right", "sentence", "note"),
    [
        (0, "niah: fell between step 2000 and step 10000", "fell between step 2000 and step 10000, "),
        (12, "niah: no change is shown", "no change is shown"),
    ],
)
def test_checkpoints_of_other_names_are_one_series_by_step(write, tmp_path, right, sentence, note, capsys):
    runs = [write(f"step-{step}", score, model=f"out/step-{step}") for step, score in (("10k", right), ("2k", 12))]

    code = exit_code("history", *runs, "--order", "step", "--fail-if", "worse", "--out", tmp_path / "out")
    assert code == (right == 0)
    printed = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in printed[2:4]] == [["step", "2000"], ["step", "10000"]]
    assert printed[4].strip().startswith(note)
    assert sentence in (tmp_path / "out" / "history-niah.svg").read_text(encoding="utf-8")


def rows(folder):
    return list(csv.DictReader((folder / "leaderboard.csv").read_text(encoding="utf-8").splitlines()))


def test_a_folder_of_runs_is_ranked_printed_and_written(write, tmp_path, capsys):
    write("a", model="good")
    write("matrix/b", 0, model="poor")
    write("c", model="flaky", failed=6)
    write("d", 6, model="twice", day=1)
    write("e", 6, model="twice", day=2, failed=24)
    write("f", model="dead", failed=24)
    for number in range(4):
        write(f"cut{number}", model=f"early{number}", planned=99)
    for name, text in (("a/rescored-x", "no run of its own"), ("damaged", "{")):
        (tmp_path / "runs" / name).mkdir()
        (tmp_path / "runs" / name / "results.json").write_text(text)
    folder = tmp_path / "runs" / "leaderboard"

    printed = output(capsys, "leaderboard", tmp_path / "runs").splitlines()
    assert printed[0] == "niah: 24 trials of 12 samples, 1k to 4k tokens, scored by match@1"
    ranked = [line.strip().split("  ")[1].strip() for line in printed[2:6]]
    assert ranked == ["good", "flaky (6 errors)", "twice", "poor"]
    assert "early0 is not ranked: interrupted after 24 of 99 trials" in printed
    assert "dead is not ranked: all of its trials failed (24 errors)" in printed
    assert any(line.startswith("damaged cannot be read: ") for line in printed)
    names = ["report.html", "leaderboard.csv", "leaderboard.md", "scores-niah.png", "scores-niah.svg"]
    assert printed[-5:] == [str(folder / name) for name in names]
    columns = ("model", "run", "rank_best", "rank_worst", "scored", "errors", "invalid", "score_with_misses")
    assert [[row[name] for name in columns] for row in rows(folder)] == [
        ["good", "a", "1", "3", "24", "0", "0", "1.0"],
        ["flaky", "c", "1", "3", "18", "6", "0", "0.75"],
        ["twice", "d", "1", "4", "24", "0", "0", "0.5"],
        ["poor", "matrix/b", "3", "4", "24", "0", "0", "0.0"],
    ]
    assert [row["score_4000"] for row in rows(folder)] == ["1.0", "1.0", "0.5", "0.0"]
    assert "| 1–3 | good | 100 (" in (folder / "leaderboard.md").read_text(encoding="utf-8")
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "<bdi>good</bdi>" in page
    assert (page.count('class="notice notes'), page.count("is not ranked: interrupted after")) == (1, 4)
    assert "<summary>4 more</summary>" in page  # one box, however many notes


@pytest.mark.slow
def test_many_runs_are_read_by_several_processes(write, tmp_path):
    for number in range(6):
        write(f"r{number}", model=f"m{number}")

    assert [run.run for run in collect_models([tmp_path / "runs"], tmp_path, every_run=True)[0]] == [
        f"r{number}" for number in range(6)
    ]


def test_the_newest_run_of_a_model_stands_for_it_unless_all_are_wanted(write, tmp_path, capsys):
    first, last = write("z", 6, day=1), write("b", day=3)
    manifest = {"started": "2026-01-02T00:00:00+00:00", "models": {"mock": {"dtype": "bfloat16"}}}
    write("c", 0, manifest=manifest)
    command = partial(exit_code, "leaderboard", "--out", tmp_path / "out")

    assert command(tmp_path / "runs") == 0
    assert [row["model"] for row in rows(tmp_path / "out")] == ["mock · b", "mock · c"]
    assert "1 older runs of the same models" in capsys.readouterr().out
    assert command(tmp_path / "runs", "--every-run") == 0
    assert len(rows(tmp_path / "out")) == 3
    assert command(first, last) == 0
    assert [row["run"] for row in rows(tmp_path / "out")] == ["b", "z"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("leaderboard nowhere", "'nowhere': does not exist"),
        ("leaderboard .", "no run there"),
        ("leaderboard empty", "holds no trials"),
        ("leaderboard", "the following arguments are required"),
        ("history a b", "has no manifest.json that says when it began; use step"),
        ("history a b --order step", "no number in"),
        ("history day1 day2", "no two whole runs asked the same cells of one model"),
    ],
)
def test_runs_that_cannot_be_ranked_or_put_in_order_are_refused_in_one_line(
    words, message, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    if words == "leaderboard empty":
        write_records(tmp_path / "empty", [])
    if words.startswith("history"):
        for name, fields in {"a": {}, "b": {}, "day1": {"day": 1}, "day2": {"day": 2, "model": "other"}}.items():
            run_of(tmp_path / name, **fields)

    assert message in refusal(capsys, *words.split())


HEAVY = ("torch", "transformers", "openai", "tokenizers", "tiktoken")


@pytest.mark.parametrize("words", [["compare", "a", "b"], ["rescore", "a", "--scorer", "match"]])
def test_a_command_writes_its_files_on_a_plain_stream_and_loads_no_model_library(tmp_path, words):
    for name in ("a", "b"):
        records = [new_record(repeat=i, model="通义 \ud800", reference={"answers": ["4711"]}) for i in range(3)]
        write_records(tmp_path / name, records)
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
