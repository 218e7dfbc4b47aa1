"""Material of the scoring tests: labelled answers from `data`, exchanges, and judges that say what a test planted."""

import json
import tomllib
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from needlework.core import settings
from needlework.core.record import Record
from needlework.scoring.scores import Reference

DATA = Path(__file__).parent / "data"
LABELS = {"found": "+", "partial": "~", "unclear": "?"}
# File and kind; what `match` reaches: the share of right verdicts at least, false hits at most, the unclear at most.
SETS = (
    ("answers.txt", "", 0.94, 1, 0.053),
    ("more_answers.txt", "", 0.86, 2, 0.13),
    ("first_sight.txt", "realistic", 0.96, 0, 0.03),
    ("first_sight.txt", "hard", 0.62, 7, 0.36),
    ("fresh_answers.txt", "realistic", 0.98, 0, 0.02),
    ("fresh_answers.txt", "hard", 0.91, 0, 0.09),
    ("unseen_answers.txt", "realistic", 0.98, 0, 0.02),
    ("unseen_answers.txt", "hard", 0.72, 1, 0.24),
    ("plain_answers.txt", "realistic", 0.98, 1, 0.0),
)


def labelled(name, *, kind=""):
    """Label, reference and answer of each line of a file, or of one `kind` of them."""
    references, reference, heading = _references(), Reference(()), ""
    for line in (DATA / name).read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            heading, _, key = (part.strip() for part in line.strip("[]").split("|"))
            reference = references[key]
        elif line[:2] in ("+ ", "- ", "~ ", "? ") and kind in ("", heading):
            yield line[0], reference, line[2:].replace("\\n", "\n")


def judged():
    """Scorer, verdict, reference and answer of each line of `verdicts.txt`; an answer in quotes is JSON."""
    references, reference, scorer = _references(), Reference(()), ""
    for line in (DATA / "verdicts.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            key, _, scorer = line.strip("[]").partition(" | ")
            reference = references[key]
        elif line and not line.startswith("#"):
            verdict, _, answer = line.partition(" ")
            yield scorer or "match", verdict, reference, json.loads(answer) if answer.startswith('"') else answer


def _references():
    tables = tomllib.loads((DATA / "references.toml").read_text(encoding="utf-8"))
    return {
        key: Reference(**{field: tuple(value) if isinstance(value, list) else value for field, value in table.items()})
        for key, table in tables.items()
    }


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
