"""Part reasoning from the answer where a model writes both into one text."""

from __future__ import annotations

import re

_OPEN = re.compile(r"<(think|thinking|thought|reasoning)>|\[(THINK)\]")
_CLOSE = re.compile(r"</(?:think|thinking|thought|reasoning)>|\[/THINK\]")


def split_reasoning(text: str, prompt: str = "") -> tuple[str, str]:
    """(answer, reasoning) of a model's text.

    Blocks such as `<think>...</think>` are reasoning. A block that never closes has no answer after it. A block that
    only closes was opened by the chat template, and so was one where `prompt` ends with an opening tag: without the
    closing tag all of the text is reasoning then.
    """
    reasoning: list[str] = []
    answer: list[str] = []
    rest = text
    first_open, first_close = _OPEN.search(rest), _CLOSE.search(rest)
    if first_close and (first_open is None or first_close.start() < first_open.start()):
        reasoning.append(rest[: first_close.start()])
        rest = rest[first_close.end() :]
    elif first_close is None and _opened_by(prompt):
        return "", text.strip()
    while opened := _OPEN.search(rest):
        answer.append(rest[: opened.start()])
        closing = f"[/{opened[2]}]" if opened[2] else f"</{opened[1]}>"
        inside, closed, rest = rest[opened.end() :].partition(closing)
        reasoning.append(inside)
        if not closed:
            rest = ""
    if not reasoning:
        return text, ""
    answer.append(rest)
    return "".join(answer).strip(), "\n".join(part.strip() for part in reasoning)


def _opened_by(prompt: str) -> bool:
    # A prompt may hold a whole document: only its end is looked at.
    last = prompt[-40:].rstrip()
    return any(match.end() == len(last) for match in _OPEN.finditer(last))
