"""Recognise an answer that was given to another request: from a cache, or by a server that mixes requests up."""

from __future__ import annotations

import re
import threading
import unicodedata

from needlework.haystack_fixtures.models.model import Request

_NUMBER = re.compile(r"\d{5,}")
_GROUPING = re.compile(r"(?<=\d)[,，'’_\u00a0\u2009\u202f](?=\d{3}(?!\d))")
_ID_SIGNS = 12  # Ollama's ids are numbers below 1000, and come again soon


class Replays:
    """What a server was asked and how it named its answers. May be used from many threads at once.

    Two kinds of evidence. The answer gives the value of another request's needle and none of its own, and that value
    stands nowhere in its own prompt: needle values are numbers of five digits or more, drawn at random, so no model
    guesses one. Or the response's id was given to another prompt before: only for servers whose ids were seen to be
    long and to differ (`ids_differ`).
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: set[str] = set()
        self._ids: dict[str, str] = {}
        self.ids_differ = False

    def ask(self, request: Request) -> None:
        """Remember what a request is about to be asked."""
        with self._lock:
            self._values |= values_of(request)

    def problem(self, request: Request, text: str, id_: str) -> str:
        """Why this is the answer to another request; empty where nothing says so."""
        own, given = values_of(request), _numbers(text)
        with self._lock:
            others = (given & self._values) - own
            before = self._ids.setdefault(id_, request.prompt.text_sha256) if _is_unique(id_) else ""
        if self.ids_differ and before not in ("", request.prompt.text_sha256):
            return "the answer to another request: its id was given to another prompt before"
        foreign = [] if given & own else sorted(value for value in others if value not in request.prompt.text)
        if not foreign:
            return ""
        return f"the answer to another request: it gives {foreign[0]}, which that one asked for and this prompt lacks"


def are_unique(one: str, other: str) -> bool:
    """Whether the ids of two answers show that each answer gets one of its own."""
    return one != other and _is_unique(one) and _is_unique(other)


def values_of(request: Request) -> frozenset[str]:
    """The values of a request's needles that no model could guess."""
    return frozenset(needle.answer for needle in request.needles if _NUMBER.fullmatch(needle.answer))


def _numbers(text: str) -> set[str]:
    return set(_NUMBER.findall(unicodedata.normalize("NFKC", _GROUPING.sub("", text))))


def _is_unique(id_: str) -> bool:
    """Whether an id looks drawn from so many that none comes twice; `chatcmpl-` before it says nothing."""
    return sum(char.isalnum() for char in id_.rpartition("cmpl-")[2]) >= _ID_SIGNS
