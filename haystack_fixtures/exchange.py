"""One question and what came of it: what the scorer judges and the record tells."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from haystack_fixtures.cells import Cell
from haystack_fixtures.models.model import Response
from haystack_fixtures.settings import Suite
from haystack_fixtures.trials import Trial

# A served prompt this much shorter than ours was cut; less may be another template, which is flagged.
TRUNCATED_BELOW = 0.98
TEMPLATE_TOKENS = 32


@dataclass(frozen=True)
class Exchange:
    """A trial with its response. `trial` is missing when the prompt could not be built or the answer was stored.

    `invalid`: reasons why the model did not see the prompt that we built. `skipped`: why it was not asked at all.
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
    flags: tuple[str, ...] = ()
    skipped: str = ""
    build_s: float | None = None
    seed: int = 0
    replayed: bool = False
    ask_judge: Callable[[str, str], str] | None = None

    @property
    def answer(self) -> str:
        """The final answer, reasoning left out."""
        return self.response.text

    @property
    def scorer(self) -> str:
        """The scorer that the suite names."""
        return self.suite.scorer

    @property
    def finish_reason(self) -> str | None:
        """Why the model stopped."""
        return self.response.finish_reason

    @property
    def error_kind(self) -> str | None:
        """The kind of error, if there is no response."""
        return self.response.error.kind if self.response.error else None


def check_server_count(prompt_tokens: int, served_tokens: int | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Compare our count with the server's: (invalid reasons, flags)."""
    if served_tokens is None:
        return (), ("no_usage",)
    if served_tokens < prompt_tokens * TRUNCATED_BELOW - TEMPLATE_TOKENS:
        return ("server_truncated",), ()
    if abs(served_tokens - prompt_tokens) > TEMPLATE_TOKENS:
        return ("token_mismatch",), ()
    return (), () if served_tokens == prompt_tokens else ("template_difference",)


def prompt_facts(trial: Trial) -> dict[str, Any]:
    """What a record says about a prompt: counts, spans, depths and hashes, never the text."""
    prompt = trial.prompt
    return {
        "tokens": prompt.tokens,
        "context_tokens": prompt.context_tokens,
        "slack": prompt.slack,
        "template": trial.suite.template,
        "sha256": prompt.text_sha256,
        "filler_sha256": prompt.filler_sha256,
        "corpus_passes": round(prompt.corpus_passes, 4),
        "flags": list(prompt.flags),
        "needles": [
            {
                "name": needle.name,
                "start": needle.start,
                "end": needle.end,
                "tokens_before": needle.tokens_before,
                "tokens": needle.tokens,
                "requested": round(needle.requested, 3),
                "depth": round(needle.depth, 3),
            }
            for needle in prompt.placed
        ],
    }
