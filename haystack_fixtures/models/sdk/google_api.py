"""`google:NAME`: Gemini, through Google's own client."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from needlework.haystack_fixtures.models.model import Request, starts_answer
from needlework.haystack_fixtures.models.sdk.args import GOOGLE, NativeOptions, native_address
from needlework.haystack_fixtures.models.sdk.packages import client_package
from needlework.haystack_fixtures.models.sdk.transport import Clock, SdkTransport
from needlework.haystack_fixtures.models.served.connection import Connection
from needlework.haystack_fixtures.models.served.errors import Fault
from needlework.haystack_fixtures.models.served.facts.window import Window
from needlework.haystack_fixtures.models.served.http.client import Allowed
from needlework.haystack_fixtures.models.served.reading.reply import DroppedError, Reply, reply_of
from needlework.haystack_fixtures.prompts.prompt import Message

_ROLES = {"user": "user", "assistant": "model"}


class GoogleTransport(SdkTransport):
    """Asks by streamed content. What is read of an answer is what is read of any other server's."""

    def __init__(self, name: str, options: NativeOptions, connection: Connection) -> None:
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

    def _ask(self, request: Request, allowed: Allowed, clock: Clock) -> Reply | Fault:
        turns = [each for each in request.prompt.messages if each.role != "system"]
        events = self._client.models.generate_content_stream(
            model=self._name, contents=self._contents(turns), config=self._config(request, allowed)
        )
        with clock.ending(lambda: None):
            chunks = [chunk.model_dump(mode="json", exclude_none=True) for chunk in clock.timed(events, _says)]
        if not chunks:
            raise DroppedError("the stream ended before it began")
        answer = told(chunks)
        blocked = next((str(reason) for chunk in chunks if (reason := _blocked(chunk))), "")
        if blocked and not answer["choices"][0]["finish_reason"]:
            return Fault("client", f"content filter: the prompt was blocked: {blocked}", filtered=True)
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


def told(chunks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
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
