"""Cells: their ids, lengths, depths and limits, what does not fit; shards of a run, and cards for local models."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core import devices
from needlework.core.devices import Gpus, Shard, device_kind, divided, free_cores, gpus, places, shared_out
from needlework.core.errors import InputError
from needlework.core.grid import (
    Cell,
    Misfit,
    first_trials,
    left_out,
    linear,
    llmtest_sigmoid,
    nothing_fits,
    opencompass_linear,
    opencompass_sigmoid,
    parse_depths,
    parse_id,
    parse_lengths,
    slug,
    spread_depths,
    spread_questions,
)
from needlework.haystack_fixtures.configuration.resolve import recipe_fields, resolve_settings
from needlework.haystack_fixtures.tasks.catalogue import grid
from tests.parity.cases import cases

cells = st.builds(
    Cell,
    task=st.sampled_from(["niah", "multi_needle", "parallel"]),
    length=st.integers(1, 10_000_000),
    depth=st.one_of(st.none(), st.integers(0, 100).map(float), st.floats(0, 100).map(lambda x: round(x, 3))),
    needle=st.sampled_from(["code", "code_zh", "goat_cheese", "小明"]),
    repeat=st.integers(0, 999),
    model=st.sampled_from(["", "smollm2", "mock_perfect", "openai_gpt-4o"]),
)


@given(cells)
def test_an_id_says_which_cell_it_is(cell):
    assert parse_id(cell.id) == cell
    assert parse_id(f"benchmarks/test_niah.py::test_needle[{cell.id}]") == cell
    escaped = cell.id.encode("unicode_escape").decode("ascii")  # as pytest writes it where no ini file says otherwise
    assert parse_id(f"benchmarks/test_niah.py::test_needle[{escaped}]") == cell


def test_other_ids_are_no_cells_and_a_slug_is_safe_in_file_names():
    assert {parse_id(text) for text in ("", "test_x[1-2]", "niah-len-depth50-code-r0", "a.py::test_b")} == {None}
    assert [slug(name) for name in ("hf:org/Some Model", "///")] == ["hf_org_Some_Model", "unnamed"]


@given(cells)
def test_cells_of_one_haystack_differ_in_depth_or_in_the_question_about_a_document(cell):
    assert replace(cell, depth=12.0).haystack_id == cell.haystack_id
    assert replace(cell, length=cell.length + 1).haystack_id != cell.haystack_id
    ids = [replace(cell, needle=needle).haystack_id for needle in ("doc3_q0", "doc3_q17", "doc31_q0")]
    assert ids[0] == ids[1] != ids[2]


NEEDLEBENCH_PARTS = {"niah": "single", "parallel": "multi_retrieval", "needlebench_reasoning": "multi_reasoning"}


def test_lengths_and_depths_are_those_of_evalscope_llmtest_and_opencompass():
    for case in cases("niah/es_grids"):
        assert linear(*case["context_lengths"]) == case["result_lengths"]
        assert linear(*case["depths"]) == case["result_depths"]
    for case in cases("niah/gk_grids"):
        if case["kind"] == "context_lengths":
            assert linear(case["min"], case["max"], case["num_intervals"]) == case["result"]
        elif case["kind"] == "depth_percents":
            space = linear if case["type"] == "linear" else llmtest_sigmoid
            assert space(case["min"], case["max"], case["intervals"]) == case["result"]
        elif case["kind"] == "logistic":
            assert llmtest_sigmoid(case["x"], case["x"], 1) == [case["result"]]
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
    ("parse", "text", "spacing", "values"),
    [
        (parse_lengths, "4k,1k 2k,1k", "linear", (1000, 2000, 4000)),
        (parse_lengths, "1k, 2k,", "linear", (1000, 2000)),
        (parse_lengths, "512 1.5K 1m", "linear", (512, 1500, 1_000_000)),
        (parse_lengths, "1k:8k:4", "log", (1000, 2000, 4000, 8000)),
        (parse_lengths, "1k:10k", "doubling", (1000, 2000, 4000, 8000, 10_000)),
        (parse_lengths, "1k:4k", "doubling", (1000, 2000, 4000)),
        (parse_depths, "0:100:5", "linear", (0, 25, 50, 75, 100)),
        (parse_depths, "50%,2.5", "linear", (2.5, 50)),
    ],
)
def test_lists_and_ranges(parse, text, spacing, values):
    assert parse("--grid", text, spacing) == values


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        *(
            (parse_lengths, text)
            for text in ("abc", "1k,,2k", ",2k", "1.0001k", "0", "1k:2k", "2k:1k:3", "1k:2k:0", ",")
        ),
        *((parse_depths, text) for text in ("0, ,50", "101", "-1", "nan", "0:100:x")),
    ],
)
def test_a_bad_grid_is_one_line_that_names_the_option(parse, text):
    with pytest.raises(InputError, match="--grid"):
        parse("--grid", text, "linear")


PANELS = [
    tuple(
        Cell("niah", length, depth, needle, repeat)
        for length in (1000, 2000)
        for repeat in (0, 1)
        for depth in (0.0, 50.0)
    )
    for needle in ("a", "b")
]
ALL = {cell for panel in PANELS for cell in panel}


def test_the_shortest_lengths_first_then_repeats_then_needles_and_depths_or_rows_in_their_order():
    found = first_trials(PANELS, ALL, 5, rows=False)
    first = {cell for cell in ALL if cell.length == 1000 and cell.repeat == 0}
    assert found == first | {Cell("niah", 1000, 0.0, "a", 1)}
    assert first_trials(PANELS, ALL, 8, rows=True) == set(PANELS[0])
    # A share is of what was selected, and one trial at least.
    assert [len(first_trials(PANELS, ALL, share, rows=False)) for share in (0.25, 0.001)] == [4, 1]


@given(st.sets(st.sampled_from(sorted(ALL, key=str))), st.integers(1, 20), st.booleans())
def test_a_larger_limit_keeps_what_a_smaller_one_has(wanted, limit, rows):
    few, more = (first_trials(PANELS, wanted, each, rows=rows) for each in (limit, limit + 1))
    assert few <= more <= wanted
    assert len(few) == min(limit, len(wanted))


CHAIN = Misfit("chain", 1000, None)
MISFITS = [
    *(Misfit("copy", length, 2065) for length in (1000, 2000)),
    *(Misfit(f"ruler_cwe {label}", 1000, least) for label, least in (("freq6", 1138), ("freq6_zh", 1200))),
    CHAIN,
    Misfit("doc_size", 1000, 1217, share=25),
]


def test_each_task_that_does_not_fit_is_named_with_its_lengths_and_the_least_that_fits_all_its_needles():
    tasks = (
        "copy at 1000, 2000 (from --lengths 2065), ruler_cwe at 1000 (from --lengths 1200),"
        " chain at 1000, doc_size at 1000 (from --lengths 4868)"
    )
    assert left_out(MISFITS) == f"left out, too short: {tasks}"
    remedy = "or other tasks (--task)"
    assert str(nothing_fits(MISFITS)) == f"--lengths: '1000,2000': too short for {tasks}: use at least 4868, {remedy}"
    assert str(nothing_fits([CHAIN])) == f"--lengths: '1000': too short for chain at 1000: use longer ones, {remedy}"


DEPTHS = (0.0, 25.0, 50.0, 75.0, 100.0)


@given(st.integers(0, 99), st.sampled_from([1000, 4000]))
def test_every_five_samples_have_each_of_five_depths_once(seed, length):
    asked = [spread_depths(DEPTHS, seed, length, repeat) for repeat in range(20)]

    for turn in range(0, 20, 5):
        assert Counter(asked[turn : turn + 5]) == Counter((depth,) for depth in DEPTHS)
    assert asked == [spread_depths(DEPTHS, seed, length, repeat) for repeat in range(20)]


def settings(**written):
    return resolve_settings({"model": ["mock"], "lengths": "1k,2k", "repeats": "7"} | written, {}, Path())


def test_a_run_asks_each_sample_once_at_each_length_in_trials_that_are_the_same_without_spreading():
    """Keys leave the grid out: a run may go on with the other one."""
    (series,), (plain,) = grid(settings(depths="spread")), grid(settings())
    places = Counter((cell.length, cell.repeat) for cell in series.cells)

    assert len(series.cells) == 14
    assert set(places.values()) == {1}
    assert {cell.depth for cell in series.cells} == set(DEPTHS), "those of the preset"
    assert recipe_fields(plain.suite) == recipe_fields(series.suite)
    assert {cell.id for cell in series.cells} <= {cell.id for cell in plain.cells}


def test_the_depths_may_be_named():
    (suite,) = settings(depths="spread:0:100:11").suites

    assert suite.spread
    assert len(suite.depths) == 11
    with pytest.raises(InputError, match="--depths"):
        settings(depths="spread:0,120")


@given(st.integers(0, 99), st.integers(0, 4))
def test_every_five_questions_have_each_depth_once_and_repeats_go_through_all(seed, turn):
    first = [spread_questions(DEPTHS, seed, question, 0) for question in range(5 * turn, 5 * turn + 5)]
    assert Counter(first) == Counter((depth,) for depth in DEPTHS)
    assert {spread_questions(DEPTHS, seed, 5 * turn, repeat) for repeat in range(5)} == {(depth,) for depth in DEPTHS}


CELLS = st.lists(
    st.builds(
        Cell,
        task=st.sampled_from(["niah", "chain", "leval_qa"]),
        length=st.sampled_from([500, 4000, 32_768, 131_072]),
        depth=st.sampled_from([None, 0.0, 50.0, 99.104]),
        needle=st.sampled_from(["code", "code_absent", "doc3_q1", "doc3_q2", "doc4_q1"]),
        repeat=st.integers(0, 3),
        model=st.sampled_from(["", "one", "two"]),
    ),
    max_size=60,
)


@given(CELLS, st.integers(1, 9), st.randoms())
def test_shards_are_all_cells_split_no_haystack_are_fair_and_the_same_in_any_order(drawn, of, chance):
    tests = dict(enumerate(drawn))
    parts = [divided(Shard(number, of), tests, [cell.id for cell in drawn]) for number in range(1, of + 1)]
    assert sorted(test for mine, _ in parts for test in mine) == sorted(tests)
    assert {division.counts for _, division in parts} == {tuple(len(mine) for mine, _ in parts)}
    assert len({division.selection for _, division in parts}) == 1

    shards_of = {}
    for number, (mine, _) in enumerate(parts):
        for test in mine:
            shards_of.setdefault(tests[test].haystack_id, set()).add(number)
    assert all(len(numbers) == 1 for numbers in shards_of.values())

    shares, units = shared_out(drawn, of), {}
    for cell in set(drawn):
        units[cell.haystack_id] = units.get(cell.haystack_id, 0) + cell.length * (32_768 + cell.length)
    loads = [sum(units[unit] for unit, owner in shares.items() if owner == number) for number in range(1, of + 1)]
    assert max(loads) <= sum(loads) / of + max(units.values(), default=0)

    shuffled = list(drawn)
    chance.shuffle(shuffled)
    assert shared_out(shuffled, of) == shares


def test_tests_without_a_cell_are_run_by_the_first_shard_and_are_no_trials():
    tests = {"plain": None, "asks": Cell("niah", 500, 50, "code")}
    first, division = divided(Shard(1, 2), tests, ["asks"])
    second, _ = divided(Shard(2, 2), tests, ["asks"])

    assert (first, second) == ({"plain", "asks"}, frozenset())
    assert division.counts == (1, 0)
    # Tests of one cell stay together.
    drawn = [Cell("niah", 500, 50, "code", repeat) for repeat in range(4)]
    mine, _ = divided(Shard(1, 3), {(name, cell): cell for name in "ab" for cell in drawn}, [])
    assert {cell for name, cell in mine if name == "a"} == {cell for name, cell in mine if name == "b"}


@pytest.mark.parametrize(
    ("environment", "found"),
    [
        ({"CUDA_VISIBLE_DEVICES": "0,1"}, Gpus(("0", "1"))),
        ({"CUDA_VISIBLE_DEVICES": ""}, Gpus(())),
        ({"CUDA_VISIBLE_DEVICES": "-1"}, Gpus(())),
        ({"CUDA_VISIBLE_DEVICES": "0,-1,2"}, Gpus(("0",))),
        ({"CUDA_VISIBLE_DEVICES": "GPU-a, GPU-b"}, Gpus(("GPU-a", "GPU-b"))),
        ({"HIP_VISIBLE_DEVICES": "1,2"}, Gpus(("1", "2"), "HIP_VISIBLE_DEVICES")),
        ({"ROCR_VISIBLE_DEVICES": "1,2"}, Gpus(("1", "2"), "ROCR_VISIBLE_DEVICES")),
    ],
)
def test_the_callers_own_list_is_the_whole_of_it(environment, found):
    assert gpus(environment) == found


@pytest.mark.parametrize(
    ("args", "available", "per_worker", "expected"),
    [
        ({}, (), 1, (None,)),
        ({}, ("0", "1"), 1, ("0", "1")),
        ({"device": "cuda"}, ("2",), 1, ("2",)),
        ({"device": "cuda:1"}, ("0", "1"), 1, (None,)),
        ({"device": "cpu"}, ("0", "1"), 1, (None,)),
        ({"device_map": "auto"}, ("0", "1"), 1, (None,)),
        ({"device_map": "auto"}, ("0", "1", "2", "3"), 2, ("0,1", "2,3")),
        ({"device_map": "auto"}, ("4", "5", "6"), 2, ("4,5",)),
        ({"device_map": "auto"}, ("0",), 2, (None,)),
    ],
)
def test_one_copy_a_gpu_or_group_of_them_and_one_on_a_cpu(args, available, per_worker, expected):
    assert places(args, Gpus(available), per_worker) == expected


def test_amds_driver_is_looked_at_where_there_is_no_nvidia_smi(tmp_path, monkeypatch):
    for node, number in enumerate(("0", "51110", "6771")):
        (tmp_path / str(node)).mkdir()
        (tmp_path / str(node) / "gpu_id").write_text(f"{number}\n")
    monkeypatch.setattr(devices, "_AMD_NODES", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert gpus({}) == Gpus(("0", "1"), "HIP_VISIBLE_DEVICES")


@pytest.mark.parametrize(("machine", "kind"), [("arm64", "mps"), ("x86_64", "cpu")])
def test_a_mac_computes_on_its_own_chip(monkeypatch, machine, kind):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setattr("platform.system", lambda: "Darwin")
    monkeypatch.setattr("platform.machine", lambda: machine)
    assert (device_kind(None), device_kind("cuda:1")) == (kind, "cuda")


def test_cores_that_others_use_are_not_free(monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    monkeypatch.setattr("os.sched_getaffinity", lambda _pid: range(8))
    monkeypatch.setattr("psutil.cpu_percent", lambda interval: 87.5)
    assert free_cores() == 1
