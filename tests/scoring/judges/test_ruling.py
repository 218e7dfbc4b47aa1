"""Reading what judges reply, in whatever form their prompt asked for; nothing is guessed."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.scoring.judges.replies import JudgeReplyError, parse_ruling


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ('{"correct": true}', 1),
        ('{"correct": "false"}', 0),
        ('{"correct": 0}', 0),
        ('{"reason": 7, "correct": true}', 1),
        ('Here: {"Correct": false, "reason": "a { b", "sure": 1}', 0),
        ('```json\n{"reason": "x", "correct": true}\n```', 1),
        ('<think>{"correct": false}? no.</think>{"correct": true}', 1),
        ('{"verdict": 8}', 0.8),
        ('{"score": 0.25}', 0.25),
        ('{"grade": "C"}', 1),
        ('{"verdict": "INCORRECT"}', 0),
        ("true", 1),
        ("```\nFalse\n```", 0),
        ("Yes.", 1),
        ("**No**", 0),
        ("CORRECT", 1),
        ("A", 1),
        ("B", 0),
        ("C", 0),
        ("(B)", 0),
        ("A: CORRECT", 1),
        ("C: NOT_ATTEMPTED", 0),
        ("It names the town.\n\nGRADE: C", 1),
        ("GRADE: I", 0),
        ("GRADE: P", 0.5),
        ("reasoning: they agree\ncorrect: yes\nconfidence: 100", 1),
        ("**Verdict:** incorrect. It names another town.", 0),
        ("Rating: [[7]]", 0.7),
        ("[[10]]", 1),
        ("It is right: [[correct]], I say [[correct]]", 1),
    ],
)
def test_what_can_be_read(reply: str, value: float) -> None:
    assert parse_ruling(reply).value == pytest.approx(value)


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "I think so",
        "yes and no",
        "{}",
        '{"reason": "x"}',
        '{"correct": null}',
        '{"correct": 2}',
        '{"score": 7}',
        '{"correct": true, "correct": false}',
        '{"correct": true, "verdict": "incorrect"}',
        '{"correct": true} {"correct": false}',
        '{"correct": True}',
        "GRADE: C\nGRADE: I",
        "GRADE: X",
        "[[11]]",
        "[[A]] or [[B]]",
        '{"a":' * 100_000 + "1" + "}" * 100_000,
    ],
)
def test_what_cannot_is_never_a_verdict(reply: str) -> None:
    with pytest.raises(JudgeReplyError):
        parse_ruling(reply)


@given(st.text(max_size=60))
def test_any_reply_is_read_or_refused(reply: str) -> None:
    with contextlib.suppress(JudgeReplyError):
        assert 0 <= parse_ruling(reply).value <= 1


def test_the_reason_is_kept_where_there_is_one() -> None:
    assert parse_ruling('{"explanation": "two\\n lines", "correct": true}').reason == "two lines"
    assert parse_ruling("yes").reason == ""
