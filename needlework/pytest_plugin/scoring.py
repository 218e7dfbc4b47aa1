"""The `assert_scored` fixture: score an exchange, record it with the test, go on.

Recording is all it does: results are reported, and turned into an exit code, elsewhere.

PYTEST_DONT_REWRITE: see `needlework.autoload`; pytest would warn where this was imported before it is named.
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Protocol, cast

import pytest

from needlework.scoring.background import Ahead
from needlework.scoring.scores import Score

if TYPE_CHECKING:
    from needlework.scoring.background import Waiting
    from needlework.scoring.recording import Answered, Scored, ScorerLike


SCORED: pytest.StashKey[Scored] = pytest.StashKey()
"""In the config's stash: what came of the last scoring by the test that runs; absent until it has scored."""
_AHEAD = pytest.StashKey[Ahead]()


class AssertScored(Protocol):
    """The type of the `assert_scored` fixture."""

    def __call__(self, exchange: Answered, scorer: ScorerLike | None = None) -> Score:
        """Score `exchange`, record the score with the running test and return it. Never raises."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if SCORED in item.config.stash:
        del item.config.stash[SCORED]


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_AHEAD] = Ahead(
        lambda exchange, scored: config.hook.pytest_cell_ruled(config=config, exchange=exchange, scored=scored),
        lambda ruling: config.hook.pytest_ruling_awaited(config=config, ruling=ruling),
    )
    # A session's fixture that itself takes `request` or `pytestconfig` costs pytest a tenth of a test, in every test.
    config.pluginmanager.register(_bound_to(config), "needlework-assert-scored")


@pytest.hookimpl(optionalhook=True)
def pytest_cell_waits(config: pytest.Config, exchange: Waiting) -> None:
    config.stash[_AHEAD].waits(exchange)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    session.config.stash[_AHEAD].close()  # who ends a run pays for no further ruling


def _bound_to(config: pytest.Config) -> ModuleType:
    @pytest.fixture(scope="session")  # made once: making fixtures anew is a fifth of what pytest does for a test
    def assert_scored() -> AssertScored:
        """Score an exchange and record it with the test: `assert_scored(exchange, scorer="match")`.

        The scorer is a name, a `Scorer` or a function `(answer, reference) -> Score | float`; without one it is the
        suite's, else `match`. The returned score compares with numbers, for tests that want to fail:
        `assert assert_scored(exchange) >= 0.9`. If there is no score, its value is NaN and no comparison holds.
        """

        def record(exchange: Answered, scorer: ScorerLike | None = None) -> Score:
            # Scorers are loaded with the first answer, and not before the first question.
            from needlework.scoring.recording import score_all

            judging = getattr(exchange, "judging", None)
            several = judging is not None and judging.at_once > 1
            ahead = config.stash[_AHEAD]
            scored = ahead.score(cast("Waiting", exchange), scorer) if several else score_all(exchange, scorer)
            config.stash[SCORED] = scored
            return scored.for_asserting

        return record

    plugin = ModuleType("needlework-assert-scored")  # pytest takes such fixtures from modules
    vars(plugin)["assert_scored"] = assert_scored
    return plugin


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """Explain a failed comparison with a score: the value, the verdict, the scorer and why."""
    score = left if isinstance(left, Score) else right if isinstance(right, Score) else None
    if score is None:
        return None
    sides = [f"{side.value:.3g} ({side.verdict})" if isinstance(side, Score) else repr(side) for side in (left, right)]
    lines = [f"score {sides[0]} {op} {sides[1]}", f"scorer: {score.scorer or 'unknown'}"]
    lines += [f"why: {score.why}"] if score.why else []
    return lines + ([f"answer: {score.answer[:200]!r}"] if score.answer else [])
