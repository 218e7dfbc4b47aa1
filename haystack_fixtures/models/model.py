"""What a model under test is asked, what it returns, and how it fails."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from haystack_fixtures.cells import Cell
from haystack_fixtures.needles.needle import Needle
from haystack_fixtures.prompts.prompt import Prompt
from haystack_fixtures.tokenizers.tokenizer import Tokenizer

ErrorKind = Literal["oom", "timeout", "rate_limit", "server", "client", "protocol", "judge", "harness"]
TemplateKind = Literal["chat", "raw"]


@dataclass(frozen=True, slots=True)
class ModelError:
    """Why there is no response. `fatal` (a rejected key, say) ends the run: every further request would fail too."""

    kind: ErrorKind
    message: str
    fatal: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a model. `cell` and `needles` are for `mock:` only; a real model never looks at them."""

    prompt: Prompt
    template: TemplateKind
    answer_budget: int
    thinking_budget: int = 0
    cell: Cell | None = None
    needles: tuple[Needle, ...] = ()
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Response:
    """What came back. Times in seconds, around the request itself, queueing left out.

    `finish_reason`: `stop`, `length`, `content_filter`, or the server's own word; `None` with an error.
    `prompt_tokens` and `completion_tokens` are the model's own count, `None` where it gives none.
    `cached_tokens`: prompt tokens that were not computed again.
    """

    text: str = field(default="", repr=False)
    reasoning: str = field(default="", repr=False)
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    latency_s: float | None = None
    ttft_s: float | None = None
    attempts: int = 1
    error: ModelError | None = None


class Model(Protocol):
    """A model under test."""

    @property
    def identity(self) -> Mapping[str, str | int | float | None]:
        """Everything that can change its answers: weights, revision, dtype, device kind, decoding, server."""
        ...

    @property
    def window(self) -> int | None:
        """Tokens that prompt and answer may have together; `None` when unknown."""
        ...

    @property
    def tokenizer(self) -> Tokenizer: ...

    def respond(self, request: Request) -> Response:
        """Answer one request. Never raises for a fault of the model or server: that is `Response.error`."""
        ...

    def close(self) -> None: ...
