"""Judges: what they are asked, how replies become scores, and that an unreadable reply is an error."""

from __future__ import annotations

import pytest

from needlework.scoring.judges.judges import judged
from needlework.scoring.judges.replies import JudgeReplyError, parse_evalscope_reply, parse_llmtest_reply
from needlework.scoring.scores import Reference
from tests.scoring.judges.planted import Judge

REFERENCE = Reference(("48213",), statement="The code is 48213.", question="What is the code?")


@pytest.mark.parametrize(
    ("mark", "value", "verdict"), [(10, 1.0, "found"), (9, 0.9, "found"), (7, 0.7, "partial"), (1, 0.1, "wrong")]
)
def test_both_styles_score_a_tenth_of_the_mark(mark: int, value: float, verdict: str) -> None:
    for scorer in (
        judged(Judge(f'{{"reasoning": "x", "verdict": {mark}}}'), "evalscope"),
        judged(Judge(f"Because. [[{mark}]]"), "llmtest"),
    ):
        score = scorer.judge("It says 48213", REFERENCE)
        assert score.value == pytest.approx(value)
        assert score.verdict == verdict
        assert scorer.name.startswith("judge_")


def test_an_unreadable_reply_is_asked_for_once_more_then_raises() -> None:
    judge = Judge("no idea", "[[6]]")
    assert judged(judge, "llmtest").judge("x", REFERENCE).value == pytest.approx(0.6)
    assert len(judge.asked) == 2
    judge = Judge("no idea", "still none", "[[6]]")
    with pytest.raises(JudgeReplyError, match="still none"):
        judged(judge, "llmtest").judge("x", REFERENCE)
    assert len(judge.asked) == 2


def test_a_blank_answer_is_empty_and_nobody_is_asked() -> None:
    judge = Judge()
    assert judged(judge).judge(" \n", REFERENCE).verdict == "empty"
    assert not judge.asked


def test_messages_hold_question_reference_and_answer() -> None:
    judge = Judge('{"verdict": 3}')
    judged(judge).judge("my answer", REFERENCE)
    _, user = judge.asked[0]
    parts = ("Question", REFERENCE.question), ("Reference", REFERENCE.statement), ("Answer", "my answer")
    assert user == "\n\n".join(f"[{name}]\n{text}" for name, text in parts) + "\n"


def test_several_needles_are_all_shown() -> None:
    judge = Judge("[[10]]")
    judged(judge, "llmtest").judge("x", Reference((), parts=("figs", "goat cheese")))
    assert "figs\ngoat cheese" in judge.asked[0][1]


def test_unknown_style() -> None:
    with pytest.raises(ValueError, match="use evalscope, llmtest, documents or prompt"):
        judged(Judge(), "other")


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "[]",
        '{"verdict": -1}',
        '{"verdict": null}',
        '{"verdict": "high"}',
        "{",
        "{}",
        '{"verdict": 1} {}',
        "{'a': 1}",
        '{"verdict": [1]}',
        '{"verdict": Infinity}',
        '{"a":' * 100_000 + "1" + "}" * 100_000,
    ],
)
def test_no_verdict(reply: str) -> None:
    with pytest.raises(JudgeReplyError):
        parse_evalscope_reply(reply)


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ('<think>hm</think>{"verdict": 0}', 0),
        ('{"reasoning": "a } \\" { b", "verdict": 2.5}', 2.5),
        ('}{"verdict":1}', 1),
    ],
)
def test_verdict_among_other_text(reply: str, verdict: float) -> None:
    assert parse_evalscope_reply(reply) == verdict


@pytest.mark.parametrize("reply", ["[[0]]", "[[]]", "[[1.5]]", "[[01]]", "[[１]]", "[[1\n]]", "[1]"])
def test_no_mark(reply: str) -> None:
    with pytest.raises(JudgeReplyError):
        parse_llmtest_reply(reply)
