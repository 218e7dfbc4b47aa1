"""Background scoring where judges are asked: they are slow, and take several questions at once.

What the tests of a task give `assert_scored` is known when one of them has called it; from then on the waiting answers
of that task are scored alike, until a test scores differently.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Protocol
from weakref import ref

if TYPE_CHECKING:
    from needlework.scoring.recording import Answered, ScorerLike, ScoringResult

    class WaitingAnswer(Answered, Protocol):
        """An exchange with its place in the run: `cell`, and the `key` of its trial."""

        @property
        def cell(self) -> Any: ...

        @property
        def key(self) -> str: ...


@dataclass(slots=True)
class _ScoredAlike:
    """The answers to one task whose suite names one scorer."""

    waiting: list[ref[WaitingAnswer]] | None = field(default_factory=list)  # `None`: a test has scored, none waits
    scorer: tuple[str | None, ...] = ()  # the one that its tests give `assert_scored`; empty: it cannot be foreseen
    # Scores begun before their tests' turn, by the key of the trial, with what they depend on.
    started: dict[str, tuple[tuple[object, ...], Future[ScoringResult]]] = field(default_factory=dict)


class BackgroundScoring:
    """Scores exchanges in threads, as many at once as their judges take.

    The threads are daemons: the end of a run does not wait for a judge. `store`: called in these threads with what was
    scored before its test's turn. `wait`: called in the test's thread with a result that it has to wait for.
    """

    def __init__(
        self,
        store: Callable[[WaitingAnswer, ScoringResult], object] = lambda _exchange, _scored: None,
        wait: Callable[[Future[ScoringResult]], object] = lambda _result: None,
    ) -> None:
        self._store, self._wait = store, wait
        self._lock = threading.Lock()
        self._groups: defaultdict[tuple[str, str | None], _ScoredAlike] = defaultdict(_ScoredAlike)
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._threads = 0
        self._closed = False

    def add(self, exchange: WaitingAnswer) -> None:
        """Take an answer that has come before its test's turn; from any thread, without waiting."""
        with self._lock:
            group = self._groups[exchange.cell.task, exchange.scorer]
            if group.waiting is None:
                self._start_early(group, exchange)
            else:
                group.waiting.append(ref(exchange))

    def score(self, exchange: WaitingAnswer, scorer: ScorerLike | None) -> ScoringResult:
        """The result of `score_all`, from the background if ready. For the test's thread."""
        from needlework.scoring.recording import score_all

        with self._lock:
            results = self._results(exchange, _foreseeable(exchange, scorer))
        if not results:
            return score_all(exchange, scorer)
        for result in results:
            if not result.done():
                self._wait(result)
        first, *again = [result.result() for result in results]
        return replace(first, again=tuple(again))

    def close(self) -> None:
        """Begin nothing more, and store nothing more."""
        with self._lock:
            self._closed = True
            for _ in range(self._threads):
                self._jobs.put(None)

    def _results(self, exchange: WaitingAnswer, scorer: tuple[str | None, ...]) -> list[Future[ScoringResult]]:
        """The results of an exchange and of its further answers; none where the test's thread is to score."""
        group = self._groups[exchange.cell.task, exchange.scorer]
        if group.waiting is not None:
            group.scorer, waiting, group.waiting = scorer, group.waiting, None
            for alive in filter(None, (link() for link in waiting)):
                self._start_early(group, alive)
        facts, result = group.started.get(exchange.key, (None, None))
        if scorer != group.scorer or facts not in (None, _facts(exchange)):
            for _, other in group.started.values():
                other.cancel()
            group.scorer, group.started = (), {}
        group.started.pop(exchange.key, None)
        if not group.scorer or self._closed:
            return []
        first = result or self._start(exchange, scorer[0])
        return [first, *(self._start(repeat, scorer[0]) for repeat in exchange.asked_again)]

    def _start_early(self, group: _ScoredAlike, exchange: WaitingAnswer) -> None:
        """Begin to score an exchange as it will be scored in its test's turn."""
        if group.scorer and exchange.key not in group.started and not self._closed:
            result = self._start(exchange, group.scorer[0], partial(self._store, exchange))
            group.started[exchange.key] = _facts(exchange), result

    def _start(
        self, exchange: Answered, scorer: str | None, store: Callable[[ScoringResult], object] = lambda _scored: None
    ) -> Future[ScoringResult]:
        from needlework.scoring.recording import score_exchange

        result: Future[ScoringResult] = Future()

        def work() -> None:
            if self._closed or not result.set_running_or_notify_cancel():
                return
            try:
                scored = score_exchange(exchange, scorer)
                if not self._closed:
                    store(scored)
                result.set_result(scored)
            except BaseException as error:  # noqa: BLE001 - raised again in the test's turn
                result.set_exception(error)

        self._jobs.put(work)
        if exchange.judging is not None and self._threads < exchange.judging.at_once:
            threading.Thread(target=self._work, name="needlework-judges", daemon=True).start()
            self._threads += 1
        return result

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
            del job  # it has the prompt


def _foreseeable(exchange: Answered, scorer: ScorerLike | None) -> tuple[str | None, ...]:
    """The test's scorer, if other tests will probably give it too: one of ours, as threads run it."""
    from needlework.scoring.judges.judges import JUDGE
    from needlework.scoring.recording import DEFAULT_SCORER
    from needlework.scoring.registry import SCORERS

    if exchange.judging is None or exchange.judging.strategy == "rule" or not isinstance(scorer, str | None):
        return ()
    name = scorer or exchange.scorer or DEFAULT_SCORER
    return (scorer,) if name in SCORERS or name.startswith(JUDGE) else ()


def _facts(exchange: Answered) -> tuple[object, ...]:
    """The inputs of `score_exchange`."""
    return (
        exchange.answer, exchange.reference, exchange.error_kind, exchange.finish_reason, exchange.scorer,
        exchange.judging, getattr(exchange, "scored_before", None),
    )  # fmt: skip
