"""`needlework compare`: the table, the pictures, refusals."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from msgspec import to_builtins

import needlework
from needlework.core.record import Record
from needlework.results.compare.command import main
from needlework.results.files.json_files import write_json
from needlework.results.statistics.run_report import run_report

Make = Callable[..., Record]


@pytest.fixture
def write_run(make_record: Make, tmp_path: Path) -> Callable[..., Path]:
    """Write a run of 2 lengths x 3 depths x 12 repeats; `fails` says which (length, depth) are wrong."""

    def write(
        name: str, fails: Callable[[int, float], bool], *, prompt: str = "p", manifest: Any = None, **fields: Any
    ) -> Path:
        records = [
            make_record(
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
        write_json(tmp_path / name / "results.json", run_report(records))
        if manifest is not None:
            (tmp_path / name / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
        return tmp_path / name

    return write


def svg_texts(path: Path) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", path.read_text(encoding="utf-8"))


def test_a_regression_is_shown_listed_and_drawn(
    write_run: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = write_run("old", lambda *_: False), write_run("new", lambda length, depth: depth == 50, model="mock-2")
    out = tmp_path / "pictures"

    assert main([str(a), str(b / "results.json"), "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "A: old (mock)\nB: new (mock-2)\n" in printed
    row = r"new +60 of 72  60\.0 \(\S+\)  -40\.0  +-\d+\.\d\.\.-\d+\.\d  +<0\.001 +\S+ +worse"
    assert re.search(row, printed)
    assert "pairs: 60, 12 unscored in both" in printed
    assert "A: 72 trials, 60 scored, 12 error\nB: 72 trials, 60 scored, 12 error\n" in printed
    assert "means of cells as seen: 2 cells regressed, 0 improved\n" in printed
    assert "differs between the runs (A / B):\n  A and B without a readable manifest.json" in printed
    assert len(printed.splitlines()) == 19
    files = ["report.html", "scores.png", "scores.svg", "comparison.json"]
    files += ["difference-niah-code.png", "difference-niah-code.svg"]
    assert printed.split()[-6:] == [str(out / name) for name in files]

    assert main([str(a), str(b), "--out", str(out), "--fail-if", "worse"]) == 1
    assert main([str(b), str(a), "--out", str(tmp_path / "back"), "--fail-if", "worse"]) == 0

    texts = svg_texts(out / "difference-niah-code.svg")
    assert {"-100", "0", "n=12", "1k", "8k", "mean", "B - A (points)"} <= set(texts)
    assert any(re.fullmatch(r"-100\.\.-\d+", text) for text in texts)
    assert "new - old · niah · code" in texts
    assert "no pair: not scored in both runs" in texts
    assert (out / "difference-niah-code.svg").read_text(encoding="utf-8").count("<pattern") == 1
    assert (out / "difference-niah-code.png").read_bytes().startswith(b"\x89PNG")


def test_the_same_runs_give_the_same_bytes_and_the_title_is_taken(
    write_run: Callable[..., Path], tmp_path: Path
) -> None:
    runs = [str(write_run(name, lambda length, depth: depth == 0)) for name in ("a", "b")]
    for folder in ("x", "y"):
        argv = [*runs, "--out", str(tmp_path / folder), "--format", "svg", "--title", "My title"]
        assert needlework.main(["compare", *argv]) == 0
    pictures = [(tmp_path / folder / "difference-niah-code.svg").read_bytes() for folder in ("x", "y")]

    assert pictures[0] == pictures[1]
    assert b">My title<" in pictures[0]


def test_other_prompts_are_refused_unless_asked_for(
    write_run: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpora = [{"corpora": {"essays/en": {"sha256": str(number)}}} for number in (1, 2)]
    a = write_run("a", lambda *_: False, manifest=corpora[0])
    b = write_run("b", lambda *_: False, prompt="q", manifest=corpora[1])
    argv = [str(a), str(b), "--out", str(tmp_path / "out"), "--format", "svg"]

    assert main(argv) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "prompts of 72 of 72 trials differ (corpora essays/en: sha256 1 / 2; filler: p / q)" in error
    assert "--allow-different-prompts" in error
    assert not (tmp_path / "out").exists()

    third = write_run("c", lambda *_: False, prompt="q")
    assert main([str(a), str(a), *argv[1:], "--labels", "x,y,z"]) == 2
    assert "x and z" in capsys.readouterr().err
    assert main([str(b), str(third), "--format", "svg"]) == 0
    capsys.readouterr()

    assert main([*argv, "--allow-different-prompts"]) == 0
    printed = capsys.readouterr().out
    assert "caution: b was asked other prompts in 72 trials" in printed
    assert "differs between the runs (A / B):\n  corpora essays/en: sha256 1 / 2\n  filler: p / q\n" in printed


def test_one_model_in_two_dtypes_is_refused_unless_asked_for(
    write_run: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = (
        write_run(name, lambda *_: False, manifest={"models": {"mock": {"dtype": dtype}}})
        for name, dtype in (("a", "float32"), ("b", "bfloat16"))
    )

    assert main([str(a), str(b), "--format", "svg"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "one model in two kinds of numbers (mock: float32 / bfloat16); --allow-different-dtypes" in error
    assert main([str(a), str(b), "--format", "svg", "--allow-different-dtypes"]) == 0
    assert "  models mock: dtype float32 / bfloat16\n" in capsys.readouterr().out


def test_a_smaller_window_is_said_first_and_fails_if_asked(
    make_record: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, window in (("base", 8192), ("small", 1024)):
        records = [
            make_record(length=length, repeat=repeat, outcome="skipped" if length > window else "found")
            for length in (500, 2000)
            for repeat in range(12)
        ]
        write_json(tmp_path / name / "results.json", run_report(records, planned=30 if name == "small" else None))
        manifest = {"models": {"mock": {"window": window}}}
        (tmp_path / name / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    argv = [str(tmp_path / "base"), str(tmp_path / "small"), "--format", "svg"]

    assert main(argv) == 0
    assert main([*argv, "--fail-if", "worse"]) == 1
    assert main([argv[0], argv[0], "--format", "svg", "--fail-if", "worse"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == (
        "small cannot answer 12 of 24 trials that base scored: all 12 at 2k (12 skipped); window 1024, base had 8192"
    )
    assert lines[6:8] == ["A: base (mock)", "B: small (mock), interrupted after 24 of 30 trials"]
    page = (tmp_path / "small" / "compared-with-base" / "report.html").read_text(encoding="utf-8")
    assert f"<strong>{lines[0]}.</strong>" in page
    assert "losses as misses" in page


def test_files_go_beside_the_second_run(
    write_run: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = (write_run(name, lambda *_: False) for name in ("old", "new"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")

    assert main([str(a), str(b), "--format", "svg"]) == 0
    names = sorted(path.name for path in (b / "compared-with-old").iterdir())
    assert names == ["comparison.json", "difference-niah-code.svg", "report.html", "scores.png", "scores.svg"]
    assert list((tmp_path / "here").iterdir()) == []


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("missing", None, "does not exist"),
        ("folder", "", "has no results.json"),
        ("empty.json", "", "is not JSON"),
        ("none.json", '{"schema": 1, "records": []}', "holds no trials"),
        ("other.json", '{"schema": 1, "records": [{}]}', "record 1 is none: Object missing required field `model`"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    write_run: Callable[..., Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    content: str | None,
    message: str,
) -> None:
    good, bad = write_run("good", lambda *_: False), tmp_path / name
    if name == "folder":
        bad.mkdir()
    elif content is not None:
        bad.write_text(content, encoding="utf-8")

    assert main([str(good), str(bad)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("needlework compare: ")
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("fields", "options", "message"),
    [
        ({"seed": 1}, [], "no trial in common: seed 0 / 1"),
        ({"prompt": "q"}, [], "A and B without a readable manifest.json"),
        ({}, ["--out", "a/results.json"], "Not a directory"),
        ({}, ["--format", "gif"], "gif"),
        ({}, ["--nonsense"], "there is no --nonsense"),
    ],
)
def test_what_cannot_be_compared_or_written_is_one_line(
    write_run: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    fields: dict[str, Any],
    options: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    write_run("a", lambda *_: False)
    write_run("b", lambda *_: False, **fields)
    try:
        code = main(["a", "b", *options])
    except SystemExit as ended:
        code = int(str(ended.code))
    error = capsys.readouterr().err
    assert (code, error.count("\n")) == (2, 1)
    assert message in error


def test_controls_and_retrievers_are_left_out_of_the_page_too(make_record: Make, tmp_path: Path) -> None:
    for name in ("a", "b"):
        records = [
            make_record(needle="code", repeat=0),
            make_record(needle="code_absent", depth=None, repeat=0, reference={"control": "absent", "twin": "code"}),
            make_record(needle="code_bm25", repeat=0, reference={"retriever": "bm25", "twin": "code"}),
        ]
        write_json(tmp_path / name / "results.json", run_report(records))
    assert main([str(tmp_path / "a"), str(tmp_path / "b"), "--out", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out" / "report.html").is_file()


def test_three_runs_are_each_compared_with_the_first(tmp_path, capsys):
    from tests.results.statistics.comparison.test_comparison import grid

    for name, score in (("step500", 1.0), ("step1000", 0.0), ("step10000", 1.0)):
        folder = tmp_path / name
        folder.mkdir()
        report = {"schema": 1, "records": [to_builtins(each) for each in grid(lambda *_, score=score: score)]}
        (folder / "results.json").write_text(json.dumps(report), encoding="utf-8")
    runs = [str(tmp_path / name) for name in ("step500", "step1000", "step10000")]
    out = tmp_path / "out"

    assert main([*runs, "--out", str(out), "--fail-if", "worse"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:4]] == ["step500", "step1000", "step10000"]
    assert lines[2].split()[-2:] == ["1k", "worse"]
    assert {path.name for path in out.iterdir() if path.suffix != ".png"} == {
        "report.html", "scores.svg", "comparison.json",
        "difference-step1000-niah-code.svg", "difference-step10000-niah-code.svg",
    }  # fmt: skip
    drawn = "".join(ElementTree.parse(out / "scores.svg").getroot().itertext())
    assert "Against step500, step1000 is worse (-100.0 points, 95 % sure" in " ".join(drawn.split())
    told = json.loads((out / "comparison.json").read_text())
    assert (told["schema"], len(told["configurations"])) == ("needlework-comparison-1", 3)
    assert main([runs[0], runs[2], runs[2]]) == 2
    assert "given twice" in capsys.readouterr().err


SERIES = ("step-1k", "step-500", "step-2k")


@pytest.fixture
def series(write_run: Callable[..., Path]) -> list[str]:
    """Three checkpoints, out of order; the last one falls at 8000 tokens."""
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
        for number, name in enumerate(SERIES)
    ]


def test_a_series_is_put_in_order_and_each_compared_with_the_one_before(
    series: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = tmp_path / "told.json"
    argv = [*series, "--order", "step", "--base", "previous", "--json", str(told), "--out", str(tmp_path / "out")]

    assert main(argv) == 0
    assert main([*argv, "--fail-if", "worse"]) == 1
    content = json.loads(told.read_text(encoding="utf-8"))
    assert [(each["configuration"], each["compared_with"]) for each in content["configurations"]] == [
        ("step-500", None),
        ("step-1k", "step-500"),
        ("step-2k", "step-1k"),
    ]
    assert [each["verdict"] for each in content["configurations"]] == [None, "no difference shown", "worse"]
    said = f"step-1k and step-2k are the same weights (sha256 {'b' * 12})"
    assert content["same_weights"] == [said]
    assert f"\n{said}\n" in capsys.readouterr().out
    assert said in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("order", "names"), [("given", [0, 1, 2]), ("name", [0, 2, 1]), ("date", [2, 1, 0]), ("step", [1, 0, 2])]
)
def test_runs_stand_in_the_order_asked_for(series: list[str], order: str, names: list[int], tmp_path: Path) -> None:
    told = tmp_path / "told.json"
    assert main([*series, "--order", order, "--json", str(told), "--out", str(tmp_path / "out")]) == 0
    content = json.loads(told.read_text(encoding="utf-8"))
    assert [each["configuration"] for each in content["configurations"]] == [SERIES[at] for at in names]


def test_two_runs_have_labels_and_a_file_too_and_one_tokenizer_is_no_difference(
    series: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = tmp_path / "told.json"
    argv = [*series[:2], "--labels", "new, old", "--order", "name", "--json", str(told), "--format", "svg"]

    assert main([*argv, "--out", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().out
    assert "\nA: new (out/step-1k)\nB: old (out/step-500)\n" in printed
    assert "tokenizers" not in printed
    assert [each["configuration"] for each in json.loads(told.read_text())["configurations"]] == ["new", "old"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--labels", "a,b"], "--labels: 'a,b': give one for each of the 3 runs"),
        (["--labels", "a,b,a"], "--labels: 'a, b, a': one label is given twice"),
        (["--labels", "a,b,c", "--order", "step"], None),
        (["--order", "size"], "invalid choice: 'size'"),
    ],
)
def test_orders_and_labels_that_say_nothing_are_refused_in_one_line(
    series: list[str], options: list[str], message: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code = main([*series, *options, "--out", str(tmp_path / "out")])
    except SystemExit as ended:
        code = int(str(ended.code))
    error = capsys.readouterr().err
    assert code == (2 if message else 0)
    assert error.count("\n") == bool(message)
    assert (message or "") in error
