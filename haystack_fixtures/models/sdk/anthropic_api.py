"""`anthropic:NAME`: Claude, through Anthropic's own client."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from needlework.haystack_fixtures.models.model import Request, starts_answer
from needlework.haystack_fixtures.models.sdk.args import ANTHROPIC, NativeOptions, native_address
from needlework.haystack_fixtures.models.sdk.packages import client_package
from needlework.haystack_fixtures.models.sdk.transport import Clock, SdkTransport
from needlework.haystack_fixtures.models.served.connection import Connection
from needlework.haystack_fixtures.models.served.errors import Fault
from needlework.haystack_fixtures.models.served.facts.window import Window
from needlework.haystack_fixtures.models.served.http.client import Allowed
from needlework.haystack_fixtures.models.served.reading.reply import DroppedError, Reply, reply_of
from needlework.haystack_fixtures.prompts.prompt import Message

LEAST_THINKING = 1024  # tokens; what Anthropic takes


class AnthropicTransport(SdkTransport):
    """Asks by streamed messages. What is read of an answer is what is read of any other server's."""

    def __init__(self, name: str, options: NativeOptions, connection: Connection) -> None:
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

    def _ask(self, request: Request, allowed: Allowed, clock: Clock) -> Reply | Fault:
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
