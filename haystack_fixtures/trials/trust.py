"""Whether an answer is one to the prompt that was built, all of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from needlework.haystack_fixtures.haystacks.unique import occurs
from needlework.haystack_fixtures.models.model import Calibration, Response
from needlework.haystack_fixtures.models.served.facts.growth import tokens_read
from needlework.haystack_fixtures.needles.canaries import Canaries

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
