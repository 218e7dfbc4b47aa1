"""When a judge is asked, whose prompt it gets, and what several of them say."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from needlework.core.record import Details, Record
from needlework.scoring.judges.judges import check_prompt
from needlework.scoring.recording import ScoringResult, score_exchange
from needlework.scoring.scores import Reference
from tests.scoring.judges.planted import Judge, Judging

REFERENCE = Reference(("48213",), statement="The code is 48213.", question="What is the code?")
YES, NO = '{"correct": true}', '{"correct": false}'


@dataclass(frozen=True)
class Exchange:
    answer: str
    judging: Judging | None = None
    scorer: str = "match"
    reference: object = REFERENCE
    error_kind: None = None
    finish_reason: str = "stop"
    asked_again: tuple[()] = ()
    scored_before: object = None


def scored(answer: str, *judges: Judge, strategy: str = "auto", **more: object) -> ScoringResult:
    prompt = more.pop("prompt", None)
    judging = Judging({f"judge{n}": judge for n, judge in enumerate(judges)}, strategy, prompt)  # type: ignore[arg-type]
    return score_exchange(Exchange(answer, judging, **more))  # type: ignore[arg-type]


def test_rule_never_asks_and_llm_always() -> None:
    silent, judge = Judge(), Judge('{"verdict": 10}')
    assert scored("It is 48213.", silent, strategy="rule").scorer == "match"
    assert scored("It is 48213.", silent, strategy="rule", scorer="judge_evalscope").scorer == "match"
    by_judge = scored("no idea", judge, strategy="llm")
    assert (by_judge.scorer, by_judge.for_asserting) == ("judge_evalscope", 1)
    assert not silent.asked


def test_recall_asks_only_what_the_rule_missed_and_takes_the_greater() -> None:
    judge = Judge('{"verdict": 7}', '{"verdict": 0}')
    hit = scored("It is 48213.", judge, strategy="llm_recall")
    assert (hit.for_asserting, hit.scorer, len(judge.asked)) == (1, "match+judge_evalscope", 0)
    missed = scored("Forty-eight thousand and so on.", judge, strategy="llm_recall")
    assert missed.for_asserting.value == pytest.approx(0.7)
    assert missed.for_asserting.details["rule"] == "wrong"
    assert scored("It is 11111.", judge, strategy="llm_recall").for_asserting == 0


def test_recall_with_a_judge_that_fails_is_an_error_and_no_miss() -> None:
    assert scored("It is 1.", Judge("?", "?"), strategy="llm_recall").error_kind == "judge"


def test_where_the_answer_is_absent_only_the_judge_that_knows_of_it_is_asked() -> None:
    absent = Reference(("NOT FOUND",), absent=True)
    judge = Judge(YES)
    assert scored("NOT FOUND", judge, strategy="llm", reference=absent).scorer == "abstain"
    assert scored("NOT FOUND", judge, reference=absent, scorer="documents", prompt="{question}{answer}",
                  strategy="llm").scorer == "documents"  # fmt: skip
    assert not judge.asked
    assert scored("I cannot tell", judge, strategy="llm", reference=absent, scorer="documents").for_asserting == 1


def test_a_prompt_of_ones_own() -> None:
    judge = Judge("GRADE: C")
    prompt = 'Q: {question}\nGold: {gold}\nSaid: {pred}\nReply {"correct": true} or false.'
    ruled = scored("It is {question}", judge, strategy="llm", prompt=prompt)
    assert (ruled.scorer, ruled.for_asserting) == ("judge_prompt", 1)
    ((system, user),) = judge.asked
    assert system == ""
    assert "Gold: The code is 48213." in user
    assert "Said: It is {question}" in user
    assert '{"correct": true}' in user


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (" \n", "is empty"),
        ("{question} {reference}", "no {answer}"),
        ("{answer}", "neither {question} nor {reference}"),
        ("{question} {answr}", "{answr} is no placeholder"),
        ("{question} {answer} {response}", "{answer} and {response} are both the answer"),
    ],
)
def test_a_wrong_prompt_says_what_is_wrong(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem.replace("{", "\\{").replace("}", "\\}")):
        check_prompt(text)


@pytest.mark.parametrize(
    ("replies", "value", "verdict"),
    [
        ((YES, YES, NO), 1, "found"),
        ((NO, YES, NO), 0, "wrong"),
        ((YES, "?", YES), 1, "found"),
        ((YES, "?", NO), 0, "unclear"),
        ((YES, NO), 0, "unclear"),
    ],
)
def test_most_judges_decide_and_an_even_split_decides_nothing(
    replies: tuple[str, ...], value: float, verdict: str
) -> None:
    score = scored("Oruro", *(Judge(each, each) for each in replies), scorer="judge_documents").score
    assert score is not None
    assert (score.value, score.verdict) == (value, verdict)
    assert len([key for key in score.details if key.startswith("judge:")]) == len(replies)


def test_the_middle_of_several_marks() -> None:
    marks = [Judge(f'{{"verdict": {mark}}}') for mark in (10, 4, 7)]
    assert scored("x", *marks, scorer="judge_evalscope").for_asserting.value == pytest.approx(0.7)
    two = [Judge(f'{{"verdict": {mark}}}') for mark in (10, 7)]
    assert scored("x", *two, scorer="judge_evalscope").for_asserting.value == pytest.approx(0.85)


def test_judges_of_whom_half_cannot_be_read_are_an_error() -> None:
    assert scored("x", Judge(YES), Judge("?", "?"), scorer="judge_documents").error_kind == "judge"


def test_an_answer_that_these_judges_have_judged_is_not_asked_about_again() -> None:
    first = scored("Oruro", Judge(YES), scorer="judge_documents").score
    assert first is not None
    before = Record(
        model="m", task="doc_position", needle="q0", length=400, depth=50.0, repeat=0, outcome="found", score=1.0,
        scorer="judge_documents", scorer_version=1, why="as before", details=Details(score=dict(first.details)),
    )  # fmt: skip
    silent = Judge(NO)
    assert scored("Oruro", silent, scorer="judge_documents", scored_before=before).for_asserting.why == "as before"
    assert not silent.asked
    assert scored("Potosi", silent, scorer="judge_documents", scored_before=before).for_asserting == 0
