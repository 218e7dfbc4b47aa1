"""What a judge of two answers is asked, and how its reply is read by the strict and by the published rule."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.scoring.judges.judges import pair_messages, read_choice, read_choice_compat
from needlework.scoring.judges.replies import JudgeReplyError


def test_the_judge_sees_question_reference_and_both_answers_in_order() -> None:
    system, user = pair_messages("Who won?", "Ann", "Ann did.", "Bob did.")

    assert [user.index(text) for text in ("Who won?", "[Reference]\nAnn", "Ann did.", "Bob did.")] == sorted(
        user.index(text) for text in ("Who won?", "[Reference]\nAnn", "Ann did.", "Bob did.")
    )
    assert "[Answer A]\nAnn did.\n[End of Answer A]" in user
    assert all(label in system for label in ("[[A]]", "[[B]]", "[[C]]"))


@pytest.mark.parametrize(
    ("reply", "strict", "published"),
    [
        ("A is right. [[A]]", "A", "A"),
        ("[[B]]", "B", "B"),
        ("Both miss it. [[C]]", "tie", "tie"),
        ("**[[B]]** so, finally: [[B]]", "B", "B"),
        ("I choose among [[A]], [[B]] and [[C]]: [[C]]", None, "A"),
        ("Not [[B]] but [[C]]", None, "B"),
        ("A is better.", None, None),
        ("[[D]]", None, None),
        ("[A]", None, None),
        ("[[a]]", None, None),
        ("", None, None),
    ],
)
def test_verdicts(reply: str, strict: str | None, published: str | None) -> None:
    assert read_choice_compat(reply) == published
    if strict is None:
        with pytest.raises(JudgeReplyError):
            read_choice(reply)
    else:
        assert read_choice(reply) == strict


@given(st.text(), st.sampled_from("ABC"), st.text())
def test_a_strict_verdict_is_the_published_one_too(before: str, label: str, after: str) -> None:
    reply = f"{before}[[{label}]]{after}"
    try:
        assert read_choice(reply) == read_choice_compat(reply)
    except JudgeReplyError:
        assert len({each for each in "ABC" if f"[[{each}]]" in reply}) > 1
