"""Options that say what is asked: tasks, lengths, depths, needles, texts."""

from __future__ import annotations

from needlework.haystack_fixtures.corpora.corpus_named import NAMES
from needlework.haystack_fixtures.grid.spacing import DEPTH_SPACINGS, LENGTH_SPACINGS
from needlework.haystack_fixtures.settings.option import WHAT, FileIn, Option
from needlework.haystack_fixtures.settings.option_values import one_of, text, trials_or_share, whole, words, words_of


def _corpus_file(value: str) -> FileIn | None:
    kind, colon, path = value.partition(":")
    if colon and kind in ("cdme", "hf"):
        return FileIn(path, f"{kind}:", or_name=kind == "hf")
    return None if value in NAMES else FileIn(value)


OPTIONS: tuple[Option, ...] = (
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
)
