"""Models behind an OpenAI-compatible server."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from haystack_fixtures.models.connection import Connection, without_credentials
from haystack_fixtures.models.model import ModelError, Request, Response
from haystack_fixtures.models.redact import Redactor, redactor, url_secrets
from haystack_fixtures.models.served_args import Address, ServedOptions, address
from haystack_fixtures.models.served_errors import Fault, HttpError, delay_s, fault_of_reply, fault_of_status
from haystack_fixtures.models.served_reply import Reply, read_body, read_events, within
from haystack_fixtures.tokenizers.tokenizer import Tokenizer

TOKENS_PER_SECOND = 1000  # slowest prefill that the growing timeout allows for
_CONNECT_S = 20.0


@dataclass(frozen=True, slots=True)
class _Dialect:
    """What the server has taught us about itself; replaced as a whole, so that threads never see half of it."""

    stream: bool
    max_tokens_field: str


class ServedModel:
    """A model behind a server. `respond` may be called from many threads at once.

    An attempt may take `connection.timeout_s` plus a second for each 1000 prompt tokens; what failed in passing is
    tried again with growing pauses.
    """

    def __init__(
        self,
        name: str,
        options: ServedOptions,
        tokenizer: Tokenizer,
        connection: Connection,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._name = name
        self._options = options
        self._tokenizer = tokenizer
        self._timeout_s = connection.timeout_s
        self._retries = connection.retries
        self._sleep = sleep
        self._jitter = random.Random()
        self._dialect = _Dialect(options.stream, options.max_tokens_field or "max_tokens")
        where = address(connection, azure=options.azure_api_version is not None)
        self._redactor: Redactor = redactor(
            [where.key, *options.headers.values(), *url_secrets(where.base_url), *url_secrets(options.proxy)]
        )
        self._client: Any = _client(where, options)
        self._identity: dict[str, str | int | float | None] = {
            "spec": f"openai:{name}",
            "server": without_credentials(where.base_url),
            "decoding": self._redactor.clean(options.decoding()),
        }
        if options.azure_deployment:
            self._identity["azure_deployment"] = options.azure_deployment

    @property
    def identity(self) -> Mapping[str, str | int | float | None]:
        return self._identity

    @property
    def window(self) -> int | None:
        return self._options.window

    @property
    def tokenizer(self) -> Tokenizer:
        return self._tokenizer

    def respond(self, request: Request) -> Response:
        """Ask, and ask again where that can help."""
        attempts = failures = 0
        while True:
            attempts += 1
            dialect = self._dialect
            begun = time.perf_counter()
            outcome = self._attempt(request, dialect, begun)
            latency = time.perf_counter() - begun
            if isinstance(outcome, Reply):
                return _response(outcome, attempts, latency)
            if outcome.filtered:
                return Response(finish_reason="content_filter", attempts=attempts, latency_s=latency)
            learnt = self._learn(outcome, dialect)
            if learnt is not None:
                self._dialect = learnt
                continue
            failures += 1
            if not outcome.retry or failures > self._retries:
                error = ModelError(outcome.kind, self._redactor.clean(outcome.message), outcome.fatal)
                return Response(error=error, attempts=attempts, latency_s=latency)
            self._sleep(delay_s(outcome, failures, self._jitter))

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _attempt(self, request: Request, dialect: _Dialect, begun: float) -> Reply | Fault:
        import httpx2
        import openai

        allowed = self._timeout_s + request.prompt.tokens / TOKENS_PER_SECOND
        try:
            with self._open(request, dialect, httpx2.Timeout(allowed, connect=min(allowed, _CONNECT_S))) as answer:
                chunks = within(answer.iter_bytes(), begun + allowed)
                if "event-stream" in answer.headers.get("content-type", ""):
                    return read_events(chunks, request.prompt.text, begun)
                return read_body(chunks, request.prompt.text)
        except openai.APIStatusError as error:
            return fault_of_status(
                HttpError(error.status_code, error.body, error.response.text, dict(error.response.headers))
            )
        except (openai.APITimeoutError, httpx2.TimeoutException):
            return Fault("timeout", f"no answer within {allowed:.0f} s", retry=True)
        except (openai.APIConnectionError, httpx2.TransportError) as error:
            cause = error.__cause__ or error
            return Fault("server", f"the connection failed: {type(cause).__name__}: {cause}", retry=True)
        except (openai.OpenAIError, httpx2.HTTPError, httpx2.StreamError, UnicodeError) as error:
            return Fault("protocol", f"{type(error).__name__}: {error}")
        except Exception as error:
            fault = fault_of_reply(error)
            if fault is None:
                raise
            return fault

    def _open(self, request: Request, dialect: _Dialect, timeout: Any) -> Any:
        """The open response, a context manager. The client's own parsing is left out: it takes nearly anything."""
        chat = request.template == "chat"
        endpoint = self._client.chat.completions if chat else self._client.completions
        options = self._options
        # `max_tokens` has no other name in the completions endpoint.
        limit = dialect.max_tokens_field if chat else "max_tokens"
        sent: dict[str, Any] = {"model": self._name, "timeout": timeout}
        sent |= _messages(request) if chat else {"prompt": request.prompt.text}
        sent["temperature"] = options.temperature
        sent["seed"] = options.seed
        if dialect.stream:
            sent |= {"stream": True, "stream_options": {"include_usage": True}}
        sent = {name: value for name, value in sent.items() if value is not None}
        body = {limit: request.answer_budget + request.thinking_budget, **options.extra_body}
        return endpoint.with_streaming_response.create(**sent, extra_body=body)

    def _learn(self, fault: Fault, dialect: _Dialect) -> _Dialect | None:
        """What to do differently, if the server refused the way we asked and not what we asked."""
        if fault.kind not in ("client", "server") or fault.status not in (400, 404, 405, 422, 501):
            return None
        words = fault.message.lower()
        settled = self._options.max_tokens_field or dialect.max_tokens_field != "max_tokens"
        if not settled and "max_completion_tokens" in words:
            return _Dialect(dialect.stream, "max_completion_tokens")
        if dialect.stream and re.search(r"\bstream", words):
            return _Dialect(False, dialect.max_tokens_field)
        return None


def _messages(request: Request) -> dict[str, Any]:
    return {"messages": [{"role": each.role, "content": each.content} for each in request.prompt.messages]}


def _response(reply: Reply, attempts: int, latency: float) -> Response:
    return Response(
        text=reply.text,
        reasoning=reply.reasoning,
        finish_reason=reply.finish_reason,
        prompt_tokens=reply.prompt_tokens,
        completion_tokens=reply.completion_tokens,
        cached_tokens=reply.cached_tokens,
        latency_s=latency,
        ttft_s=reply.ttft_s,
        attempts=attempts,
    )


def _client(where: Address, options: ServedOptions) -> Any:
    import openai

    transport: dict[str, Any] = {"proxy": options.proxy} if options.proxy else {}
    # Proxy variables are for the world outside; a server on this machine is never behind them.
    http = openai.DefaultHttpxClient(trust_env=not where.loopback, **transport)
    common: dict[str, Any] = {
        "api_key": where.key,
        "max_retries": 0,  # we count attempts ourselves
        "default_headers": dict(options.headers),
        "http_client": http,
    }
    if options.azure_api_version is None:
        return openai.OpenAI(base_url=where.base_url, **common)
    return openai.AzureOpenAI(
        azure_endpoint=where.base_url,
        azure_deployment=options.azure_deployment,
        api_version=options.azure_api_version,
        **common,
    )
