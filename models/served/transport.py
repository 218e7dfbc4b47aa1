"""Requests of the OpenAI dialect: bodies, and how they are sent."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Protocol
from urllib.parse import SplitResult, quote, urlsplit

from needlework.core.redact import Redactor, named_secrets, redactor, url_secrets, without_credentials
from needlework.models.model import Request, starts_answer
from needlework.models.served.calibration import Window, discover_window
from needlework.models.served.connection import Address, ServedOptions, ServerOptions, address, count, table_of
from needlework.models.served.errors import (
    AttemptFault,
    AttemptResult,
    HangUpError,
    HttpError,
    TooSlowError,
    UnreadableError,
    fault_of,
    fault_of_status,
)
from needlework.models.served.http_client import Allowed, HttpClient, HttpExchange
from needlework.models.served.reply import Body, Events
from needlework.models.served.server_facts import json_fetch, who_answers


class Transport(Protocol):
    """One server and one model there. Asked many things at once; but for `attempt` each call may block."""

    @property
    def identity(self) -> Mapping[str, str | int | float | None]:
        """What can change answers, free of secrets; `server` is where it is."""
        ...

    @property
    def asked(self) -> str:
        """The model's name as it is asked for; empty where that says nothing of the model."""
        ...

    @property
    def redactor(self) -> Redactor:
        """Knows the secrets that are sent."""
        ...

    @property
    def dialect(self) -> Any:
        """What the server has taught us about itself, as one value."""
        ...

    async def attempt(self, request: Request, dialect: Any, allowed: Allowed, begun: float) -> AttemptResult:
        """Ask once, in the event loop. Never raises. `begun`: the `time.perf_counter()` time."""
        ...

    def learn(self, fault: AttemptFault, dialect: Any) -> bool:
        """Whether to ask again in another dialect: the server refused the way we asked, and not what we asked."""
        ...

    def discover(self) -> Window:
        """The window that was given, else what the server tells of it."""
        ...

    def count_text(self, text: str) -> int | None:
        """Tokens of a text, a constant number for what stands around it included; `None` where nobody counts."""
        ...

    def identify(self) -> dict[str, str]:
        """What the server says of itself."""
        ...

    def abort(self) -> None:
        """Close the connections; requests in flight end at once. From any thread."""
        ...


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class Dialect:
    """What the server has taught us about itself; replaced as a whole, so that threads never see half of it."""

    stream: bool
    max_tokens_field: str


class Sender:
    """Sends requests in the dialect of their server, many at once."""

    def __init__(self, name: str, options: ServedOptions, where: Address) -> None:
        self._name = name
        self._options = options
        self._base = _base(where, options, name)
        self._endpoints = {
            template: self._base._replace(path=self._base.path + path, query="").geturl()
            for template, path in (("chat", "/chat/completions"), ("raw", "/completions"))
        }
        self.http = _client(self._base, where, options)
        self.dialect = Dialect(options.stream, options.max_tokens_field or "max_tokens")

    @property
    def base_url(self) -> str:
        """The address that the endpoints are below."""
        return self._base.geturl()

    def send(self, request: Request, dialect: Dialect, allowed: Allowed) -> AbstractAsyncContextManager[HttpExchange]:
        """Send a request; the answer is still to be read."""
        stream = {"stream": True, "stream_options": {"include_usage": True}} if dialect.stream else {}
        sent = body_of(self._name, self._options, request, dialect.max_tokens_field, stream)
        body = _encode(sent).encode()
        return self.http.exchange("POST", self._endpoints[request.template], body, allowed)

    def learn(self, fault: AttemptFault, dialect: Dialect) -> bool:
        """Whether to ask again in another way: the server refused the way we asked, and not what we asked."""
        if fault.kind not in ("client", "server") or fault.status not in (400, 404, 405, 422, 501):
            return False
        words = fault.message.lower()
        settled = self._options.max_tokens_field or dialect.max_tokens_field != "max_tokens"
        if not settled and "max_completion_tokens" in words:
            self.dialect = Dialect(dialect.stream, "max_completion_tokens")
            return True
        if dialect.stream and re.search(r"\bstream", words):
            self.dialect = Dialect(False, dialect.max_tokens_field)
            return True
        return False


def body_of(
    name: str,
    options: ServedOptions,
    request: Request,
    max_tokens_field: str,
    further: Mapping[str, object] = MappingProxyType({}),
) -> dict[str, Any]:
    """The fields of a request; `further` ones stand before those of the user's own, which win."""
    chat = request.template == "chat"
    sent: dict[str, Any] = {"model": name}
    sent |= _messages(request) if chat else {"prompt": request.prompt.text}
    if chat and starts_answer(request):  # vLLM's and SGLang's words; llama.cpp does so by itself
        sent |= {"continue_final_message": True, "add_generation_prompt": False}
    sent |= {"temperature": options.temperature, "seed": options.seed}
    # `max_tokens` has no other name in the completions endpoint.
    sent[max_tokens_field if chat else "max_tokens"] = request.answer_budget + request.thinking_budget
    sent = {key: value for key, value in sent.items() if value is not None}
    return sent | dict(further) | options.fields(request.thinking_budget)


def _messages(request: Request) -> dict[str, Any]:
    return {"messages": [{"role": each.role, "content": each.content} for each in request.prompt.messages]}


def _client(base: SplitResult, where: Address, options: ServedOptions) -> HttpClient:
    key = {"Authorization": f"Bearer {where.key}"} if options.azure_api_version is None else {"api-key": where.key}
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **key}
    headers |= dict(options.headers)  # in place of ours
    # Proxy variables are for the world outside; a server on this machine is never behind them.
    return HttpClient(base.geturl(), headers, proxy=options.proxy, environment=not where.loopback)


def _base(where: Address, options: ServedOptions, name: str) -> SplitResult:
    parts = urlsplit(where.base_url)
    path, query = parts.path.rstrip("/"), parts.query
    if options.azure_api_version is not None:
        path += f"/openai/deployments/{quote(options.azure_deployment or name, safe='')}"
        query = "&".join(part for part in (query, f"api-version={quote(options.azure_api_version)}") if part)
    return parts._replace(path=path, query=query)


_ERROR_BYTES = 65_536  # as much of an error's page as is looked at


class OpenAITransport:
    """A `Transport` over HTTP, without a client library between."""

    def __init__(self, name: str, options: ServedOptions, connection: ServerOptions) -> None:
        self._name = name
        self._options = options
        self._too_long = connection.too_long_pattern
        where = address(connection, azure=options.azure_api_version is not None)
        addresses = (*url_secrets(where.base_url), *url_secrets(options.proxy))
        self._redactor: Redactor = redactor(
            [where.secret, *options.headers.values(), *addresses, *named_secrets(options.extra_body)]
        )
        self._sender = Sender(name, options, where)
        self._key_env = connection.api_key_env
        self._keyless = where.secret is None and not options.headers and not url_secrets(where.base_url)
        # OpenAI's own service, there or at Azure, tells no window and goes on with no answer that was begun for it.
        self._open = not where.is_openai and options.azure_api_version is None
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
    def asked(self) -> str:
        # At Azure a deployment is asked, whose name says nothing of its model.
        return self._name if self._options.azure_api_version is None else ""

    @property
    def redactor(self) -> Redactor:
        return self._redactor

    @property
    def dialect(self) -> Dialect:
        return self._sender.dialect

    def learn(self, fault: AttemptFault, dialect: Dialect) -> bool:
        return self._sender.learn(fault, dialect)

    def abort(self) -> None:
        self._sender.http.abort()

    def discover(self) -> Window:
        if self._options.window is not None:
            return Window(self._options.window, "--model-arg window")
        if not self._open:
            return Window(None, "not asked: OpenAI and Azure do not tell")
        return discover_window(json_fetch(self._sender.http), self._sender.base_url, self._name)

    def count_text(self, text: str) -> int | None:
        """Tokens of a text, where the server has a counter: vLLM's and llama.cpp's `/tokenize`."""
        if not self._open:
            return None
        root = self._sender.base_url.partition("?")[0].rstrip("/").removesuffix("/v1")
        # Each server reads its own names, and passes the other's over.
        body = {"model": self._name, "prompt": text, "content": text, "add_special_tokens": False, "add_special": False}
        told = table_of(json_fetch(self._sender.http)(f"{root}/tokenize", body, 60))
        tokens = told.get("tokens")
        return count(told.get("count")) or (len(tokens) if isinstance(tokens, list) and tokens else None)

    def identify(self) -> dict[str, str]:
        # A gateway's list of models changes with its catalogue, and says nothing of who answers.
        return who_answers(json_fetch(self._sender.http), self._sender.base_url, self._name) if self._open else {}

    def refused(self, request: Request) -> AttemptFault | None:
        """What is known beforehand to be refused."""
        if request.template == "chat" and starts_answer(request) and not self._open:
            why = (
                "--answer-prefix true: OpenAI and Azure do not go on with a started answer; give --answer-prefix false"
            )
            return AttemptFault("client", why, fatal=True)
        return None

    async def attempt(self, request: Request, dialect: Dialect, allowed: Allowed, begun: float) -> AttemptResult:
        if (refused := self.refused(request)) is not None:
            return refused
        # Who does not stream says nothing before the whole answer is there.
        waited = allowed if dialect.stream else Allowed(allowed.total_s, allowed.total_s)
        try:
            async with self._sender.send(request, dialect, waited) as answer:
                if answer.status != 200:
                    return self._explained(fault_of_status(await _http_error(answer), self._too_long))
                streamed = "event-stream" in answer.headers.get("content-type", "")
                reading = Events(request.prompt.text, begun) if streamed else Body(request.prompt.text)
                await answer.read(reading.take)
                return reading.reply()
        except TooSlowError as error:
            return AttemptFault("timeout", str(error), retry=True, sign="late")
        except TimeoutError:
            waited_s = time.perf_counter() - begun
            return AttemptFault("timeout", f"no answer in {waited_s:.3g} s (see --timeout)", retry=True, sign="slow")
        except Exception as error:  # noqa: BLE001 - a bad cell never ends the run, whatever a server thinks of
            return fault_of(error, self._too_long) or AttemptFault("protocol", f"{type(error).__name__}: {error}")

    def _explained(self, fault: AttemptFault) -> AttemptFault:
        """A refusal with what the user may have left out."""
        if fault.status == 404 and not urlsplit(self._sender.base_url).path.strip("/"):
            return replace(fault, message=f"{fault.message}; most servers are asked below /v1: --base-url .../v1")
        if fault.status == 401 and self._keyless:
            said = fault.message.removeprefix("the server refuses the key: ")
            remedy = f"the environment variable {self._key_env} (--api-key-env) is not set"
            return replace(fault, message=f"the server wants a key, and none was sent: {said}; {remedy}")
        return fault


async def _http_error(answer: HttpExchange) -> HttpError:
    page = bytearray()

    def take(chunk: bytes) -> bool:
        page.extend(chunk)
        return len(page) >= _ERROR_BYTES

    with suppress(HangUpError, UnreadableError, TimeoutError):
        await answer.read(take)
    text = page[:_ERROR_BYTES].decode("utf-8", "replace")
    body: object = None
    with suppress(ValueError, RecursionError):
        body = json.loads(text)
    return HttpError(answer.status, body, text, answer.headers)
