"""Result files of LLMTest_NeedleInAHaystack and OpenCompass, written here in their published formats."""

import json

import pytest

from needlework.core.errors import InputError
from needlework.results.files.foreign import LLMTEST, OPENCOMPASS, foreign_panels

SANDWICH = "\nThe best thing to do in San Francisco is eat a sandwich.\n"


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def llmtest_cell(length, depth, score, **more):
    cell = {"model": "claude-2.1", "context_length": length, "depth_percent": depth, "version": 1, "needle": SANDWICH}
    return cell | {"model_response": "Eat a sandwich", "score": score, "test_duration_seconds": 1.5} | more


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
        ("a.json", {"hello": 1}, "holds no results"),
        ("a.json", [], "holds no results"),
        ("a.json", "{", "cannot be read"),
        ("a.json", llmtest_cell(1000, 0, "ten"), "score that is not a number"),
        ("a.json", llmtest_cell(1000, 0, float("nan")), "score that is not a number"),
        ("a.json", llmtest_cell(1000, 0, 11), "cannot be a cell"),
        ("a.json", llmtest_cell(1000, 101, 10), "cannot be a cell"),
        ("a.json", llmtest_cell([1], 0, 10), "length that is not a number"),
        ("Length1Depth0_a.json", {"score": 120}, "cannot be a cell"),
        ("a.csv", "dataset,m\nmmlu,50\n", "holds no results"),
    ],
)
def test_other_files_are_refused_in_one_line(tmp_path, name, content, message):
    with pytest.raises(InputError, match=message) as caught:
        foreign_panels(write(tmp_path / name, content))
    assert "\n" not in str(caught.value)
