"""Anthropic's, Google's and OpenAI's own clients."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from needlework.core.prompts import Message
from needlework.models.event_loop import in_thread
from needlework.models.model import Request, Response, starts_answer
from needlework.models.providers.transport import (
    ANTHROPIC,
    GOOGLE,
    Clock,
    NativeOptions,
    SdkTransport,
    client_package,
    fault_of_client,
    native_address,
)
from needlework.models.served.calibration import Window
from needlework.models.served.connection import ServedOptions, ServerOptions, address
from needlework.models.served.errors import AttemptFault, AttemptResult
from needlework.models.served.http_client import Allowed
from needlework.models.served.reply import DroppedError, reply_of, reply_of_pieces
from needlework.models.served.transport import Dialect, OpenAITransport, body_of

LEAST_THINKING = 1024  # tokens; what Anthropic takes


class AnthropicTransport(SdkTransport):
    """Asks by streamed messages. What is read of an answer is what is read of any other server's."""

    def __init__(self, name: str, options: NativeOptions, connection: ServerOptions) -> None:
        where = native_address(ANTHROPIC, connection)
        super().__init__(ANTHROPIC, name, options, where, connection)
        library: Any = client_package("anthropic")
        self._client = library.Anthropic(
            api_key=where.key,
            base_url=where.base_url,
            max_retries=0,  # what is tried again, and when, is decided for all requests together
            default_headers=dict(options.headers),
            http_client=library.DefaultHttpxClient(trust_env=not where.loopback),
        )

    def discover(self) -> Window:
        if self._options.window is not None:
            return Window(self._options.window, "--model-arg window")
        try:
            found = self._client.models.retrieve(self._name, timeout=10).max_input_tokens
        except Exception:  # noqa: BLE001 - without a window nothing is skipped beforehand
            found = None
        if not isinstance(found, int):
            return Window(None, "Anthropic does not tell")
        return Window(found, "Anthropic's list of models")

    def count(self, messages: Sequence[Message]) -> int:
        """Tokens of these messages, by Anthropic's own counter (an estimate, it says). Raises what it raises."""
        return int(self._client.messages.count_tokens(model=self._name, timeout=60, **_messages(messages)).input_tokens)

    def count_text(self, text: str) -> int:
        """Tokens of one message with this text, what stands around it included."""
        return self.count((Message("user", text),))

    def abort(self) -> None:
        self._client.close()

    def _refused(self, request: Request) -> str:
        thinks = request.thinking_budget and self._options.thinking in (None, "budget")
        if thinks and request.thinking_budget < LEAST_THINKING:
            return f"--thinking-budget {request.thinking_budget}: Anthropic takes {LEAST_THINKING} or more, or none"
        if starts_answer(request) and thinks:
            return "--answer-prefix true: Claude goes on with no started answer while it thinks; leave one of them out"
        return ""

    def _ask(self, request: Request, allowed: Allowed, clock: Clock) -> AttemptResult:
        sent = self.fields(request)
        with self._client.messages.stream(**sent, timeout=allowed.silence_s) as stream, clock.ending(stream.close):
            for _ in clock.timed(stream, lambda event: event.type == "content_block_delta"):
                pass
            if not clock.answered:
                raise DroppedError("the stream ended before it began")
            message = stream.current_message_snapshot
        if message.stop_reason is None:
            raise DroppedError("the stream ended in the middle of the answer")
        return reply_of(told(message.to_dict()), ttft_s=clock.ttft_s)

    def fields(self, request: Request) -> dict[str, Any]:
        """What is sent for a request."""
        options, budget = self._options, request.thinking_budget
        sent: dict[str, Any] = {"model": self._name, "max_tokens": request.answer_budget + budget}
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
        own = {} if options.temperature is None else {"temperature": options.temperature}
        return sent | ({"extra_body": own | dict(options.extra_body)} if own or options.extra_body else {})


def _messages(messages: Sequence[Message], context: str = "", cache: str | None = None) -> dict[str, Any]:
    """`system` and `messages`. What stands up to the context's end is a block of its own where it is to be kept."""
    system = "\n\n".join(each.content for each in messages if each.role == "system")
    turns: list[dict[str, Any]] = []
    for each in messages:
        if each.role == "system":
            continue
        before, found, after = each.content.partition(context) if context else ("", "", "")
        if cache is None or not found:
            turns.append({"role": each.role, "content": each.content})
            continue
        kept = {"type": "text", "text": before + found, "cache_control": {"type": "ephemeral", "ttl": cache}}
        rest = [{"type": "text", "text": after}] if after.strip() else []
        turns.append({"role": each.role, "content": [kept, *rest]})
    return {"messages": turns} | ({"system": system} if system else {})


def told(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message in the words of OpenAI's answers, so that one reader reads all."""
    blocks = [block for block in message.get("content") or () if isinstance(block, dict)]
    usage = message.get("usage") or {}
    cached = usage.get("cache_read_input_tokens") or 0
    # `input_tokens` are those behind the last cache's end.
    prompt = (usage.get("input_tokens") or 0) + (usage.get("cache_creation_input_tokens") or 0) + cached
    thought = (usage.get("output_tokens_details") or {}).get("thinking_tokens")
    answer = {
        "content": "".join(str(block.get("text", "")) for block in blocks if block.get("type") == "text"),
        "reasoning_content": "".join(str(block.get("thinking", "")) for block in blocks),
    }
    return {
        "id": message.get("id"),
        "model": message.get("model"),
        "choices": [{"index": 0, "message": answer, "finish_reason": message.get("stop_reason")}],
        "usage": {
            "prompt_tokens": prompt or None,
            "completion_tokens": usage.get("output_tokens"),
            "completion_tokens_details": {"reasoning_tokens": thought},
            "cached_tokens": cached,
        },
    }


_ROLES = {"user": "user", "assistant": "model"}


class GoogleTransport(SdkTransport):
    """Asks by streamed content. What is read of an answer is what is read of any other server's."""

    def __init__(self, name: str, options: NativeOptions, connection: ServerOptions) -> None:
        where = native_address(GOOGLE, connection)
        super().__init__(GOOGLE, name, options, where, connection)
        client_package("google-genai")
        from google import genai
        from google.genai import types

        self._types = types
        self._client = genai.Client(
            api_key=where.key,
            vertexai=False,
            http_options=types.HttpOptions(
                base_url=where.base_url,
                headers=dict(options.headers),
                retry_options=types.HttpRetryOptions(attempts=1),
                client_args={"trust_env": not where.loopback},
            ),
        )

    def discover(self) -> Window:
        if self._options.window is not None:
            return Window(self._options.window, "--model-arg window")
        try:
            found = self._client.models.get(model=self._name).input_token_limit
        except Exception:  # noqa: BLE001 - without a window nothing is skipped beforehand
            found = None
        return Window(found, "Google's list of models" if found else "Google does not tell")

    def count(self, messages: Sequence[Message]) -> int:
        """Tokens of these messages, by Google's own counter. Raises what it raises."""
        # The counter of Gemini's API takes no system instruction: it is counted as a message.
        turns = [Message("user", each.content) if each.role == "system" else each for each in messages]
        counted = self._client.models.count_tokens(model=self._name, contents=self._contents(turns))
        return int(counted.total_tokens or 0)

    def count_text(self, text: str) -> int:
        """Tokens of one message with this text, what stands around it included."""
        return self.count((Message("user", text),))

    def abort(self) -> None:
        self._client.close()

    def _refused(self, request: Request) -> str:
        if starts_answer(request):
            return "--answer-prefix true: Gemini goes on with no started answer; give --answer-prefix false"
        return ""

    def _ask(self, request: Request, allowed: Allowed, clock: Clock) -> AttemptResult:
        turns = [each for each in request.prompt.messages if each.role != "system"]
        events = self._client.models.generate_content_stream(
            model=self._name, contents=self._contents(turns), config=self._config(request, allowed)
        )
        with clock.ending(lambda: None):
            chunks = [chunk.model_dump(mode="json", exclude_none=True) for chunk in clock.timed(events, _says)]
        if not chunks:
            raise DroppedError("the stream ended before it began")
        answer = google_api_told(chunks)
        blocked = next((str(reason) for chunk in chunks if (reason := _blocked(chunk))), "")
        if blocked and not answer["choices"][0]["finish_reason"]:
            return AttemptFault("client", f"content filter: the prompt was blocked: {blocked}", filtered=True)
        if not answer["choices"][0]["finish_reason"]:
            raise DroppedError("the stream ended in the middle of the answer")
        return reply_of(answer, ttft_s=clock.ttft_s)

    def _contents(self, turns: Sequence[Message]) -> Any:
        types = self._types
        return [
            types.Content(role=_ROLES[each.role], parts=[types.Part.from_text(text=each.content)]) for each in turns
        ]

    def _config(self, request: Request, allowed: Allowed) -> Any:
        types, options, budget = self._types, self._options, request.thinking_budget
        budgets = {"off": 0, "auto": -1}
        thinking = budgets.get(options.thinking or "", budget or None)
        return types.GenerateContentConfig(
            max_output_tokens=request.answer_budget + budget,
            temperature=options.temperature,
            seed=options.seed,
            system_instruction="\n\n".join(each.content for each in request.prompt.messages if each.role == "system")
            or None,
            thinking_config=None
            if thinking is None
            else types.ThinkingConfig(thinking_budget=thinking, include_thoughts=thinking != 0),
            http_options=types.HttpOptions(
                timeout=round(1000 * allowed.silence_s), extra_body=dict(options.extra_body) or None
            ),
        )


def _says(chunk: Any) -> bool:
    return any(
        part.text
        for candidate in chunk.candidates or ()
        for part in (candidate.content and candidate.content.parts) or ()
    )


def _blocked(chunk: Mapping[str, Any]) -> str:
    return str((chunk.get("prompt_feedback") or {}).get("block_reason") or "")


def google_api_told(chunks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """An answer's pieces in the words of OpenAI's answers, so that one reader reads all."""
    said: dict[bool, list[str]] = {True: [], False: []}
    finish: str | None = None
    usage: Mapping[str, Any] = {}
    names: dict[str, Any] = {}
    for chunk in chunks:
        usage = chunk.get("usage_metadata") or usage
        names |= {name: chunk[name] for name in ("response_id", "model_version") if chunk.get(name)}
        for candidate in (chunk.get("candidates") or ())[:1]:
            for part in (candidate.get("content") or {}).get("parts") or ():
                said[bool(part.get("thought"))].append(str(part.get("text") or ""))
            reason = str(candidate.get("finish_reason") or "")
            finish = finish if reason in ("", "FINISH_REASON_UNSPECIFIED") else reason
    thought = usage.get("thoughts_token_count")
    written = usage.get("candidates_token_count")
    answer = {"content": "".join(said[False]), "reasoning_content": "".join(said[True])}
    return {
        "id": names.get("response_id"),
        "model": names.get("model_version"),
        "choices": [{"index": 0, "message": answer, "finish_reason": finish}],
        "usage": {
            "prompt_tokens": usage.get("prompt_token_count"),
            # Thoughts count against `max_output_tokens`, and stand apart.
            "completion_tokens": None if written is None and thought is None else (written or 0) + (thought or 0),
            "completion_tokens_details": {"reasoning_tokens": thought},
            "cached_tokens": usage.get("cached_content_token_count"),
        },
    }


# It reads its own environment (OPENAI_ORG_ID, OPENAI_PROJECT_ID, ...), signs, and speaks to Azure as OpenAI has it.
_OF_THE_CLIENT = ("model", "messages", "prompt", "stream", "stream_options")  # everything else goes in as it is


class OpenAISdkTransport(OpenAITransport):
    """As `OpenAITransport`, which still looks up window and facts; the client asks the model."""

    def __init__(self, name: str, options: ServedOptions, connection: ServerOptions) -> None:
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

    async def attempt(self, request: Request, dialect: Dialect, allowed: Allowed, begun: float) -> AttemptResult:
        return await in_thread(lambda: self._attempt(request, dialect, allowed, begun))

    def _attempt(self, request: Request, dialect: Dialect, allowed: Allowed, begun: float) -> AttemptResult:
        if (refused := self.refused(request)) is not None:
            return refused
        clock = Clock(begun, allowed.total_s)
        try:
            return self._asked_once(request, dialect, allowed, clock)
        except Exception as error:  # noqa: BLE001 - a bad cell never ends the run, whatever a client thinks of
            if time.perf_counter() > begun + allowed.total_s:
                message = "the answer was not over when its time was (see --timeout)"
                return AttemptFault("timeout", message, retry=True, sign="late")
            return fault_of_client(error, self._too_long, begun=clock.answered)

    def _asked_once(self, request: Request, dialect: Dialect, allowed: Allowed, clock: Clock) -> Response:
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
