"""Reading what judges reply, in whatever form their prompt asked for; nothing is guessed."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.scoring.judges.judges import read_choice, read_choice_compat
from needlework.scoring.judges.replies import (
    JudgeReplyError,
    parse_evalscope_reply,
    parse_llmtest_reply,
    parse_ruling,
)

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
NO_VERDICTS = [
    "", "[]", '{"verdict": -1}', '{"verdict": null}', '{"verdict": "high"}', "{", "{}", '{"verdict": 1} {}', "{'a': 1}",
    '{"verdict": [1]}', '{"verdict": Infinity}', DEEP,
]  # fmt: skip
NO_MARKS = ["[[0]]", "[[]]", "[[1.5]]", "[[01]]", "[[１]]", "[[1\n]]", "[1]"]


def test_rulings_are_read_in_the_forms_of_prompts():
    assert {reply: parse_ruling(reply).value for reply in RULINGS} == pytest.approx(RULINGS)
    assert parse_ruling('{"explanation": "two\\n lines", "correct": true}').reason == "two lines"
    assert parse_ruling("yes").reason == ""


@pytest.mark.parametrize(
    ("parse", "replies"),
    [(parse_ruling, NO_RULINGS), (parse_evalscope_reply, NO_VERDICTS), (parse_llmtest_reply, NO_MARKS)],
)
def test_what_cannot_be_read_is_never_a_verdict(parse, replies):
    for reply in replies:
        with pytest.raises(JudgeReplyError):
            parse(reply)


@given(st.text(max_size=60))
def test_any_reply_is_read_or_refused(reply):
    with contextlib.suppress(JudgeReplyError):
        assert 0 <= parse_ruling(reply).value <= 1


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ('<think>hm</think>{"verdict": 0}', 0),
        ('{"reasoning": "a } \\" { b", "verdict": 2.5}', 2.5),
        ('}{"verdict":1}', 1),
        ('{"verdict": "8"}', 8),
        ('{"verdict": true}', 1),
    ],
)
def test_evalscopes_verdict_among_other_text(reply, verdict):
    assert parse_evalscope_reply(reply) == verdict


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
