"""Requests to an OpenAI-compatible server, and its answers."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from urllib.parse import urlsplit

from needlework.haystack_fixtures.models.model import Request, starts_answer
from needlework.haystack_fixtures.models.served.args import ServedOptions, address
from needlework.haystack_fixtures.models.served.connection import Connection
from needlework.haystack_fixtures.models.served.errors import Fault, HttpError, fault_of, fault_of_status
from needlework.haystack_fixtures.models.served.facts.lookup import json_fetch
from needlework.haystack_fixtures.models.served.facts.who import who_answers
from needlework.haystack_fixtures.models.served.facts.window import Window, discover_window
from needlework.haystack_fixtures.models.served.http.client import Allowed
from needlework.haystack_fixtures.models.served.http.exchanged import Exchanged
from needlework.haystack_fixtures.models.served.http.failures import HangUpError, UnreadableError
from needlework.haystack_fixtures.models.served.reading.fields import count, table_of
from needlework.haystack_fixtures.models.served.reading.reply import Body, Events, Reply, Within
from needlework.haystack_fixtures.models.served.request import Dialect, Sender
from needlework.haystack_fixtures.redact import Redactor, named_secrets, redactor, url_secrets, without_credentials

_ERROR_BYTES = 65_536  # as much of an error's page as is looked at


class OpenAITransport:
    """A `Transport` over HTTP, without a client library between."""

    def __init__(self, name: str, options: ServedOptions, connection: Connection) -> None:
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

    def learn(self, fault: Fault, dialect: Dialect) -> bool:
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

    def refused(self, request: Request) -> Fault | None:
        """What is known beforehand to be refused."""
        if request.template == "chat" and starts_answer(request) and not self._open:
            why = (
                "--answer-prefix true: OpenAI and Azure do not go on with a started answer; give --answer-prefix false"
            )
            return Fault("client", why, fatal=True)
        return None

    async def attempt(self, request: Request, dialect: Dialect, allowed: Allowed, begun: float) -> Reply | Fault:
        if (refused := self.refused(request)) is not None:
            return refused
        # Who does not stream says nothing before the whole answer is there.
        waited = allowed if dialect.stream else Allowed(allowed.total_s, allowed.total_s)
        try:
            async with await self._sender.send(request, dialect, waited) as answer:
                if answer.status != 200:
                    return self._explained(fault_of_status(await _http_error(answer), self._too_long))
                streamed = "event-stream" in answer.headers.get("content-type", "")
                reading = Events(request.prompt.text, begun) if streamed else Body(request.prompt.text)
                async for chunk in Within(answer.chunks(), begun + allowed.total_s):
                    if reading.take(chunk) and not answer.packed:  # behind the last event stands the checksum of all
                        break
                return reading.reply()
        except TimeoutError:
            waited_s = time.perf_counter() - begun
            return Fault("timeout", f"no answer in {waited_s:.3g} s (see --timeout)", retry=True, sign="slow")
        except Exception as error:  # noqa: BLE001 - a bad cell never ends the run, whatever a server thinks of
            return fault_of(error, self._too_long) or Fault("protocol", f"{type(error).__name__}: {error}")

    def _explained(self, fault: Fault) -> Fault:
        """A refusal with what the user may have left out."""
        if fault.status == 404 and not urlsplit(self._sender.base_url).path.strip("/"):
            return replace(fault, message=f"{fault.message}; most servers are asked below /v1: --base-url .../v1")
        if fault.status == 401 and self._keyless:
            said = fault.message.removeprefix("the server refuses the key: ")
            remedy = f"the environment variable {self._key_env} (--api-key-env) is not set"
            return replace(fault, message=f"the server wants a key, and none was sent: {said}; {remedy}")
        return fault


async def _http_error(answer: Exchanged) -> HttpError:
    page = bytearray()
    with suppress(HangUpError, UnreadableError, TimeoutError):
        async for chunk in answer.chunks():
            page += chunk
            if len(page) >= _ERROR_BYTES:
                break
    text = page[:_ERROR_BYTES].decode("utf-8", "replace")
    body: object = None
    with suppress(ValueError, RecursionError):
        body = json.loads(text)
    return HttpError(answer.status, body, text, answer.headers)
