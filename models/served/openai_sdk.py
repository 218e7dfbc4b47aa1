"""OpenAI's official client: `--model openai-sdk:NAME`."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from needlework.core.errors import InputError
from needlework.models.model import Request
from needlework.models.served.connection import ServedOptions, ServerOptions
from needlework.models.served.errors import (
    AttemptFault,
    AttemptResult,
    HttpError,
    UnreachableError,
    fault_of,
    fault_of_status,
)
from needlework.models.served.http_client import Allowed
from needlework.models.served.reply import Events, read_body
from needlework.models.served.transport import Dialect, OpenAITransport


class OpenAISdkTransport(OpenAITransport):
    """Sends requests by the package `openai`; replies and faults are read as those of any server."""

    kind = "openai-sdk"

    def __init__(self, name: str, options: ServedOptions, connection: ServerOptions) -> None:
        super().__init__(name, options, connection)
        self._sdk = import_openai()
        self._client: Any = None  # made in the event loop that it is used in

    async def attempt(self, request: Request, dialect: Dialect, allowed: Allowed, begun: float) -> AttemptResult:
        if refused := self._refused(request):
            return AttemptFault("client", refused, fatal=True)
        _, body = self._message(request, dialect)
        text = request.prompt.text
        silence_s = allowed.silence_s if dialect.stream else allowed.total_s
        try:
            async with asyncio.timeout(allowed.total_s), self._sent(request, body, silence_s) as answer:
                if "event-stream" not in answer.headers.get("content-type", ""):
                    return read_body(await answer.read(), text)
                events = Events(text, begun)
                async for chunk in answer.iter_bytes():
                    if events.take(chunk):
                        break
                return events.reply()
        except self._sdk.APIStatusError as error:
            reply = HttpError(error.status_code, error.body, error.message, error.response.headers)
            return self._explained(fault_of_status(reply, self._too_long))
        except Exception as error:  # noqa: BLE001 - a bad cell never ends the run, whatever a server thinks of
            return fault_of(self._in_our_words(error), self._too_long, time.perf_counter() - begun)

    def _sent(self, request: Request, body: dict[str, Any], silence_s: float) -> Any:
        """The streamed response to a request, as a context manager."""
        if self._client is None:
            # A redirect would carry the key to another host. Proxy variables do not concern a server on this machine.
            http_client = self._sdk.DefaultAsyncHttpxClient(
                follow_redirects=False, trust_env=not self.where.loopback, proxy=self.options.proxy
            )
            self._client = self._sdk.AsyncOpenAI(
                api_key=self.where.key or "none",
                base_url=self.url(""),
                max_retries=0,  # one rule decides for all requests together what is tried again
                default_headers=self._key_headers(self.where.key or "none") | dict(self.options.headers),
                default_query={"api-version": version} if (version := self.options.azure_api_version) else None,
                http_client=http_client,
            )
        if request.template == "chat":
            endpoint, prompt = self._client.chat.completions, {"messages": body["messages"]}
        else:
            endpoint, prompt = self._client.completions, {"prompt": body["prompt"]}
        create = endpoint.with_streaming_response.create
        return create(model=self.name, **prompt, extra_body=body, timeout=silence_s)

    def _in_our_words(self, error: Exception) -> Exception:
        if isinstance(error, self._sdk.APITimeoutError):
            return TimeoutError()
        if isinstance(error, self._sdk.APIConnectionError):
            return UnreachableError(self.redactor.clean(str(error.__cause__ or error)))
        return error


def import_openai() -> Any:
    """Import the package `openai`. Raises `InputError` if it is not installed."""
    try:
        import openai
    except ImportError:
        remedy = "is not installed: pip install 'needlework[openai]'"
        raise InputError("--model openai-sdk:", "openai", remedy) from None
    return openai
