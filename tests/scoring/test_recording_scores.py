"""Outcomes, scores that compare with numbers, `assert_scored`, and answers that are scored before their test."""

import math
import sys
import threading
from dataclasses import dataclass, replace
from types import SimpleNamespace

import pytest
from msgspec import structs

from needlework.core.record import Details, Record
from needlework.scoring.background import BackgroundScoring
from needlework.scoring.judges.judges import judged
from needlework.scoring.match.match import MATCH
from needlework.scoring.recording import ScoringResult, as_reference, score_all, score_exchange
from needlework.scoring.registry import SCORERS
from needlework.scoring.scores import Reference, Score, Scorer, outcome_of
from tests.scoring.material import Exchange, Judge, Judging

FOUND = Score(1.0, "found")
PARTIAL = Score(0.5, "partial")
WRONG = Score(0.0, "wrong")


# Error, why the model stopped, what made the trial invalid, score, answer; outcome and value.
OUTCOMES = [
    (None, "stop", (), FOUND, "x", "found", 1.0), (None, "stop", (), PARTIAL, "x", "partial", 0.5),
    (None, None, (), WRONG, "x", "wrong", 0.0), ("timeout", "stop", ("server_truncated",), FOUND, "x", "error", None),
    (None, "length", ("server_truncated",), FOUND, "x", "invalid", None),
    (None, "length", (), FOUND, "x", "found", 1.0),
    (None, "length", (), PARTIAL, "x", "partial", 0.5), (None, "length", (), WRONG, "x", "censored", None),
    (None, "length", (), Score(0.0, "empty"), "", "censored", None), (None, "length", (), None, "", "censored", None),
    (None, "unfinished", (), Score(0.0, "empty"), "", "censored", None),
    (None, "length", (), Score(0.0, "wrong", settled=True), "x", "wrong", 0.0),
    (None, "length", (), Score(0.0, "distractor", settled=True), "x", "distractor", 0.0),
    (None, "content_filter", (), WRONG, "x", "refused", 0.0), (None, "content_filter", (), None, "", "refused", 0.0),
    (None, "content_filter", (), FOUND, "x", "found", 1.0), (None, "stop", (), None, " ", "empty", 0.0),
    (None, "stop", (), Score(0.0, "distractor"), "x", "distractor", 0.0), (None, "stop", (), None, "x", "error", None),
    (None, "stop", (), Score(0.0, "unclear"), "x", "unclear", None),
    (None, "length", (), Score(0.0, "unclear"), "x", "censored", None),
]  # fmt: skip


@pytest.mark.parametrize(("error", "finish", "invalid", "score", "text", "outcome", "value"), OUTCOMES)
def test_outcome(error, finish, invalid, score, text, outcome, value):
    made = outcome_of(error_kind=error, finish_reason=finish, invalid=invalid, score=score, answer_text=text)
    assert made == (outcome, value)


UNREAD = Exchange(
    "Dyma gyfrinach medden nhw: 48213, felly defnyddiwch hwnnw",
    Reference(("48213",), question="What is the code for Bergen?"),
)


@pytest.mark.parametrize(
    ("replies", "verdict", "value"),
    [
        (['{"reason": "it says so", "correct": true}'], "found", 1.0),
        (['{"reason": "another one", "correct": false}'], "wrong", 0.0),
        (["I cannot say"] * 2, "unclear", 0.0),
        ([], "unclear", 0.0),  # it fails
    ],
)
def test_what_the_rules_cannot_tell_goes_to_the_judge(replies, verdict, value):
    score = score_exchange(replace(UNREAD, judging=Judging({"judge": Judge(*replies)})), "match").score
    assert score is not None
    assert (score.verdict, score.value, score.scorer) == (verdict, value, f"match v{MATCH.version}")
    assert "cannot be told" in score.why


def test_scores_compare_with_numbers():
    assert FOUND >= 0.9
    assert PARTIAL < 0.9
    assert WRONG == 0
    assert PARTIAL != 0.4
    assert FOUND > PARTIAL
    assert WRONG <= WRONG
    assert Score(0.5, "partial") == PARTIAL
    assert Score(0.5, "wrong") != PARTIAL


def test_the_scorer_is_the_tests_else_the_suites_else_match():
    assert score_exchange(Exchange()).scorer == "match"
    assert score_exchange(Exchange(scorer="cdme")).scorer == "cdme"
    mine = Scorer("mine", 7, lambda _answer, _reference: PARTIAL)
    for scorer, known in (("exact_match", ("exact_match", 1)), (mine, ("mine", 7))):
        scored = score_exchange(Exchange(scorer="cdme"), scorer)
        assert (scored.scorer, scored.version) == known


def test_an_exchange_with_an_error_has_no_score_and_an_unclear_one_passes_no_comparison():
    scored = score_exchange(Exchange(error_kind="timeout"))
    assert (scored.score, scored.error_kind) == (None, "timeout")
    assert math.isnan(scored.for_asserting.value)
    assert "timeout" in scored.for_asserting.why
    unclear = score_exchange(UNREAD, "match")
    assert unclear.score.verdict == "unclear"
    assert not any(score.for_asserting >= 0 or score.for_asserting < 1 for score in (scored, unclear))


def _broken(_answer, _reference):
    raise RuntimeError("two\nlines")


@pytest.mark.parametrize(
    ("exchange", "scorer", "kind", "message"),
    [
        (Exchange(), judged(lambda _system, _user: "none"), "judge", "JSON"),
        (Exchange(), _broken, "harness", "_broken: RuntimeError: two lines"),
        (Exchange(), "no_such", "harness", "unknown scorer 'no_such'"),
        (Exchange(), lambda _answer, _reference: 2, "harness", "0..1"),
        (Exchange(), lambda _answer, _reference: math.nan, "harness", "0..1"),
        (Exchange(), lambda _answer, _reference: None, "harness", "TypeError"),
        (Exchange(), lambda _answer, _reference: Score(0.0, "censored"), "harness", "unclear, not 'censored'"),  # type: ignore[arg-type]
        (Exchange(), lambda _answer, _reference: Score(0.0, "wrong", details={"x": math.inf}), "harness", "JSON"),
        (Exchange(), lambda _answer, _reference: Score(0.0, "wrong", details={"x": {1}}), "harness", "JSON"),  # type: ignore[dict-item]
        (Exchange(), lambda _answer, _reference: Score(1.0, "wrong"), "harness", "a score of 1 is not 'wrong'"),
        (Exchange(), lambda _answer, _reference: Score(0.0, "found"), "harness", "a score of 0 is not 'found'"),
        (Exchange(), 7, "harness", "int: TypeError: 'int' object is not callable"),
        (Exchange(reference=None), "match", "harness", "a reference needs"),
        (Exchange(reference={}), "match", "harness", "a reference needs"),
        (Exchange(reference=Reference(())), "match", "harness", "no value"),
        (Exchange(reference=Reference((), parts=("a",))), "keyword", "harness", "neither keyword nor answers"),
    ],
)
def test_a_scorer_that_fails_is_an_error_of_one_line(exchange, scorer, kind, message):
    scored = score_exchange(exchange, scorer)
    assert (scored.score, scored.error_kind) == (None, kind)
    assert message in scored.message
    assert "\n" not in scored.message


def test_references_of_other_kinds():
    wanted = Reference(("48213",), question="What?", distractors=("1", "2"), places={"1": 50.0}, kinds={"2": "stale"})
    told = {"answers": "48213", "question": "What?", "distractors": ["1", "2"], "more": 1, "name_key": "k"}
    told |= {"places": {"1": 50}, "kinds": {"2": "stale"}}
    assert as_reference(told) == replace(wanted, name_key="k")
    assert as_reference(SimpleNamespace(**told)) == replace(wanted, name_key="k")
    assert as_reference(replace(wanted)) == wanted
    assert as_reference("48213") == Reference(("48213",))


KNOWN = Record(
    model="m", task="niah", needle="code", length=400, depth=50.0, repeat=0, outcome="wrong", score=0.0, scorer="match",
    scorer_version=SCORERS["match"].version, answer="48213", why="as before",
)  # fmt: skip


def test_the_score_that_the_same_version_of_a_scorer_gave_is_kept():
    scored = score_exchange(Exchange(scored_before=KNOWN))
    assert (scored.known, scored.for_asserting, scored.for_asserting.why) == (True, 0, "as before")
    cut = {"error_kind": None, "finish_reason": "length", "invalid": (), "answer_text": "48213"}
    assert outcome_of(score=scored.score, **cut) == ("wrong", 0.0)  # what has a score was settled


@pytest.mark.parametrize(
    ("scorer", "before"),
    [
        (None, {"scorer_version": KNOWN.scorer_version + 1}),
        (None, {"scorer": "abstain"}),
        (None, {"details": Details(score={"ruling": "of judges"})}),
        (lambda answer, reference: 1.0, {}),
        (Scorer("match", KNOWN.scorer_version, lambda answer, reference: FOUND), {}),
    ],
    ids=["another version", "another scorer", "judges ruled", "a function", "one's own of that name"],
)
def test_anything_else_is_scored_again(scorer, before):
    scored = score_exchange(Exchange(scored_before=structs.replace(KNOWN, **before)), scorer)
    assert (scored.known, scored.for_asserting) == (False, 1)


WITHIN_S = 20.0


@dataclass(frozen=True)
class Cell:
    task: str = "niah"


@dataclass(frozen=True)
class WaitingExchange(Exchange):
    key: str = ""
    cell: Cell = Cell()
    scorer: str | None = "judge_evalscope"


class MeetingJudge:
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
    return [WaitingExchange(f"The code is {n}.", judging=judging, key=f"k{n}", **changes) for n in range(count)]


def added(judge, count, of=slice(None), **changes):
    """Exchanges that wait for this judge, and the scoring that has got those of a slice."""
    ahead, exchanges = BackgroundScoring(), waiting(judge, count, **changes)
    for each in exchanges[of]:
        ahead.add(each)
    return ahead, exchanges


def scores(ahead, exchanges, scorer=None):
    return [ahead.score(each, scorer) for each in exchanges]


def test_what_comes_later_is_begun_as_it_comes():
    judge, ahead = MeetingJudge(), BackgroundScoring()
    first, *others = waiting(judge, 4)
    ahead.score(first, None)
    for each in others:
        ahead.add(each)

    assert judge.has_asked(4)
    alone = Judging({"judge": MeetingJudge()})
    assert scores(ahead, others) == [score_all(replace(each, judging=alone)) for each in others]
    assert len(judge.asked) == 4


def test_a_test_that_scores_otherwise_ends_it_for_its_task():
    judge, ahead = MeetingJudge(), BackgroundScoring()
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
    ahead, exchanges = added(judge := MeetingJudge(together=2), 9, at_once=1)
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
    scored = scores(*added(MeetingJudge(), 5, scorer="mine:own" if named else "match"), None if named else own)
    name = "mine:own" if named else "own"
    assert [(each.scorer, each.score and each.score.value) for each in scored] == [(name, 0.5)] * 5
    assert set(threads) == {threading.current_thread()}


def test_an_exchange_that_a_test_has_changed_is_scored_as_it_is_now():
    judge, ahead = MeetingJudge(), BackgroundScoring()
    first, second, third = waiting(judge, 3)
    ahead.score(first, None)
    ahead.add(second)
    assert judge.has_asked(2)
    changed = replace(second, answer="")
    assert ahead.score(changed, None) == score_all(changed)
    ahead.add(third)
    assert len(judge.asked) == 2


def test_further_answers_of_a_probe_are_scored_at_once_too():
    ahead, (exchange, *again) = added(MeetingJudge(together=3), 3, slice(1))
    scored = ahead.score(replace(exchange, asked_again=tuple(again)), None)
    assert [each.score and each.score.answer for each in scored.again] == [each.answer for each in again]


def test_what_is_scored_before_its_turn_is_told_until_the_end():
    told: list[tuple[str, ScoringResult]] = []
    judge, ahead = MeetingJudge(), BackgroundScoring(lambda exchange, scored: told.append((exchange.key, scored)))
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
