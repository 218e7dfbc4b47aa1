"""Whose value it is: does an answer give the value for the key that was asked for, or for another one?"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from itertools import pairwise, takewhile

from needlework.scoring.answers.cues import known_words
from needlework.scoring.answers.folding import MARK
from needlework.scoring.answers.keys import Asked, Owner, compare, has_key, owner_words, shares_key
from needlework.scoring.answers.names import is_part_of_a_name, is_possessive, name_at, plain, start_of_name
from needlework.scoring.answers.owners_unspaced import unspaced_owner

_TOKEN = re.compile(r"[^\W_]+(?:-[^\W_]+)*(?:'s?(?!\w))?|[=:(),]|->|=>|[.;!?|\n]|" + MARK)
_END = frozenset([".", ";", "!", "?", "|", "\n", MARK, "=", "->", "=>"])
_SIGNS = frozenset([":", "=", "->", "=>"])
_SENTENCE = re.compile(rf"[.!?](?=\s)|[\n;{MARK}]")
_AHEAD = 160
_BEHIND = 120


@lru_cache(4096)
def owner(sketch: str, place: int, asked: Asked) -> Owner:
    """Say whose the value at `place` of a sketch is."""
    if not asked.key:
        return ""
    if asked.unspaced:
        return unspaced_owner(sketch, place, asked)
    said = _named_behind(sketch, place, asked), _named_ahead(sketch, place, asked)
    if "other" in said:
        return "unread" if "asked" in said else "other"
    return next((each for each in said if each), "")


def _named_behind(sketch: str, place: int, asked: Asked) -> Owner:
    """`M is the code for X`, `M belongs to X`, `M (X)`, `M is X's`."""
    tokens = _TOKEN.findall(sketch, place + 1, place + _BEHIND)
    words, heads = owner_words(), _heads()
    for rank, word in enumerate(tokens):
        if word in _END or (word == ")" and rank > 0):
            return ""
        if _opens_a_slot(tokens, rank):
            return _whose(tokens, rank + 1, asked)
        if word in words["for"] and rank > 0 and not (tokens[rank - 1] in heads or tokens[rank - 1] in asked.words):
            return "unread" if _whose(tokens, rank + 1, asked) == "other" else ""
        if is_possessive(word):
            return _whose(tokens, start_of_name(tokens, rank), asked)
        if word == "(" and rank < 2 and (named := _in_brackets(tokens, rank)):
            return compare(named, asked, sure=shares_key(named, asked))
        if rank and tokens[rank - 1] in words["belongs"] and word > "\u0400":
            return compare(name_at(tokens, rank), asked, sure=True)
        if word in heads or word in asked.words or word in ",(:)":
            continue
        if word == "and" and tokens[rank + 1 : rank + 2] and tokens[rank + 1] in ("it", "that", "this", "which"):
            continue
        if rank and tokens[rank - 1] in words["cyrillic_nouns"]:
            return compare(name_at(tokens, rank), asked, sure=True)
        return _possessive_soon(tokens, rank, asked)
    return ""


def _opens_a_slot(tokens: list[str], rank: int) -> bool:
    """Whether a word is followed by an owner: all of what stands before it is a verb, a noun for values, or filler."""
    words, word = owner_words(), tokens[rank]
    if word == "with":
        return rank > 0 and tokens[rank - 1] in ("goes", "connection", "belongs", "go")
    if word in ("to", "zu", "a", "al", "к"):
        return bool(words["belongs"].intersection(tokens[:rank]))
    if word not in words["in_slot"]:
        return False
    return word not in words["for"] or rank == 0 or not tokens[rank - 1][0].isalnum() or tokens[rank - 1] in _heads()


@cache
def _heads() -> frozenset[str]:
    words = owner_words()
    return words["be"] | words["fillers"] | words["nouns"] | words["generic"] | words["says"]


@cache
def _leads() -> frozenset[str]:
    """What may stand between an owner and the value."""
    words = owner_words()
    return words["be"] | words["fillers"] | words["nouns"] | _SIGNS


def _whose(tokens: list[str], start: int, asked: Asked) -> Owner:
    """Compare the name that begins at `start`, unless it has a value of its own: `(the one for X is M)`."""
    for word in tokens[start:]:
        if word in (".", ";", ")", "\n", "!", "?"):
            break
        if word in owner_words()["be"] or word in (":", "=", MARK):
            if MARK in tokens[start:]:
                return ""
            break
    return compare(name_at(tokens, start), asked, sure=True)


def _in_brackets(tokens: list[str], rank: int) -> list[str]:
    named = name_at(tokens, rank + 1)
    return named if tokens[rank + 1 + len(named) : rank + 2 + len(named)] == [")"] else []


def _possessive_soon(tokens: list[str], rank: int, asked: Asked) -> Owner:
    """`M opens X's locker`."""
    near = list(takewhile(lambda word: word not in _END and word != ",", tokens[rank + 1 : rank + 6]))
    later = next((at for at, word in enumerate(near, rank + 1) if is_possessive(word)), None)
    return "" if later is None else _whose(tokens, start_of_name(tokens, later), asked)


def _named_ahead(sketch: str, place: int, asked: Asked) -> Owner:
    """`the code for X is M`, `X's code is M`, `X has M`, `X: M`, `for X it is M`."""
    before = sketch[max(0, place - _AHEAD) : place]
    ends = [found.end() for found in _SENTENCE.finditer(before)]
    tokens = _TOKEN.findall(before[ends[-1] if ends else 0 :])
    words = owner_words()
    while tokens and tokens[-1] in ("(", ","):
        tokens.pop()
    if tokens[-2:-1] == [","] and tokens[-1] in ("namely", "namlich"):
        tokens = tokens[:-2]
    end = len(tokens)
    leads, beside = _leads(), asked.words - asked.key
    while end and (tokens[end - 1] in leads or tokens[end - 1] in beside):
        end -= 1
    start = end
    while start and is_part_of_a_name(tokens[start - 1]):
        start -= 1
    if end and tokens[end - 1] == "whose":
        named = plain(tokens[max(0, end - 4) : end - 1])
        return "asked" if has_key(tokens, asked) else compare(named, asked, sure=True)
    if _is_headed(tokens, start, asked) and shares_key(tokens[start:], asked) and has_key(tokens, asked):
        return "asked"
    named = _surely_named(tokens, start, end, asked)
    if named:
        return compare(named, asked, sure=True)
    named = name_at(tokens[:end], start)
    whose = compare(named, asked, sure=_is_entry(tokens, start, end, named, asked))
    if not whose and words["has"].intersection(tokens[end:]):
        whose = compare(named, asked, sure=True)
        return "unread" if whose == "other" and len(named) == 1 else whose
    return whose


def _surely_named(tokens: list[str], start: int, end: int, asked: Asked) -> list[str]:
    """The name that stands where an owner does, in what precedes a value; it ends at `end`. Empty where none does."""
    words = owner_words()
    if end and is_possessive(tokens[end - 1]):
        return plain(tokens[start:end])
    named = name_at(tokens[:end], start)
    if _is_headed(tokens, start, asked):
        return [word for word in named if word not in words["nouns"]] or named
    if named and tokens[start] in words["cyrillic_nouns"] and end - start > 1:
        return named[1:]
    if start == 0 and len(named) == 1 and named[0].endswith("s") and tokens[1:2] and tokens[1] in words["german_nouns"]:
        return [named[0].removesuffix("s")]
    opening = next((at for at, word in enumerate(tokens[:4]) if word in words["for"]), None)
    if opening is not None and (opening == 0 or tokens[opening - 1] == ","):
        return name_at(tokens, opening + 1)
    for at, (word, following) in enumerate(pairwise(tokens)):
        if is_possessive(word) and (following in words["nouns"] or following in asked.words):
            return plain(tokens[start_of_name(tokens, at) : at + 1])
    return []


def _is_headed(tokens: list[str], start: int, asked: Asked) -> bool:
    """Whether a name stands behind `for` or `of`, and that behind a noun for values or a colon's own line."""
    if start == 0 or tokens[start - 1] not in owner_words()["in_slot"]:
        return False
    slot = tokens[start - 1]
    if start == 1:
        return slot not in ("to", "of")
    head = tokens[start - 2]
    return head in owner_words()["nouns"] or head in asked.words or (tokens[-1] == ":" and slot in owner_words()["for"])


def _is_entry(tokens: list[str], start: int, end: int, named: list[str], asked: Asked) -> bool:
    """Whether it is an entry of a list, `X: M`: a name at the start of a line, with as many words as the key."""
    signed = bool(_SIGNS.intersection(tokens[end:]))
    alone = start == 0 and named == plain(tokens[:end]) and not known_words().intersection(named)
    return signed and alone and len(named) == len(asked.key) > 1
