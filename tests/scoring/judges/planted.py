"""Judges that say what a test planted."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass


class Judge:
    """Replies in turn, and keeps what it was asked."""

    def __init__(self, *replies):
        self.replies = list(replies)
        self.asked: list[tuple[str, str]] = []

    def __call__(self, system, user):
        self.asked.append((system, user))
        return self.replies.pop(0)


@dataclass(frozen=True)
class Judging:
    """A run's judges, as an exchange has them."""

    asks: Mapping[str, Callable[[str, str], str]]
    strategy: str = "auto"
    prompt: str | None = None
    identity: str = "known"
    at_once: int = 1
