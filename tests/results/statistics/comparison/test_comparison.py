"""Comparing two runs: the join, what is counted apart, what must not matter, which part differs."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.errors import InputError
from needlework.core.record import Record, record_of
from needlework.results.statistics.comparison.comparison import compare
from needlework.results.statistics.comparison.provenance import (
    changed_parts,
    differing_dtypes,
    differing_facts,
    differing_parts,
)
from needlework.results.statistics.wording import points, points1
from needlework.results.tables.comparison import loss_words, pair_lines, task_sentence


def record(score: float | None = 1.0, **fields: Any) -> Record:
    """A record of the fields that a comparison reads; no score is an error."""
    at = {
        "model": "m",
        "task": "niah",
        "needle": "code",
        "length": 1000,
        "depth": 50.0,
        "repeat": 0,
        "seed": 0,
    } | fields
    name = f"{at['task']}-len{at['length']}-depth{at['depth']}-{at['needle']}-r{at['repeat']}"
    outcome = "error" if score is None else "partial"
    prompt = {"sha256": name, "filler_sha256": "f", "tokens": 900, "needles": []}
    made = {"id": name, "outcome": outcome, "score": score, "scorer": "match", "scorer_version": 1, "prompt": prompt}
    return record_of(made | at)


def grid(score: Callable[[int, float, int], float | None], repeats: int = 12, **fields: Any) -> list[Record]:
    return [
        record(score(length, depth, repeat), length=length, depth=depth, repeat=repeat, **fields)
        for length in (1000, 4000)
        for depth in (0.0, 50.0, 100.0)
        for repeat in range(repeats)
    ]


def test_a_drop_at_one_depth_by_hand() -> None:
    """Each of twelve repeats fails at 50 % of both lengths: 24 of 72 pairs, all one way."""
    found = compare(grid(lambda *_: 1.0), grid(lambda length, depth, repeat: float(depth != 50)))
    (family,) = found.tasks

    assert (family.n, *family.means, family.verdict) == (72, 1.0, pytest.approx(2 / 3), "worse")
    assert family.difference is not None
    assert family.difference.mean == pytest.approx(-1 / 3)
    assert family.difference.clusters == 12
    assert family.p == pytest.approx(2 / 2**12)
    assert found.changed(1) == []
    assert [(place, cell.difference.mean) for _, place, cell in found.changed(-1)] == [
        ((1000, 50.0), -1.0),
        ((4000, 50.0), -1.0),
    ]
    assert [(length, group.difference.mean, group.n) for length, group in family.columns.items()] == [
        (1000, pytest.approx(-1 / 3), 36),
        (4000, pytest.approx(-1 / 3), 36),
    ]
    assert [(depth, group.difference.mean) for depth, group in family.rows.items()] == [
        (0.0, 0.0),
        (50.0, -1.0),
        (100.0, 0.0),
    ]


def test_every_mean_and_difference_has_its_interval() -> None:
    first = grid(lambda length, depth, repeat: float(repeat % 4 > 0))
    second = grid(lambda length, depth, repeat: float(repeat % 4 > 0 and not (depth == 50 and repeat % 2)))
    (family,) = compare(first, second).tasks
    cell = family.cells[4000, 50.0]

    for group in (family, cell, *family.columns.values(), *family.rows.values()):
        for mean, interval in zip(group.means, group.intervals, strict=True):
            assert interval.low < mean < interval.high
        assert group.difference.low <= group.difference.mean <= group.difference.high
    assert (cell.n, *cell.means, cell.difference.mean) == (12, 0.75, 0.25, -0.5)
    text = "\n".join(pair_lines(compare(first, second)))
    assert "means of cells as seen: 2 cells regressed, 0 improved" in text


def test_what_is_not_scored_on_both_sides_is_counted_once_and_apart() -> None:
    first = [record(1.0, repeat=0), record(None, repeat=1), record(1.0, repeat=2), record(None, repeat=3),
             record(1.0, repeat=4)]  # fmt: skip
    second = [record(0.0, repeat=0), record(1.0, repeat=1), record(None, repeat=2), record(None, repeat=3),
              record(1.0, repeat=5), record(1.0, repeat=6)]  # fmt: skip
    found = compare(first, second)

    assert (found.pairs, *found.unscored, *found.only) == (1, 1, 1, 1, 1, 2)
    ((place, cell),) = found.tasks[0].cells.items()
    assert (found.tasks[0].family, place) == (("", "niah", "code"), (1000, 50.0))
    assert (cell.n, *cell.means, cell.unscored) == (1, 1.0, 0.0, 6)
    assert found.tasks[0].outcomes[0]["error"] == 2
    lines = pair_lines(found)
    assert [loss_words(loss) for loss in found.whole.losses] == [
        "A cannot answer 1 of 2 trials that B scored: 1 of 2 at 1k (1 error)",
        "B cannot answer 1 of 2 trials that A scored: 1 of 2 at 1k (1 error)",
    ]
    assert "A: 5 trials, 3 scored, 2 error" in lines
    assert "B: 6 trials, 4 scored, 2 error" in lines
    assert "pairs: 1, 1 unscored in A only, 1 unscored in B only, 1 unscored in both, 1 only in A, 2 only in B" in (
        lines
    )


def test_another_model_is_compared_and_several_go_by_name() -> None:
    assert compare([record(model="small")], [record(model="large")]).pairs == 1

    both = [record(model=model, repeat=repeat) for model in ("a", "b") for repeat in range(3)]
    assert [task.family for task in compare(both, both).tasks] == [
        ("a", "niah", "code"),
        ("b", "niah", "code"),
    ]
    with pytest.raises(InputError, match="several models"):
        compare(both, [record(model="a")])


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"seed": 7}, "seed 0 / 7"),
        ({"length": 2000}, "length 1000 / 2000"),
        ({"needle": "city"}, "niah code / niah city"),
    ],
    ids=["seed", "length", "needle"],
)
def test_runs_without_a_common_trial_say_why(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        compare([record()], [record(**fields)])


def test_damaged_runs_are_refused() -> None:
    with pytest.raises(InputError, match="twice"):
        compare([record(), record()], [record()])
    broken = record()
    broken.score = None
    with pytest.raises(InputError, match=r"not 0\.\.1"):
        compare([broken], [record()])


def test_prompts_and_scorers_that_differ_or_are_unknown_are_counted() -> None:
    changed, unknown = record(repeat=0, prompt={"sha256": "other"}), record(repeat=1, prompt={})
    second = [changed, unknown, record(repeat=2, scorer="exact")]
    first = [record(repeat=repeat) for repeat in range(3)]
    found = compare(first, second)

    assert (found.prompts_differ, found.prompts_unknown, found.scorers_differ) == (1, 1, 1)
    assert found.reworded == (first[0], changed)
    text = "\n".join(pair_lines(found))
    assert "different scorers" in text
    assert "without a prompt hash" in text


def test_holm_runs_over_the_families() -> None:
    """One family of the same p among two: twice the p."""
    worse = [0.0] * 7 + [1.0] * 5
    first = [record(1.0, needle=needle, repeat=i) for needle in ("x", "y") for i in range(12)]
    second = [record(worse[i], needle="x", repeat=i) for i in range(12)] + first[12:]
    x, y = compare(first, second).tasks

    assert x.p == pytest.approx(2 / 2**7, abs=0.006)  # of seeded flips
    assert x.p_adjusted == pytest.approx(2 * x.p)
    assert (x.verdict, y.verdict, y.p_adjusted) == ("worse", "no difference shown", 1.0)


def test_samples_too_few_for_any_p_with_so_many_families_are_undetermined() -> None:
    """Six samples have no p below 2 / 2^6, and twice that is above 5 %."""
    first = [*grid(lambda *_: 1.0, 6, needle="x"), *grid(lambda *_: 1.0, 6, needle="y")]
    second = [*grid(lambda *_: 0.0, 6, needle="x"), *grid(lambda *_: 1.0, 6, needle="y")]
    x, y = compare(first, second).tasks

    assert x.p == pytest.approx(2 / 64)
    assert (x.verdict, y.verdict) == ("undetermined", "undetermined")


@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 0.5, 1.0, None]), st.sampled_from([0.0, 1.0, None])), min_size=1, max_size=24
    ),
    st.randoms(use_true_random=False),
)
def test_order_does_not_matter_and_swapping_flips_the_sign(
    scores: list[tuple[float | None, float | None]], shuffler: random.Random
) -> None:
    sides = [
        [record(pair[side], repeat=i // 4, depth=25.0 * (i % 4)) for i, pair in enumerate(scores)] for side in (0, 1)
    ]
    found = compare(*sides)
    shuffled = [shuffler.sample(side, len(side)) for side in sides]
    swapped = compare(sides[1], sides[0])

    assert compare(*shuffled) == found
    assert (swapped.pairs, swapped.unscored[0]) == (found.pairs, found.unscored[1])
    a, b = found.tasks[0], swapped.tasks[0]
    assert [cell.means for cell in a.cells.values()] == [cell.means[::-1] for cell in b.cells.values()]
    assert a.p == (None if b.p is None else pytest.approx(b.p))
    if a.difference is not None and b.difference is not None:
        assert a.difference.mean == pytest.approx(-b.difference.mean)
        assert a.difference.sign == -b.difference.sign
    assert {"better": "worse", "worse": "better"}.get(b.verdict, b.verdict) == a.verdict


def test_a_run_is_no_different_from_itself() -> None:
    records = grid(lambda length, depth, repeat: float((repeat + depth) % 3 == 0))
    (family,) = compare(records, records).tasks

    assert (family.p, family.verdict) == (1.0, "no difference shown")
    assert compare(records, records).changed(1) == []


def test_differences_in_words() -> None:
    assert [points(x) for x in (0.0, 0.004, -0.004, 0.05, -1.0)] == ["0", "+0", "-0", "+5", "-100"]
    assert [points1(x) for x in (0.0, -0.0001, 0.0533, -0.5)] == ["0.0", "0.0", "+5.3", "-50.0"]
    (family,) = compare([record(1.0), record(None, repeat=1)], [record(0.0), record(1.0, repeat=1)]).tasks
    assert task_sentence(family) == (
        "B - A = -100.0 points (too few samples for an interval), n = 1 pair · undetermined · 1 trial without a pair"
        " · losses as misses: 0.0"
    )


def test_many_rows_are_cut_and_counted() -> None:
    first = [record(0.0, needle=f"n{i}") for i in range(25)]
    second = [record(1.0, needle=f"n{i}") for i in range(25)]
    lines = pair_lines(compare(first, second))

    assert sum("+100.0" in line and "caution" not in line for line in lines) == 20
    assert "and 5 more" in lines


def lost(outcome: str, lengths: tuple[int, ...], **fields: Any) -> tuple[list[Record], list[Record]]:
    """Two runs of 3 lengths x 12 samples, all found but those of B at `lengths`."""
    first = [record(1.0, length=length, repeat=i, **fields) for length in (500, 1000, 2000) for i in range(12)]
    second = [
        record(None, length=r.length, repeat=r.repeat, outcome=outcome) if r.length in lengths else r for r in first
    ]
    return first, second


def test_what_does_not_fit_one_window_is_worse_for_certain_and_said_first() -> None:
    first, second = lost("skipped", (2000,))
    found, back = compare(first, second), compare(second, first)
    (family,) = found.tasks

    assert loss_words(found.whole.losses[0], (8192, 1024)) == (
        "B cannot answer 12 of 36 trials that A scored: all 12 at 2k (12 skipped); window 1024, A had 8192"
    )
    assert (family.difference and family.difference.mean, family.counted and family.counted.mean) == (0.0, -1 / 3)
    assert (family.verdict, back.tasks[0].verdict) == ("worse", "better")
    assert loss_words(back.whole.losses[0]).startswith("A cannot answer 12 of 36 trials that B scored")


def test_two_lost_trials_of_one_sample_are_certain_too() -> None:
    first = [record(1.0, length=length) for length in (500, 2000)]
    second = [record(1.0, length=500), record(None, length=2000, outcome="skipped")]

    assert compare(first, second).tasks[0].verdict == "worse"


@pytest.mark.parametrize("outcome", ["censored", "error", "invalid"])
def test_other_losses_count_as_misses_in_p_and_verdict(outcome: str) -> None:
    (family,) = compare(*lost(outcome, (1000, 2000))).tasks

    assert family.p is not None
    assert family.p < 0.05
    assert family.verdict == "worse"
    (few,) = compare(*lost(outcome, ())).tasks
    assert (few.losses, few.counted, few.verdict) == ((), few.difference, "no difference shown")


def test_trials_that_neither_run_could_answer_are_no_loss() -> None:
    records = [record(1.0, repeat=0), record(None, repeat=1, outcome="skipped")]

    assert compare(records, records).whole.losses == ()


def test_answers_of_nothing_are_counted_beside_the_score() -> None:
    second = [record(0.0, repeat=i, outcome="empty") for i in range(2)] + [record(0.0, repeat=2, outcome="refused")]
    lines = pair_lines(compare([record(1.0, repeat=i) for i in range(3)], second))

    assert "B: 3 trials, 3 scored (1 refused, 2 empty)" in lines


def test_manifests_say_which_part_differs() -> None:
    suite = {"task": "niah", "needle_set": "codes", "language": "en", "answer_budget": 48, "lengths": [1000]}
    first: dict[str, Any] = {
        "suites": [suite],
        "options": {"seed": 0},
        "corpora": {"essays/en": {"sha256": "1", "documents": 3}},
        "tokenizers": {"llama": "a"},
        "prompts": {"own/en": "p"},
        "models": {"m": {"revision": "1"}},
    }
    second = first | {
        "suites": [suite | {"answer_budget": 64, "lengths": [2000]}],
        "options": {"seed": 3},
        "corpora": {"essays/en": {"sha256": "2", "documents": 3}},
        "tokenizers": {"qwen": "b"},
        "prompts": {"own/en": "p", "own/zh": "q"},
    }

    assert differing_parts(first, first) == []
    assert differing_parts(first, second) == [
        "suite niah codes en answer_budget: 48 / 64",
        "seed: 0 / 3",
        "corpora essays/en: sha256 1 / 2",
        "tokenizers: llama / qwen",
        "prompts own/zh: only in B",
    ]
    assert differing_parts(None, second) == ["A without a readable manifest.json, which would say which part differs"]
    other_task = first | {"suites": [suite | {"task": "multi"}, suite]}
    assert differing_parts(first, other_task) == ["suite multi codes en: only in B"]


def test_one_model_in_two_kinds_of_numbers_is_noticed() -> None:
    fp32, bf16 = {"dtype": "float32", "weights_sha256": "w"}, {"dtype": "bfloat16", "weights_sha256": "w"}

    assert differing_dtypes({"models": {"m": fp32}}, {"models": {"m": bf16}}) == ["m: float32 / bfloat16"]
    assert differing_dtypes({"models": {"here": fp32}}, {"models": {"there": bf16}}) == ["here: float32 / bfloat16"]
    assert differing_dtypes({"models": {"m": fp32}}, {"models": {"m": fp32}}) == []
    other = {"models": {"n": bf16 | {"weights_sha256": "v"}}}
    assert differing_dtypes({"models": {"m": fp32}}, other) == []
    assert differing_parts({"models": {"m": fp32}}, other) == [
        "models: m / n",
        "models: dtype float32 / bfloat16, weights_sha256 w / v",
    ]
    assert differing_dtypes(None, {"models": {"m": {"window": 7}}}) == []


def test_manifests_of_any_shape_are_survived() -> None:
    assert differing_parts({"suites": 3, "corpora": [1]}, {"suites": [None], "options": "x"}) == ["suite   : only in B"]


def test_what_two_sessions_of_a_run_say_otherwise_is_a_change_and_what_one_does_not_know_is_none():
    before = {"corpora": {"c/en": {"sha256": "a"}, "d/en": {}}, "models": {"m": {"window": None, "dtype": "fp32"}}}
    now = {"corpora": {"c/en": {"sha256": "b"}}, "models": {"m": {"window": 8, "dtype": "fp32", "server": "y"}}}

    assert changed_parts(before, now) == ["corpora c/en: sha256 a / b"]
    assert changed_parts(now, {"models": {"m": {"window": 4, "server": "z"}}}) == ["models m: window 8 / 4"]
    assert changed_parts({"tokenizers": {"t": "1"}}, {"tokenizers": {"t": "2"}}) == ["tokenizers t: 1 / 2"]
    assert changed_parts({}, now) == changed_parts({"models": 3, "corpora": {"c/en": 3}}, {"models": [1]}) == []


def test_records_say_which_fact_of_a_prompt_differs() -> None:
    other = record(prompt={"sha256": "x", "filler_sha256": "g", "tokens": 901, "needles": []})

    assert differing_facts(record(), other) == ["filler: f / g", "tokens: 900 / 901"]
