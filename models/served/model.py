"""Models behind servers and in batch files: retries, limits, validity facts around a transport."""

import os
import random
import time
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from needlework.core.errors import printable
from needlework.core.files import folder_of_run
from needlework.models.event_loop import event_loop
from needlework.models.model import Calibration, ModelError, Request, Response
from needlework.models.served.batch import BatchTransport
from needlework.models.served.connection import (
    ServerOptions,
    address,
    allow_open_files,
    check_for_batch,
    served_options,
)
from needlework.models.served.errors import AttemptFault, AttemptResult
from needlework.models.served.http_client import Allowed
from needlework.models.served.limiter import Passage, Retries, Turnstile, news_line, outage_text
from needlework.models.served.providers import AnthropicTransport, GoogleTransport, OpenAISdkTransport
from needlework.models.served.reply import checked_by_budget
from needlework.models.served.server_facts import ServerFacts, Window
from needlework.models.served.transport import Dialect, HttpTransport, OpenAITransport, Transport
from needlework.models.tokenizers.tokenizer import Tokenizer


@dataclass(eq=False)
class ServedModel:
    """A model behind a `Transport`. It may be asked from many threads at once.

    The server may be silent for `connection.timeout_s` plus a second for each 1000 prompt tokens, and may send for a
    second longer for each 10 tokens that the answer may have. Transient failures are retried with exponential
    backoff; the number of requests in flight follows what the server can bear.
    """

    transport: Transport
    tokenizer: Tokenizer
    connection: ServerOptions
    turnstile: Turnstile | None = None
    shared: Path | None = None  # the folder of facts that one run's workers learn of the server

    def __post_init__(self) -> None:
        self._longest = 0  # prompt tokens that it has answered
        self._turnstile = self.turnstile or Turnstile(self.connection.concurrency)
        self._jitter = random.Random()
        ask = lambda request: event_loop().wait(self._respond(request))  # noqa: E731
        self._facts = ServerFacts(self.transport, self.tokenizer, ask, self.connection.strict_model, self.shared)

    @property
    def identity(self) -> Mapping[str, str | int | float | None]:
        """The model's identity with the facts learnt so far: source of the window, token counts."""
        return dict(self.transport.identity) | self._facts.summary()

    @property
    def window(self) -> int | None:
        """The window that was given, else the server's own: it is asked on the first call.

        A server that says how many requests it works on gets no more: they would queue there.
        """
        window = self._facts.window()
        if window.slots and self.connection.heeds_slots:
            self._turnstile.narrow(-(-window.slots // self.connection.workers))
        return window.tokens

    @property
    def server(self) -> str:
        """The fingerprint of the server's self-description, asked once; empty if it is silent."""
        return self._facts.server()

    def respond(self, request: Request) -> Response:
        """Ask, with retries where they can help. Two short requests go before the first trial of each layout."""
        return event_loop().wait(self.begin(request))

    def begin(self, request: Request) -> Coroutine[Any, Any, Response]:
        """Learn the server's facts, and wait for them; return the coroutine that asks the request."""
        return self._ask(request, self._facts.before(request))

    async def _ask(self, request: Request, expected: Calibration | None) -> Response:
        return self._facts.after(request, expected, await self._respond(request))

    async def _respond(self, request: Request) -> Response:
        retries = Retries(self.connection.retries if self.transport.live else 0, self._jitter)
        attempts, since, alone = 0, self._turnstile.now(), False
        while True:
            passage = await self._turnstile.enter(alone=alone)
            if passage is None:
                return Response(error=self._turnstile.closed, attempts=attempts)
            attempts += 1
            dialect = self.transport.dialect
            begun = time.perf_counter()
            outcome = await self._attempt(passage, request, dialect, begun)
            latency_s = time.perf_counter() - begun if self.transport.live else None
            if isinstance(outcome, Response):
                if request.cell is not None:
                    self._longest = max(self._longest, request.prompt.tokens)
                return replace(self._without_secrets(outcome), attempts=attempts, latency_s=latency_s)
            if outcome.filtered:
                return Response(finish_reason="content_filter", attempts=attempts, latency_s=latency_s)
            if self.transport.learn(outcome, dialect):
                continue
            alone |= outcome.sign == "crowded"
            pause_s = retries.pause_s(outcome, self._turnstile.server)
            if pause_s is None:
                # A server that refuses all, for so long, will refuse the rest too.
                refuses_all = outcome.sign == "busy" and outcome.retry and self._turnstile.server.answered_at < since
                error = self._error(replace(outcome, fatal=outcome.fatal or refuses_all))
                return Response(error=error, attempts=attempts, latency_s=latency_s)
            await self._turnstile.wait(pause_s)

    def stop(self) -> None:
        """Send nothing more; requests in flight may still be answered."""
        self._turnstile.close(ModelError("server", "the run is over"))

    def close(self) -> None:
        """Close the connections; requests in flight end at once."""
        self.stop()
        self.transport.abort()

    async def _attempt(self, passage: Passage, request: Request, dialect: Dialect, begun: float) -> AttemptResult:
        """Send an admitted request once, and report its outcome to the turnstile."""
        outcome: AttemptResult = AttemptFault("harness", "the attempt was ended", sign="broken")
        try:
            outcome = await self.transport.attempt(request, dialect, self._allowed(request), begun)
            if isinstance(outcome, Response):
                outcome = checked_by_budget(outcome, request, self.tokenizer)
            elif outcome.too_long and (room := self._has_room(request)):
                # It only lacks room beside others: to be asked alone.
                why = f"no room for this prompt, though {room}: {outcome.message}"
                outcome = replace(outcome, kind="server", message=why, too_long=False, retry=True, sign="crowded")
        finally:
            fault = outcome if isinstance(outcome, AttemptFault) else None
            wait_s = fault.retry_after_s if fault and fault.sign == "busy" and fault.retry else None
            news = self._turnstile.leave(passage, fault.sign if fault else "answered", wait_s)
        server, name = self._turnstile.server, str(self.transport.identity["server"])
        may_be_gone = fault is not None and fault.sign in ("gone", "broken", "down")
        ended = self.connection.ended() if may_be_gone and self.connection.ended else ""
        if fault and (news == "given up" or ended):
            outcome = replace(fault, message=ended or outage_text(name, server, fault.message), retry=False, fatal=True)
            self._error(outcome)
            self.transport.abort()
        elif news is not None and news != "given up":
            if self.connection.tell:
                why = printable(self.transport.redactor.clean(fault.message), 200) if fault else ""
                self.connection.tell(news_line(news, name, why, heard=server.heard))
            if news == "back":
                self._turnstile.end_pauses()
        return outcome

    def _allowed(self, request: Request) -> Allowed:
        silence_s = self.connection.timeout_s + request.prompt.tokens / PREFILL_PER_S
        return Allowed(silence_s, silence_s + (request.answer_budget + request.thinking_budget) / DECODE_PER_S)

    def _has_room(self, request: Request) -> str:
        """The proof that this prompt is not too long for the server, in words; empty without one."""
        if request.cell is None:
            return ""
        window = self._facts.known_window or Window(None, "")
        share = f", which its {window.slots} slots share: ask with --concurrency 1" if (window.slots or 0) > 1 else ""
        if window.tokens is not None and window.exact and request.cell.length <= window.tokens:
            return f"its window is {window.tokens} tokens{share}"
        longest = self._longest
        return f"one of {longest} tokens was answered{share}" if request.prompt.tokens <= longest else ""

    def _error(self, fault: AttemptFault) -> ModelError:
        """The error for a record. A fatal one, which every further request would meet, closes the turnstile."""
        message = printable(self.transport.redactor.clean(fault.message))
        error = ModelError(fault.kind, message, fault.fatal, fault.too_long)
        return self._turnstile.close(error) if error.fatal else error

    def _without_secrets(self, reply: Response) -> Response:
        """The answer without secrets, which a server may echo."""
        hide = self.transport.redactor.hide
        return replace(
            reply,
            text=hide(reply.text),
            reasoning=hide(reply.reasoning),
            finish_reason=printable(hide(reply.finish_reason or ""), 60),
            id=hide(reply.id),
            model=printable(hide(reply.model), 200),
            fingerprint=printable(hide(reply.fingerprint), 200),
        )


# The slowest reading and writing that the growing time-out allows for, in tokens per second.
PREFILL_PER_S = 1000
DECODE_PER_S = 10


def check_served(kind: str, model_args: Mapping[str, str], connection: ServerOptions) -> None:
    """Refuse before the first cell: misspelt arguments, a missing key. Raises `InputError`."""
    options = served_options(model_args, kind)
    if connection.batch and kind == "openai":
        check_for_batch(options)
    else:
        address(connection, options, kind)


def load_served(
    kind: str,
    name: str,
    model_args: Mapping[str, str],
    tokenizer: Tokenizer,
    connection: ServerOptions,
    cache_dir: Path,
) -> ServedModel:
    """The model, ready to be asked; nobody is spoken to before its first request. Raises `InputError`."""
    if kind == "openai" and connection.batch:
        transport = BatchTransport(name, served_options(model_args), tokenizer, connection)
        return ServedModel(transport, tokenizer, connection)
    allow_open_files()
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID")  # pytest-xdist names its run to every worker
    shared = folder_of_run(cache_dir / "servers", run) if run else None
    return ServedModel(transport_of(kind, name, model_args, connection), tokenizer, connection, shared=shared)


_TRANSPORTS: Mapping[str, type[HttpTransport]] = {
    transport.kind: transport
    for transport in (OpenAITransport, OpenAISdkTransport, AnthropicTransport, GoogleTransport)
}


def transport_of(kind: str, name: str, model_args: Mapping[str, str], connection: ServerOptions) -> HttpTransport:
    """The transport for the provider's own API. Raises `InputError`."""
    return _TRANSPORTS[kind](name, served_options(model_args, kind), connection)
