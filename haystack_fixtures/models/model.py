"""What a model under test is asked, what it returns, and how it fails."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.needles.needle import Needle
from needlework.haystack_fixtures.prompts.prompt import Prompt
from needlework.haystack_fixtures.tokenizers.tokenizer import Tokenizer

ErrorKind = Literal["oom", "timeout", "rate_limit", "server", "client", "protocol", "judge", "harness"]
TemplateKind = Literal["chat", "raw"]


@dataclass(frozen=True, slots=True)
class ModelError:
    """Why there is no response. `fatal` (a rejected key, say) ends the run: every further request would fail too.

    `too_long`: the prompt does not fit the model's window, as the server says.
    """

    kind: ErrorKind
    message: str
    fatal: bool = False
    too_long: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a model. `cell` is the trial's, `None` for other questions (a judge's).

    `needles` and `answer` are for `mock:`, and for recognising answers to other requests; no model is sent them.
    """

    prompt: Prompt
    template: TemplateKind
    answer_budget: int
    thinking_budget: int = 0
    cell: Cell | None = None
    needles: tuple[Needle, ...] = ()
    answer: str = ""


def starts_answer(request: Request) -> bool:
    """Whether the prompt ends with the beginning of the answer, which the model is to go on with."""
    messages = request.prompt.messages
    return bool(messages) and messages[-1].role == "assistant"


@dataclass(frozen=True, slots=True)
class Calibration:
    """How a server counts prompts laid out like one request, learnt from two short ones.

    `exact`: its count is ours plus `template_tokens`, whatever the prompt (0: the very same). `inconsistent`: there is
    no such constant. `approximate`: we count with another tokenizer, off by about the share `error`, 0..1. `no_usage`:
    it gives no counts. `failed`: the short requests had no answer. `stale`: it gave one the answer to the other.
    `ids_differ`: it gives every answer an id of its own, so that one that comes again tells. `why`: what was seen, in
    words.
    """

    status: Literal["exact", "approximate", "inconsistent", "no_usage", "failed", "stale"]
    template_tokens: int = 0
    ids_differ: bool = False
    why: str = ""
    error: float = 0.0


@dataclass(frozen=True, slots=True)
class Response:
    """What came back. Times in seconds, around the request itself, queueing left out.

    `finish_reason`: `stop`, `length`, `content_filter`, `missing`, `unfinished` (reasoning, no answer behind it), or
    the server's own word; `None` with an error.
    `prompt_tokens` and `completion_tokens` are the model's own count, `None` where it gives none.
    `reasoning_tokens`: those of the completion that were reasoning, as far as the server tells.
    `cached_tokens`: prompt tokens that were not computed again.
    `id`: the server's name for this answer. `model`, `fingerprint`: who answered, as the server says; empty where it
    does not. `server`: signs that stand for what the server says of itself. `flags`: what a record should tell beside
    the answer.
    `stale`: why this is the answer to another request; empty: nothing says so. `other_model`: why it is the answer of
    another model than the one under test, where such answers do not count (`--strict-model`).
    `cut`: why the server has read less than the prompt, as its counts of other prompts show; empty: nothing says so.
    `calibration`: what is known of the server's counting; `None` for a model that counts as we do.
    """

    text: str = field(default="", repr=False)
    reasoning: str = field(default="", repr=False)
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None
    latency_s: float | None = None
    ttft_s: float | None = None
    attempts: int = 1
    error: ModelError | None = None
    id: str = ""
    flags: tuple[str, ...] = ()
    model: str = ""
    fingerprint: str = ""
    server: str = ""
    stale: str = ""
    other_model: str = ""
    cut: str = ""
    calibration: Calibration | None = None


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


@runtime_checkable
class DistantModel(Protocol):
    """A model that is reached over a network: nobody has to wait while it answers."""

    def begin(self, request: Request) -> Callable[[], Coroutine[Any, Any, Response]]:
        """Make a request ready, which may wait for the server; what comes back asks it, in the reader."""
        ...

    def stop(self) -> None:
        """Send nothing more; what is in flight may still be answered."""
        ...


@runtime_checkable
class BatchModel(Model, Protocol):
    """A model that shares work between requests: equal beginnings are computed once, answers decoded together."""

    @property
    def batch_size(self) -> int:
        """How many requests it takes at once."""
        ...

    @property
    def batch_tokens(self) -> int:
        """How many tokens these may have together: what a process that is killed may lose."""
        ...

    def respond_many(self, requests: Sequence[Request]) -> list[Response]:
        """Answer requests, in their order. Never raises for a fault of the model."""
        ...

    def forget(self) -> None:
        """Drop what is kept of earlier prompts: the next request is computed from its first token on."""
        ...
