"""Fields of a server's reply, by whatever name the server's dialect gives them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# The same text may come under two of these names: the first one counts. DeepSeek and older vLLM; vLLM, OpenRouter;
# Ollama; OpenRouter's and LiteLLM's lists of blocks.
_REASONING = ("reasoning_content", "reasoning", "thinking", "reasoning_text", "reasoning_details", "thinking_blocks")
_FINISH = {
    "stop": "stop eos eos_token end_turn end stop_sequence stop_token complete completed",
    "length": (
        "length max_tokens max_output_tokens max_completion_tokens max_length model_length token_limit incomplete"
        " model_context_window_exceeded continuation"
    ),
    "content_filter": (
        "content_filter content_filtered safety recitation blocklist prohibited_content spii sensitive refusal"
        " guardrail_intervened model_armor jailbreak data_inspection_failed"
    ),
}
_FINISH_OF = {word: meaning for meaning, words in _FINISH.items() for word in words.split()}
# The server itself says that what it sent is not the whole answer.
_GAVE_UP = {
    "abort", "aborted", "cancelled", "canceled", "error", "failed", "network_error", "timeout",
    "insufficient_system_resource", "engine_overloaded",
}  # fmt: skip

_MOST = 10**12  # tokens; whatever is more is no count
# Fields of `Response`, each with its names in `usage`; `timings` is llama.cpp's, cache hits DeepSeek's and Anthropic's.
_COUNTS = {
    "prompt_tokens": "prompt_tokens input_tokens prompt_eval_count",
    "completion_tokens": "completion_tokens output_tokens eval_count timings.predicted_n",
    "reasoning_tokens": "completion_tokens_details.reasoning_tokens output_tokens_details.reasoning_tokens"
    " reasoning_tokens",
    "cached_tokens": "prompt_tokens_details.cached_tokens input_tokens_details.cached_tokens prompt_cache_hit_tokens"
    " cache_read_input_tokens cached_tokens timings.cache_n",
}


def finish_of(word: Any) -> str:
    """`stop`, `length`, `content_filter`, `missing`, or the server's own word where we know none for it."""
    text = str(word).strip()
    return _FINISH_OF.get(text.lower(), text) if word else "missing"


def gave_up(finish: str) -> bool:
    """Whether a finish reason says that the server stopped before the model did."""
    return finish.lower() in _GAVE_UP


def text_and_reasoning(choice: Mapping[str, Any]) -> tuple[str, str]:
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
    return text, next((named for name in _REASONING if (named := _all_text(message.get(name)))), "") or thought


def error_in(data: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The error that an answer, or an event of one, holds; `None` where it holds none."""
    choices = data.get("choices")
    choices = choices if isinstance(choices, list) else []
    error = data.get("error")
    if isinstance(error, dict) and str(error.get("code")) in ("0", "200") and choices:
        error = None  # some gateways say "no error" beside every good answer
    inside = [choice.get("error") for choice in choices if isinstance(choice, dict)]
    error = error or next(filter(None, inside), None) or data.get("errors")
    if error:
        return error if isinstance(error, dict) else {"message": str(error)}
    status = table_of(data.get("base_resp")).get("status_code")  # MiniMax
    if status or data.get("error_code") or "error" in (data.get("object"), data.get("type")):  # FastChat, vLLM
        return data
    # DashScope, and frameworks below a server: a message in place of an answer.
    message = data.get("message") or data.get("detail")
    bare = not choices and isinstance(message, str) and data.keys() & {"code", "status", "detail", "success"}
    return data if bare else None


def token_counts(usage: Mapping[str, Any], timings: Mapping[str, Any]) -> dict[str, int | None]:
    """The server's counts of tokens, as fields of a `Response`.

    Of the prompt 0 is no count (older Ollama, where all of it was cached); Anthropic, and gateways to it, may count
    apart what was read from their cache and what was put there.
    """
    table = {**usage, "timings": timings}
    counts = {field: _first(table, *names.split()) for field, names in _COUNTS.items()}
    prompt = counts["prompt_tokens"] or 0
    apart = sum(_first(table, f"cache_{name}_input_tokens") or 0 for name in ("read", "creation"))
    if prompt < apart or not _first(table, "prompt_tokens"):
        prompt += apart
    prompt = prompt or sum(_first(table, f"timings.{name}") or 0 for name in ("prompt_n", "cache_n"))
    return {**counts, "prompt_tokens": prompt or None}


def count(value: Any) -> int | None:
    """A number of tokens, `None` for anything that is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _MOST:
        return None
    return int(value)


def table_of(value: Any) -> dict[str, Any]:
    """A JSON object, or an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    """A JSON array, or an empty one for anything else."""
    return value if isinstance(value, list) else []


def field_of(table: Mapping[str, Any], path: str) -> Any:
    """The value at a path: `a.b` is field `b` of table `a`."""
    outer, _, inner = path.rpartition(".")
    return (table_of(table.get(outer)) if outer else table).get(inner)


def _first(table: Mapping[str, Any], *paths: str) -> int | None:
    """The first count above 0 among the values at these paths, 0 where there is no other."""
    counts = [count(field_of(table, path)) for path in paths]
    known = [number for number in counts if number is not None]
    return next(filter(None, known), 0) if known else None


def _content(content: Any) -> tuple[str, str]:
    """(text, reasoning) of a message's content: a string, a number, nothing, or typed blocks."""
    if isinstance(content, str):
        return content, ""
    if isinstance(content, int | float) and not isinstance(content, bool):
        return str(content), ""
    text: list[str] = []
    reasoning: list[str] = []
    for block in content if isinstance(content, list) else [content]:
        if isinstance(block, str):
            text.append(block)
        elif isinstance(block, dict):
            is_text = str(block.get("type", "text")) in ("text", "output_text", "refusal")
            (text if is_text else reasoning).append(_all_text(block))
    return "".join(text), "".join(reasoning)


def _all_text(value: Any) -> str:
    """The text of a field that holds a string, a block, or a list of them; encrypted blocks have none."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(map(_all_text, value))
    names = ("text", "thinking", "reasoning", "content", "summary", "refusal")
    return next((text for name in names if (text := _all_text(table_of(value).get(name)))), "") if value else ""
