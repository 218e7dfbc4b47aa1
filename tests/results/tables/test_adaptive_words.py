"""What an adaptive run says, in words."""

import pytest

from needlework.results.adaptive.design import BaseScore
from needlework.results.adaptive.statement import LengthResult, LengthStatement
from needlework.results.adaptive.survey import Rules, costs, most
from needlework.results.report.adaptive import adaptive_lines, answer, plan_lines, short_number

LENGTHS = (4_000, 8_000, 16_000)


def statement(low, high, or_more=False, **more):
    lengths = (LengthResult(4_000, 33, 33.0, 3, "pass", 33, 132_000, 0.89, 1.0, False, {0.0: 33}),)
    fields = {
        "model": "mock", "task": "niah", "needle": "code", "mode": "normal", "rule": "absolute", "bar": 0.856,
        "base": None, "low": low, "high": high, "or_more": or_more, "stopped": "", "lengths": lengths, "turns": (),
        "trials": 33, "tokens": 132_000, "grid_tokens": 3_080_000,
    }  # fmt: skip
    return LengthStatement(**(fields | more))


@pytest.mark.parametrize(
    ("low", "high", "or_more", "words"),
    [
        (8_000, 8_000, False, "8k"),
        (4_000, 8_000, False, "4k to 8k"),
        (4_000, 16_000, True, "4k to 16k or more"),
        (16_000, 16_000, True, ">= 16k (longest length)"),
        (None, 8_000, False, "up to 8k"),
        (None, None, False, "none"),
        (None, 16_000, True, "unknown"),
    ],
)
def test_the_bracket_in_words(low, high, or_more, words):
    assert answer(statement(low, high, or_more)) == words


def test_a_base_that_scores_nothing_leaves_nothing_to_keep_a_share_of():
    found = statement(None, None, bar=None, rule="relative", base=BaseScore(4_000, 440, 0.02, 0.0, 0.05))
    assert answer(found) == "unknown"
    assert adaptive_lines([found])[1] == "  effective length (score >= 85 % of the base): unknown"
    assert "  the base scores 2.0 %: there is nothing to keep a share of" in "\n".join(adaptive_lines([found]))


def test_plain_streams_have_plain_signs():
    lines = adaptive_lines([statement(4_000, 8_000)], ascii_only=True)
    assert lines[0].startswith("mock | niah | code: 132k tokens, 33 trials in 0 turns")
    assert all(line.isascii() for line in lines)


@pytest.mark.parametrize(("tokens", "words"), [(900, "900"), (4_800, "4.8k"), (132_000, "132k"), (2_508_000, "2.5M")])
def test_tokens_in_short(tokens, words):
    assert short_number(tokens) == words


def test_the_range_before_a_run_rises_with_how_far_a_model_gets():
    rules = Rules("normal", (0.856,), 0, 5.0)
    found = costs(rules, LENGTHS, 11)
    assert [cost.tokens for cost in found] == sorted(cost.tokens for cost in found)
    assert found[0].trials == 11  # wrong everywhere: one look at the shortest
    assert found[-1].tokens < most(rules, LENGTHS, 11).tokens == 440 * 4_000 + 220 * 8_000 + 110 * 16_000
    assert plan_lines("mock", "normal", found, most(rules, LENGTHS, 11))[1].split() == [
        "wrong", "everywhere", "11", "trials,", "44k", "tokens",
    ]  # fmt: skip
