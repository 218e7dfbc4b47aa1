"""Exchanges to score, and judges that say what a test planted."""

from dataclasses import dataclass
from functools import partial

from needlework.core import settings
from needlework.core.record import Record
from needlework.scoring.scores import Reference


class Judge:
    """Replies in turn, and keeps what it was asked."""

    def __init__(self, *replies):
        self.replies = list(replies)
        self.asked: list[tuple[str, str]] = []

    def __call__(self, system, user):
        self.asked.append((system, user))
        return self.replies.pop(0)


# A run's judges, as an exchange has them.
Judging = partial(settings.Judging, strategy="auto", prompt=None, identity="known", at_once=1)


@dataclass(frozen=True)
class Exchange:
    """An exchange as far as scoring looks at it."""

    answer: str = "The code is 48213."
    reference: object = Reference(("48213",), statement="The code is 48213.", question="What is the code?")
    error_kind: str | None = None
    finish_reason: str | None = "stop"
    scorer: str | None = None
    judging: settings.Judging | None = None
    asked_again: tuple = ()
    scored_before: Record | None = None
