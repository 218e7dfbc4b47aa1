"""Whether a server's refusal says that the prompt does not fit its window. There is no standard for saying so.

Sources of the wordings: the servers' own code (vLLM, SGLang, llama.cpp, TGI, TensorRT-LLM, LMDeploy, Ollama, TabbyAPI,
LM Studio) and public issue threads about hosted services (OpenAI, Azure, Anthropic, Google, Bedrock, Mistral, Cohere,
Groq, xAI, Moonshot, DashScope, Zhipu, Volcengine, MiniMax, OpenRouter, LiteLLM).
"""

from __future__ import annotations

import re

# Where one of these stands, the window is meant.
_NAMED = re.compile(
    r"context[ _-]?(length|size|window|limit|overflow|exceeded)|(exceed\w*|available|over) (the )?context\b"
    r"|exceed_context|context shift is disabled|model'?s? token limit"
    r"|(prompt|input|request|messages?|text|conversation)( tokens?| length)?( is| are|) ?too (long|large to process)"
    r"|too many (input |prompt )?tokens|maximum (number of (input )?tokens|model length|sequence length|prompt length)"
    r"|max_new_tokens` must be|too large to process|reduce the length|range of input length"
    r"|(prompt|input) length[^.]{0,40}exceed|(max_)?(session|seq|model)_len\b|max_input_(len|length)\b"
    r"|input_length_error"
    r"|max(imum)? message tokens|token count[^.]{0,40}exceed"
    r"|超长|(输入|上下文|文本|提示词?|消息|内容|prompt|token)[^。]{0,16}(过长|超过|超出|超限)|(超过|超出)[^。]{0,20}(长度|上下文|token)"
)
# A sentence that holds some size against a bound, where the size is one of text.
_BOUNDED = re.compile(
    r"(prompt|inputs?|messages?|request|sequence|query|text|tokens?|length)\b[^.;]{0,60}?"
    r"(exceed\w*|(long|great|larg)er than|more than|too large|> |(less|fewer|smaller) than|at most|cannot be more"
    r"|out of range|over the)"
    r"[^;]{0,60}?(max|limit|allowed|token|window|length|\d{3,})"
)
_OF_TEXT = re.compile(r"token|length|context|characters|too long")
# About the answer that was asked for, not about the prompt.
_OF_ANSWER = re.compile(
    r"(range of|supports at most [\d,]+)? ?(max_(completion_|output_|new_)?tokens|completion tokens)"
)
# About how much may be asked in a time.
_OF_RATE = re.compile(
    r"per[ _-]?(minute|min|second|hour|day|month)\b|rate[ _-]?limit|quota|\b[tr]p[md]\b|throttl|please wait"
    r"|try again (later|in|after)|每分钟|每日|限流|频率|配额"
)
_TOO_LARGE = 413


def says_too_long(status: int, words: str, own: re.Pattern[str] | None = None) -> bool:
    """Whether an error with this HTTP status and these words (lower case) is about the length of the prompt.

    `own`: `--too-long-pattern`, for a server whose words are not known here.
    """
    if own is not None and own.search(words):
        return True
    if status not in (400, 413, 422, 500) or _OF_RATE.search(words):
        return False
    if _NAMED.search(words) or status == _TOO_LARGE:
        return True
    bounded = _BOUNDED.search(words) and _OF_TEXT.search(words)
    return status != 500 and bool(bounded) and not _OF_ANSWER.search(words)
