"""One question and what came of it: what the scorer judges and the record tells."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.haystacks.unique import occurs
from needlework.haystack_fixtures.models.model import Calibration, Response
from needlework.haystack_fixtures.needles.canaries import Canaries
from needlework.haystack_fixtures.settings.settings import Suite
from needlework.haystack_fixtures.tasks.catalogue import task_named
from needlework.haystack_fixtures.trials.trials import Trial

# Tokens. Two renderings may join a message's ends to the template in two ways; a server that cuts a prompt takes more
# than that away. Not a share of the length: 0.05 % of 128k tokens could be a needle.
TOLERANCE = 2
AROUND = 160  # characters on either side of a needle that a record keeps, to be looked at
_LONGEST = 1000  # of a needle itself: of one that is a whole document both ends


@dataclass(frozen=True, slots=True)
class Again:
    """What came of asking the same prompt once more. `how`: `warm`, `cold`, or in a `batch`."""

    how: str
    response: Response


@dataclass(frozen=True)
class Exchange:
    """A trial with its response. `trial` is missing when the prompt could not be built or the answer was stored.

    `invalid`: reasons why this is no answer to the prompt that we built, `invalid_why` in words. `skipped`: why it was
    not asked at all.
    `key` identifies the trial for resuming. `build_s`: seconds to build the prompt.
    """

    cell: Cell
    suite: Suite
    model: str
    key: str
    response: Response
    question: str = ""
    reference: Mapping[str, Any] | None = None
    trial: Trial | None = None
    prompt_facts: Mapping[str, Any] | None = None
    invalid: tuple[str, ...] = ()
    invalid_why: str = ""
    flags: tuple[str, ...] = ()
    skipped: str = ""
    build_s: float | None = None
    seed: int = 0
    replayed: bool = False
    again: tuple[Again, ...] = ()
    ask_judge: Callable[[str, str], str] | None = None

    @property
    def answer(self) -> str:
        """The final answer, reasoning left out."""
        return self.response.text

    @property
    def scorer(self) -> str:
        """The scorer that the suite names, else the task's."""
        return self.suite.scorer or task_named(self.suite.task).scorer

    @property
    def finish_reason(self) -> str | None:
        """Why the model stopped."""
        return self.response.finish_reason

    @property
    def asked_again(self) -> tuple[Exchange, ...]:
        """The exchanges of the stability probe, to be scored as this one is."""
        return tuple(replace(self, response=each.response, again=()) for each in self.again)

    @property
    def error_kind(self) -> str | None:
        """The kind of error, if there is no response."""
        return self.response.error.kind if self.response.error else None


@dataclass(frozen=True)
class Check:
    """What an answer proves about itself. `invalid`: reasons why it has no score, with `why` in words."""

    invalid: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    why: str = ""


def check_answer(prompt_tokens: int, answers: Sequence[str], response: Response) -> Check:
    """Whether an answer is one to our prompt, all of it, by the server's own count and by whose answer it is.

    The count must be ours plus the constant that calibration found (none: 0), within `TOLERANCE` tokens; a token more
    or less is flagged. A model that gives no count is believed, with the flag `no_usage`. `answers`: the right values;
    one that stands in the reasoning alone is flagged.
    """
    calibration = response.calibration or Calibration("exact")
    served, flags = response.prompt_tokens, list(response.flags)
    if any(occurs(answer, response.reasoning) and not occurs(answer, response.text) for answer in answers):
        flags.append("answer_in_reasoning")
    if response.stale:
        return Check(("stale_answer",), tuple(flags), response.stale)
    if served is None:
        return Check((), (*flags, "no_usage"))
    counted = f"the server counted {served} tokens of a prompt of {prompt_tokens}"
    if calibration.template_tokens:
        counted += f" (its template: {calibration.template_tokens:+d})"
    if calibration.why:
        counted += f"; {calibration.why}"
    if calibration.status == "inconsistent":
        return Check(("token_mismatch",), tuple(flags), counted)
    off = served - prompt_tokens - calibration.template_tokens
    if abs(off) > TOLERANCE and response.cached_tokens and abs(off + response.cached_tokens) <= TOLERANCE:
        off = 0
        flags.append("usage_without_cached")
    if off < -TOLERANCE:
        return Check(("server_truncated",), tuple(flags), counted)
    if off > TOLERANCE:
        return Check(("token_mismatch",), tuple(flags), counted)
    if calibration.template_tokens:
        flags.append("template_difference")
    if off:
        flags.append("token_difference")
    return Check((), tuple(flags))


def with_canaries(exchange: Exchange, canaries: Canaries, response: Response) -> Exchange:
    """The exchange with what the request for the marks at both ends of its context has shown.

    One mark without the other: the model knows what was asked and was not given one end, whatever the server counts.
    Neither: it may be too weak to answer, and is believed, with flags, where the server's count vouches for the prompt.
    """
    if response.error is not None:
        return replace(exchange, flags=(*exchange.flags, "canary_unasked"))
    missing = tuple(f"canary_{end}_missing" for end in canaries.missing(response.text))
    if not missing:
        return replace(exchange, flags=(*exchange.flags, "canaries_found"))
    if len(missing) == 2 and exchange.response.prompt_tokens is not None:
        return replace(exchange, flags=(*exchange.flags, *missing))
    ends = " and ".join(canaries.missing(response.text))
    why = f"asked for the marks at both ends of the text, the model does not have the one at the {ends}"
    return replace(exchange, invalid=(*exchange.invalid, *missing), invalid_why=exchange.invalid_why or why)


def with_follow_up(exchange: Exchange, trial: Trial, response: Response) -> Exchange:
    """The exchange with the answer to its second question, which `trial` asked: both together are what is scored.

    Times and token counts stay those of the first, which has the document; a fault of either is one of the exchange.
    """
    first, asked = exchange.response, exchange.trial.asked if exchange.trial else None
    if asked is None or asked.follow_up is None:
        raise ValueError("the trial has no follow-up")
    if response.error is not None:
        return replace(exchange, response=replace(first, text="", error=response.error))
    check = check_answer(trial.prompt.tokens, [trial.asked.answer], response)
    text = asked.follow_up.joined.format(first=first.text.strip(), second=response.text.strip())
    both = replace(
        first,
        text=text,
        reasoning="\n\n".join(part for part in (first.reasoning, response.reasoning) if part),
        finish_reason=response.finish_reason if first.finish_reason == "stop" else first.finish_reason,
    )
    return replace(
        exchange,
        response=both,
        invalid=tuple(dict.fromkeys((*exchange.invalid, *check.invalid))),
        invalid_why=exchange.invalid_why or check.why,
        flags=tuple(dict.fromkeys((*exchange.flags, *check.flags))),
    )


def prompt_facts(trial: Trial) -> dict[str, Any]:
    """What a record says about a prompt: counts, spans, depths, hashes; of its text only what stands at the needles."""
    prompt = trial.prompt
    asked = {needle.name for needle in trial.asked.needles}
    return {
        "tokens": prompt.tokens,
        "context_tokens": prompt.context_tokens,
        "slack": prompt.slack,
        "template": trial.suite.template,
        "sha256": prompt.text_sha256,
        "filler_sha256": prompt.filler_sha256,
        "corpus_passes": round(prompt.corpus_passes, 4),
        "flags": list(prompt.flags),
        **({"truncated": round(prompt.truncated, 4)} if "truncated" in prompt.flags else {}),
        "needles": [
            {
                "name": needle.name,
                "start": needle.start,
                "end": needle.end,
                "tokens_before": needle.tokens_before,
                "tokens": needle.tokens,
                "requested": round(needle.requested, 3),
                "depth": round(needle.depth, 3),
                **(_around(prompt.text, needle.start, needle.end) if needle.name in asked else {}),
            }
            for needle in prompt.placed
        ],
        **({"retrieval": trial.retrieved.facts} if trial.retrieved else {}),
    }


def _around(text: str, start: int, end: int) -> dict[str, str]:
    """A needle as it stands in the prompt, and the characters on either side."""
    before, after = text[max(0, start - AROUND) : start], text[end : end + AROUND]
    shown, half = text[start:end], _LONGEST // 2
    shown = shown if len(shown) <= _LONGEST else f"{shown[:half]} [...] {shown[-half:]}"
    return {"before": before, "text": shown, "after": after}
