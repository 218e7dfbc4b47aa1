"""Options of what is asked: cells, needles, prompts."""

from __future__ import annotations

from needlework.core.grid import DEPTH_SPACINGS, LENGTH_SPACINGS
from needlework.core.options import (
    HOW,
    WHAT,
    FileIn,
    Option,
    any_text,
    one_of,
    percent,
    some_tokens,
    switch,
    text,
    tokens,
    trials_or_share,
    whole,
    words,
    words_of,
)
from needlework.haystack_fixtures.corpora.corpus_named import NAMES
from needlework.haystack_fixtures.needles.needle_sets import is_inline, is_own


def _corpus_file(value: str) -> FileIn | None:
    kind, colon, path = value.partition(":")
    if colon and kind in ("cdme", "hf"):
        return FileIn(path, f"{kind}:", or_name=kind == "hf")
    return None if value in NAMES else FileIn(value)


def _needle_file(value: str) -> FileIn | None:
    return FileIn(value) if is_own(value) and not is_inline(value) else None


def _shape_file(value: str) -> FileIn | None:
    return FileIn(value) if value.endswith(".toml") else None


CELL_OPTIONS: tuple[Option, ...] = (
    Option(
        "task",
        WHAT,
        "tasks to run, of those in the preset",
        words,
        shown_default="all of the preset",
        metavar="NAME,...",
    ),
    Option(
        "lengths",
        WHAT,
        "tokens that prompt and answer need together (see --length-means): 1k,2k,4k or first:last:count; window, or"
        " 4k,window: what the model takes, and documents of yours fill",
        text,
        metavar="LIST",
        suite=True,
    ),
    Option(
        "length-means",
        WHAT,
        "what has that many tokens: total, the prompt with the answer inside; context, the haystack with its needles"
        " alone, as published systems mean it (template, question and answer come on top)",
        one_of("total", "context"),
        "total",
        metavar="total|context",
        suite=True,
    ),
    Option(
        "length-spacing",
        WHAT,
        f"spacing of a range of lengths: {', '.join(LENGTH_SPACINGS)}",
        one_of(*LENGTH_SPACINGS),
        "linear",
        suite=True,
    ),
    Option(
        "depths",
        WHAT,
        "percent of the context's tokens before the needle: 0,50,100 or 0:100:11; spread, or spread:0:100:11, asks each"
        " sample at one of them",
        text,
        metavar="LIST",
        suite=True,
    ),
    Option(
        "depth-spacing",
        WHAT,
        f"spacing of a range of depths: {', '.join(DEPTH_SPACINGS)}",
        one_of(*DEPTH_SPACINGS),
        "linear",
        suite=True,
    ),
    Option(
        "corpus",
        WHAT,
        "haystack text: default, essays, sanguo, pydoc, generated, noise, cdme:FOLDER, hf:DATASET[:SPLIT], a path",
        text,
        "default",
        metavar="NAME_OR_PATH",
        suite=True,
        file=_corpus_file,
    ),
    Option("text-field", WHAT, "field of .jsonl and data set rows that holds the text", text, "text", suite=True),
    Option(
        "file-list",
        WHAT,
        "files of a corpus folder to use, by name",
        words,
        shown_default="all",
        metavar="NAME,...",
        suite=True,
    ),
    Option(
        "language",
        WHAT,
        "languages of corpus, needles and prompt: en, zh",
        words,
        "en",
        metavar="LIST",
        suite=True,
    ),
    Option("repeats", WHAT, "trials per cell, each with its own filler and needle", whole(1), "1", suite=True),
    Option(
        "limit",
        WHAT,
        "ask only the first N trials of each task and language, the shortest first, or a share such as 0.1: a try, and"
        " no result of the grid",
        trials_or_share,
        shown_default="all",
        metavar="N",
    ),
    Option("seed", WHAT, "changes filler and needles; the same seed gives the same bytes", whole(0), "0"),
    Option(
        "controls",
        WHAT,
        "also ask each question without its answer in the text (absent), or with nothing else (focused)",
        words_of("absent", "focused"),
        shown_default="none",
        metavar="LIST",
        suite=True,
    ),
    Option(
        "scorer",
        WHAT,
        "how answers are scored: match, cdme, keyword, ...",
        text,
        shown_default="the task's",
        metavar="NAME",
        suite=True,
    ),
    Option(
        "needle-set",
        WHAT,
        "needles by name (codes, codes_each: one for every cell, san_francisco, cdme, pizza, italy) or a TOML/JSONL"
        " file of yours",
        text,
        "codes",
        metavar="NAME_OR_FILE",
        suite=True,
        file=_needle_file,
    ),
    Option(
        "needle",
        WHAT,
        "a needle of yours in place of --needle-set, put into the text as it is, with its line breaks; with --question",
        any_text,
        shown_default="that of --needle-set",
        metavar="TEXT",
        suite=True,
    ),
    Option(
        "needles",
        WHAT,
        "several needles of yours and one --question over all (task multi_needle): give it several times, or once as a"
        " JSON list",
        any_text,
        shown_default="those of --needle-set",
        metavar="TEXT",
        repeatable=True,
        suite=True,
    ),
    Option(
        "question",
        WHAT,
        "what is asked about --needle or --needles",
        any_text,
        shown_default="the needle set's",
        metavar="TEXT",
        suite=True,
        aliases=("retrieval-question",),
    ),
    Option(
        "answer",
        WHAT,
        "the right answer about --needle or --needles; without it an answer is scored by the words of the needles that"
        " the question lacks (scorer needle_words)",
        any_text,
        shown_default="the needle set's",
        metavar="TEXT",
        suite=True,
    ),
    Option(
        "diff",
        WHAT,
        "gap between several needles in percent of the text",
        percent,
        shown_default="the needle set's, else even",
        metavar="PERCENT",
        suite=True,
    ),
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
