"""Scorers that ask a language model. How the judge is reached is the caller's business: it passes a function."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import cast, get_args

from needlework.scoring.judges.asking import Ask, read_reply
from needlework.scoring.judges.documents import STYLE, judged_documents
from needlework.scoring.judges.own_prompt import own_prompt
from needlework.scoring.judges.prompts import JudgeStyle, judge_messages
from needlework.scoring.judges.replies import parse_evalscope_reply, parse_llmtest_reply
from needlework.scoring.judges.ruling import parse_ruling
from needlework.scoring.judges.several import majority
from needlework.scoring.scores import Reference, Score, Scorer, Verdict
from needlework.scoring.verdicts import expected_text, verdict_for

OWN = "prompt"
"""The style of a prompt of one's own: the scorer `judge_prompt`."""

_FULL = 10.0
_FOUND_FROM = 0.9
_PARTIAL_FROM = 0.5
_SHOWN = 200


def judged_by(asks: Mapping[str, Ask], style: str, prompt: str | None = None) -> Scorer:
    """Make the scorer of one judge or several, by their names; of several, most decide (`several.majority`).

    `prompt`: the text of one's own, for the style `prompt`. Raises `ValueError` for an unknown style or a wrong prompt.
    """
    scorers = {name: judged(ask, style, prompt) for name, ask in asks.items()}
    return majority(scorers, _of_value)


def judged(ask: Ask, style: str = "evalscope", prompt: str | None = None) -> Scorer:
    """Make a scorer of `ask(system, user) -> reply`. The value is the mark / 10.

    A mark of 9 or 10 is found, 5 up to 9 partial, less wrong. A reply that cannot be read is asked for once more, then
    raises `JudgeReplyError`. A blank answer is empty without asking. `documents` has no marks (`judge_documents`);
    `prompt` reads rights, wrongs and marks (`parse_ruling`).
    """
    if style == STYLE:
        return judged_documents(ask)
    if style == OWN:
        return _by_own_prompt(ask, prompt or "")
    if style not in get_args(JudgeStyle):
        raise ValueError(f"unknown judge style {style!r}: use {', '.join(get_args(JudgeStyle))}, {STYLE} or {OWN}")

    marks = cast("JudgeStyle", style)

    def judge(answer: str, reference: Reference) -> Score:
        if not answer.strip():
            return Score(0.0, "empty", why="no text")
        system, user = judge_messages(marks, reference.question, _expected(reference), answer)
        mark, asked = read_reply(ask, partial(_read, marks), system, user)
        why = f"judge: {mark:g} of 10"
        return Score(mark / _FULL, _verdict(mark / _FULL, answer), answer[:_SHOWN], why, {"mark": mark, "asked": asked})

    return Scorer(f"judge_{style}", 1, judge)


def _by_own_prompt(ask: Ask, text: str) -> Scorer:
    prompt = own_prompt(text)

    def judge(answer: str, reference: Reference) -> Score:
        if not answer.strip():
            return Score(0.0, "empty", why="no text")
        accepted = (
            "\n".join(reference.answers) if reference.answers and not reference.statement else _expected(reference)
        )
        message = prompt.filled(reference.question, accepted, answer)
        ruling, asked = read_reply(ask, parse_ruling, "", message)
        why = f"judge: {ruling.reason or f'{ruling.value:.0%}'}"
        return Score(ruling.value, _verdict(ruling.value, answer), answer[:_SHOWN], why, {"asked": asked})

    return Scorer(f"judge_{OWN}", 1, judge)


def _of_value(like: Score, value: float) -> Score:
    """A score like the given one, of a value between several judges' marks."""
    why = f"judges: {value * _FULL:g} of 10 in the middle"
    return replace(like, value=value, verdict=_verdict(value, like.answer), why=why)


def _expected(reference: Reference) -> str:
    if reference.parts and not reference.statement:
        return "\n".join(reference.parts)
    return expected_text(reference)


def _verdict(value: float, answer: str) -> Verdict:
    verdict: Verdict = "found" if value >= _FOUND_FROM else "partial" if value >= _PARTIAL_FROM else "wrong"
    return verdict_for(0.0, answer) if verdict == "wrong" else verdict


def _read(style: JudgeStyle, reply: str) -> float:
    return parse_evalscope_reply(reply) if style == "evalscope" else float(parse_llmtest_reply(reply))
