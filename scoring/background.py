"""Scoring ahead of the tests' turns, where judges are asked: they take their time, and bear several questions at once.

Nobody is asked for what no test will use. What a test gives `assert_scored` is known when one of its task has done so;
from then on the answers of that task that wait for their tests are scored alike. A test that does otherwise, or does
not score, ends that.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol
from weakref import ref

if TYPE_CHECKING:
    from needlework.scoring.recording import Answered, ScorerLike, ScoringResult


if TYPE_CHECKING:

    class OfTask(Protocol):
        """What an exchange says of its cell."""

        @property
        def task(self) -> str: ...

    class Waiting(Answered, Protocol):
        """An exchange that waits for its test. `key` identifies its trial."""

        @property
        def cell(self) -> OfTask: ...

        @property
        def key(self) -> str: ...


Alike = tuple[str, str | None]
"""A task, and the scorer that its suite names: what is scored alike."""


@dataclass(frozen=True, slots=True)
class _Begun:
    """A score to come. `given`: what its test is expected to give. `facts`: whatever else the score depends on."""

    of: Alike
    given: str | None
    facts: tuple[object, ...]
    result: Future[ScoringResult]
    exchange: ref[Waiting]


class Ahead:
    """Scores exchanges in threads, as many at once as their judges bear.

    The threads are daemons: who ends the run does not wait for a judge. `tell`: is given, in these threads, what came
    of an exchange before its test's turn. `wait`: is given, in the test's thread, what there is to wait for.
    """

    def __init__(
        self,
        tell: Callable[[Waiting, ScoringResult], object] = lambda _exchange, _scored: None,
        wait: Callable[[Future[ScoringResult]], object] = lambda _result: None,
    ) -> None:
        self._tell, self._wait = tell, wait
        self._turn = threading.Lock()
        self._given: dict[Alike, tuple[str | None] | None] = {}  # `None`: it cannot be foreseen
        self._waiting: dict[Alike, list[ref[Waiting]]] = {}
        self._begun: dict[str, _Begun] = {}
        self._queue: deque[tuple[Future[ScoringResult], Callable[[], ScoringResult]]] = deque()
        self._threads = 0
        self._closed = False

    def waits(self, exchange: Waiting) -> None:
        """An exchange is there before its test's turn. Threads may call this; it holds nobody up."""
        of = _of(exchange)
        with self._turn:
            if of in self._given:
                self._foresee(exchange)
            else:
                self._waiting.setdefault(of, []).append(ref(exchange))

    def score(self, exchange: Waiting, scorer: ScorerLike | None) -> ScoringResult:
        """What `score_all` gives, and is taken from what was scored ahead. For the test's thread."""
        from needlework.scoring.recording import score_all

        given = _given(exchange, scorer)
        with self._turn:
            results = self._results(exchange, given)
        if not results:
            return score_all(exchange, scorer)
        for each in results:
            if not each.done():
                self._wait(each)
        first, *again = [each.result() for each in results]
        return replace(first, again=tuple(again))

    def close(self) -> None:
        """Begin nothing more, and tell nothing more."""
        with self._turn:
            self._closed = True
            self._queue.clear()

    def _results(self, exchange: Waiting, given: tuple[str | None] | None) -> list[Future[ScoringResult]]:
        """The scores to come of an exchange and of its further answers; none where its test's thread is to score."""
        of = _of(exchange)
        if of not in self._given:
            self._given[of] = given
            for each in self._waiting.pop(of, ()):
                if (waiting := each()) is not None:
                    self._foresee(waiting)
        begun = self._begun.pop(exchange.key, None)
        if begun is not None and ((begun.given,) != given or begun.facts != _facts(exchange)):
            begun.result.cancel()
            begun, given = None, None
        if given != self._given[of] or self._unused(of):
            self._forget(of)
        if given is None or (begun is None and self._given[of] is None):
            return []
        return [
            begun.result if begun else self._begin(exchange, *given),
            *(self._begin(each, *given) for each in exchange.asked_again),
        ]

    def _foresee(self, exchange: Waiting) -> None:
        """Begin to score an exchange, as it will be scored in its test's turn."""
        of = _of(exchange)
        given = self._given[of]
        if given is not None and exchange.key not in self._begun and not self._closed:
            result = self._begin(exchange, *given, told=lambda scored: self._tell(exchange, scored))
            self._begun[exchange.key] = _Begun(of, *given, _facts(exchange), result, ref(exchange))

    def _unused(self, of: Alike) -> bool:
        """Whether a test has let go of an exchange, and has not scored it."""
        return any(each.of == of and each.exchange() is None for each in self._begun.values())

    def _forget(self, of: Alike) -> None:
        """Its tests score this way and that, or not at all: from now on each in its turn."""
        self._given[of] = None
        for key, begun in [*self._begun.items()]:
            if begun.of == of and begun.result.cancel():
                del self._begun[key]

    def _begin(
        self, exchange: Answered, scorer: str | None, told: Callable[[ScoringResult], object] = lambda _scored: None
    ) -> Future[ScoringResult]:
        from needlework.scoring.recording import score_exchange

        def work() -> ScoringResult:
            scored = score_exchange(exchange, scorer)
            if not self._closed:
                told(scored)
            return scored

        result: Future[ScoringResult] = Future()
        self._queue.append((result, work))
        if exchange.judging is not None and self._threads < exchange.judging.at_once:
            threading.Thread(target=self._work, name="needlework-judges", daemon=True).start()
            self._threads += 1
        return result

    def _work(self) -> None:
        while (job := self._next()) is not None:
            result, work = job
            del job
            if result.set_running_or_notify_cancel():
                try:
                    result.set_result(work())
                except BaseException as error:  # noqa: BLE001 - raised again in the test's turn
                    result.set_exception(error)
            del work  # it has the prompt

    def _next(self) -> tuple[Future[ScoringResult], Callable[[], ScoringResult]] | None:
        with self._turn:
            if self._queue:
                return self._queue.popleft()
            self._threads -= 1
            return None


def _of(exchange: Waiting) -> Alike:
    return exchange.cell.task, exchange.scorer


def _given(exchange: Answered, scorer: ScorerLike | None) -> tuple[str | None] | None:
    """What a test gives, where it may be foreseen of others: with scorers of our own, which bear threads."""
    from needlework.scoring.judges.judges import JUDGE
    from needlework.scoring.recording import DEFAULT_SCORER
    from needlework.scoring.registry import SCORERS

    if exchange.judging is None or exchange.judging.strategy == "rule":
        return None
    if scorer is not None and not isinstance(scorer, str):
        return None
    name = scorer or exchange.scorer or DEFAULT_SCORER
    return (scorer,) if name in SCORERS or name.startswith(JUDGE) else None


def _facts(exchange: Answered) -> tuple[object, ...]:
    """What `score_exchange` looks at."""
    before = getattr(exchange, "scored_before", None)
    return (
        exchange.answer, exchange.reference, exchange.error_kind, exchange.finish_reason, exchange.scorer,
        exchange.judging, before,
    )  # fmt: skip
