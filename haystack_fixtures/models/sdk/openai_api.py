"""`openai-sdk:NAME`: the requests of `openai:NAME`, through OpenAI's own client.

It reads its own environment (OPENAI_ORG_ID, OPENAI_PROJECT_ID, ...), signs, and speaks to Azure as OpenAI has it.
"""

from __future__ import annotations

import time
from typing import Any

from needlework.haystack_fixtures.models.model import Request
from needlework.haystack_fixtures.models.reader import in_thread
from needlework.haystack_fixtures.models.sdk.faults import fault_of_client
from needlework.haystack_fixtures.models.sdk.packages import client_package
from needlework.haystack_fixtures.models.sdk.transport import Clock
from needlework.haystack_fixtures.models.served.args import ServedOptions, address
from needlework.haystack_fixtures.models.served.connection import Connection
from needlework.haystack_fixtures.models.served.errors import Fault
from needlework.haystack_fixtures.models.served.http.client import Allowed
from needlework.haystack_fixtures.models.served.openai_transport import OpenAITransport
from needlework.haystack_fixtures.models.served.reading.reply import Reply, reply_of, reply_of_pieces
from needlework.haystack_fixtures.models.served.request import Dialect, body_of

_OF_THE_CLIENT = ("model", "messages", "prompt", "stream", "stream_options")  # everything else goes in as it is


class OpenAISdkTransport(OpenAITransport):
    """As `OpenAITransport`, which still looks up window and facts; the client asks the model."""

    def __init__(self, name: str, options: ServedOptions, connection: Connection) -> None:
        super().__init__(name, options, connection)
        self._identity["spec"] = f"openai-sdk:{name}"
        library: Any = client_package("openai")
        where = address(connection, azure=options.azure_api_version is not None)
        how: dict[str, Any] = {
            "api_key": where.key,
            "max_retries": 0,  # what is tried again, and when, is decided for all requests together
            "default_headers": dict(options.headers),
            "http_client": library.DefaultHttpxClient(trust_env=not where.loopback, proxy=options.proxy),
        }
        if options.azure_api_version is None:
            self._client = library.OpenAI(base_url=where.base_url, **how)
        else:
            deployment = options.azure_deployment or name
            self._client = library.AzureOpenAI(
                azure_endpoint=where.base_url,
                azure_deployment=deployment,
                api_version=options.azure_api_version,
                **how,
            )

    def abort(self) -> None:
        super().abort()
        self._client.close()

    async def attempt(self, request: Request, dialect: Dialect, allowed: Allowed, begun: float) -> Reply | Fault:
        return await in_thread(lambda: self._attempt(request, dialect, allowed, begun))

    def _attempt(self, request: Request, dialect: Dialect, allowed: Allowed, begun: float) -> Reply | Fault:
        if (refused := self.refused(request)) is not None:
            return refused
        clock = Clock(begun, allowed.total_s)
        try:
            return self._asked_once(request, dialect, allowed, clock)
        except Exception as error:  # noqa: BLE001 - a bad cell never ends the run, whatever a client thinks of
            if time.perf_counter() > begun + allowed.total_s:
                message = "the answer was not over when its time was (see --timeout)"
                return Fault("timeout", message, retry=True, sign="late")
            return fault_of_client(error, self._too_long, begun=clock.answered)

    def _asked_once(self, request: Request, dialect: Dialect, allowed: Allowed, clock: Clock) -> Reply:
        stream = {"stream": True, "stream_options": {"include_usage": True}} if dialect.stream else {}
        body = body_of(self._name, self._options, request, dialect.max_tokens_field, stream)
        fields = {key: value for key, value in body.items() if key in _OF_THE_CLIENT}
        rest = {key: value for key, value in body.items() if key not in _OF_THE_CLIENT}
        chat = request.template == "chat"
        endpoint = self._client.chat.completions if chat else self._client.completions
        timeout_s = allowed.silence_s if dialect.stream else allowed.total_s
        answer = endpoint.create(**fields, extra_body=rest, timeout=timeout_s)
        if not dialect.stream:
            return reply_of(answer.to_dict(), request.prompt.text)
        with answer, clock.ending(answer.close):
            pieces = clock.timed((piece.to_dict() for piece in answer), lambda piece: bool(piece.get("choices")))
            return reply_of_pieces(pieces, request.prompt.text, lambda: clock.ttft_s)
