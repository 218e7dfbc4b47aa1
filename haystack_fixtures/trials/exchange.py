"""One question and what came of it: what the scorer judges and the record tells."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.models.model import ModelError as ModelError
from needlework.haystack_fixtures.models.model import Response as Response
from needlework.haystack_fixtures.settings.settings import Suite
from needlework.haystack_fixtures.trials.trial import Trial

OTHER_SERVER = "server_changed"
"""Flag of an answer that was asked for again: the stored one is of another server at this address."""

NOT_ASKED = Response()
"""In place of a response where the trial was skipped."""


@dataclass(frozen=True, slots=True)
class Again:
    """What came of asking the same prompt once more. `how`: `warm`, `cold`, or in a `batch`."""

    how: str
    response: Response


@dataclass(frozen=True, slots=True)
class Judging:
    """`asks`: each judge's `ask(system, user) -> reply`, by name. `strategy`: when they are asked (`--judge-strategy`).
    `prompt`: the text of one's own. `identity`: a hash of who they are and of that text. `at_once`: threads that
    may ask them.
    """

    asks: Mapping[str, Callable[[str, str], str]]
    strategy: str
    prompt: str | None
    identity: str
    at_once: int = 1


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """An answer that was given before this session, or before its test's turn, and is scored in place of a new one.

    `prompt`: what a record tells of the prompt (counts, hashes, needles), handed on as it is. `scored`: whether a test
    has scored it already. `again`: the answers of the stability probe. `build_s`: seconds to build the prompt.
    `score`: what a test made of it, the fields of a score and its scorer's `name` and `version`; `None` where none did.
    """

    response: Response
    question: str
    reference: Mapping[str, Any]
    prompt: Mapping[str, Any]
    flags: tuple[str, ...] = ()
    again: tuple[Again, ...] = ()
    build_s: float | None = None
    scored: bool = True
    score: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Exchange:
    """A trial with its response. `trial` is missing when the prompt could not be built or the answer was stored.

    `invalid`: reasons why this is no answer to the prompt that we built, `invalid_why` in words. `skipped`: why it was
    not asked at all. `scorer`: the one that the suite names, else the task's.
    `key` identifies the trial for resuming. `build_s`: seconds to build the prompt. `stored_prompt`: what was recorded
    of the prompt, where the answer was stored. `replayed`: a stored answer that has been scored before.
    `judging`: the run's judges, if it has any. `scored_before`: the score of a stored answer.
    """

    cell: Cell
    suite: Suite
    model: str
    key: str
    response: Response
    scorer: str = ""
    question: str = ""
    reference: Mapping[str, Any] | None = None
    trial: Trial | None = None
    stored_prompt: Mapping[str, Any] | None = None
    invalid: tuple[str, ...] = ()
    invalid_why: str = ""
    flags: tuple[str, ...] = ()
    skipped: str = ""
    build_s: float | None = None
    seed: int = 0
    replayed: bool = False
    again: tuple[Again, ...] = ()
    judging: Judging | None = None
    scored_before: Mapping[str, Any] | None = None

    @property
    def answer(self) -> str:
        """The final answer, reasoning left out."""
        return self.response.text

    @property
    def finish_reason(self) -> str | None:
        """Why the model stopped."""
        return self.response.finish_reason

    @property
    def asked_again(self) -> tuple[Exchange, ...]:
        """The exchanges of the stability probe, to be scored as this one is."""
        return tuple(
            replace(self, response=each.response, again=(), scored_before=self._scored_like(each.response))
            for each in self.again
        )

    def _scored_like(self, response: Response) -> Mapping[str, Any] | None:
        """The score that this answer had, where another is the same to the letter."""
        mine = (self.response.text, self.response.finish_reason)
        return self.scored_before if mine == (response.text, response.finish_reason) else None

    @property
    def error_kind(self) -> str | None:
        """The kind of error, if there is no response."""
        return self.response.error.kind if self.response.error else None
