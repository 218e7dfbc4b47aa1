"""Several runs against the first: one line each, the lengths from which on one is worse, and what nobody can know."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from needlework.results.files.json_files import comparison_object
from needlework.results.html.comparison import comparison_html
from needlework.results.pictures.files import write_charts
from needlework.results.report.charts import score_lines
from needlework.results.statistics.comparison.comparison import compare
from needlework.results.statistics.comparison.many_runs import compare_runs
from needlework.results.statistics.comparison.provenance import differing_parts
from needlework.results.tables.comparison import comparison_lines
from tests.results.changed import changed
from tests.results.statistics.comparison.test_comparison import grid, record

ALL = grid(lambda *_: 1.0)
NONE_AT_4K = grid(lambda length, *_: float(length < 4000))


def skipped_at_4k():
    lost = {"outcome": "skipped", "score": None}
    return [each if each.length < 4000 else changed(each, **lost) for each in grid(lambda *_: 1.0)]


def test_each_run_is_compared_with_the_first_in_the_order_given():
    found = compare_runs({"base": ALL, "worse": NONE_AT_4K, "same": ALL})

    assert [each.name for each in found] == ["base", "worse", "same"]
    assert [each.verdict for each in found] == [None, "worse", "no difference shown"]
    assert [each.worse_from for each in found] == [None, 4000, None]
    assert found[1].scores.mean == 0.5
    assert {length: scores.mean for length, scores in found[1].lengths.items()} == {1000: 1.0, 4000: 0.0}


def test_holm_counts_the_configurations_and_one_against_one_is_what_compare_says():
    (task,) = compare(ALL, NONE_AT_4K).tasks
    _, alone = compare_runs({"base": ALL, "worse": NONE_AT_4K})
    _, first, second = compare_runs({"base": ALL, "worse": NONE_AT_4K, "same": ALL})

    assert (alone.pair.whole.p_adjusted, alone.pair.whole.difference) == (task.p, task.difference)
    assert first.pair.whole.p_adjusted == first.pair.tasks[0].p_adjusted == 2 * task.p
    assert second.pair.whole.p_adjusted == 1.0


def test_a_run_that_is_worse_in_one_task_alone_is_worse_and_says_where():
    both = [*ALL, *grid(lambda *_: float(_[1] != 50), task="chain")]
    mixed = [*NONE_AT_4K, *grid(lambda *_: 1.0, task="chain")]
    base, run = compare_runs({"base": both, "mixed": mixed})

    assert [task.verdict for task in run.pair.tasks] == ["better", "worse"]
    assert (base.is_worse, run.is_worse, run.verdict) == (False, True, "no difference shown")
    assert comparison_lines((base, run), {})[-1] == "mixed is worse in niah · code"


@pytest.mark.parametrize(
    ("right", "worse_from"),
    [(lambda _: False, 1000), (lambda length: length > 1000, None)],
    ids=["everywhere", "at short lengths alone"],
)
def test_worse_from_takes_all_longer_lengths_too(right, worse_from):
    run = compare_runs({"base": ALL, "broken": grid(lambda length, *_: float(right(length)))})[1]
    assert (run.verdict, run.worse_from) == ("worse", worse_from)


def test_a_window_that_is_too_small_is_said_first_and_is_worse_without_a_sample():
    found = compare_runs({"base": ALL, "small": skipped_at_4k()})
    lines = comparison_lines(found, {"base": 8192, "small": 1024})

    assert lines[0] == (
        "small cannot answer 36 of 72 trials that base scored: all 36 at 4k (36 skipped); window 1024, base had 8192"
    )
    assert (found[1].verdict, found[1].worse_from) == ("worse", 4000)
    assert "losses as misses" in lines[2]
    assert lines[-1].split()[:4] == ["small", "36", "of", "72"]


def test_samples_of_several_tasks_are_samples_of_their_own():
    two = [*ALL, *grid(lambda *_: 1.0, task="chain")]
    whole = compare_runs({"base": two, "same": two})[1].pair.whole

    assert whole.difference.clusters == 24


def test_few_samples_are_undetermined_and_say_so():
    few = grid(lambda *_: 1.0, repeats=3)
    found = compare_runs({"base": few, "other": grid(lambda *_: 0.0, repeats=3)})

    assert found[1].verdict == "undetermined"
    assert comparison_lines(found, {})[-1].startswith("undetermined: too few samples for a verdict (other)")


def test_samples_too_few_for_any_p_with_so_many_runs_are_undetermined():
    """Seven samples have no p below 2 / 2^7; times four that is above 5 %."""
    seven, wrong = grid(lambda *_: 1.0, repeats=7), grid(lambda *_: 0.0, repeats=7)
    found = compare_runs({"base": seven, "a": wrong, "b": seven, "c": seven, "d": seven})

    assert [each.verdict for each in found[1:]] == ["undetermined"] * 4
    assert comparison_lines(found, {})[-1].endswith("(a, b, c, d); give --repeats 8 or more")
    assert compare_runs({"base": seven, "a": wrong})[1].verdict == "worse"


@pytest.mark.parametrize("runs", [{"base": []}, {"base": [], "other": ALL}, {"base": ALL, "other": []}])
def test_runs_that_are_not_there_spoil_nothing(runs, tmp_path):
    found = compare_runs(runs)

    comparison_lines(found, {})
    comparison_object(found, {})
    comparison_html(found, title="t")
    assert all(each.verdict is None for each in found)


def test_other_cells_are_not_compared_and_other_prompts_are_told():
    elsewhere = [record(length=77)]
    reworded = [changed(each, prompt={"sha256": "other"}) for each in ALL]
    found = compare_runs({"base": ALL, "elsewhere": elsewhere, "reworded": reworded})
    lines = comparison_lines(found, {})

    assert any("elsewhere is not compared" in line and "no trial in common" in line for line in lines)
    assert "caution: reworded was asked other prompts in 72 trials (another tokenizer?)" in lines


def test_the_summary_is_small_and_has_what_a_dashboard_shows():
    base, small = comparison_object(compare_runs({"base": ALL, "small": skipped_at_4k()}), {"small": {"window": 1024}})

    assert (base["score"], base["difference"], base["verdict"]) == (1.0, None, None)
    assert (small["window"], small["verdict"], small["worse_from"], small["scored"]) == (1024, "worse", 4000, 36)
    assert small["losses"] == [
        {
            "configuration": "small", "lost": 36, "of": 72, "outcomes": {"skipped": 36},
            "lengths": {"4000": {"lost": 36, "of": 36}},
        }
    ]  # fmt: skip
    assert small["difference"]["losses_as_misses"]["mean"] == -0.5
    assert [each["length"] for each in small["lengths"]] == [1000, 4000]


def test_page_and_picture_name_every_configuration_and_load_nothing(tmp_path):
    found = compare_runs({"base": ALL, "<b>small</b>": skipped_at_4k()})
    paths = write_charts(score_lines(found, "scores", "a matrix"), tmp_path)
    page = comparison_html(found, title="a matrix", parts={"<b>small</b>": ["window: 8192 / 1024"]}, picture=b"PNG")

    assert [path.name for path in paths] == ["scores.png", "scores.svg"]
    said = "".join(ET.parse(paths[1]).getroot().itertext())
    assert "base" in said
    assert "small" in said
    assert "<b>small" not in page
    assert "&lt;b&gt;small" in page
    assert "default-src &#39;none&#39;" in page
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")


def test_the_command_of_a_served_model_is_no_difference_beside_what_stands_for_the_server():
    def manifest(server, command):
        return {"options": {"server_id": server}, "models": {"openai:m": {"command": command, "window": 512}}}

    assert differing_parts(manifest("a", "x"), manifest("b", "y")) == ["server_id: a / b"]


def test_undecided_answers_make_a_score_a_range():
    lost = {"outcome": "censored", "score": None}
    half = [changed(each, **lost) if each.repeat % 2 else each for each in ALL]
    found = compare_runs({"base": ALL, "half": half})
    rows = comparison_object(found, {})

    assert (rows[0]["range"], rows[1]["range"]) == (None, [0.5, 1.0])
    (line,) = [line for line in comparison_lines(found, {}) if line.startswith("half ") and "50.0..100" in line]
    assert "50.0..100, scored 100 (" in line
