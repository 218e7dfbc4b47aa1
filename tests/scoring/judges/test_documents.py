"""`judge_documents`: what the judge is asked, and the offline rule beside its verdict."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from needlework.scoring.judges.judges import judged
from needlework.scoring.recording import score_exchange
from needlework.scoring.scores import Reference
from tests.scoring.judges.planted import Judge, Judging

REFERENCE = Reference(("Oruro", "a dish called Oruro"), question="What is the dish called?")


def ruling(correct: bool, reason: str = "because") -> str:
    return json.dumps({"reason": reason, "correct": correct})


@pytest.mark.parametrize(
    ("reply", "answer", "value", "verdict", "rule"),
    [
        (ruling(True), "Oruro", 1.0, "found", "found"),
        (ruling(True), "The speciality of the region.", 1.0, "found", "wrong"),
        (ruling(False), "Oruro is the town.", 0.0, "wrong", "found"),
        (ruling(False), "The text does not say.", 0.0, "refused", "refused"),
    ],
)
def test_the_judge_decides_and_the_rules_verdict_stands_beside_it(
    reply: str, answer: str, value: float, verdict: str, rule: str
) -> None:
    score = judged(Judge(reply), "documents").judge(answer, REFERENCE)

    assert (score.value, score.verdict, score.details["rule"]) == (value, verdict, rule)
    assert score.why == "judge: because"


def test_the_judge_sees_question_accepted_answers_and_answer() -> None:
    judge = Judge(ruling(True))
    judged(judge, "documents").judge("my answer", REFERENCE)

    ((system, user),) = judge.asked
    assert '"correct"' in system
    for part in (REFERENCE.question, *REFERENCE.answers, "my answer"):
        assert part in user


def test_where_the_answer_is_absent_the_judge_is_asked_whether_the_answer_abstains() -> None:
    judge, absent = Judge(ruling(True), ruling(False)), replace(REFERENCE, absent=True)
    scorer = judged(judge, "documents")

    assert scorer.judge("I cannot tell.", absent).verdict == "found"
    assert scorer.judge("It is not stated; perhaps Potosi.", absent).verdict == "wrong"
    assert "does not know" in judge.asked[0][0]
    assert "Oruro" not in judge.asked[0][1]


def test_an_unreadable_reply_is_asked_for_once_more_then_is_an_error_and_never_a_wrong_answer() -> None:
    judge = Judge('{"correct": "maybe"}', ruling(True))
    assert judged(judge, "documents").judge("Oruro", REFERENCE).details["asked"] == 2

    class Exchange:
        answer, reference, scorer = "Oruro", REFERENCE, "judge_documents"
        error_kind = finish_reason = None
        asked_again = ()
        judging = Judging({"j": Judge("dunno", "dunno", ruling(True))})

    scored = score_exchange(Exchange())
    assert (scored.score, scored.error_kind) == (None, "judge")


def test_a_blank_answer_is_empty_and_nobody_is_asked() -> None:
    judge = Judge()
    assert judged(judge, "documents").judge(" \n", REFERENCE).verdict == "empty"
    assert not judge.asked


@pytest.mark.parametrize(("scorer", "used"), [("documents", "documents"), ("match", "abstain")])
def test_scorers_that_know_absence_judge_it_themselves(scorer: str, used: str) -> None:
    class Exchange:
        answer, reference = "NOT FOUND", {"answers": ["NOT FOUND"], "absent": True}
        error_kind = finish_reason = judging = None
        asked_again = ()

        def __init__(self) -> None:
            self.scorer = scorer

    scored = score_exchange(Exchange())
    assert (scored.scorer, scored.score.value if scored.score else None) == (used, 1.0)
