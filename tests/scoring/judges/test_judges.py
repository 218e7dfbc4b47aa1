"""When judges are asked, what they are shown, how replies become scores, and what several judges say."""

import contextlib
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.record import Details, Record
from needlework.scoring.judges.judges import check_prompt, judged, pair_messages, read_choice, read_choice_compat
from needlework.scoring.judges.replies import JudgeReplyError, parse_ruling
from needlework.scoring.recording import score_exchange
from needlework.scoring.scores import Reference
from tests.scoring.material import Exchange, Judge, Judging

REFERENCE = Exchange().reference
YES, NO = '{"correct": true}', '{"correct": false}'
DISH = Reference(("Oruro", "a dish called Oruro"), question="What is the dish called?")


def scored(answer, *judges, strategy="auto", **more):
    prompt = more.pop("prompt", None)
    judging = Judging({f"judge{n}": judge for n, judge in enumerate(judges)}, strategy=strategy, prompt=prompt)
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


DEEP = '{"a":' * 100_000 + "1" + "}" * 100_000
RULINGS = {
    '{"correct": true}': 1, '{"correct": "false"}': 0, '{"correct": 0}': 0, '{"reason": 7, "correct": true}': 1,
    'Here: {"Correct": false, "reason": "a { b", "sure": 1}': 0, '```json\n{"reason": "x", "correct": true}\n```': 1,
    '<think>{"correct": false}? no.</think>{"correct": true}': 1, '{"verdict": 8}': 0.8, '{"score": 0.25}': 0.25,
    '{"grade": "C"}': 1, '{"verdict": "INCORRECT"}': 0, "true": 1, "```\nFalse\n```": 0, "Yes.": 1, "**No**": 0,
    "CORRECT": 1, "A": 1, "B": 0, "C": 0, "(B)": 0, "A: CORRECT": 1, "C: NOT_ATTEMPTED": 0,
    "It names the town.\n\nGRADE: C": 1, "GRADE: I": 0, "GRADE: P": 0.5,
    "reasoning: they agree\ncorrect: yes\nconfidence: 100": 1, "**Verdict:** incorrect. It names another town.": 0,
    "Rating: [[7]]": 0.7, "[[10]]": 1, "It is right: [[correct]], I say [[correct]]": 1,
}  # fmt: skip
NO_RULINGS = [
    "", "I think so", "yes and no", "{}", '{"reason": "x"}', '{"correct": null}', '{"correct": 2}', '{"score": 7}',
    '{"correct": true, "correct": false}', '{"correct": true, "verdict": "incorrect"}',
    '{"correct": true} {"correct": false}', '{"correct": True}', "GRADE: C\nGRADE: I", "GRADE: X", "[[11]]",
    "[[A]] or [[B]]", DEEP,
]  # fmt: skip


def test_rulings_are_read_in_the_forms_of_prompts():
    assert {reply: parse_ruling(reply).value for reply in RULINGS} == pytest.approx(RULINGS)
    assert parse_ruling('{"explanation": "two\\n lines", "correct": true}').reason == "two lines"
    assert parse_ruling("yes").reason == ""


def test_what_cannot_be_read_is_never_a_verdict():
    for reply in NO_RULINGS:
        with pytest.raises(JudgeReplyError):
            parse_ruling(reply)


@given(st.text(max_size=60))
def test_any_reply_is_read_or_refused(reply):
    with contextlib.suppress(JudgeReplyError):
        assert 0 <= parse_ruling(reply).value <= 1


@pytest.mark.parametrize(
    ("reply", "strict", "published"),
    [
        ("A is right. [[A]]", "A", "A"),
        ("Both miss it. [[C]]", "tie", "tie"),
        ("**[[B]]** so, finally: [[B]]", "B", "B"),
        ("I choose among [[A]], [[B]] and [[C]]: [[C]]", None, "A"),
        ("Not [[B]] but [[C]]", None, "B"),
        *((reply, None, None) for reply in ("A is better.", "[[D]]", "[A]", "[[a]]", "")),
    ],
)
def test_verdicts_on_two_answers(reply, strict, published):
    assert read_choice_compat(reply) == published
    with contextlib.nullcontext() if strict else pytest.raises(JudgeReplyError):
        assert read_choice(reply) == strict


@given(st.text(), st.sampled_from("ABC"), st.text())
def test_a_strict_verdict_is_the_published_one_too(before, label, after):
    reply = f"{before}[[{label}]]{after}"
    try:
        assert read_choice(reply) == read_choice_compat(reply)
    except JudgeReplyError:
        assert len({each for each in "ABC" if f"[[{each}]]" in reply}) > 1
