"""Transport to a server: requests for one model there, in the server's dialect."""

import json
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any
from urllib.parse import quote, urlsplit

from needlework.core.redact import Redactor, named_secrets, redactor, url_secrets, without_credentials
from needlework.models.model import Request, Response, json_of, starts_answer
from needlework.models.served.connection import PROVIDERS, ServedOptions, ServerOptions, address, is_loopback
from needlework.models.served.errors import (
    AttemptFault,
    AttemptResult,
    HangUpError,
    HttpError,
    UnreachableError,
    UnreadableError,
    fault_of,
    fault_of_status,
)
from needlework.models.served.http_client import Allowed, HttpClient, HttpExchange
from needlework.models.served.reply import Events, count, list_of, read_body, table_of
from needlework.models.served.server_facts import Window, discover_window, who_answers


@dataclass(frozen=True, slots=True)
class Dialect:
    """The learnt dialect of a server; replaced as a whole, so that threads never see half of it."""

    stream: bool = True
    max_tokens_field: str = "max_tokens"


class Transport(ABC):
    """One model at one place. Asked many things at once; but for `attempt` each call may block."""

    identity: dict[str, str | int | float | None]  # what can change answers, free of secrets; `server` is where it is
    model_name: str  # as it is asked for; empty where it names no model, but a deployment (Azure)
    redactor: Redactor  # knows the secrets that are sent
    options: ServedOptions
    dialect = Dialect()
    live = True
    """Whether somebody is asked, so that times say something."""

    @abstractmethod
    async def attempt(self, request: Request, dialect: Dialect, allowed: Allowed, begun: float) -> AttemptResult:
        """Ask once, in the event loop. Never raises. `begun`: the `time.perf_counter()` time."""

    @abstractmethod
    def window(self) -> Window:
        """The window that the server states."""

    def learn(self, _fault: AttemptFault, _dialect: Dialect) -> bool:
        """Whether to ask again in another dialect: the server refused the way we asked, and not what we asked."""
        return False

    def identify(self) -> dict[str, str]:
        """The server's self-description."""
        return {}

    def short_answers(self, _request: Request) -> tuple[list[int], list[Response]] | None:
        """Our counts of the two short requests of a request's layout, and the responses, where they are there."""
        return None

    def abort(self) -> None:  # noqa: B027 - nothing is open where nothing is asked
        """Close the connections; requests in flight end at once. From any thread."""


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_ERROR_BYTES = 65_536  # of an error's page that are looked at
_QUICK_S = 5.0
_NOT_READY = (502, 503, 504)  # llama.cpp while it loads, a proxy before a server that is not up
_LARGEST = 32 * 2**20  # bytes; OpenRouter's list of models has about one million


class HttpTransport(Transport):
    """A `Transport` over HTTP; the API of each provider is a subclass."""

    kind: str

    def __init__(self, name: str, options: ServedOptions, connection: ServerOptions) -> None:
        self.name = self.model_name = name
        self.options = options
        self._base_url, self._key = address(connection, options, self.kind)
        self._loopback = is_loopback(self._base_url)
        self._too_long = connection.too_long_pattern
        self._key_env = connection.api_key_env
        addresses = (*url_secrets(self._base_url), *url_secrets(options.proxy))
        secrets = [*options.headers.values(), *addresses, *named_secrets(options.extra_body)]
        self.redactor = redactor([self._key or None, *secrets])
        self.identity = {
            "spec": f"{self.kind}:{name}",
            "server": without_credentials(self._base_url),
            "decoding": self.redactor.clean(options.decoding()),
        }
        self.dialect = Dialect(options.stream, options.max_tokens_field or "max_tokens")
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        headers |= self._key_headers(self._key or "none") | dict(options.headers)  # in place of ours
        # Proxy variables are for the world outside; a server on this machine is never behind them.
        self.http = HttpClient(
            self._base_url, headers, proxy=options.proxy, environment=not self._loopback, query=self._query()
        )

    @abstractmethod
    def _key_headers(self, key: str) -> dict[str, str]:
        """The headers that carry the key."""

    @abstractmethod
    def _message(self, request: Request, dialect: Dialect) -> tuple[str, dict[str, Any]]:
        """The path below the base address, and the body."""

    @abstractmethod
    def count_text(self, text: str) -> int | None:
        """Tokens of a text, a constant number for what stands around it included; `None` where nobody counts."""

    def _query(self) -> str:
        return ""

    def _refused(self, _request: Request) -> str:
        """The reason why the server would refuse a request like this one; empty if it may take it."""
        return ""

    def _translate(self, data: dict[str, Any]) -> dict[str, Any]:
        """An answer, or an event of one, in the words of OpenAI's answers."""
        return data

    def abort(self) -> None:
        self.http.abort()

    def url(self, path: str) -> str:
        """An address below the base address."""
        parts = urlsplit(self._base_url)
        return parts._replace(path=parts.path.rstrip("/") + path, query="").geturl()

    def fetch(self, url: str, body: Mapping[str, Any] | None = None, wait_s: float = _QUICK_S) -> Any:
        """See `server_facts.Fetch`: of this server alone, and without redirects."""
        data = None if body is None else json.dumps(body).encode()
        try:
            reply = self.http.send("GET" if data is None else "POST", url, data, Allowed(wait_s, wait_s), _LARGEST)
            if reply.status in _NOT_READY:
                raise UnreachableError(f"HTTP {reply.status}")
            return json_of(reply.body) if reply.status == 200 else None
        except TimeoutError:
            raise UnreachableError("no answer in time") from None
        except (HangUpError, UnreadableError):
            return None

    async def attempt(self, request: Request, dialect: Dialect, allowed: Allowed, begun: float) -> AttemptResult:
        if refused := self._refused(request):
            return AttemptFault("client", refused, fatal=True)
        path, body = self._message(request, dialect)
        # A server that does not stream says nothing before the whole answer is there.
        waited = allowed if dialect.stream else Allowed(allowed.total_s, allowed.total_s)
        try:
            async with self.http.exchange("POST", self.url(path), _encode(body).encode(), waited) as answer:
                if answer.status != 200:
                    return self._explained(fault_of_status(await _http_error(answer), self._too_long))
                text = request.prompt.text
                if "event-stream" not in answer.headers.get("content-type", ""):
                    return read_body(await answer.read_whole(), text, self._translate)
                events = Events(text, begun, self._translate)
                await answer.read(events.take)
                return events.reply()
        except Exception as error:  # noqa: BLE001 - a bad cell never ends the run, whatever a server thinks of
            return fault_of(error, self._too_long, time.perf_counter() - begun)

    def _explained(self, fault: AttemptFault) -> AttemptFault:
        """A refusal with what the user may have left out."""
        if fault.status == 404 and self.kind == "openai" and not urlsplit(self.url("")).path.strip("/"):
            return replace(fault, message=f"{fault.message}; most servers are asked below /v1: --base-url .../v1")
        keyless = not (self._key or self.options.headers or url_secrets(self._base_url))
        if fault.status == 401 and keyless:
            words = fault.message.removeprefix("the server refuses the key: ")
            remedy = f"the environment variable {self._key_env} (--api-key-env) is not set"
            return replace(fault, message=f"the server wants a key, and none was sent: {words}; {remedy}")
        return fault


async def _http_error(answer: HttpExchange) -> HttpError:
    page = b""
    with suppress(HangUpError, UnreadableError, TimeoutError):
        page = await answer.read_whole()
    text = page[:_ERROR_BYTES].decode("utf-8", "replace")
    return HttpError(answer.status, json_of(text), text, answer.headers)


class OpenAITransport(HttpTransport):
    """OpenAI's API, as nearly every server speaks it."""

    kind = "openai"

    def __init__(self, name: str, options: ServedOptions, connection: ServerOptions) -> None:
        super().__init__(name, options, connection)
        # OpenAI's own service, there or at Azure, tells no window and goes on with no answer that was begun for it.
        is_openai = urlsplit(self._base_url).hostname == urlsplit(PROVIDERS["openai"].base_url).hostname
        self._open = not is_openai and options.azure_api_version is None
        if options.azure_deployment:
            self.identity["azure_deployment"] = options.azure_deployment
        if options.azure_api_version is not None:  # a deployment is asked, whose name says nothing of its model
            self.model_name = ""

    def _key_headers(self, key: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {key}"} if self.options.azure_api_version is None else {"api-key": key}

    def _query(self) -> str:
        version = self.options.azure_api_version
        return f"api-version={quote(version)}" if version is not None else ""

    def url(self, path: str) -> str:
        if self.options.azure_api_version is None:
            return super().url(path)
        return super().url(f"/openai/deployments/{quote(self.options.azure_deployment or self.name, safe='')}{path}")

    def _message(self, request: Request, dialect: Dialect) -> tuple[str, dict[str, Any]]:
        stream = {"stream": True, "stream_options": {"include_usage": True}} if dialect.stream else {}
        path = "/chat/completions" if request.template == "chat" else "/completions"
        return path, body_of(self.name, self.options, request, dialect.max_tokens_field, stream)

    def _refused(self, request: Request) -> str:
        if request.template == "chat" and starts_answer(request) and not self._open:
            return (
                "--answer-prefix true: OpenAI and Azure do not go on with a started answer; give --answer-prefix false"
            )
        return ""

    def learn(self, fault: AttemptFault, dialect: Dialect) -> bool:
        if fault.kind not in ("client", "server") or fault.status not in (400, 404, 405, 422, 501):
            return False
        words = fault.message.lower()
        settled = self.options.max_tokens_field or dialect.max_tokens_field != "max_tokens"
        if not settled and "max_completion_tokens" in words:
            self.dialect = replace(dialect, max_tokens_field="max_completion_tokens")
            return True
        if dialect.stream and re.search(r"\bstream", words):
            self.dialect = replace(dialect, stream=False)
            return True
        return False

    def window(self) -> Window:
        if not self._open:
            return Window(None, "not asked: OpenAI and Azure do not tell")
        return discover_window(self.fetch, self.url(""), self.name)

    def count_text(self, text: str) -> int | None:
        """Tokens of a text, where the server has a counter: vLLM's and llama.cpp's `/tokenize`."""
        if not self._open:
            return None
        root = self.url("").rstrip("/").removesuffix("/v1")
        # Each server reads its own names, and passes the other's over.
        body = {"model": self.name, "prompt": text, "content": text, "add_special_tokens": False, "add_special": False}
        reply = table_of(self.fetch(f"{root}/tokenize", body, 60))
        return count(reply.get("count")) or len(list_of(reply.get("tokens"))) or None

    def identify(self) -> dict[str, str]:
        # A gateway's list of models changes with its catalogue, and says nothing of who answers.
        return who_answers(self.fetch, self.url(""), self.name) if self._open else {}


def body_of(
    name: str,
    options: ServedOptions,
    request: Request,
    max_tokens_field: str,
    further: Mapping[str, object] = MappingProxyType({}),
) -> dict[str, Any]:
    """The fields of a request; `further` ones stand before those of the user's own, which win."""
    chat = request.template == "chat"
    body: dict[str, Any] = {"model": name}
    if chat:
        body["messages"] = [{"role": each.role, "content": each.content} for each in request.prompt.messages]
    else:
        body["prompt"] = request.prompt.text
    if chat and starts_answer(request):  # vLLM's and SGLang's words; llama.cpp does so by itself
        body |= {"continue_final_message": True, "add_generation_prompt": False}
    body |= {"temperature": options.temperature, "seed": options.seed}
    # `max_tokens` has no other name in the completions endpoint.
    body[max_tokens_field if chat else "max_tokens"] = request.answer_budget + request.thinking_budget
    body = {key: value for key, value in body.items() if value is not None}
    return body | dict(further) | dict(options.extra_body)
