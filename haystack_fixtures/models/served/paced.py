"""Models that are asked elsewhere: at the pace that the server bears, again where that can help, and checked."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from needlework.haystack_fixtures.errors import printable
from needlework.haystack_fixtures.models.model import ModelError, Request, Response
from needlework.haystack_fixtures.models.reader import reader
from needlework.haystack_fixtures.models.served.connection import Connection
from needlework.haystack_fixtures.models.served.errors import Fault, Retries, crowded
from needlework.haystack_fixtures.models.served.facts.server_facts import ServerFacts
from needlework.haystack_fixtures.models.served.http.client import Allowed
from needlework.haystack_fixtures.models.served.pace.pacing import News, Sign
from needlework.haystack_fixtures.models.served.pace.told import farewell, news_line
from needlework.haystack_fixtures.models.served.pace.turnstile import Passage, Turnstile
from needlework.haystack_fixtures.models.served.reading.budget import within_budget
from needlework.haystack_fixtures.models.served.reading.reply import Reply
from needlework.haystack_fixtures.models.served.response import response_of
from needlework.haystack_fixtures.models.served.transport import Transport
from needlework.haystack_fixtures.tokenizers.tokenizer import Tokenizer

# The slowest reading and writing that the growing time-out allows for, in tokens per second.
PREFILL_PER_S = 1000
DECODE_PER_S = 10


class PacedModel:
    """A model behind a `Transport`. It may be asked from many threads at once.

    The server may be silent for `connection.timeout_s` plus a second for each 1000 prompt tokens, and may send for a
    second longer for each 10 tokens that the answer may have. What failed in passing is tried again with growing
    pauses; how many requests are in flight follows what the server can bear.
    """

    def __init__(
        self,
        transport: Transport,
        tokenizer: Tokenizer,
        connection: Connection,
        gate: Turnstile | None = None,
        shared: Path | None = None,
    ) -> None:
        """`shared`: where the workers of one run keep what they learn of the server."""
        self._transport = transport
        self._tokenizer = tokenizer
        self._timeout_s = connection.timeout_s
        self._ended = connection.ended or (lambda: "")
        self._tell = connection.tell or (lambda _line: None)
        self._pausing = connection.pausing or (lambda _change: None)
        self._retries = connection.retries
        self._workers = connection.workers
        self._longest = 0  # prompt tokens that it has answered
        self._gate = gate or Turnstile(connection.concurrency)
        self._jitter = random.Random()
        self._facts = ServerFacts(
            name=" ".join(str(fact) for fact in transport.identity.values()),
            asked=transport.asked,
            strict=connection.strict_model,
            ask=lambda request: reader().wait(self._respond(request)),
            discover=transport.discover,
            identify=self._identify,
            tokenizer=tokenizer,
            shared=shared,
        )

    @property
    def identity(self) -> Mapping[str, str | int | float | None]:
        """With what has been learnt so far: where the window comes from, how the server counts."""
        return dict(self._transport.identity) | self._facts.told()

    @property
    def window(self) -> int | None:
        """The window that was given, else the server's own: it is asked on the first call.

        A server that tells how many requests it works on at once is asked no more: they would wait in its queue.
        """
        found = self._facts.window()
        if found.slots:
            self._gate.narrow(-(-found.slots // self._workers))
        return found.tokens

    @property
    def tokenizer(self) -> Tokenizer:
        return self._tokenizer

    @property
    def server(self) -> str:
        """Signs that stand for what the server says of itself, asked on the first call; empty where it is silent."""
        return self._facts.server()

    def respond(self, request: Request) -> Response:
        """Ask, and ask again where that can help. Two short requests go before the first trial of each layout."""
        return reader().wait(self.begin(request)())

    def begin(self, request: Request) -> Callable[[], Coroutine[Any, Any, Response]]:
        """Learn what has to be known before, and wait for that; what comes back asks the request, in the reader."""
        expected = self._facts.before(request)

        async def asked() -> Response:
            return self._facts.after(request, expected, await self._respond(request))

        return asked

    async def _respond(self, request: Request) -> Response:
        attempts, spent, since, alone = 0, Retries(self._retries), self._gate.now(), False
        while True:
            passage = await self._gate.enter(alone=alone)
            if passage is None:
                return Response(error=self._gate.closed, attempts=attempts)
            attempts += 1
            dialect = self._transport.dialect
            begun = time.perf_counter()
            outcome = await self._passing(passage, request, dialect, begun)
            latency = time.perf_counter() - begun
            if isinstance(outcome, Reply):
                if request.cell is not None:
                    self._longest = max(self._longest, request.prompt.tokens)
                return response_of(self._hidden(outcome), attempts, latency)
            if outcome.filtered:
                return Response(finish_reason="content_filter", attempts=attempts, latency_s=latency)
            if self._transport.learn(outcome, dialect):
                continue
            alone |= outcome.alone
            outage, never_heard = self._gate.outage, self._gate.silent is None
            pause_s = spent.pause_s(outcome, outage=outage, jitter=self._jitter, never_heard=never_heard)
            if pause_s is None:
                # A server that refuses all, for so long, will refuse the rest too.
                hopeless = outcome.sign == "busy" and outcome.retry and not self._gate.answered_since(since)
                return Response(error=self._error(outcome, hopeless), attempts=attempts, latency_s=latency)
            self._pausing(1)
            await self._gate.wait(pause_s)
            self._pausing(-1)

    def stop(self) -> None:
        """Send nothing more; what is in flight may still be answered."""
        self._gate.close(ModelError("server", "the run is over"))

    def close(self) -> None:
        """Close the connections; requests in flight end at once."""
        self.stop()
        self._transport.abort()

    def _identify(self) -> dict[str, str]:
        hide = self._transport.redactor.hide
        return {name: printable(hide(value), 300) for name, value in self._transport.identify().items()}

    async def _passing(self, passage: Passage, request: Request, dialect: object, begun: float) -> Reply | Fault:
        """One attempt of a request that the gate has let through, and what the gate learns from it."""
        outcome: Reply | Fault | None = None
        try:
            outcome = await self._transport.attempt(request, dialect, self._allowed(request), begun)
            if isinstance(outcome, Reply):
                outcome = within_budget(outcome, request, self._tokenizer)
            elif outcome.too_long and (room := self._has_room(request)):
                outcome = crowded(outcome, room)
        finally:
            gone = self._gate.leave(passage, *_told(outcome))
        ended = self._ended() if isinstance(outcome, Fault) and outcome.sign in ("gone", "broken", "down") else ""
        if (gone or ended) and isinstance(outcome, Fault):
            last = farewell(str(self._transport.identity["server"]), self._gate.silent, outcome.message)
            outcome = replace(outcome, message=ended or last, retry=False, fatal=True)
            self._error(outcome)
            self._transport.abort()
        elif (news := self._gate.news(passage)) is not None:
            self._tell(self._news(news, outcome))
            if news.what == "back":
                self._gate.end_pauses()
        return outcome

    def _news(self, news: News, outcome: Reply | Fault | None) -> str:
        why = self._transport.redactor.clean(outcome.message) if isinstance(outcome, Fault) else ""
        server = str(self._transport.identity["server"])
        return news_line(news, server, printable(why), heard=self._gate.silent is not None)

    def _allowed(self, request: Request) -> Allowed:
        silence_s = self._timeout_s + request.prompt.tokens / PREFILL_PER_S
        return Allowed(silence_s, silence_s + (request.answer_budget + request.thinking_budget) / DECODE_PER_S)

    def _has_room(self, request: Request) -> str:
        """Why this prompt cannot be too long for the server, in words; empty where it may be."""
        if request.cell is None:
            return ""
        window = self._facts.known_window
        share = f", which its {window.slots} slots share: ask with --concurrency 1" if (window.slots or 0) > 1 else ""
        if window.tokens is not None and window.exact and request.cell.length <= window.tokens:
            return f"its window is {window.tokens} tokens{share}"
        longest = self._longest
        return f"one of {longest} tokens was answered{share}" if request.prompt.tokens <= longest else ""

    def _error(self, fault: Fault, hopeless: bool = False) -> ModelError:
        """The error that a record tells. One that would come to every further request closes the gate."""
        message = printable(self._transport.redactor.clean(fault.message))
        error = ModelError(fault.kind, message, fault.fatal or hopeless, fault.too_long)
        return self._gate.close(error) if error.fatal else error

    def _hidden(self, reply: Reply) -> Reply:
        """The answer of a server that says again what it was sent."""
        hide = self._transport.redactor.hide
        return replace(
            reply,
            text=hide(reply.text),
            reasoning=hide(reply.reasoning),
            finish_reason=printable(hide(reply.finish_reason), 60),
            id=hide(reply.id),
            model=printable(hide(reply.model), 200),
            fingerprint=printable(hide(reply.fingerprint), 200),
        )


def _told(outcome: Reply | Fault | None) -> tuple[Sign, float | None]:
    """What an attempt tells the gate: how the server is, and for how many seconds it wants to be left alone."""
    if isinstance(outcome, Fault):
        return outcome.sign, outcome.retry_after_s if outcome.sign == "busy" and outcome.retry else None
    return ("broken" if outcome is None else "answered"), None
