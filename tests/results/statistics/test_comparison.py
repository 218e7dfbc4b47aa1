"""Comparing runs: the join, what is counted apart, corrections, verdicts, what differs beside scores."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.errors import InputError
from needlework.results.report.comparison import (
    comparison_lines,
    comparison_sections,
    comparison_sentence,
    loss_words,
    pair_sections,
)
from needlework.results.report.section import section_lines
from needlework.results.statistics.comparison.comparison import compare, compare_runs
from needlework.results.statistics.comparison.provenance import (
    changed_parts,
    check_dtypes,
    differing_parts,
    weights_lines,
)
from tests.results.builders import new_record


def record(score=1.0, **fields):
    """A record of the fields that a comparison reads; no score is an error."""
    at = {"model": "m", "length": 1000, "depth": 50.0, "repeat": 0, "task": "niah", "needle": "code"} | fields
    name = "{task}-len{length}-depth{depth}-{needle}-r{repeat}".format(**at)
    prompt = {"sha256": name, "filler_sha256": "f", "tokens": 900, "needles": []}
    return new_record(**({"outcome": "error" if score is None else "partial", "score": score, "prompt": prompt} | at))


def grid(score, repeats=12, **fields):
    return [
        record(score(length, depth, repeat), length=length, depth=depth, repeat=repeat, **fields)
        for length in (1000, 4000)
        for depth in (0.0, 50.0, 100.0)
        for repeat in range(repeats)
    ]


ALL = grid(lambda *_: 1.0)
NONE_AT_4K = grid(lambda length, *_: float(length < 4000))


def pair_of(first, second):
    return compare_runs({"A": first, "B": second})[1].pair


def lines_of(first, second):
    """What a terminal says of the pair."""
    runs = compare_runs({"A": first, "B": second})
    return [line.strip() for line in section_lines(pair_sections(runs[1], runs))]


def test_a_drop_at_one_depth_by_hand():
    """Each of twelve repeats fails at 50 % of both lengths: 24 of 72 pairs, all one way."""
    second = grid(lambda length, depth, repeat: float(depth != 50))
    pair = pair_of(ALL, second)
    (task,) = pair.tasks
    whole = task.whole

    assert (whole.n, *(share.value for share in whole.scores), whole.verdict) == (
        72,
        1.0,
        pytest.approx(2 / 3),
        "worse",
    )
    assert (whole.difference.mean, whole.difference.clusters) == (pytest.approx(-1 / 3), 12)
    assert whole.p == pytest.approx(2 / 2**12)
    assert pair.changed(1) == []
    changes = [(at, cell.difference.mean) for _, at, cell in pair.changed(-1)]
    assert changes == [((1000, 50.0), -1.0), ((4000, 50.0), -1.0)]
    columns = [(length, group.difference.mean, group.n) for length, group in task.columns.items()]
    assert columns == [(length, pytest.approx(-1 / 3), 36) for length in (1000, 4000)]
    rows = [(depth, group.difference.mean) for depth, group in task.rows.items()]
    assert rows == [(0.0, 0.0), (50.0, -1.0), (100.0, 0.0)]
    assert "means of cells as seen: 2 cells regressed, 0 improved" in lines_of(ALL, second)


@pytest.mark.parametrize(("lost", "is_noted"), [(4, True), (3, False), (8, False)])
def test_p_that_disagrees_with_the_interval_is_explained(lost, is_noted):
    """Four of twelve samples lost: Student's t says worse, the sign flips that it may be chance."""
    first, second = ([record(float(repeat >= few), repeat=repeat) for repeat in range(12)] for few in (0, lost))
    runs = compare_runs({"A": first, "B": second})

    notes = [note for note in comparison_sections(runs)[0].notes if "disagree" in note]
    notes += [line for line in lines_of(first, second) if "disagree" in line]
    starts = ("B: p and the 95 % interval disagree, and p decides: ", "niah · code: p and the 95 % interval disagree")
    assert [note.startswith(start) for note, start in zip(notes, starts, strict=is_noted)] == [True, True] * is_noted


def test_what_is_not_scored_on_both_sides_is_counted_once_and_apart():
    first = [record(score, repeat=at) for at, score in enumerate((1.0, None, 1.0, None, 1.0))]
    second = [record(score, repeat=at) for at, score in ((0, 0.0), (1, 1.0), (2, None), (3, None), (5, 1.0), (6, 1.0))]
    pair = pair_of(first, second)

    assert (pair.whole.n, *pair.unscored, *pair.only) == (1, 1, 1, 1, 1, 2)
    ((at, cell),) = pair.tasks[0].cells.items()
    assert (pair.tasks[0].family, at) == (("", "niah", "code"), (1000, 50.0))
    assert (cell.n, *(share.value for share in cell.scores), cell.unscored) == (1, 1.0, 0.0, 6)
    assert [loss_words(loss, (None, None), ("A", "B")) for loss in pair.whole.losses] == [
        "A cannot answer 1 of 2 trials that B scored: 1 of 2 at 1k (1 error)",
        "B cannot answer 1 of 2 trials that A scored: 1 of 2 at 1k (1 error)",
    ]
    assert {
        "A: A: 5 trials, 3 scored, 2 error",
        "B: B: 6 trials, 4 scored, 2 error",
        "pairs: 1, 1 unscored in A only, 1 unscored in B only, 1 unscored in both, 1 only in A, 2 only in B",
        "caution: niah · code: from 1 sample; a verdict takes 6",
    } <= set(lines_of(first, second))


def test_another_model_is_compared_and_several_go_by_name():
    assert compare([record(model="small")], [record(model="large")]).whole.n == 1

    both = [record(model=model, repeat=repeat) for model in ("a", "b") for repeat in range(3)]
    assert [task.family for task in compare(both, both).tasks] == [("a", "niah", "code"), ("b", "niah", "code")]
    with pytest.raises(ValueError, match="several models"):
        compare(both, [record(model="a")])


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ([record()], [record(seed=7)], "seed 0 / 7"),
        ([record()], [record(length=2000)], "length 1000 / 2000"),
        ([record()], [record(needle="city")], "niah code / niah city"),
        ([record(), record()], [record()], "twice"),
    ],
    ids=["seed", "length", "needle", "twice"],
)
def test_runs_without_a_common_trial_and_damaged_ones_say_why(first, second, words):
    with pytest.raises(ValueError, match=words):
        compare(first, second)


def test_prompts_and_scorers_that_differ_or_are_unknown_are_counted():
    other, unknown = record(repeat=0, prompt={"sha256": "other"}), record(repeat=1, prompt={})
    first, second = [record(repeat=repeat) for repeat in range(3)], [other, unknown, record(repeat=2, scorer="exact")]
    pair = compare(first, second)

    assert (pair.reworded, pair.prompts_unknown, pair.scorers_differ) == (((first[0], other),), 1, 1)
    lines = lines_of(first, second)
    assert "caution: 1 pairs were judged by different scorers" in lines
    assert "1 trial without a prompt hash on one side, not checked" in lines


def test_holm_runs_over_the_tasks_of_all_pairs_and_over_the_runs():
    """One task of the same p among two: twice the p; six samples have no p below 2 / 2^6."""
    worse = [0.0] * 7 + [1.0] * 5
    first = [record(1.0, needle=needle, repeat=i) for needle in ("x", "y") for i in range(12)]
    x, y = pair_of(first, [record(worse[i], needle="x", repeat=i) for i in range(12)] + first[12:]).tasks
    assert x.whole.p_adjusted == pytest.approx(2 * x.whole.p)
    assert (x.whole.verdict, y.whole.verdict, y.whole.p_adjusted) == ("worse", "no difference shown", 1.0)

    right, wrong = (grid(lambda *_, score=score: score, 6, needle="x") for score in (1.0, 0.0))
    others = grid(lambda *_: 1.0, 6, needle="y")
    assert [task.whole.verdict for task in pair_of([*right, *others], [*wrong, *others]).tasks] == ["undetermined"] * 2

    (task,) = compare(ALL, NONE_AT_4K).tasks
    _, alone = compare_runs({"base": ALL, "worse": NONE_AT_4K})
    _, one, other = compare_runs({"base": ALL, "worse": NONE_AT_4K, "same": ALL})
    assert (alone.pair.whole.p_adjusted, alone.pair.whole.difference) == (task.whole.p, task.whole.difference)
    assert one.pair.whole.p_adjusted == one.pair.tasks[0].whole.p_adjusted == 2 * task.whole.p
    assert other.pair.whole.p_adjusted == 1.0


@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 0.5, 1.0, None]), st.sampled_from([0.0, 1.0, None])), min_size=1, max_size=24
    ),
    st.randoms(use_true_random=False),
)
def test_order_does_not_matter_and_swapping_flips_the_sign(scores, shuffler):
    sides = [
        [record(pair[side], repeat=i // 4, depth=25.0 * (i % 4)) for i, pair in enumerate(scores)] for side in (0, 1)
    ]
    forth, back = compare(*sides), compare(sides[1], sides[0])

    assert compare(*(shuffler.sample(side, len(side)) for side in sides)) == forth
    assert (back.whole.n, back.unscored[0]) == (forth.whole.n, forth.unscored[1])
    a, b = forth.tasks[0], back.tasks[0]
    assert [cell.scores for cell in a.cells.values()] == [cell.scores[::-1] for cell in b.cells.values()]
    assert a.whole.p == (None if b.whole.p is None else pytest.approx(b.whole.p))
    if a.whole.difference is not None and b.whole.difference is not None:
        assert a.whole.difference.mean == pytest.approx(-b.whole.difference.mean)
        assert a.whole.difference.sign == -b.whole.difference.sign
    assert {"better": "worse", "worse": "better"}.get(b.whole.verdict, b.whole.verdict) == a.whole.verdict


def test_a_run_that_is_worse_in_one_task_alone_is_worse_and_says_where():
    both = [*ALL, *grid(lambda *at: float(at[1] != 50), task="chain")]
    base, run = compare_runs({"base": both, "mixed": [*NONE_AT_4K, *grid(lambda *_: 1.0, task="chain")]})

    assert [task.whole.verdict for task in run.pair.tasks] == ["better", "worse"]
    assert run.pair.whole.difference.clusters == 24  # samples of several tasks are samples of their own
    assert (base.is_worse, run.is_worse, run.verdict) == (False, True, "no difference shown")
    assert "  mixed is worse in niah · code" in comparison_lines((base, run))
    assert "worse in some tasks: mixed; no difference shown: mixed" in comparison_sentence((base, run))


def test_samples_too_few_for_any_p_with_so_many_runs_are_undetermined_and_say_so():
    """Seven samples have no p below 2 / 2^7; times four that is above 5 %."""
    seven, wrong = grid(lambda *_: 1.0, repeats=7), grid(lambda *_: 0.0, repeats=7)
    runs = compare_runs({"base": seven, "a": wrong, "b": seven, "c": seven, "d": seven})

    assert [each.verdict for each in runs[1:]] == ["undetermined"] * 4
    few = "  undetermined: too few samples for a verdict (a, b, c, d); give --repeats 8 or more"
    assert few in comparison_lines(runs)
    assert compare_runs({"base": seven, "a": wrong})[1].verdict == "worse"


SUITE = {"task": "niah", "needle_set": "codes", "language": "en", "answer_budget": 48, "lengths": [1000]}
FIRST = {
    "suites": [SUITE],
    "options": {"seed": 0},
    "corpora": {"essays/en": {"sha256": "1", "documents": 3}},
    "tokenizers": {"llama": "a"},
    "prompts": {"own/en": "p"},
    "models": {"m": {"revision": "1"}},
}


SECOND = FIRST | {
    "suites": [SUITE | {"answer_budget": 64, "lengths": [2000]}],
    "options": {"seed": 3},
    "corpora": {"essays/en": {"sha256": "2", "documents": 3}},
    "tokenizers": {"qwen": "b"},
    "prompts": {"own/en": "p", "own/zh": "q"},
}


def served(server, command):
    options = {"server_id": server, "base_url": command}
    return FIRST | {"options": options, "models": {"openai:m": {"command": command, "window": 512}}}


@pytest.mark.parametrize(
    ("first", "second", "lines"),
    [
        (FIRST, FIRST, []),
        (
            FIRST,
            SECOND,
            [
                "suite niah codes en: answer_budget 48 / 64",
                "seed: 0 / 3",
                "corpora essays/en: sha256 1 / 2",
                "tokenizers: llama / qwen",
                "prompts own/zh: only in B",
            ],
        ),
        (None, FIRST, ["A without a readable manifest.json, which would say which part differs"]),
        ({}, {}, ["A and B without a readable manifest.json, which would say which part differs"]),
        (FIRST, FIRST | {"suites": [SUITE | {"task": "multi"}, SUITE]}, ["suite multi codes en: only in B"]),
        (FIRST, FIRST | {"tokenizers": {"folder": "a"}}, []),
        (served("a", "x"), served("a", "y"), []),
        (served("a", "x"), served("b", "x"), ["server_id: a / b"]),
        (
            {"models": {"m": {"dtype": "float32", "spec": "m"}}},
            {"models": {"n": {"dtype": "bfloat16", "spec": "n"}}},
            ["models: m / n", "models: dtype float32 / bfloat16"],
        ),
        ({"suites": 3, "corpora": [1]}, {"suites": [None], "options": "x"}, ["suite : only in B"]),
    ],
)
def test_manifests_say_which_part_differs(first, second, lines):
    assert differing_parts(first, second) == lines


FP32, BF16 = {"dtype": "float32", "weights_sha256": "w"}, {"dtype": "bfloat16", "weights_sha256": "w"}


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ({"m": FP32}, {"m": BF16}, "m: float32 / bfloat16"),
        ({"here": FP32}, {"there": BF16}, "here: float32 / bfloat16"),
        ({"m": FP32}, {"m": FP32}, ""),
        ({"m": FP32}, {"n": BF16 | {"weights_sha256": "v"}}, ""),
        ({"m": {"dtype": "float32"}}, {"n": {"dtype": "bfloat16"}}, ""),
        ({"m": {"dtype": None}}, {"m": BF16}, ""),
    ],
)
def test_one_model_in_two_kinds_of_numbers_is_refused(first, second, words):
    if not words:
        check_dtypes("runs", "a and b", {"models": first}, {"models": second})
        return
    with pytest.raises(InputError, match=words):
        check_dtypes("runs", "a and b", {"models": first}, {"models": second})
    check_dtypes("runs", "a and b", None, {"models": second})


def test_what_two_sessions_of_a_run_know_otherwise_is_a_change_and_what_one_does_not_know_is_none():
    before = {"corpora": {"c/en": {"sha256": "a"}, "d/en": {}}, "models": {"m": {"window": None, "dtype": "fp32"}}}
    harmless = ("server", "window_source", "server total_slots", "kernels")
    facts = {
        "window": 8,
        "dtype": "fp32",
        "server model_path": "m.gguf",
        "calibration chat user": "exact, +0",
        "calibration raw": "exact +0",
    }
    now = {"corpora": {"c/en": {"sha256": "b"}}, "models": {"m": facts | dict.fromkeys(harmless, "y")}}
    other = {
        "window": 4,
        "server model_path": "q4.gguf",
        "calibration chat user": "failed: a short request",
        "calibration raw": "exact +23",
        **dict.fromkeys(harmless, "z"),
    }

    assert changed_parts(before, now) == ["corpora c/en: sha256 a / b"]
    assert changed_parts(now, {"models": {"m": other}}) == [
        "models m: calibration raw exact +0 / exact +23, server model_path m.gguf / q4.gguf, window 8 / 4"
    ]
    for part in ("tokenizers", "prompts", "embedders"):
        assert changed_parts({part: {"t": "1"}}, {part: {"t": "2"}}) == [f"{part} t: 1 / 2"]
    assert changed_parts({}, now) == changed_parts({"models": 3, "corpora": {"c/en": 3}}, {"models": [1]}) == []


def test_different_weights_under_one_name_are_told():
    a, b = ({"models": {"m": {"weights_sha256": sha256}}} for sha256 in "st")
    assert weights_lines({"a": a, "b": b, "c": {"models": {"m": {"weights_sha256": None}}}}) == [
        "a and b are different weights under one name, m"
    ]
