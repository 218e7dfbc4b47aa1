"""Grids equal those of the published systems."""

import pytest

from haystack_fixtures.errors import InputError
from haystack_fixtures.grids import (
    doubling,
    linear,
    llmtest_sigmoid,
    opencompass_linear,
    opencompass_sigmoid,
    parse_depths,
    parse_lengths,
    parse_tokens,
)
from haystack_fixtures.settings import resolve_settings


def test_evalscope_lengths_and_depths(parity):
    for case in parity("es_grids.json"):
        assert linear(*case["context_lengths"]) == case["result_lengths"]
        assert linear(*case["depths"]) == case["result_depths"]


def test_llmtest_lengths_and_depths(parity):
    for case in parity("gk_grids.json"):
        if case["kind"] == "context_lengths":
            assert linear(case["min"], case["max"], case["num_intervals"]) == case["result"]
        elif case["kind"] == "depth_percents":
            space = linear if case["type"] == "linear" else llmtest_sigmoid
            assert space(case["min"], case["max"], case["intervals"]) == case["result"]
        elif case["kind"] == "logistic":
            assert llmtest_sigmoid(case["x"], case["x"], 1) == [case["result"]]


def test_opencompass_depths(parity):
    for case in parity("oc_depth_percents.json"):
        if "result" in case:
            space = opencompass_linear if case["type"] == "linear" else opencompass_sigmoid
            assert space(0, 100, case["intervals"]) == case["int_truncated"]


def test_needlebench_presets_have_the_published_grids(parity, tmp_path):
    cases = {case["name"]: case for case in parity("oc_needlebench_grids.json")}
    for name, case in cases.items():
        if not name.startswith("needlebench"):
            continue
        version, size = ("v2" if "_v2_" in name else "v1"), name.split("_")[-1]
        settings = resolve_settings({"preset": f"needlebench-{version}-{size}"}, {}, tmp_path)
        sparse = version == "v1" and size not in ("4k", "8k")
        depths = cases[
            "v2 depths_list_10 (11)" if version == "v2" else "v1 depths sparse (11)" if sparse else "v1 depths (20)"
        ]["value"]

        for suite in settings.suites:
            assert list(suite.lengths) == case["single"]["context_lengths"], name
            assert list(suite.depths) == depths, name
            repeats = case["single" if suite.task == "niah" else "multi_retrieval"]["num_repeats_per_file"]
            assert [suite.repeats] == repeats, name


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
    assert parse_lengths("--lengths", "1k:8k:4", "log") == (1000, 2000, 4000, 8000)
    assert parse_lengths("--lengths", "1k:10k", "doubling") == (1000, 2000, 4000, 8000, 10_000)
    assert parse_depths("--depths", "0:100:5", "linear") == (0, 25, 50, 75, 100)
    assert parse_depths("--depths", "50%,2.5", "linear") == (2.5, 50)
    assert doubling(1000, 4000) == [1000, 2000, 4000]


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (parse_lengths, "abc"),
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
