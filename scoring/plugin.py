"""The `assert_scored` fixture: score an exchange, record it with the test, go on.

Recording is all it does: results are reported, and turned into an exit code, elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import pytest

from needlework.scoring.recording import Answered, Scored, ScorerLike, score_exchange
from needlework.scoring.scores import Score

SCORE_KEY = pytest.StashKey[Score]()
"""The score of the test's last scored exchange; absent if that exchange has none."""
SCORER_KEY = pytest.StashKey[tuple[str, int]]()
"""Name and version of the scorer; `("", 0)` when the exchange had an error and nothing was scored."""
AGAIN_KEY = pytest.StashKey[Sequence[Scored]]()
"""What came of scoring the same prompt's further answers (`exchange.asked_again`), in their order."""
SCORE_ERROR_KEY = pytest.StashKey[tuple[str, str]]()
"""Kind and message when there is no score; absent if there is one."""
_RUNNING = pytest.StashKey[pytest.Item]()


class AssertScored(Protocol):
    """The type of the `assert_scored` fixture."""

    def __call__(self, exchange: Answered, scorer: ScorerLike | None = None) -> Score:
        """Score `exchange`, record the score with the running test and return it. Never raises."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    item.config.stash[_RUNNING] = item


@pytest.fixture(scope="session")  # made once: making fixtures anew is a fifth of what pytest does for a test
def assert_scored(pytestconfig: pytest.Config) -> AssertScored:
    """Score an exchange and record it with the test: `assert_scored(exchange, scorer="match")`.

    The scorer is a name, a `Scorer` or a function `(answer, reference) -> Score | float`; without one it is the
    suite's, else `match`. The returned score compares with numbers, for tests that want to fail:
    `assert assert_scored(exchange) >= 0.9`. If there is no score, its value is NaN and no comparison holds.
    """

    def record(exchange: Answered, scorer: ScorerLike | None = None) -> Score:
        scored = score_exchange(exchange, scorer)
        stash = pytestconfig.stash[_RUNNING].stash
        store_score(stash, scored)
        stash[AGAIN_KEY] = [score_exchange(each, scorer) for each in getattr(exchange, "asked_again", ())]
        return scored.for_asserting

    return record


def store_score(stash: pytest.Stash, scored: Scored) -> None:
    """Put a score, or why there is none, into a test's stash, in place of an earlier one."""
    stash[SCORER_KEY] = (scored.scorer, scored.version)
    if scored.score is not None:
        stash[SCORE_KEY] = scored.score
        if SCORE_ERROR_KEY in stash:
            del stash[SCORE_ERROR_KEY]
    else:
        stash[SCORE_ERROR_KEY] = (scored.error_kind or "harness", scored.message)
        if SCORE_KEY in stash:
            del stash[SCORE_KEY]


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """Explain a failed comparison with a score: the value, the verdict, the scorer and why."""
    score = left if isinstance(left, Score) else right if isinstance(right, Score) else None
    if score is None:
        return None
    sides = [f"{side.value:.3g} ({side.verdict})" if isinstance(side, Score) else repr(side) for side in (left, right)]
    lines = [f"score {sides[0]} {op} {sides[1]}", f"scorer: {score.scorer or 'unknown'}"]
    lines += [f"why: {score.why}"] if score.why else []
    return lines + ([f"answer: {score.answer[:200]!r}"] if score.answer else [])
