"""Anthropic's and Google's own APIs, and OpenAI's by its package."""

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

from needlework.core.errors import InputError
from needlework.core.prompts import Message
from needlework.models.model import Request, starts_answer
from needlework.models.served.connection import ServedOptions, ServerOptions
from needlework.models.served.errors import (
    AttemptFault,
    AttemptResult,
    HttpError,
    UnreachableError,
    UnreadableError,
    fault_of,
    fault_of_status,
)
from needlework.models.served.http_client import Allowed
from needlework.models.served.reply import Events, count, read_body, table_of
from needlework.models.served.server_facts import Window
from needlework.models.served.transport import Dialect, HttpTransport, OpenAITransport

LEAST_THINKING = 1024  # tokens; what Anthropic takes
_COUNT_S = 60.0


class ProviderTransport(HttpTransport):
    """The base of both transports: chat messages alone, a token counter, a list with windows."""

    models_path: str  # of the list of models
    window_field: str

    def _refused(self, request: Request) -> str:
        if request.template != "chat":
            return f"--template raw: {self.kind}: takes chat messages alone; give --template chat"
        return ""

    def window(self) -> Window:
        tokens = count(table_of(self.fetch(self.url(f"{self.models_path}/{self.name}"))).get(self.window_field))
        company = self.kind.capitalize()
        return Window(tokens, f"{company}'s list of models" if tokens else f"{company} does not tell")

    def _counted(self, path: str, body: Mapping[str, Any], field: str) -> int:
        """The count by the provider's counter. Raises `UnreadableError` for anything else."""
        reply = self.http.send("POST", self.url(path), json.dumps(body).encode(), Allowed(_COUNT_S, _COUNT_S))
        tokens = count(table_of(json.loads(reply.body)).get(field)) if reply.status == 200 else None
        if tokens is None:
            words = self.redactor.clean(reply.body[:200].decode("utf-8", "replace"))
            raise UnreadableError(f"HTTP {reply.status}: {words}")
        return tokens


class AnthropicTransport(ProviderTransport):
    """Anthropic's API: streamed messages."""

    kind = "anthropic"
    models_path, window_field = "/v1/models", "max_input_tokens"

    def _key_headers(self, key: str) -> dict[str, str]:
        return {"x-api-key": key, "anthropic-version": "2023-06-01"}

    def count_text(self, text: str) -> int:
        """Tokens of one message with this text, by Anthropic's own counter (an estimate, it says)."""
        body = {"model": self.name, **_messages((Message("user", text),))}
        return self._counted("/v1/messages/count_tokens", body, "input_tokens")

    def _refused(self, request: Request) -> str:
        thinks = request.thinking_budget and self.options.thinking in (None, "budget")
        if thinks and request.thinking_budget < LEAST_THINKING:
            return f"--thinking-budget {request.thinking_budget}: Anthropic takes {LEAST_THINKING} or more, or none"
        if starts_answer(request) and thinks:
            return "--answer-prefix true: Claude goes on with no started answer while it thinks; leave one of them out"
        return super()._refused(request)

    def _message(self, request: Request, _dialect: Dialect) -> tuple[str, dict[str, Any]]:
        options, budget = self.options, request.thinking_budget
        sent: dict[str, Any] = {"model": self.name, "max_tokens": request.answer_budget + budget, "stream": True}
        start, end = request.prompt.context
        context = request.prompt.text[start:end] if options.cache else ""
        sent |= _messages(request.prompt.messages, context, options.cache)
        match options.thinking:
            case "off":
                sent["thinking"] = {"type": "disabled"}
            case "adaptive":
                sent["thinking"] = {"type": "adaptive"}
            case _ if budget:
                sent["thinking"] = {"type": "enabled", "budget_tokens": budget}
        temperature = {} if options.temperature is None else {"temperature": options.temperature}
        return "/v1/messages", sent | temperature | dict(options.extra_body)

    def _translate(self, data: dict[str, Any]) -> dict[str, Any]:
        message, delta = table_of(data.get("message")), table_of(data.get("delta"))
        usage = message.get("usage") or data.get("usage")
        piece = {"content": delta.get("text"), "reasoning_content": delta.get("thinking")}
        choice = {"index": 0, "delta": piece, "finish_reason": delta.get("stop_reason")}
        return {"id": message.get("id"), "model": message.get("model"), "choices": [choice], "usage": usage}


def _messages(messages: Sequence[Message], context: str = "", cache: str | None = None) -> dict[str, Any]:
    """`system` and `messages`. The text up to the context's end is a block of its own if it is cached."""
    system = "\n\n".join(message.content for message in messages if message.role == "system")
    turns: list[dict[str, Any]] = []
    for message in (message for message in messages if message.role != "system"):
        before, cached, after = message.content.partition(context) if context else ("", "", "")
        content: str | list[dict[str, Any]] = message.content
        if cached:
            control = {"type": "ephemeral", "ttl": cache}
            content = [{"type": "text", "text": before + cached, "cache_control": control}]
            content += [{"type": "text", "text": after}] if after.strip() else []
        turns.append({"role": message.role, "content": content})
    return {"messages": turns} | ({"system": system} if system else {})


_ROLES = {"user": "user", "assistant": "model"}


class GoogleTransport(ProviderTransport):
    """Gemini's API: streamed content."""

    kind = "google"
    models_path, window_field = "/v1beta/models", "inputTokenLimit"

    def _key_headers(self, key: str) -> dict[str, str]:
        return {"x-goog-api-key": key}

    def count_text(self, text: str) -> int:
        """Tokens of one message with this text, by Google's own counter."""
        contents = _contents((Message("user", text),))
        return self._counted(f"{self.models_path}/{self.name}:countTokens", {"contents": contents}, "totalTokens")

    def _refused(self, request: Request) -> str:
        if starts_answer(request):
            return "--answer-prefix true: Gemini goes on with no started answer; give --answer-prefix false"
        return super()._refused(request)

    def _message(self, request: Request, _dialect: Dialect) -> tuple[str, dict[str, Any]]:
        options, budget = self.options, request.thinking_budget
        thinking = {"off": 0, "auto": -1}.get(options.thinking or "", budget or None)
        config: dict[str, Any] = {
            "maxOutputTokens": request.answer_budget + budget,
            "temperature": options.temperature,
            "seed": options.seed,
        }
        if thinking is not None:
            config["thinkingConfig"] = {"thinkingBudget": thinking, "includeThoughts": thinking != 0}
        extra = dict(options.extra_body)
        config |= table_of(extra.pop("generationConfig", None))
        sent: dict[str, Any] = {
            "contents": _contents(request.prompt.messages),
            "generationConfig": {key: value for key, value in config.items() if value is not None},
        }
        system = "\n\n".join(each.content for each in request.prompt.messages if each.role == "system")
        if system:
            sent["systemInstruction"] = {"parts": [{"text": system}]}
        return f"{self.models_path}/{self.name}:streamGenerateContent?alt=sse", sent | extra

    def _translate(self, data: dict[str, Any]) -> dict[str, Any]:
        texts: dict[bool, list[str]] = {True: [], False: []}
        candidates = data.get("candidates") or [{}]
        candidate = table_of(candidates[0])
        for part in table_of(candidate.get("content")).get("parts") or ():
            texts[bool(part.get("thought"))].append(str(part.get("text") or ""))
        finish = candidate.get("finishReason")
        if table_of(data.get("promptFeedback")).get("blockReason"):
            finish = finish or "prohibited_content"
        usage = dict(table_of(data.get("usageMetadata")))
        written, thought = usage.get("candidatesTokenCount"), usage.get("thoughtsTokenCount")
        if written is not None or thought is not None:  # thoughts count against `maxOutputTokens`, and stand apart
            usage["completion_tokens"] = (written or 0) + (thought or 0)
        piece = {"content": "".join(texts[False]), "reasoning_content": "".join(texts[True])}
        return {
            "id": data.get("responseId"),
            "model": data.get("modelVersion"),
            "choices": [
                {"index": 0, "delta": piece, "finish_reason": None if finish == "FINISH_REASON_UNSPECIFIED" else finish}
            ],
            "usage": usage,
        }


def _contents(messages: Sequence[Message]) -> list[dict[str, Any]]:
    turns = [each for each in messages if each.role != "system"]
    return [{"role": _ROLES[each.role], "parts": [{"text": each.content}]} for each in turns]


class OpenAISdkTransport(OpenAITransport):
    """Sends requests by the package `openai`; replies and faults are read as those of any server."""

    kind = "openai-sdk"

    def __init__(self, name: str, options: ServedOptions, connection: ServerOptions) -> None:
        super().__init__(name, options, connection)
        try:
            import openai
        except ImportError:
            remedy = "is not installed: pip install 'needlework[openai]'"
            raise InputError("--model openai-sdk:", "openai", remedy) from None
        self._sdk: Any = openai
        self._client: Any = None  # made in the event loop that it is used in

    async def attempt(self, request: Request, dialect: Dialect, allowed: Allowed, begun: float) -> AttemptResult:
        if refused := self._refused(request):
            return AttemptFault("client", refused, fatal=True)
        _, body = self._message(request, dialect)
        silence_s = allowed.silence_s if dialect.stream else allowed.total_s
        try:
            async with asyncio.timeout(allowed.total_s), self._sent(request, body, silence_s) as answer:
                if "event-stream" not in answer.headers.get("content-type", ""):
                    return read_body(await answer.read(), request.prompt.text)
                events = Events(request.prompt.text, begun)
                async for chunk in answer.iter_bytes():
                    if events.take(chunk):
                        break
                return events.reply()
        except self._sdk.APIStatusError as error:
            reply = HttpError(error.status_code, error.body, error.message, error.response.headers)
            return self._explained(fault_of_status(reply, self._too_long))
        except self._sdk.APITimeoutError as error:
            fault: Exception = TimeoutError(str(error))
        except self._sdk.APIConnectionError as error:
            fault = UnreachableError(self.redactor.clean(str(error.__cause__ or error)))
        except Exception as error:  # noqa: BLE001 - a bad cell never ends the run, whatever a server thinks of
            fault = error
        return fault_of(fault, self._too_long, time.perf_counter() - begun)

    def _sent(self, request: Request, body: dict[str, Any], silence_s: float) -> Any:
        """The streamed response to a request, as a context manager."""
        if self._client is None:
            # A redirect would carry the key to another host. Proxy variables do not concern a server on this machine.
            http_client = self._sdk.DefaultAsyncHttpxClient(
                follow_redirects=False, trust_env=not self._loopback, proxy=self.options.proxy
            )
            self._client = self._sdk.AsyncOpenAI(
                api_key=self._key or "none",
                base_url=self.url(""),
                max_retries=0,  # one rule decides for all requests together what is tried again
                default_headers=self._key_headers(self._key or "none") | dict(self.options.headers),
                default_query={"api-version": version} if (version := self.options.azure_api_version) else None,
                http_client=http_client,
            )
        if request.template == "chat":
            endpoint, prompt = self._client.chat.completions, {"messages": body["messages"]}
        else:
            endpoint, prompt = self._client.completions, {"prompt": body["prompt"]}
        create = endpoint.with_streaming_response.create
        return create(model=self.name, **prompt, extra_body=body, timeout=silence_s)
