"""Turns: what the user and the assistant say by turns, and how they are written where there is no chat template."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Literal

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.prompts.prompt import Message
from needlework.haystack_fixtures.prompts.shape import CONTEXT, OPTION

_SPEAKERS = {
    "en": {"user": "User: ", "assistant": "Assistant: "},
    "zh": {"user": "用户：", "assistant": "助手："},
}


@dataclass(frozen=True, slots=True)
class Turn:
    """What one side of a conversation says at a time."""

    role: Literal["user", "assistant"]
    text: str = field(repr=False)


def parted(messages: Sequence[Message], shape: str) -> tuple[tuple[Message, ...], str, tuple[Message, ...]]:
    """The messages of a shape before and after its turns, and between them what the first turn begins with.

    Raises `InputError` for a shape whose context is not turns: it needs a message that ends with `{context}`, and one
    behind it.
    """
    at = next(number for number, message in enumerate(messages) if CONTEXT in message.content)
    opening, _, behind = messages[at].content.partition(CONTEXT)
    if behind or at + 1 == len(messages):
        remedy = (
            "has no room for a conversation: use conversation, or a shape of yours with a message that ends with "
            "{context} and another for {question}; and --question-position end or both"
        )
        raise InputError(OPTION, shape, remedy)
    return tuple(messages[:at]), opening, tuple(messages[at + 1 :])


def merge_roles(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages with neighbours of one role joined, a blank line between them."""
    grouped = groupby(messages, key=lambda message: message.role)
    return tuple(Message(role, "\n\n".join(message.content for message in same)) for role, same in grouped)


def plain_turns(messages: Sequence[Message], language: str) -> str:
    """A conversation for base models: `User: ...`, a blank line, `Assistant: ...`, up to where the answer begins."""
    speakers = _SPEAKERS[language]
    said = [f"{speakers.get(message.role, '')}{message.content}" for message in messages]
    return "\n\n".join([*said, speakers["assistant"].rstrip()])
