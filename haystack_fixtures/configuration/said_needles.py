"""Needles that are said in place of a set's name: `needle` or `needles` with `question`, and perhaps `answer`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from needlework.haystack_fixtures.configuration.levels import Written, first
from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.needles.inline import inline_spec

TASKS = ("niah", "multi_needle")
_KINDS = ("needle", "needles", "needle_set")
# Of a set by name, these would have nothing to be about.
_ABOUT = ("question", "answer")
_COMPARE_WITH_NEEDLES = ("cdme", "cdme_trim", "judge_evalscope", "judge_llmtest", "needle_words")
_WITHOUT_ANSWER = "needle_words"


@dataclass(frozen=True, slots=True)
class SaidNeedles:
    """`spec`: stands for the needle set's name. `count`: how many needles. `scorer`: what scores answers where they can
    be compared with the needles alone; empty where the suite's scorer does."""

    spec: str
    count: int
    scorer: str = ""


def said_needles(levels: Sequence[Written]) -> SaidNeedles | None:
    """The needles that the levels say, most important first; `None` where they name a set.

    Without an answer or keyword a scorer that wants one gives way, unless it is named beside the needles or above.
    Raises `InputError` for needles without a question, a question without needles, and both needles and a set.
    """
    at = next((place for place, level in enumerate(levels) if any(kind in level for kind in _KINDS)), len(levels))
    kinds = [kind for kind in _KINDS if at < len(levels) and kind in levels[at]]
    if len(kinds) > 1:
        names = ", ".join(_option(kind) for kind in kinds)
        raise InputError(names, str(levels[at][kinds[0]]), "are two ways to say the needles: give one of them")
    if not kinds or kinds == ["needle_set"]:
        about = next((key for level in levels[: at + 1] for key in _ABOUT if key in level), None)
        if about is not None:
            raise InputError(_option(about), str(first(levels, about)), "is about --needle TEXT: give that too")
        return None
    value = levels[at][kinds[0]]
    texts = [text for word in ([value] if isinstance(value, str) else value) for text in _texts(word)]
    question = cast("str | None", first(levels, "question"))
    if question is None:
        raise InputError(_option(kinds[0]), texts[0], "give --question too: what is asked about it")
    # An answer is one to the needles beside it, or to others that were said before.
    answer = cast("str | None", first(levels[: at + 1], "answer") or first(levels[: at + 1], "keyword"))
    spec = inline_spec(texts, question, answer or "")
    return SaidNeedles(spec, len(texts), "" if answer else _scorer(levels, at))


def _scorer(levels: Sequence[Written], at: int) -> str:
    scorer = first(levels, "scorer")
    beside = first(levels[: at + 1], "scorer")
    return "" if beside or scorer in _COMPARE_WITH_NEEDLES else _WITHOUT_ANSWER


def _texts(word: str) -> list[str]:
    """A needle, or a JSON list of needles."""
    if word.lstrip().startswith("["):
        try:
            found = json.loads(word)
        except (ValueError, RecursionError):
            return [word]
        if found and isinstance(found, list) and all(isinstance(text, str) for text in found):
            return found
    return [word]


def _option(key: str) -> str:
    return f"--{key.replace('_', '-')}"
