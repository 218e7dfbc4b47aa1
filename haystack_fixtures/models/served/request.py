"""What is sent to an OpenAI-compatible server, and where to."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from urllib.parse import SplitResult, quote, urlsplit

from needlework.haystack_fixtures.models.model import Request, starts_answer
from needlework.haystack_fixtures.models.served.args import Address, ServedOptions
from needlework.haystack_fixtures.models.served.errors import Fault
from needlework.haystack_fixtures.models.served.http.client import Allowed, HttpClient
from needlework.haystack_fixtures.models.served.http.exchanged import Exchanged
from needlework.haystack_fixtures.writing.json_encoder import encoder_of

_encode = encoder_of(json.JSONEncoder(ensure_ascii=False, separators=(",", ":")))


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

    async def send(self, request: Request, dialect: Dialect, allowed: Allowed) -> Exchanged:
        """Send a request; the answer, a context manager, is still to be read."""
        stream = {"stream": True, "stream_options": {"include_usage": True}} if dialect.stream else {}
        sent = body_of(self._name, self._options, request, dialect.max_tokens_field, stream)
        body = _encode(sent).encode()
        return await self.http.exchange("POST", self._endpoints[request.template], body, allowed)

    def learn(self, fault: Fault, dialect: Dialect) -> bool:
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
