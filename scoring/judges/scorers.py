"""Scorers that ask a language model. How the judge is reached is the caller's business: it passes a function."""

from __future__ import annotations

from functools import partial
from typing import cast, get_args

from needlework.scoring.judges.asking import Ask, read_reply
from needlework.scoring.judges.documents import STYLE, judged_documents
from needlework.scoring.judges.prompts import JudgeStyle, judge_messages
from needlework.scoring.judges.replies import parse_evalscope_reply, parse_llmtest_reply
from needlework.scoring.scores import Reference, Score, Scorer, Verdict
from needlework.scoring.verdicts import expected_text, verdict_for

_FULL = 10.0
_FOUND_FROM = 9.0
_PARTIAL_FROM = 5.0
_SHOWN = 200


def judged(ask: Ask, style: str = "evalscope") -> Scorer:
    """Make a scorer of `ask(system, user) -> reply`. The value is the mark / 10.

    A mark of 9 or 10 is found, 5 up to 9 partial, less wrong. A reply that cannot be read is asked for once more, then
    raises `JudgeReplyError`. A blank answer is empty without asking. `documents` has no marks (`judge_documents`).
    """
    if style == STYLE:
        return judged_documents(ask)
    if style not in get_args(JudgeStyle):
        raise ValueError(f"unknown judge style {style!r}: use {', '.join(get_args(JudgeStyle))} or {STYLE}")

    marks = cast("JudgeStyle", style)

    def judge(answer: str, reference: Reference) -> Score:
        expected = (
            "\n".join(reference.parts) if reference.parts and not reference.statement else expected_text(reference)
        )
        if not answer.strip():
            return Score(0.0, "empty", why="no text")
        system, user = judge_messages(marks, reference.question, expected, answer)
        mark, asked = read_reply(ask, partial(_read, marks), system, user)
        verdict: Verdict = "found" if mark >= _FOUND_FROM else "partial" if mark >= _PARTIAL_FROM else "wrong"
        if verdict == "wrong":
            verdict = verdict_for(0.0, answer)
        return Score(mark / _FULL, verdict, answer[:_SHOWN], f"judge: {mark:g} of 10", {"mark": mark, "asked": asked})

    return Scorer(f"judge_{style}", 1, judge)


def _read(style: JudgeStyle, reply: str) -> float:
    return parse_evalscope_reply(reply) if style == "evalscope" else float(parse_llmtest_reply(reply))
