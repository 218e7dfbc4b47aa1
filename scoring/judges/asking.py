"""Asking a judge: one question, once more where the reply cannot be read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from needlework.scoring.judges.replies import JudgeReplyError

Ask = Callable[[str, str], str]
"""`ask(system, user) -> reply`."""

Read = TypeVar("Read")


class JudgeUnreachableError(Exception):
    """The judge gave no reply at all."""


def read_reply(ask: Ask, read: Callable[[str], Read], system: str, user: str) -> tuple[Read, int]:
    """What `read` makes of the judge's reply, and how often it was asked: twice at most.

    Raises `JudgeReplyError` where neither reply can be read, `JudgeUnreachableError` where there is none.
    """
    try:
        return read(_reply(ask, system, user)), 1
    except JudgeReplyError:
        return read(_reply(ask, system, user)), 2


def _reply(ask: Ask, system: str, user: str) -> str:
    try:
        return ask(system, user)
    except Exception as error:  # whatever a client raises, the answer under test is not to blame
        raise JudgeUnreachableError(str(error)) from error
