"""The words of a text, for whatever searches or compares texts by them."""

from __future__ import annotations

import unicodedata

import regex

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}"
# Plain letters before a plain character come first: sets of properties take three times as long.
_RUN = regex.compile(rf"[a-z0-9]++(?=[\n -~])|[{_UNSPACED}]++|[\w--[_{_UNSPACED}]]++", regex.V1)
_FIRST_UNSPACED = "\u2e80"
_IS_UNSPACED = regex.compile(f"[{_UNSPACED}]")


def word_runs(text: str) -> list[str]:
    """The words of a text in order, case and compatibility forms folded.

    Text without spaces between words (Chinese, Japanese) comes in runs, up to what is none of it.
    """
    return _RUN.findall(unicodedata.normalize("NFKC", text).casefold())


def is_unspaced(run: str) -> bool:
    """Whether a run of `word_runs` is text without spaces between words."""
    return run >= _FIRST_UNSPACED and _IS_UNSPACED.match(run) is not None


def pairs_of(run: str) -> list[str]:
    """The pairs of neighbouring characters; of one character none."""
    return [run[at : at + 2] for at in range(len(run) - 1)]
