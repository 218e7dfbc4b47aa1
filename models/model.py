"""Models: requests, responses, errors, reasoning in answers, arguments."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, Protocol, TypeVar, get_type_hints, runtime_checkable

from needlework.core.errors import InputError
from needlework.core.grid import Cell
from needlework.core.options import read_value
from needlework.core.prompts import Needle, Prompt
from needlework.models.tokenizers.tokenizer import Tokenizer

ErrorKind = Literal["oom", "timeout", "rate_limit", "server", "client", "protocol", "judge", "harness"]
TemplateKind = Literal["chat", "raw"]


@dataclass(frozen=True, slots=True)
class ModelError:
    """The reason for a missing response."""

    kind: ErrorKind
    message: str
    fatal: bool = False  # it ends the run, as a rejected key does
    too_long: bool = False  # the prompt does not fit the model's window, as the server says


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a model."""

    prompt: Prompt
    template: TemplateKind
    answer_budget: int
    thinking_budget: int = 0
    cell: Cell | None = None  # the trial's, `None` for other questions (a judge's)
    # For `mock:`, and for recognising answers to other requests; no model is sent them.
    needles: tuple[Needle, ...] = ()
    answer: str = ""


def starts_answer(request: Request) -> bool:
    """Whether the prompt ends with the beginning of the answer, which the model is to go on with."""
    messages = request.prompt.messages
    return bool(messages) and messages[-1].role == "assistant"


@dataclass(frozen=True, slots=True)
class Calibration:
    """A server's counting of prompts laid out like one request, learnt from two short ones.

    `exact`: its count is ours plus `template_tokens`, whatever the prompt (0: the very same). `inconsistent`: there is
    no such constant. `approximate`: we count with another tokenizer. `no_usage`: it gives no counts. `failed`: the
    short requests had no answer. `stale`: it gave one the answer to the other.
    """

    status: Literal["exact", "approximate", "inconsistent", "no_usage", "failed", "stale"]
    template_tokens: int = 0
    ids_differ: bool = False  # every answer has an id of its own: one that comes again proves a mix-up
    why: str = ""  # what was seen, in words
    error: float = 0.0  # the share, 0..1, by which our count is about off
    message_tokens: int = 0  # of a conversation, what its template adds for each message

    def of(self, messages: int) -> Calibration:
        """The calibration of so many messages: `template_tokens` are all that its template adds."""
        return replace(self, template_tokens=self.template_tokens + self.message_tokens * messages, message_tokens=0)


@dataclass(frozen=True, slots=True)
class Response:
    """The response to a request. Times in seconds, of the request itself without its queue."""

    text: str = field(default="", repr=False)
    reasoning: str = field(default="", repr=False)
    # `stop`, `length`, `content_filter`, `missing`, `unfinished` (reasoning, no answer behind it), or the server's own
    # word; `None` with an error.
    finish_reason: str | None = None
    prompt_tokens: int | None = None  # this and the next: the model's own count, `None` where it gives none
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None  # those of the completion that were reasoning, as far as the server tells
    cached_tokens: int | None = None  # prompt tokens that were not computed again
    latency_s: float | None = None
    ttft_s: float | None = None
    attempts: int = 1
    error: ModelError | None = None
    id: str = ""  # the server's name for this answer
    flags: tuple[str, ...] = ()  # what a record should tell beside the answer
    model: str = ""  # this and the next: who answered, as the server says; empty where it does not
    fingerprint: str = ""
    server: str = ""  # the fingerprint of the server's self-description
    stale: str = ""  # why this is the answer to another request; empty: nothing says so
    other_model: str = ""  # why it is another model's than the one under test, where such do not count
    cut: str = ""  # why the server has read less than the prompt, as its counts of other prompts show
    calibration: Calibration | None = None  # what is known of the server's counting; `None`: it counts as we do
    summary: str = field(default="", repr=False)  # what it answered before, where `text` is about its own summary
    follow_up_tokens: int | None = None  # prompt tokens of a second question, where `text` has its answer


class Model(Protocol):
    """A model under test."""

    @property
    def identity(self) -> Mapping[str, str | int | float | None]:
        """The facts that can change its answers: weights, revision, dtype, device kind, decoding, server."""
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

    def begin(self, request: Request) -> Coroutine[Any, Any, Response]:
        """Make a request ready, which may wait for the server; what comes back asks it, in the event loop."""
        ...

    def stop(self) -> None:
        """Send nothing more; what is in flight may still be answered."""
        ...


@runtime_checkable
class BatchModel(Model, Protocol):
    """A model that shares work between requests: equal prefixes once, answers decoded together."""

    @property
    def batch_size(self) -> int:
        """The number of requests that it takes at once."""
        ...

    @property
    def batch_tokens(self) -> int:
        """The most tokens that these may have together: a process that is killed may lose them."""
        ...

    def respond_many(self, requests: Sequence[Request]) -> list[Response]:
        """Answer requests, in their order. Never raises for a fault of the model."""
        ...

    def forget(self) -> None:
        """Drop what is kept of earlier prompts: the next request is computed from its first token on."""
        ...


# Opening and closing marks, as chat templates and vLLM's and SGLang's reasoning parsers write them.
_PAIRS = (
    *((f"<{word}>", f"</{word}>") for word in ("think", "thinking", "thought", "thoughts", "reasoning", "seed:think")),
    ("[THINK]", "[/THINK]"),  # Magistral
    ("◁think▷", "◁/think▷"),  # Kimi
    ("<|begin_of_thought|>", "<|end_of_thought|>"),  # OpenThinker
    ("<|START_THINKING|>", "<|END_THINKING|>"),  # Command A
    ("<|channel>thought", "<channel|>"),  # Gemma 4
)
_BLOCK = re.compile(
    "|".join(f"{re.escape(opening)}(.*?)(?:{re.escape(closing)}|\\Z)" for opening, closing in _PAIRS),
    re.IGNORECASE | re.DOTALL,
)
_OPEN = re.compile("|".join(re.escape(opening) for opening, _ in _PAIRS), re.IGNORECASE)
_CLOSE = re.compile("|".join(re.escape(closing) for _, closing in _PAIRS), re.IGNORECASE)
# gpt-oss: every message names its channel, and only `final` is the answer. Servers that drop special tokens leave the
# names, glued to the words: `analysisWe need ...assistantfinalParis`.
_CHANNEL = re.compile(
    r"(?:<\|start\|>assistant)?<\|channel\|>\s*(\w+)[^<]*<\|message\|>(.*?)"
    r"(?:<\|(?:end|return|call)\|>|(?=<\|start\|>|<\|channel\|>)|$)",
    re.DOTALL,
)
_GLUED = re.compile(r"\s*analysis(?=[A-Z\"'])(.*?)(?:assistantfinal(.*))?$", re.DOTALL)
# Granite says it in words.
_WORDS = re.compile(
    r"\s*here(?: is|'s) my thought process:(.*?)(?:here(?: is|'s) my response:(.*))?$", re.DOTALL | re.IGNORECASE
)


class Parted(NamedTuple):
    """`unclosed`: the text ended inside the reasoning, so that there is no answer."""

    answer: str
    reasoning: str
    unclosed: bool = False


def part_reasoning(text: str, prompt: str = "") -> Parted:
    """Tell answer and reasoning apart.

    Blocks such as `<think>...</think>` are reasoning. A block that never closes has no answer after it. A block that
    only closes was opened by the chat template, and so was one where `prompt` ends with an opening mark: without the
    closing mark all of the text is reasoning then.
    """
    if "<|channel|>" in text:
        messages = [(match[1], match[2].strip()) for match in _CHANNEL.finditer(text)]
        final = [message for channel, message in messages if channel == "final"]
        thought = [message for channel, message in messages if channel != "final"]
        return Parted("\n".join(final), "\n".join(thought), not final)
    if marked := _GLUED.match(text) or _WORDS.match(text):
        return Parted((marked[2] or "").strip(), marked[1].strip(), marked[2] is None)
    ending = prompt[-40:].rstrip()  # of a prompt that may hold a whole document
    first_open, first_close = _OPEN.search(text), _CLOSE.search(text)
    reasoning: list[str] = []
    answer = text
    if first_close and (first_open is None or first_close.start() < first_open.start()):
        reasoning, answer = [text[: first_close.start()]], text[first_close.end() :]
    elif first_close is None and any(match.end() == len(ending) for match in _OPEN.finditer(ending)):
        return Parted("", text.strip(), unclosed=True)
    blocks = list(_BLOCK.finditer(answer))
    reasoning += [block[block.lastindex or 0] for block in blocks]
    if not reasoning:
        return Parted(text, "")
    unclosed = bool(blocks) and blocks[-1].end(blocks[-1].lastindex or 0) == len(answer)
    return Parted(_BLOCK.sub("", answer).strip(), "\n".join(part.strip() for part in reasoning), unclosed)


def check_known(args: Mapping[str, str], known: Collection[str], prefixes: tuple[str, ...] = ()) -> None:
    """Refuse names that nothing reads: a misspelt option must not be ignored."""
    for name in args:
        if name not in known and not (prefixes and name.startswith(prefixes)):
            listed = ", ".join([*sorted(known), *(f"{prefix}NAME" for prefix in prefixes)])
            raise InputError("--model-arg", name, f"unknown for this kind of model; known: {listed}")


Arguments = TypeVar("Arguments")


def read_args(kind: type[Arguments], args: Mapping[str, str]) -> Arguments:
    """The values of `--model-arg` as a dataclass, whose fields say how each is read. Raises `InputError`."""
    hints = get_type_hints(kind, include_extras=True)
    check_known(args, hints)
    return kind(**{name: read_value(hints[name], f"--model-arg {name}", value) for name, value in args.items()})


def json_of(text: str | bytes) -> Any:
    """The value of a JSON text; `None` for anything else."""
    with suppress(ValueError, RecursionError):
        return json.loads(text)
    return None


def json_object(option: str, value: str) -> dict[str, object]:
    """A JSON object. Its fields may be keys, so that it is never shown."""
    table = json_of(value)
    if not isinstance(table, dict):
        raise InputError(option, "...", 'is not a JSON object, such as {"factor": 4.0}')
    return table
