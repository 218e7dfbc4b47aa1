"""`needlework compare`: the table, the pictures, refusals."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from needlework.results.compare.collect import collect_runs
from tests.results.builders import exit_code, new_record, output, refusal
from tests.results.builders import write_run as write_records


@pytest.fixture
def write_run(tmp_path):
    """Write a run of 2 lengths x 3 depths x 12 repeats; `fails` says which (length, depth) are wrong."""

    def write(name, fails=lambda *_: False, *, prompt="p", manifest=None, **fields):
        records = [
            new_record(
                length=length,
                depth=depth,
                repeat=repeat,
                outcome="error" if (length, depth) == (8000, 100.0) else "wrong" if fails(length, depth) else "found",
                prompt={"sha256": f"{prompt} {length} {depth} {repeat}", "filler_sha256": prompt, "tokens": 980},
                **fields,
            )
            for length in (1000, 8000)
            for depth in (0.0, 50.0, 100.0)
            for repeat in range(12)
        ]
        return write_records(tmp_path / name, records, manifest=manifest)

    return write


def content_of(path):
    """The configurations of a comparison.json."""
    return json.loads(path.read_text(encoding="utf-8"))["configurations"]


def test_a_regression_is_shown_listed_and_drawn(write_run, tmp_path, capsys):
    a, b = write_run("old"), write_run("new", lambda length, depth: depth == 50, model="mock-2")
    out = tmp_path / "pictures"

    printed = output(capsys, "compare", a, b / "results.json", "--out", out, "--fail-if", "worse", code=1)
    row = r"new +60 of 72  60\.0 \(\S+\)  -40\.0  +-\d+\.\d\.\.-\d+\.\d  +<0\.001 +\S+ +worse"
    assert re.search(row, printed)
    for line in (
        "A: old (mock): 72 trials, 60 scored, 12 error",
        "B: new (mock-2): 72 trials, 60 scored, 12 error",
        "pairs: 60, 12 unscored in both",
        "means of cells as seen: 2 cells regressed, 0 improved",
    ):
        assert f"  {line}\n" in printed
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
    assert "Not a directory" in capsys.readouterr().err
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


def test_a_smaller_window_stands_first_and_fails_if_wanted(tmp_path, capsys):
    for name, window, planned in (("base", 8192, None), ("small", 1024, 30)):
        records = [
            new_record(length=length, repeat=repeat, outcome="skipped" if length > window else "found")
            for length in (500, 2000)
            for repeat in range(12)
        ]
        manifest = {"models": {"mock": {"window": window}}}
        write_records(tmp_path / name, records, planned=planned, manifest=manifest)
    base, small = tmp_path / "base", tmp_path / "small"

    words = ("compare", base, small, "--format", "svg", "--fail-if", "worse")
    lines = [line.strip() for line in output(capsys, *words, code=1).splitlines()]
    assert lines[1] == (
        "small cannot answer 12 of 24 trials that base scored: all 12 at 2k (12 skipped); window 1024, base had 8192"
    )
    early = "B: small (mock), interrupted after 24 of 30 trials: 24 trials, 12 scored, 12 skipped"
    assert {"A: base (mock): 24 trials, 24 scored", early} <= set(lines)
    page = (small / "compared-with-base" / "report.html").read_text(encoding="utf-8")
    assert f"<bdi>{lines[1]}</bdi>" in page
    assert "losses as misses" in page


@pytest.mark.parametrize(
    ("fields", "options", "message"),
    [
        ({}, ["missing"], "does not exist"),
        ({}, ["folder"], "has no results.json"),
        ({}, ["empty.json"], "is not JSON"),
        ({}, ["none.json"], "holds no trials"),
        ({}, ["other.json"], "record 1 is none: Object missing required field `model`"),
        ({"seed": 1}, [], "no trial in common: seed 0 / 1"),
        ({"prompt": "q"}, [], "A and B without a readable manifest.json"),
        ({}, ["--format", "gif"], "gif"),
        ({}, ["--nonsense"], "there is no --nonsense"),
        ({}, ["--order", "date"], "has no manifest.json that says when it began; use step"),
        ({}, ["--order", "step"], "no number in 'a'"),
        ({}, ["--order", "size"], "invalid choice: 'size'"),
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
                    "tokenizers": {name: "c" * 64},
                },
                model=f"out/{name}",
            )
        )
        for number, name in enumerate(NAMES)
    ]


def test_a_series_is_put_in_order_and_each_compared_with_the_one_before(series, tmp_path, capsys):
    out, copy = tmp_path / "out", tmp_path / "copy.json"
    order = ("--order", "step", "--base", "previous", "--fail-if", "worse")

    printed = output(capsys, "compare", *series, *order, "--json", copy, "--out", out, code=1)
    assert [(each["configuration"], each["compared_with"], each["verdict"]) for each in content_of(copy)] == [
        ("step-500", None, None),
        ("step-1k", "step-500", "no difference shown"),
        ("step-2k", "step-1k", "worse"),
    ]
    same = f"step-1k and step-2k are the same weights (sha256 {'b' * 12})"
    content = json.loads(copy.read_text(encoding="utf-8"))
    assert (content["schema"], content["same_weights"]) == ("needlework-comparison-1", [same])
    assert f"\n  {same}\n" in printed
    assert same in (out / "report.html").read_text(encoding="utf-8")
    assert {path.name for path in out.iterdir() if path.suffix != ".png"} == {
        "report.html", "scores.svg", "comparison.json",
        "difference-step_1k-niah-code.svg", "difference-step_2k-niah-code.svg",
    }  # fmt: skip
    drawn = " ".join("".join(ElementTree.parse(out / "scores.svg").getroot().itertext()).split())
    assert "Compared with the run before it, worse: step-2k (-" in drawn


@pytest.mark.parametrize(
    ("order", "names"), [("given", [0, 1, 2]), ("name", [0, 2, 1]), ("date", [2, 1, 0]), ("step", [1, 0, 2])]
)
def test_runs_stand_in_the_order_wanted(series, order, names):
    assert list(collect_runs(list(map(Path, series)), order)) == [NAMES[at] for at in names]


def test_runs_have_labels_and_one_tokenizer_is_no_difference(series, tmp_path, capsys):
    argv = [
        "compare",
        *series[:2],
        "--labels",
        "new, old",
        "--order",
        "name",
        "--format",
        "svg",
        "--out",
        tmp_path / "out",
    ]

    printed = output(capsys, *argv)
    assert "\n  A: new (out/step-1k): " in printed
    assert "\n  B: old (out/step-500): " in printed
    assert "tokenizers" not in printed
    assert [each["configuration"] for each in content_of(tmp_path / "out" / "comparison.json")] == ["new", "old"]
