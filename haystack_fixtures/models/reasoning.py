"""Part reasoning from the answer where a model writes both into one text."""

from __future__ import annotations

import re
from typing import NamedTuple

# Opening and closing marks, as chat templates and vLLM's and SGLang's reasoning parsers write them.
_PAIRS = (
    *((f"<{word}>", f"</{word}>") for word in ("think", "thinking", "thought", "thoughts", "reasoning", "seed:think")),
    ("[THINK]", "[/THINK]"),  # Magistral
    ("◁think▷", "◁/think▷"),  # Kimi
    ("<|begin_of_thought|>", "<|end_of_thought|>"),  # OpenThinker
    ("<|START_THINKING|>", "<|END_THINKING|>"),  # Command A
    ("<|channel>thought", "<channel|>"),  # Gemma 4
)
_CLOSINGS = {opening.lower(): re.compile(re.escape(closing), re.IGNORECASE) for opening, closing in _PAIRS}
_OPEN = re.compile("|".join(re.escape(opening) for opening, _ in _PAIRS), re.IGNORECASE)
_CLOSE = re.compile("|".join(re.escape(closing) for _, closing in _PAIRS), re.IGNORECASE)
# gpt-oss: every message names its channel, and only `final` is the answer. Servers that drop special tokens leave the
# names, glued to the words: `analysisWe need ...assistantfinalParis`.
_CHANNEL = re.compile(
    r"(?:<\|start\|>assistant)?<\|channel\|>\s*(\w+)[^<]*<\|message\|>(.*?)"
    r"(?:<\|(?:end|return|call)\|>|(?=<\|start\|>|<\|channel\|>)|$)",
    re.DOTALL,
)
_GLUED = re.compile(r"\s*analysis(?=[A-Z\"'])(.*?)(?:assistantfinal(.*))?$", re.DOTALL)
# Granite says it in words.
_WORDS = re.compile(
    r"\s*here(?: is|'s) my thought process:(.*?)(?:here(?: is|'s) my response:(.*))?$", re.DOTALL | re.IGNORECASE
)


class Parted(NamedTuple):
    """`unclosed`: the text ended inside the reasoning, so that there is no answer."""

    answer: str
    reasoning: str
    unclosed: bool = False


def split_reasoning(text: str, prompt: str = "") -> tuple[str, str]:
    """(answer, reasoning) of a model's text, see `part_reasoning`."""
    parted = part_reasoning(text, prompt)
    return parted.answer, parted.reasoning


def part_reasoning(text: str, prompt: str = "") -> Parted:
    """Tell answer and reasoning apart.

    Blocks such as `<think>...</think>` are reasoning. A block that never closes has no answer after it. A block that
    only closes was opened by the chat template, and so was one where `prompt` ends with an opening mark: without the
    closing mark all of the text is reasoning then.
    """
    if "<|channel|>" in text:
        return _by_channel(text)
    told = _GLUED.match(text) or _WORDS.match(text)
    if told:
        return Parted((told[2] or "").strip(), told[1].strip(), told[2] is None)
    reasoning: list[str] = []
    answer: list[str] = []
    at, unclosed = 0, False
    first_open, first_close = _OPEN.search(text), _CLOSE.search(text)
    if first_close and (first_open is None or first_close.start() < first_open.start()):
        reasoning.append(text[: first_close.start()])
        at = first_close.end()
    elif first_close is None and _opened_by(prompt):
        return Parted("", text.strip(), unclosed=True)
    while opened := _OPEN.search(text, at):
        answer.append(text[at : opened.start()])
        closing = _CLOSINGS[opened[0].lower()].search(text, opened.end())
        unclosed = closing is None
        reasoning.append(text[opened.end() : closing.start() if closing else None])
        at = closing.end() if closing else len(text)
    if not reasoning:
        return Parted(text, "")
    answer.append(text[at:])
    return Parted("".join(answer).strip(), "\n".join(part.strip() for part in reasoning), unclosed)


def _by_channel(text: str) -> Parted:
    messages = [(match[1], match[2].strip()) for match in _CHANNEL.finditer(text)]
    final = [said for channel, said in messages if channel == "final"]
    thought = [said for channel, said in messages if channel != "final"]
    return Parted("\n".join(final), "\n".join(thought), not final)


def _opened_by(prompt: str) -> bool:
    # A prompt may hold a whole document: only its end is looked at.
    last = prompt[-40:].rstrip()
    return any(match.end() == len(last) for match in _OPEN.finditer(last))
