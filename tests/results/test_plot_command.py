"""`needlework plot`: runs and result files of other systems, written here in their published formats."""

import json
from pathlib import Path

import pytest

from needlework.results.files.foreign import LLMTEST, OPENCOMPASS, foreign_panels
from needlework.results.files.read_run import load_panels
from needlework.results.records.journal import line_of
from needlework.results.report.panels import headline
from tests.results.builders import exit_code, new_record, output, refusal, write_run

SANDWICH = "\nThe best thing to do in San Francisco is eat a sandwich.\n"


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def llmtest_cell(length, depth, score, **more):
    cell = {"model": "claude-2.1", "context_length": length, "depth_percent": depth, "version": 1, "needle": SANDWICH}
    return cell | {"model_response": "Eat a sandwich", "score": score, "test_duration_seconds": 1.5} | more


@pytest.fixture
def run(tmp_path):
    """A run folder with nothing but a results.json."""
    return write_run(tmp_path / "run-1", [new_record(length=length) for length in (500, 1000)])


def test_draws_the_same_from_every_kind_of_file_and_prints_what_it_wrote(run, tmp_path, capsys):
    records = [new_record(length=length) for length in (500, 1000)]
    lines = [line_of(record) for record in (new_record(length=500, outcome="error"), *records)]
    (tmp_path / "journal.jsonl").write_text("\n".join(lines) + '\n{"torn', encoding="utf-8")
    out = tmp_path / "pictures"
    options = ["--numbers", "--colors", "red-yellow-green", "--title", "My title", "--out", out]
    pictures = set()
    for path in (run, run / "results.json", tmp_path / "journal.jsonl"):
        assert output(capsys, "plot", path, *options).split() == [
            str(out / f"heatmap-niah-code-mock.{ending}") for ending in ("png", "svg")
        ]
        pictures.add((out / "heatmap-niah-code-mock.svg").read_text(encoding="utf-8"))

    (picture,) = pictures
    assert ">My title<" in picture


def test_a_journal_is_read_by_its_last_recipe(tmp_path):
    old = new_record(length=9000, details={"recipe": "old"})
    lines = [line_of(record) for record in (old, new_record(model="a"), new_record(model="b"))]
    (tmp_path / "journal.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")

    assert exit_code("plot", tmp_path, "--out", tmp_path, "--format", "svg") == 0
    assert sorted(path.name for path in tmp_path.glob("*.svg")) == [
        "heatmap-combined.svg",
        "heatmap-niah-code-a.svg",
        "heatmap-niah-code-b.svg",
    ]


def test_the_door_helps_and_names_the_nearest_command(capsys):
    assert [exit_code(*words) for words in (["--help"], [], ["--version"])] == [0, 2, 0]
    assert "plot" in capsys.readouterr().out
    assert refusal(capsys, "plto") == "needlework: there is no command 'plto'; did you mean 'plot'?\n"
    assert "--help" in refusal(capsys, "xyz")


def test_files_of_one_folder_are_told_apart_by_their_names(tmp_path, capsys):
    rows = (
        "dataset,version,metric,mode,m\nCDME_Length1000Depth0,a,score,gen,90\nCDME_Length1000Depth50,a,score,gen,80\n"
    )
    for name in ("first.csv", "second.csv"):
        (tmp_path / name).write_text(rows)

    found = [(tmp_path / name, panel) for name in ("first.csv", "second.csv") for panel in load_panels(tmp_path / name)]
    assert "2 cells ·" in headline(found[0][1])
    printed = output(capsys, "plot", *(path for path, _ in found), "--format=svg")
    assert [Path(line).name for line in printed.splitlines()] == [
        "heatmap-cdme-needle-m-first.csv.svg", "heatmap-cdme-needle-m-second.csv.svg", "heatmap-combined.svg",
    ]  # fmt: skip
    assert "data: OpenCompass" in Path(printed.splitlines()[0]).read_text(encoding="utf-8")


def test_a_folder_of_llmtest_cells(tmp_path):
    write(tmp_path / "token_len_1000_depth_0_results.json", llmtest_cell(1000, 0, 10))
    write(tmp_path / "token_len_1000_depth_0_results_2.json", llmtest_cell("1000", "0", "5"))
    write(tmp_path / "token_len_2000_depth_119_results.json", llmtest_cell(2000, 1.199, 1))
    write(tmp_path / "token_len_3000_depth_0_results.json", llmtest_cell(3000, 0, None))
    (panel,) = foreign_panels(tmp_path)

    assert (panel.source, panel.model, panel.task) == (LLMTEST, "claude-2.1", "needle-in-a-haystack")
    assert panel.needle.startswith("The best thing to do in San Francisco")
    assert (panel.lengths, panel.depths) == ((1000, 2000, 3000), (0.0, 1.199))
    assert (panel.cells[1000, 0.0].n, panel.cells[1000, 0.0].mean) == (2, 0.75)
    assert panel.cells[2000, 1.199].mean == 0.1
    missing = panel.cells[3000, 0.0]  # no judge's score is an error, not a zero
    assert (missing.n, missing.counts["error"]) == (0, 1)


def test_a_list_is_named_by_its_file_and_a_numbered_one_beside_it_is_a_repeat(tmp_path):
    for name, score in (("gpt.json", 10), ("gpt_2.json", 1), ("llama_3.json", 10)):
        write(tmp_path / name, [{"token_limit": 73571, "depth_percent": 0, "score": score}])
    gpt, llama = foreign_panels(tmp_path)

    assert (gpt.model, gpt.overall.n, gpt.overall.mean) == ("gpt", 2, 0.55)
    assert llama.model == "llama_3"


def test_opencompass_results_folder(tmp_path):
    results = tmp_path / "20240101_000000" / "results" / "internlm2-chat-7b"
    details = {"0": {"pred": "a", "score": 100}, "1": {"pred": "b", "score": 75.0}}
    write(results / "Length1000Depth0_origin_en_4k.json", {"score": 87.5, "details": details})
    write(results / "Length4000Depth52_origin_en_4k.json", {"score": 20, "details": {"0": {"pred": "x"}}})
    write(
        results / "Length1000_parallel_zh_4k.json",
        {"Depth0": 100.0, "Depth50": 40.0, "details": [], "average_score": 70},
    )
    write(results / "CDME_Length8000Depth100.json", {"score": 99.0})
    predictions = tmp_path / "20240101_000000" / "predictions" / "internlm2-chat-7b"
    write(predictions / "Length1000Depth0_origin_en_4k.json", {"0": {"prediction": "a", "gold": "b"}})
    write(tmp_path / "20240101_000000" / "summary" / "summary.csv", "dataset,m\nLength1000Depth0_origin_en_4k,1\n")
    panels = {(panel.task, panel.needle): panel for panel in foreign_panels(tmp_path)}

    assert set(panels) == {("origin", "en_4k"), ("parallel", "zh_4k"), ("cdme", "needle")}
    assert {panel.source for panel in panels.values()} == {OPENCOMPASS}
    assert {panel.model for panel in panels.values()} == {"internlm2-chat-7b"}
    origin = panels["origin", "en_4k"]
    assert (origin.cells[1000, 0.0].n, origin.cells[1000, 0.0].mean) == (2, 0.875)
    assert (origin.cells[4000, 52.0].n, origin.cells[4000, 52.0].mean) == (1, 0.2)
    assert panels["parallel", "zh_4k"].depths == (0.0, 50.0)
    assert panels["cdme", "needle"].cells[8000, 100.0].mean == 0.99


def test_opencompass_summary_csv(tmp_path):
    text = (
        "dataset,version,metric,mode,model-a,model-b\n"
        "--------- NeedleBench ---------,-,-,-,-,-\n"
        "Length1000Depth0_origin_en_4k,12ab,score,gen,100.00,50.00\n"
        "Length1000Depth100_origin_en_4k,12ab,score,gen,80.00,-\n"
        "Length1000_parallel_en_4k,12ab,average_score,gen,70,70\n"
        "Length1000_parallel_en_4k,12ab,Depth0,gen,60,60\n"
        "Length1000_parallel_en_4k,12ab,Depth100,gen,80,80\n"
    )
    panels = {(panel.model, panel.task): panel for panel in foreign_panels(write(tmp_path / "summary.csv", text))}

    assert panels["model-a", "origin"].overall.mean == pytest.approx(0.9)
    assert panels["model-b", "origin"].overall.n == 1
    assert panels["model-a", "parallel"].depths == (0.0, 100.0)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("missing.json", None, "does not exist"),
        ("empty.json", "", "is empty"),
        ("empty.csv", "", "is empty"),
        ("broken.json", "{", "is not JSON"),
        ("none.json", '{"schema": 1, "records": []}', "nothing to draw"),
        ("journal.jsonl", "hello\n", "nothing to draw"),
        ("journal.jsonl", '{"key": "k", "outcome": "found"}\n', "holds no trials"),
        ("binary.json", "\x80\x81", "is binary, not JSON"),
        ("folder/a.json", "{", "cannot be read"),
        ("folder/notes.txt", "none", "holds no results"),
        ("a.json", {"hello": 1}, "holds no results"),
        ("a.json", [], "holds no results"),
        ("a.json", llmtest_cell(1000, 0, "ten"), "score that is not a number"),
        ("a.json", llmtest_cell(1000, 0, float("nan")), "score that is not a number"),
        ("a.json", llmtest_cell(1000, 0, 11), "cannot be a cell"),
        ("a.json", llmtest_cell(1000, 101, 10), "cannot be a cell"),
        ("a.json", llmtest_cell([1], 0, 10), "length that is not a number"),
        ("Length1Depth0_a.json", {"score": 120}, "cannot be a cell"),
        ("a.csv", "dataset,m\nmmlu,50\n", "holds no results"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(tmp_path, capsys, name, content, message):
    path = tmp_path / name
    if content is not None:
        path.parent.mkdir(exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="latin-1")

    path = path.parent if "folder" in name else path
    error = refusal(capsys, "plot", path, "--out", tmp_path / "out")
    assert error.startswith("needlework plot: ")
    assert message in error
    assert not (tmp_path / "out").exists()


def test_a_wrong_option_and_a_folder_that_cannot_be_written_are_one_line(run, capsys):
    assert "pink" in refusal(capsys, "plot", run, "--colors", "pink")
    assert "run-1/results.json" in refusal(capsys, "plot", run, "--out", run / "results.json")
    assert refusal(capsys, "plot")
