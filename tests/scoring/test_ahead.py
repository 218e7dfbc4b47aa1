"""Answers that wait for their tests are scored before, by what their tests will score by, and by nothing else."""

import sys
import threading
from dataclasses import dataclass, replace
from types import SimpleNamespace

import pytest

from needlework.scoring.background import BackgroundScoring
from needlework.scoring.recording import ScoringResult, score_all
from tests.scoring.judges import planted
from tests.scoring.judges.planted import Judging

WITHIN_S = 20.0


@dataclass(frozen=True)
class Cell:
    task: str = "niah"


@dataclass(frozen=True)
class Exchange(planted.Exchange):
    key: str = ""
    cell: Cell = Cell()
    scorer: str | None = "judge_evalscope"


class Judge:
    """Answers when `together` have asked, and keeps what it was asked."""

    def __init__(self, together=1):
        self._barrier = threading.Barrier(together)
        self.asked: list[str] = []
        self.changed = threading.Condition()

    def __call__(self, _system, user):
        with self.changed:
            self.asked.append(user)
            self.changed.notify_all()
        self._barrier.wait(WITHIN_S)
        return '{"reasoning": "so", "verdict": 8}'

    def has_asked(self, count):
        with self.changed:
            return self.changed.wait_for(lambda: len(self.asked) >= count, WITHIN_S)


def waiting(judge, count, at_once=3, **changes):
    judging = Judging({"judge": judge}, at_once=at_once)
    return [Exchange(f"The code is {n}.", judging=judging, key=f"k{n}", **changes) for n in range(count)]


def added(judge, count, of=slice(None), **changes):
    """Exchanges that wait for this judge, and the scoring that has got those of a slice."""
    ahead, exchanges = BackgroundScoring(), waiting(judge, count, **changes)
    for each in exchanges[of]:
        ahead.add(each)
    return ahead, exchanges


def scores(ahead, exchanges, scorer=None):
    return [ahead.score(each, scorer) for each in exchanges]


def test_judges_are_asked_as_many_at_once_as_they_bear():
    ahead, exchanges = added(judge := Judge(together=3), 6)
    scored = scores(ahead, exchanges)  # one after the other would never meet

    assert [each.score and each.score.value for each in scored] == [0.8] * 6
    assert len(judge.asked) == 6
    alone = Judge()
    assert scored == [score_all(replace(each, judging=Judging({"judge": alone}))) for each in exchanges]


def test_nobody_is_asked_before_a_test_has_said_by_what_it_scores():
    ahead, exchanges = added(judge := Judge(), 3)
    # `match` can tell, and asks nobody.
    assert [each.scorer for each in scores(ahead, exchanges, "match")] == ["match"] * 3
    assert judge.asked == []


def test_what_comes_later_is_begun_as_it_comes():
    judge, ahead = Judge(), BackgroundScoring()
    first, *others = waiting(judge, 4)
    ahead.score(first, None)
    for each in others:
        ahead.add(each)

    assert judge.has_asked(4)
    assert all(each.score for each in scores(ahead, others))
    assert len(judge.asked) == 4


def test_a_test_that_scores_otherwise_ends_it_for_its_task():
    judge, ahead = Judge(), BackgroundScoring()
    first, second, third, fourth = waiting(judge, 4)
    ahead.add(replace(waiting(judge, 1, cell=Cell("chain"))[0], key="other"))
    ahead.score(first, None)
    ahead.score(second, "match")
    ahead.add(third)
    assert len(judge.asked) == 1
    ahead.score(third, "match")
    ahead.score(fourth, None)
    assert len(judge.asked) == 2


def test_what_has_not_begun_by_then_never_does():
    ahead, exchanges = added(judge := Judge(together=2), 9, at_once=1)
    turn = threading.Thread(target=ahead.score, args=(exchanges[0], None), daemon=True)
    turn.start()  # the one thread is with the judge, who waits
    assert judge.has_asked(1)
    scores(ahead, exchanges[1:], "match")
    judge("", "let go")
    turn.join(WITHIN_S)

    assert len(judge.asked) == 2


@pytest.mark.parametrize("named", [True, False], ids=["the suite's, by name", "the test's"])
def test_a_users_own_function_is_called_in_its_tests_turn(named, monkeypatch):
    threads = []

    def own(_answer, _reference):
        threads.append(threading.current_thread())
        return 0.5

    monkeypatch.setitem(sys.modules, "mine", SimpleNamespace(own=own))
    scored = scores(*added(Judge(), 5, scorer="mine:own" if named else "match"), None if named else own)
    name = "mine:own" if named else "own"
    assert [(each.scorer, each.score and each.score.value) for each in scored] == [(name, 0.5)] * 5
    assert set(threads) == {threading.current_thread()}


def test_an_exchange_that_a_test_has_changed_is_scored_as_it_is_now():
    judge, ahead = Judge(), BackgroundScoring()
    first, second, third = waiting(judge, 3)
    ahead.score(first, None)
    ahead.add(second)
    assert judge.has_asked(2)
    changed = replace(second, answer="")
    assert ahead.score(changed, None) == score_all(changed)
    ahead.add(third)
    assert len(judge.asked) == 2


def test_further_answers_of_a_probe_are_scored_at_once_too():
    ahead, (exchange, *again) = added(Judge(together=3), 3, slice(1))
    scored = ahead.score(replace(exchange, asked_again=tuple(again)), None)
    assert [each.score and each.score.answer for each in scored.again] == [each.answer for each in again]


def test_what_is_scored_before_its_turn_is_told_until_the_end():
    told: list[tuple[str, ScoringResult]] = []
    judge, ahead = Judge(), BackgroundScoring(lambda exchange, scored: told.append((exchange.key, scored)))
    exchanges = waiting(judge, 3)
    for each in exchanges:
        ahead.add(each)
    scored = scores(ahead, exchanges)
    ahead.close()
    ahead.add(replace(exchanges[0], key="late"))

    assert sorted(told, key=lambda each: each[0]) == [
        (each.key, of) for each, of in zip(exchanges, scored, strict=True)
    ]
    assert len(judge.asked) == 3
