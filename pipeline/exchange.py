"""A trial with its answer, and the checks that make it valid."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

from msgspec import structs

from needlework.core.grid import Cell
from needlework.core.record import PromptFacts, Record, RepeatedAnswer
from needlework.core.settings import Suite
from needlework.haystack_fixtures.haystacks.uniqueness import occurs
from needlework.haystack_fixtures.needles.needle_sets import Canaries
from needlework.haystack_fixtures.trials.builder import Trial
from needlework.models.model import Calibration, ErrorKind, ModelError, Response
from needlework.models.served.calibration import tokens_read

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


class StoredAnswer(NamedTuple):
    """An answer that was given before this session, or before its test's turn; it is scored in place of a new one."""

    record: Record
    """The answer as it was recorded."""
    scored: Record | None
    """The record that has its score; `None` where nobody scored it."""
    replayed: bool
    """Whether a test has scored it, and not only judges before their test's turn."""


def recorded_response(record: Record) -> Response:
    """The response that a record tells of."""
    timing = record.timing
    return Response(
        **structs.asdict(record.response),
        cached_tokens=timing.cached_tokens,
        latency_s=timing.latency_s,
        ttft_s=timing.ttft_s,
        attempts=1 if timing.attempts is None else timing.attempts,
    )


def recorded_repeats(record: Record) -> tuple[Again, ...]:
    """The further answers of the stability probe that a record tells of."""
    return tuple(map(_repeat, record.details.stability))


def _repeat(answer: RepeatedAnswer) -> Again:
    error = ModelError(cast("ErrorKind", answer.error.kind), answer.error.message) if answer.error else None
    return Again(answer.how, Response(text=answer.text, finish_reason=answer.finish_reason, error=error))


@dataclass(frozen=True)
class Exchange:
    """A trial with its response. `trial` is missing when the prompt could not be built or the answer was stored.

    `invalid`: reasons why this is no answer to the prompt that we built, `invalid_why` in words. `skipped`: why it was
    not asked at all. `scorer`: the one that the suite names, else the task's.
    `key` identifies the trial for resuming. `build_s`: seconds to build the prompt. `stored_prompt`: what was recorded
    of the prompt, where the answer was stored. `replayed`: a stored answer that has been scored before.
    `judging`: the run's judges, if it has any. `scored_before`: the record with the score of a stored answer.
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
    stored_prompt: PromptFacts | None = None
    invalid: tuple[str, ...] = ()
    invalid_why: str = ""
    flags: tuple[str, ...] = ()
    skipped: str = ""
    build_s: float | None = None
    seed: int = 0
    replayed: bool = False
    again: tuple[Again, ...] = ()
    judging: Judging | None = None
    scored_before: Record | None = None

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

    def _scored_like(self, response: Response) -> Record | None:
        """The score that this answer had, where another is the same to the letter."""
        mine = (self.response.text, self.response.finish_reason)
        return self.scored_before if mine == (response.text, response.finish_reason) else None

    @property
    def error_kind(self) -> str | None:
        """The kind of error, if there is no response."""
        return self.response.error.kind if self.response.error else None


# Tokens. Two renderings may join a message's ends to the template in two ways; a server that cuts a prompt takes more
# than that away. Not a share of the length: 0.05 % of 128k tokens could be a needle.
TOLERANCE = 2
_ABOUT = 16  # tokens by which approximate counts of short prompts may differ without being flagged


@dataclass(frozen=True)
class Check:
    """What an answer proves about itself. `invalid`: reasons why it has no score, with `why` in words."""

    invalid: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    why: str = ""


def check_answer(prompt_tokens: int, answers: Sequence[str], response: Response) -> Check:
    """Whether an answer is one to our prompt, all of it, by the server's own count and by whose answer it is.

    The count must be ours plus the constant that calibration found (none: 0), within `TOLERANCE` tokens; a token more
    or less is flagged. Where the calibration failed, more tokens may be the server's template: `uncalibrated`. A model
    that gives no count is believed, with the flag `no_usage`. `answers`: the right values;
    one that stands in the reasoning alone is flagged.

    Where our count is approximate, a prompt was cut if the server counts no more tokens of it than of a shorter one
    (`response.cut`), or less than half of ours; `length_off` flags one that is off by more than three times what the
    calibration showed.
    """
    calibration = response.calibration or Calibration("exact")
    served, flags = response.prompt_tokens, list(response.flags)
    if any(occurs(answer, response.reasoning) and not occurs(answer, response.text) for answer in answers):
        flags.append("answer_in_reasoning")
    if response.stale or response.other_model:
        reason = "stale_answer" if response.stale else "other_model"
        return Check((reason,), tuple(flags), response.stale or response.other_model)
    if served is None:
        return Check((), (*flags, "no_usage"))
    counted = _in_words(prompt_tokens, served, calibration)
    if calibration.status == "approximate":
        return _check_about(prompt_tokens, response, calibration, (*flags, "approximate_length"), counted)
    if calibration.status == "inconsistent":
        return Check(("token_mismatch",), tuple(flags), counted)
    off = served - prompt_tokens - calibration.template_tokens
    if abs(off) > TOLERANCE and response.cached_tokens and abs(off + response.cached_tokens) <= TOLERANCE:
        off = 0
        flags.append("usage_without_cached")
    if off < -TOLERANCE:
        return Check(("server_truncated",), tuple(flags), counted)
    if off > TOLERANCE:
        reason = "uncalibrated" if calibration.status == "failed" else "token_mismatch"
        return Check((reason,), tuple(flags), counted)
    if calibration.template_tokens:
        flags.append("template_difference")
    if off:
        flags.append("token_difference")
    return Check((), tuple(flags))


def _in_words(ours: int, served: int, calibration: Calibration) -> str:
    counted = f"the server counted {served} tokens of a prompt of {ours}"
    if calibration.template_tokens:
        counted += f" (its template: {calibration.template_tokens:+d})"
    return f"{counted}; {calibration.why}" if calibration.why else counted


def _check_about(
    ours: int, response: Response, calibration: Calibration, flags: tuple[str, ...], counted: str
) -> Check:
    """The check where our count is approximate: a difference is no proof, but for one that no tokenizer explains."""
    if response.cut:
        return Check(("server_truncated",), flags, response.cut)
    read = tokens_read(ours, response) - calibration.template_tokens
    if 2 * read < ours:
        return Check(("server_truncated",), flags, f"{counted}: less than half")
    off = abs(read - ours) > max(_ABOUT, 3 * calibration.error * ours)
    return Check((), (*flags, "length_off") if off else flags)


def check_canaries(canaries: Canaries, response: Response, *, counted: bool) -> Check:
    """What the answer to the question for the marks at both ends of a context shows.

    A missing mark makes the answer invalid where nothing else proves that the prompt came whole. Where the server
    `counted` the prompt's tokens, and rightly, it is a flag: models that are too weak to repeat two marks are many, and
    servers that cut a prompt and count it whole are few.
    """
    if response.error is not None:
        return Check(flags=("canary_unasked",))
    ends = canaries.missing(response.text)
    missing = tuple(f"canary_{end}_missing" for end in ends)
    if not missing:
        return Check(flags=("canaries_found",))
    if counted:
        return Check(flags=missing)
    why = f"asked for the marks at both ends of the text, the model does not have the one at the {' and '.join(ends)}"
    return Check(invalid=missing, why=why)
