"""Options that say how the prompt is made."""

from __future__ import annotations

from needlework.haystack_fixtures.settings.option import HOW, FileIn, Option
from needlework.haystack_fixtures.settings.option_values import any_text, one_of, some_tokens, switch, text, tokens


def _shape_file(value: str) -> FileIn | None:
    return FileIn(value) if value.endswith(".toml") else None


OPTIONS: tuple[Option, ...] = (
    Option("answer-budget", HOW, "tokens kept free for the answer", some_tokens, "64", metavar="TOKENS", suite=True),
    Option(
        "thinking-budget",
        HOW,
        "tokens kept free for a reasoning model's thinking, beside the answer",
        tokens,
        "0",
        metavar="TOKENS",
        suite=True,
    ),
    Option(
        "length-buffer",
        HOW,
        "tokens of each length that stay unused beside prompt and answer",
        tokens,
        "0",
        metavar="TOKENS",
        suite=True,
    ),
    Option(
        "system-prompt", HOW, "text of the system message", any_text, shown_default="the prompt shape's", suite=True
    ),
    Option(
        "template", HOW, "chat: the model's chat template; raw: plain text", one_of("chat", "raw"), "chat", suite=True
    ),
    Option(
        "question-position",
        HOW,
        "where the question stands: start, end, both",
        one_of("start", "end", "both"),
        "end",
        suite=True,
    ),
    Option(
        "prompt",
        HOW,
        "prompt shape by name (plain, llmtest, evalscope, cdme, needlebench-v2) or a TOML file of yours",
        text,
        "plain",
        metavar="NAME_OR_FILE",
        suite=True,
        file=_shape_file,
    ),
    Option(
        "guide",
        HOW,
        "ask the model to look first for what in the text is most relevant to the question (OpenCompass); --no-guide"
        " for presets that do",
        switch,
        "false",
        flag=True,
        suite=True,
    ),
    Option(
        "answer-prefix",
        HOW,
        "true: end the prompt with the beginning of the answer, for the model to go on with (tasks of RULER)",
        switch,
        "false",
        metavar="true|false",
        suite=True,
    ),
    Option(
        "canary",
        HOW,
        "put a mark at the very start and end of each context and ask for both in a further request: proves that"
        " nothing was cut, also where a server gives no token counts",
        switch,
        "false",
        flag=True,
    ),
    Option("verify-prompts", HOW, "encode each whole prompt again and check every count", switch, "false", flag=True),
)
