"""Fields of a server's reply, by whatever name the server's dialect gives them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# The same text may come under two of these names: the first one counts. DeepSeek and older vLLM; vLLM, OpenRouter;
# Ollama; OpenRouter's and LiteLLM's lists of blocks.
_REASONING = ("reasoning_content", "reasoning", "thinking", "reasoning_text", "reasoning_details", "thinking_blocks")
_FINISH = {
    "stop": ("stop", "eos", "eos_token", "end_turn", "end", "stop_sequence", "stop_token", "complete", "completed"),
    "length": (
        "length", "max_tokens", "max_output_tokens", "max_completion_tokens", "max_length", "model_length",
        "token_limit", "incomplete", "model_context_window_exceeded", "continuation",
    ),
    "content_filter": (
        "content_filter", "content_filtered", "safety", "recitation", "blocklist", "prohibited_content", "spii",
        "sensitive", "refusal", "guardrail_intervened", "model_armor", "jailbreak", "data_inspection_failed",
    ),
}  # fmt: skip
_FINISH_OF = {word: meaning for meaning, words in _FINISH.items() for word in words}
# The server says itself that what it sent is not the whole answer.
_GAVE_UP = {
    "abort", "aborted", "cancelled", "canceled", "error", "failed", "network_error", "timeout",
    "insufficient_system_resource", "engine_overloaded",
}  # fmt: skip

_MOST = 10**12  # tokens; whatever is more is no count


def finish_of(word: Any) -> str:
    """`stop`, `length`, `content_filter`, `missing`, or the server's own word where we know none for it."""
    said = str(word).strip()
    return _FINISH_OF.get(said.lower(), said) if word else "missing"


def gave_up(finish: str) -> bool:
    """Whether a finish reason says that the server stopped before the model did."""
    return finish.lower() in _GAVE_UP


def said_and_thought(choice: Mapping[str, Any]) -> tuple[str, str]:
    """(answer text, reasoning) of one choice, whole or a stream's next piece.

    A refusal that has a field of its own is what the model says.
    """
    delta = choice.get("delta")
    # A stream's last event may repeat the whole message beside an empty delta.
    message = delta if isinstance(delta, dict) else choice.get("message")
    if not isinstance(message, dict):
        return _content(choice.get("text"))
    text, thought = _content(message.get("content"))
    text = text or _content(message.get("refusal"))[0]
    named = next((found for name in _REASONING if (found := _all_text(message.get(name)))), "")
    return text, named or thought


def error_in(data: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The error that an answer, or an event of one, holds; `None` where it holds none."""
    choices = data.get("choices")
    choices = choices if isinstance(choices, list) else []
    error = data.get("error")
    if isinstance(error, dict) and str(error.get("code")) in ("0", "200") and choices:
        error = None  # some gateways say "no error" beside every good answer
    inside = [choice.get("error") for choice in choices if isinstance(choice, dict)]
    error = error or next((fault for fault in inside if fault), None)
    status = table_of(data.get("base_resp")).get("status_code")  # MiniMax
    if error or data.get("errors"):
        error = error or data["errors"]
        return error if isinstance(error, dict) else {"message": str(error)}
    if status or data.get("error_code") or "error" in (data.get("object"), data.get("type")):  # FastChat, vLLM
        return data
    # DashScope, and frameworks below a server: a message in place of an answer.
    message = data.get("message") or data.get("detail")
    bare = not choices and isinstance(message, str) and data.keys() & {"code", "status", "detail", "success"}
    return data if bare else None


def prompt_count(usage: Mapping[str, Any], timings: Mapping[str, Any]) -> int | None:
    """The server's count of the prompt's tokens; 0 is no count (older Ollama, where all of it was cached).

    Anthropic, and gateways to it, may count apart what was read from their cache and what was put there.
    """
    named = [count(usage.get(name)) for name in ("prompt_tokens", "input_tokens", "prompt_eval_count")]
    tokens = next(filter(None, named), 0)
    apart = sum(count(usage.get(f"cache_{name}_input_tokens")) or 0 for name in ("read", "creation"))
    if tokens < apart or not named[0]:
        tokens += apart
    if not tokens:  # llama.cpp
        tokens = sum(count(timings.get(name)) or 0 for name in ("prompt_n", "cache_n"))
    return tokens or None


def completion_count(usage: Mapping[str, Any], timings: Mapping[str, Any]) -> int | None:
    """The server's count of what the model wrote, reasoning included."""
    named = (usage.get(name) for name in ("completion_tokens", "output_tokens", "eval_count"))
    return next(
        (number for value in (*named, timings.get("predicted_n")) if (number := count(value)) is not None), None
    )


def reasoning_count(usage: Mapping[str, Any]) -> int | None:
    """How much of the completion was reasoning, where the server tells."""
    named = (
        table_of(usage.get("completion_tokens_details")).get("reasoning_tokens"),
        table_of(usage.get("output_tokens_details")).get("reasoning_tokens"),
        usage.get("reasoning_tokens"),
    )
    return next((number for value in named if (number := count(value)) is not None), None)


def cached_count(usage: Mapping[str, Any], timings: Mapping[str, Any]) -> int | None:
    """Prompt tokens that came from the server's cache."""
    named = (
        table_of(usage.get("prompt_tokens_details")).get("cached_tokens"),
        table_of(usage.get("input_tokens_details")).get("cached_tokens"),
        usage.get("prompt_cache_hit_tokens"),  # DeepSeek
        usage.get("cache_read_input_tokens"),  # Anthropic and gateways to it
        usage.get("cached_tokens"),
        timings.get("cache_n"),  # llama.cpp
    )
    return next((number for value in named if (number := count(value)) is not None), None)


def count(value: Any) -> int | None:
    """A number of tokens, `None` for anything that is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _MOST:
        return None
    return int(value)


def table_of(value: Any) -> dict[str, Any]:
    """A JSON object, or an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def _content(content: Any) -> tuple[str, str]:
    """(text, reasoning) of a message's content: a string, a number, nothing, or typed blocks."""
    if isinstance(content, str):
        return content, ""
    if isinstance(content, int | float) and not isinstance(content, bool):
        return str(content), ""
    text: list[str] = []
    reasoning: list[str] = []
    for block in content if isinstance(content, list) else [content]:
        if isinstance(block, dict):
            said = str(block.get("type", "text")) in ("text", "output_text", "refusal")
            (text if said else reasoning).append(_all_text(block))
        elif isinstance(block, str):
            text.append(block)
    return "".join(text), "".join(reasoning)


def _all_text(value: Any) -> str:
    """The text of a field that holds a string, a block, or a list of them; encrypted blocks have none."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(_all_text(each) for each in value)
    if isinstance(value, dict):
        names = ("text", "thinking", "reasoning", "content", "summary", "refusal")
        return next((found for name in names if (found := _all_text(value.get(name)))), "")
    return ""
