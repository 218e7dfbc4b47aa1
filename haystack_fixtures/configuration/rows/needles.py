"""Options that say what is hidden in the text, and what is asked about it."""

from __future__ import annotations

from needlework.haystack_fixtures.needles.inline import is_inline
from needlework.haystack_fixtures.needles.needle_sets import is_own
from needlework.haystack_fixtures.settings.option import WHAT, FileIn, Option
from needlework.haystack_fixtures.settings.option_values import any_text, percent, text


def _needle_file(value: str) -> FileIn | None:
    return FileIn(value) if is_own(value) and not is_inline(value) else None


OPTIONS: tuple[Option, ...] = (
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
)
