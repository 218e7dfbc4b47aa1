"""A trial with its answer, and the checks that make it valid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

from msgspec import structs

from needlework.core.grid import Cell
from needlework.core.record import PromptFacts, Record
from needlework.core.settings import Judging, Suite
from needlework.haystack_fixtures.haystacks.builder import occurs
from needlework.haystack_fixtures.needles.needle_sets import Canaries
from needlework.haystack_fixtures.trials.contexts import Trial
from needlework.models.model import Calibration, ErrorKind, ModelError, Response
from needlework.models.served.calibration import tokens_read

OTHER_SERVER = "server_changed"
"""Flag of an answer that was asked for again: another server at this address gave the stored one."""

NOT_ASKED = Response()  # stands for the response of a skipped trial


@dataclass(frozen=True, slots=True)
class Again:
    """An answer to the same prompt, asked once more. `how`: `warm`, `cold`, or in a `batch`."""

    how: str
    response: Response


class StoredAnswer(NamedTuple):
    """An answer from an earlier session, or from before its test's turn; scored in place of a new one."""

    record: Record  # the answer as it was recorded
    scored: Record | None  # the record that has its score, if it has one
    replayed: bool  # whether a test has scored it, and not only judges before their test's turn


def recorded_response(record: Record) -> Response:
    """The response that a record was made from."""
    timing = record.timing
    return Response(
        **structs.asdict(record.response),
        cached_tokens=timing.cached_tokens,
        latency_s=timing.latency_s,
        ttft_s=timing.ttft_s,
        attempts=1 if timing.attempts is None else timing.attempts,
    )


def recorded_repeats(record: Record) -> tuple[Again, ...]:
    """The further answers of the stability probe in a record."""
    repeats = []
    for answer in record.details.stability:
        error = ModelError(cast("ErrorKind", answer.error.kind), answer.error.message) if answer.error else None
        repeats.append(Again(answer.how, Response(answer.text, finish_reason=answer.finish_reason, error=error)))
    return tuple(repeats)


@dataclass(frozen=True)
class Exchange:
    """A trial with its response, as `generate` gives it to a test."""

    cell: Cell
    suite: Suite
    model: str
    key: str  # identifies the trial for resuming
    response: Response
    scorer: str = ""  # the one that the suite names, else the task's
    question: str = ""
    reference: Mapping[str, Any] | None = None
    trial: Trial | None = None  # `None` where the prompt could not be built, or the answer was stored
    stored_prompt: PromptFacts | None = None  # the record of the prompt, where the answer was stored
    invalid: tuple[str, ...] = ()  # reasons why this is no answer to the prompt that was built
    invalid_why: str = ""  # the first of these reasons, in words
    flags: tuple[str, ...] = ()
    skipped: str = ""  # why the trial was not asked; empty where it was
    build_s: float | None = None  # seconds to build the prompt
    seed: int = 0
    replayed: bool = False  # whether a test has scored this stored answer before
    again: tuple[Again, ...] = ()  # answers of the stability probe
    judging: Judging | None = None  # the run's judges, if it has any
    scored_before: Record | None = None  # the record with the score of a stored answer

    @property
    def answer(self) -> str:
        """The final answer, reasoning left out."""
        return self.response.text

    @property
    def finish_reason(self) -> str | None:
        """The model's reason to stop."""
        return self.response.finish_reason

    @property
    def asked_again(self) -> tuple[Exchange, ...]:
        """The exchanges of the stability probe; one with the very same answer has the same score as before."""
        answer, exchanges = (self.response.text, self.response.finish_reason), []
        for again in self.again:
            is_same = (again.response.text, again.response.finish_reason) == answer
            before = self.scored_before if is_same else None
            exchanges.append(replace(self, response=again.response, again=(), scored_before=before))
        return tuple(exchanges)

    @property
    def error_kind(self) -> str | None:
        """The kind of error, if there is no response."""
        return self.response.error.kind if self.response.error else None


# Tokens. Two renderings may join a message's ends to the template in two ways; a server that cuts a prompt takes more
# than that away. Not a share of the length: 0.05 % of 128k tokens could be a needle.
TOLERANCE = 2
_APPROXIMATE_TOLERANCE = 16  # tokens by which approximate counts of short prompts may differ without being flagged


@dataclass(frozen=True)
class Check:
    """Proof from an answer itself."""

    invalid: tuple[str, ...] = ()  # reasons why it has no score
    flags: tuple[str, ...] = ()
    why: str = ""  # the reason in words


def check_answer(prompt_tokens: int, answers: Sequence[str], response: Response) -> Check:
    """Check that the server read the complete prompt and that the response belongs to it.

    The server's count must be ours plus the constant of the calibration (none: 0), within `TOLERANCE` tokens; a token
    more or less is flagged. Where the calibration failed, more tokens may be the server's template: `uncalibrated`. A
    model that gives no count is believed, with the flag `no_usage`. `answers`: the right values; one that stands in the
    reasoning alone is flagged.

    Where our count is approximate, a prompt was cut if the server counts no more tokens of it than of a shorter one
    (`response.cut`), or less than half of ours; `length_off` flags one that is off by more than three times what the
    calibration showed.
    """
    calibration = response.calibration or Calibration("exact")
    served, flags = response.prompt_tokens, list(response.flags)
    if any(occurs(answer, response.reasoning) and not occurs(answer, response.text) for answer in answers):
        flags.append("answer_in_reasoning")
    if response.stale:
        return Check(("stale_answer",), tuple(flags), response.stale)
    if response.other_model:
        return Check(("other_model",), tuple(flags), response.other_model)
    if served is None:
        return Check((), (*flags, "no_usage"))
    why = f"the server counted {served} tokens of a prompt of {prompt_tokens}"
    if calibration.template_tokens:
        why += f" (its template: {calibration.template_tokens:+d})"
    why += f"; {calibration.why}" if calibration.why else ""
    if calibration.status == "approximate":
        read = tokens_read(prompt_tokens, response) - calibration.template_tokens
        flags.append("approximate_length")
        if response.cut:
            return Check(("server_truncated",), tuple(flags), response.cut)
        if 2 * read < prompt_tokens:
            return Check(("server_truncated",), tuple(flags), f"{why}: less than half")
        is_off = abs(read - prompt_tokens) > max(_APPROXIMATE_TOLERANCE, 3 * calibration.error * prompt_tokens)
        return Check((), (*flags, *["length_off"] * is_off))
    if calibration.status == "inconsistent":
        return Check(("token_mismatch",), tuple(flags), why)
    off = served - prompt_tokens - calibration.template_tokens
    if abs(off) > TOLERANCE and response.cached_tokens and abs(off + response.cached_tokens) <= TOLERANCE:
        off = 0
        flags.append("usage_without_cached")
    if abs(off) > TOLERANCE:
        more = "uncalibrated" if calibration.status == "failed" else "token_mismatch"
        return Check((more if off > 0 else "server_truncated",), tuple(flags), why)
    flags += ["template_difference"] * bool(calibration.template_tokens) + ["token_difference"] * bool(off)
    return Check((), tuple(flags))


def check_canaries(canaries: Canaries, response: Response, *, counted: bool) -> Check:
    """Check the answer to the question for the marks at both ends of a context.

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
