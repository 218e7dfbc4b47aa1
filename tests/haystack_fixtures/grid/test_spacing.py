"""Grids equal those of the published systems."""

import pytest

from needlework.core.errors import InputError
from needlework.core.grid import (
    doubling,
    linear,
    llmtest_sigmoid,
    opencompass_linear,
    opencompass_sigmoid,
    parse_depths,
    parse_lengths,
    parse_tokens,
)
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.tasks.catalogue import grid
from tests.parity.cases import cases

NEEDLEBENCH_PARTS = {"niah": "single", "parallel": "multi_retrieval", "needlebench_reasoning": "multi_reasoning"}


def test_evalscope_lengths_and_depths():
    for case in cases("niah/es_grids"):
        assert linear(*case["context_lengths"]) == case["result_lengths"]
        assert linear(*case["depths"]) == case["result_depths"]


def test_llmtest_lengths_and_depths():
    for case in cases("niah/gk_grids"):
        if case["kind"] == "context_lengths":
            assert linear(case["min"], case["max"], case["num_intervals"]) == case["result"]
        elif case["kind"] == "depth_percents":
            space = linear if case["type"] == "linear" else llmtest_sigmoid
            assert space(case["min"], case["max"], case["intervals"]) == case["result"]
        elif case["kind"] == "logistic":
            assert llmtest_sigmoid(case["x"], case["x"], 1) == [case["result"]]


def test_opencompass_depths():
    for case in cases("niah/oc_depth_percents"):
        if "result" in case:
            space = opencompass_linear if case["type"] == "linear" else opencompass_sigmoid
            assert space(0, 100, case["intervals"]) == case["int_truncated"]


def test_needlebench_presets_have_the_published_grids(tmp_path):
    by_name = {case["name"]: case for case in cases("niah/oc_needlebench_grids")}
    for name, case in by_name.items():
        if not name.startswith("needlebench"):
            continue
        version, size = ("v2" if "_v2_" in name else "v1"), name.split("_")[-1]
        settings = resolve_settings({"preset": f"needlebench-{version}-{size}"}, {}, tmp_path)
        sparse = version == "v1" and size not in ("4k", "8k")
        depths = by_name[
            "v2 depths_list_10 (11)" if version == "v2" else "v1 depths sparse (11)" if sparse else "v1 depths (20)"
        ]["value"]

        for suite in settings.suites:
            assert list(suite.lengths) == case["single"]["context_lengths"], name
            assert list(suite.depths) == depths, name
            published = case[NEEDLEBENCH_PARTS[suite.task]]
            assert [suite.repeats] == published["num_repeats_per_file"], name
            assert ([] if suite.diff is None else [suite.diff]) == published["diff"], name
        assert {suite.task for suite in settings.suites} == set(NEEDLEBENCH_PARTS)
        assert len(settings.suites) == 6


@pytest.mark.parametrize(
    ("preset", "requests"),
    [
        # Lengths x depths x (S-RT and M-RS trials, two languages) + lengths x M-RT trials, two languages.
        ("needlebench-v1-4k", 4 * 20 * (2 * 10 + 4 * 2 * 10) + 4 * 2 * 25),
        ("needlebench-v1-8k", 4 * 20 * (2 * 10 + 4 * 2 * 10) + 4 * 2 * 25),
        ("needlebench-v1-32k", 8 * 11 * (2 * 10 + 4 * 2 * 10) + 8 * 2 * 25),
        ("needlebench-v1-128k", 9_200),
        ("needlebench-v1-200k", 9_200),
        ("needlebench-v1-256k", 3 * 11 * 100 + 3 * 50),
        ("needlebench-v1-1000k", 9_200),
        ("needlebench-v2-4k", 4 * 11 * 100 + 4 * 50),
        ("needlebench-v2-8k", 9_200),
        ("needlebench-v2-32k", 9 * 11 * 100 + 9 * 50),
        ("needlebench-v2-128k", 8 * 11 * (2 * 10 + 4 * 2 * 10) + 8 * 2 * 25),
        ("needlebench-v2-200k", 10_350),
        ("needlebench-v2-256k", 3_450),
        ("needlebench-v2-1000k", 10_350),
        # Nine numbers of statements, four kinds of question, ten of each; published for English alone.
        ("needlebench-v2-atc", 2 * 9 * 4 * 10),
    ],
)
def test_needlebench_presets_have_the_published_number_of_requests(preset, requests, tmp_path):
    settings = resolve_settings({"preset": preset, "model": ["mock:perfect"]}, {}, tmp_path)

    assert sum(len(series.cells) for series in grid(settings)) == requests


def test_presets_have_the_published_sizes(tmp_path):
    def sizes(name):
        suites = resolve_settings({"preset": name}, {}, tmp_path).suites
        return [(suite.language, len(suite.lengths), len(suite.depths), suite.repeats) for suite in suites]

    assert sizes("llmtest") == [("en", 35, 35, 1)]
    assert sizes("evalscope") == [("en", 10, 10, 1), ("zh", 10, 10, 1)]
    assert sizes("cdme-8k") == [("zh", 8, 20, 10)]
    assert sizes("cdme-32k") == [("zh", 32, 20, 10)]
    assert sizes("cdme-200k") == [("zh", 13, 20, 10)]


def test_tokens_can_be_written_short():
    assert [parse_tokens("--lengths", word) for word in ("512", "4k", "1.5K", "1m")] == [512, 4000, 1500, 1_000_000]


def test_lists_and_ranges():
    assert parse_lengths("--lengths", "4k,1k 2k,1k", "linear") == (1000, 2000, 4000)
    assert parse_lengths("--lengths", "1k, 2k,", "linear") == (1000, 2000)
    assert parse_lengths("--lengths", "1k:8k:4", "log") == (1000, 2000, 4000, 8000)
    assert parse_lengths("--lengths", "1k:10k", "doubling") == (1000, 2000, 4000, 8000, 10_000)
    assert parse_depths("--depths", "0:100:5", "linear") == (0, 25, 50, 75, 100)
    assert parse_depths("--depths", "50%,2.5", "linear") == (2.5, 50)
    assert doubling(1000, 4000) == [1000, 2000, 4000]


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (parse_lengths, "abc"),
        (parse_lengths, "1k,,2k"),
        (parse_lengths, ",2k"),
        (parse_depths, "0, ,50"),
        (parse_lengths, "1.0001k"),
        (parse_lengths, "0"),
        (parse_lengths, "1k:2k"),
        (parse_lengths, "2k:1k:3"),
        (parse_lengths, "1k:2k:0"),
        (parse_lengths, ","),
        (parse_depths, "101"),
        (parse_depths, "-1"),
        (parse_depths, "nan"),
        (parse_depths, "0:100:x"),
    ],
)
def test_a_bad_grid_is_one_line_that_names_the_option(parse, text):
    with pytest.raises(InputError) as caught:
        parse("--grid", text, "linear")

    assert "--grid" in str(caught.value)
    assert "\n" not in str(caught.value)
