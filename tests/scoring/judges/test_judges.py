"""When judges are asked and what they are shown, how replies become scores, and what several of them say."""

import re
from dataclasses import replace

import pytest

from needlework.core.record import Details, Record
from needlework.scoring.judges.judges import check_prompt, judged, pair_messages
from needlework.scoring.judges.replies import JudgeReplyError
from needlework.scoring.recording import score_exchange
from needlework.scoring.scores import Reference
from tests.scoring.judges.planted import Exchange, Judge, Judging

REFERENCE = Exchange().reference
YES, NO = '{"correct": true}', '{"correct": false}'
DISH = Reference(("Oruro", "a dish called Oruro"), question="What is the dish called?")


def scored(answer, *judges, strategy="auto", **more):
    prompt = more.pop("prompt", None)
    judging = Judging({f"judge{n}": judge for n, judge in enumerate(judges)}, strategy, prompt)
    return score_exchange(Exchange(answer, **{"judging": judging, **more}))


def test_rule_never_asks_and_llm_always():
    silent, judge = Judge(), Judge('{"verdict": 10}')
    assert scored("It is 48213.", silent, strategy="rule").scorer == "match"
    assert scored("It is 48213.", silent, strategy="rule", scorer="judge_evalscope").scorer == "match"
    by_judge = scored("no idea", judge, strategy="llm")
    assert (by_judge.scorer, by_judge.for_asserting) == ("judge_evalscope", 1)
    assert not silent.asked


def test_recall_asks_only_what_the_rule_missed_and_takes_the_greater():
    judge = Judge('{"verdict": 7}', '{"verdict": 0}')
    hit = scored("It is 48213.", judge, strategy="llm_recall")
    assert (hit.for_asserting, hit.scorer, len(judge.asked)) == (1, "match+judge_evalscope", 0)
    missed = scored("Forty-eight thousand and so on.", judge, strategy="llm_recall")
    assert missed.for_asserting.value == pytest.approx(0.7)
    assert missed.for_asserting.details["rule"] == "wrong"
    assert scored("It is 11111.", judge, strategy="llm_recall").for_asserting == 0


def test_a_judge_that_says_no_decides_what_the_rule_cannot_tell():
    unclear = "48213 was painted on the lighthouse."
    bergen = Reference(("48213",), question="What is the code for Bergen?")
    assert scored(unclear, strategy="rule", reference=bergen).for_asserting.verdict == "unclear"
    by_judge = scored(unclear, Judge('{"verdict": 0}'), strategy="llm_recall", reference=bergen)
    assert by_judge.for_asserting.verdict == "wrong"


def test_judges_that_fail_are_an_error_and_no_miss():
    assert scored("It is 1.", Judge("?", "?"), strategy="llm_recall").error_kind == "judge"
    assert scored("x", Judge(YES), Judge("?", "?"), scorer="judge_documents").error_kind == "judge"


def test_where_the_answer_is_absent_only_the_judge_that_knows_of_it_is_asked():
    absent = Reference(("NOT FOUND",), absent=True)
    judge = Judge(YES)
    assert scored("NOT FOUND", judge, strategy="llm", reference=absent).scorer == "abstain"
    assert scored("NOT FOUND", judge, reference=absent, scorer="documents", prompt="{question}{answer}",
                  strategy="llm").scorer == "documents"  # fmt: skip
    assert not judge.asked
    assert scored("I cannot tell", judge, strategy="llm", reference=absent, scorer="documents").for_asserting == 1


def test_a_prompt_of_ones_own():
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
def test_a_wrong_prompt_says_what_is_wrong(text, problem):
    with pytest.raises(ValueError, match=re.escape(problem)):
        check_prompt(text)
    with pytest.raises(ValueError, match="use evalscope, llmtest, aa_lcr, aa_lcr_1_0, documents or prompt"):
        judged(Judge(), "other")


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
def test_most_judges_decide_and_an_even_split_decides_nothing(replies, value, verdict):
    score = scored("Oruro", *(Judge(each, each) for each in replies), scorer="judge_documents").score
    assert score is not None
    assert (score.value, score.verdict) == (value, verdict)
    assert len([key for key in score.details if key.startswith("judge:")]) == len(replies)


def test_the_middle_of_several_marks():
    marks = [Judge(f'{{"verdict": {mark}}}') for mark in (10, 4, 7)]
    assert scored("x", *marks, scorer="judge_evalscope").for_asserting.value == pytest.approx(0.7)
    two = [Judge(f'{{"verdict": {mark}}}') for mark in (10, 7)]
    assert scored("x", *two, scorer="judge_evalscope").for_asserting.value == pytest.approx(0.85)


def test_an_answer_that_these_judges_have_judged_is_not_asked_about_again():
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


@pytest.mark.parametrize(
    ("mark", "value", "verdict"), [(10, 1.0, "found"), (9, 0.9, "found"), (7, 0.7, "partial"), (1, 0.1, "wrong")]
)
def test_both_published_styles_score_a_tenth_of_the_mark(mark, value, verdict):
    for judge, style in (
        (Judge(f'{{"reasoning": "x", "verdict": {mark}}}'), "evalscope"),
        (Judge(f"[[{mark}]]"), "llmtest"),
    ):
        score = judged(judge, style).judge("It says 48213", REFERENCE)
        assert (score.value, score.verdict) == (pytest.approx(value), verdict)


@pytest.mark.parametrize(
    ("style", "good", "bad"), [("llmtest", "[[6]]", "no idea"), ("documents", YES, '{"correct": "maybe"}')]
)
def test_an_unreadable_reply_is_asked_for_once_more_then_raises(style, good, bad):
    judge = Judge(bad, good)
    assert judged(judge, style).judge("x", REFERENCE).details["asked"] == len(judge.asked) == 2
    judge = Judge(bad, "still none", good)
    with pytest.raises(JudgeReplyError):
        judged(judge, style).judge("x", REFERENCE)
    assert len(judge.asked) == 2


def test_a_blank_answer_is_empty_and_nobody_is_asked():
    for style in ("evalscope", "documents"):
        assert judged(Judge(), style).judge(" \n", REFERENCE).verdict == "empty"


def test_messages_have_question_references_and_answers():
    judge = Judge('{"verdict": 3}', "[[10]]", YES)
    judged(judge).judge("my answer", REFERENCE)
    parts = ("Question", REFERENCE.question), ("Reference", REFERENCE.statement), ("Answer", "my answer")
    assert judge.asked[0][1] == "\n\n".join(f"[{name}]\n{text}" for name, text in parts) + "\n"
    judged(judge, "llmtest").judge("x", Reference((), parts=("figs", "goat cheese")))
    assert "figs\ngoat cheese" in judge.asked[1][1]
    judged(judge, "documents").judge("my answer", DISH)
    assert all(part in judge.asked[2][1] for part in (DISH.question, *DISH.answers, "my answer"))
    system, user = pair_messages("Who won?", "Ann", "Ann did.", "Bob did.")
    places = [user.index(text) for text in ("Who won?", "[Reference]\nAnn", "[Answer A]\nAnn did.", "Bob did.")]
    assert places == sorted(places)
    assert all(label in system for label in ("[[A]]", "[[B]]", "[[C]]"))


@pytest.mark.parametrize(
    ("reply", "answer", "verdict", "rule"),
    [
        (YES, "Oruro", "found", "found"),
        (YES, "The speciality of the region.", "found", "wrong"),
        (NO, "Oruro is the town.", "wrong", "found"),
        (NO, "The text does not say.", "refused", "refused"),
    ],
)
def test_the_judge_of_documents_decides_and_the_rules_verdict_stands_beside_it(reply, answer, verdict, rule):
    score = judged(Judge(reply), "documents").judge(answer, DISH)
    assert (score.value, score.verdict, score.details["rule"]) == (reply == YES, verdict, rule)


def test_where_the_answer_is_absent_the_judge_is_asked_whether_the_answer_abstains():
    judge, absent = Judge(YES, NO), replace(DISH, absent=True)
    scorer = judged(judge, "documents")
    assert scorer.judge("I cannot tell.", absent).verdict == "found"
    assert scorer.judge("It is not stated; perhaps Potosi.", absent).verdict == "wrong"
    assert "does not know" in judge.asked[0][0]
    assert "Oruro" not in judge.asked[0][1]


def test_scorers_that_know_absence_judge_it_themselves():
    for scorer, used in (("documents", "documents"), ("match", "abstain")):
        result = scored("NOT FOUND", scorer=scorer, reference={"answers": ["NOT FOUND"], "absent": True}, judging=None)
        assert (result.scorer, result.for_asserting) == (used, 1)


def test_a_prompt_may_have_a_system_message_and_published_ones_are_sent_as_they_are():
    sent = []

    def ask(system, user):
        sent.append((system, user))
        return '{"verdict": "INCORRECT"}'

    reference = Reference(("0.07",), question="What are the sales?")
    own = "[system]\nBe strict.\n[user]\n{question} {reference} {answer}"
    scores = [judged(ask, "prompt", own).judge("7 {x}", reference), judged(ask, "aa_lcr").judge("7 %", reference)]

    assert sent[0] == ("Be strict.", "What are the sales? 0.07 7 {x}")
    assert sent[1][0].startswith("Decide whether the CANDIDATE ANSWER is correct")
    assert "START QUESTION What are the sales?\n\nEND QUESTION\n\nThe OFFICIAL ANSWER: 0.07\n\nEND" in sent[1][1]
    assert [score.verdict for score in scores] == ["wrong", "wrong"], "CORRECT stands inside INCORRECT"
