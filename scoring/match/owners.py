"""Which key a value belongs to."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise, takewhile
from types import MappingProxyType
from typing import Literal

from needlework.scoring.match.normalize import MARK, closed_up, spaced_alike, table
from needlework.scoring.match.polarity import known_words

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


_UNSPACED_END = re.compile(rf"[。！？；;!?\n,、{MARK}]")
_UNSPACED_NAME = re.compile(
    r"([^的の\s,。、？?「」“”\"]{2,16})[的の]|属于([^的,。]{2,12})|(?:^|は|が)([^的の\s,。、]{2,12})(?:用|のもの)(?:です|だ|$)"
)
_HEADING = re.compile(r"[是为為は]$|答|回|码|碼|结果|結果|输出|最终|编号|コード|番号|根据")
_VAGUE = re.compile(
    r"这|那|它|该|此|正确|错误|新|旧|当前|目前|如今|先前|现在|原来|文中|文章|文档|提到|所问|您|你|我|唯一|给出|要求"
    r"|問|質問|正し|古|文書|本文|求め|以前|現在|最終"
)


def unspaced_owner(sketch: str, place: int, asked: Asked) -> Owner:
    """Say whose the value at `place` of a sketch is."""
    clauses = (
        _UNSPACED_END.split(sketch[max(0, place - 60) : place])[-1],
        _UNSPACED_END.split(sketch[place + 1 : place + 60])[0],
    )
    clauses = (closed_up(clauses[0]), closed_up(clauses[1]))
    question = closed_up(asked.question)
    named = [found[1] or found[2] or found[3] for clause in clauses for found in _UNSPACED_NAME.finditer(clause)]
    entry = re.fullmatch(r"\W*([\u3040-\u9fff]{2,8}): *", clauses[0])
    if entry and abs(len(entry[1]) - len(asked.unspaced)) <= 1 and not _HEADING.search(entry[1]):
        named.append(entry[1])
    named = [re.split(r"ではなく|じゃなく|不是|而是", name)[-1] for name in named]
    named = [re.sub(r"^(?:是|为|属于|は|が|根据|文中)", "", name) for name in named]
    named = [name for name in named if len(name) > 1]
    if any(asked.unspaced in name or name in asked.unspaced for name in named):
        return "asked"
    return "other" if any(not _VAGUE.search(name) and name not in question for name in named) else ""


# The key is what follows the last `for` or `of` of the question (`the code for the copper lantern`),
# in Chinese and Japanese what stands before its 的 or の. Names are compared by their words, in
# Cyrillic letters too.
Owner = Literal["asked", "other", "unread", ""]
"""`unread`: something is named that cannot be compared with what was asked; empty: nothing is named."""

_OF = re.compile(
    r"(?<!\w)(?:for|of|fur|von|de|del|du|des|para|pour|у|для)\s+"
    r"(?:(?:the|la|le|el|los|las|der|die|das|den)\s+)?([^?.,;:!]+)|(?<!\w)d'([^?.,;:!]+)"
)
_UNSPACED = re.compile(r"([^的の\s,。、？?「」“”\"]{2,16})[的の]")
_WORD = re.compile(r"[^\W_]+")
_CYRILLIC = str.maketrans(
    dict(zip("абвгдезиклмнопрстуфхцыэ", "abvgdeziklmnoprstufhcye", strict=True))
    | {"ж": "zh", "ч": "ch", "ш": "sh", "щ": "sch", "ю": "yu", "я": "ya", "ь": "", "ъ": ""}
)
_STEM = 4


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked for: the words of its key, every word of the question, and the question.

    `unspaced`: the key in a script that is written without spaces.
    """

    key: frozenset[str]
    words: frozenset[str]
    unspaced: str = ""
    question: str = ""


@cache
def owner_words() -> Mapping[str, frozenset[str]]:
    """The tables of `data/owners.toml`."""
    read = tomllib.loads(table("owners.toml"))
    return MappingProxyType({name: frozenset(words.split()) for name, words in read.items()})


@lru_cache(1024)
def asked_for(question: str) -> Asked:
    """Read a folded question; the key is empty where it names none."""
    words = frozenset(_content(question))
    unspaced = None if question.isascii() else _UNSPACED.search(closed_up(question))
    if unspaced is not None and not unspaced[1].isascii():
        return Asked(frozenset([unspaced[1]]), words, unspaced[1], question)
    for slot in [found[1] or found[2] for found in _OF.finditer(question)][::-1]:
        for piece in filter(None, _OF.split(slot)):
            key = frozenset(word for word in _content(piece) if word not in owner_words()["nouns"])
            if key:
                return Asked(key, words, question=question)
    return Asked(frozenset(), words, question=question)


def compare(named: Sequence[str], asked: Asked, *, sure: bool) -> Owner:
    """Compare the words of a name with what was asked for; `sure`: they stand where an owner is named."""
    words = [word for phrase in named for word in _content(phrase)]
    if not words or owner_words()["generic"].intersection([*named, *words]):
        return ""
    if has_key(words, asked):
        return "asked"
    if all(any(is_same(word, known) for known in asked.words) for word in words):
        return "asked" if shares_key(words, asked) else ""
    if not sure:
        return ""
    alone = len(words) == 1 and len(asked.key) > 1
    return "unread" if alone or _script(words) != _script(asked.key) else "other"


def has_key(words: Iterable[str], asked: Asked) -> bool:
    """Whether every word of the key is there."""
    given = list(words)
    return all(any(is_same(word, key) for word in given) for key in asked.key)


def shares_key(words: Iterable[str], asked: Asked) -> bool:
    """Whether a word of the key is there."""
    return any(is_same(word, key) for word in words for key in asked.key)


@lru_cache(1024)
def without_key(sketch: str, asked: Asked) -> str:
    """Blank out the key where it stands whole: `the old mill` says nothing of what is old. Every place stays."""
    if asked.unspaced:
        key = spaced_alike(asked.unspaced)
        return sketch.replace(key, "~" * len(key))
    if len(asked.key) < 2 or not all(word in sketch for word in asked.key):
        return sketch
    words = list(_WORD.finditer(sketch))
    for first, last in zip(words, words[len(asked.key) - 1 :], strict=False):
        if first[0] in asked.key and last[0] in asked.key:
            start, end = first.start(), last.end()
            if asked.key <= set(_WORD.findall(sketch, start, end)) and MARK not in sketch[start:end]:
                sketch = f"{sketch[:start]}{'x' * (end - start)}{sketch[end:]}"
    return sketch


def is_same(word: str, other: str) -> bool:
    """Whether two words are one, but for an ending or the alphabet."""
    if word == other:
        return True
    if word > "\u0400" or other > "\u0400":
        word, other = word.translate(_CYRILLIC), other.translate(_CYRILLIC)
    if word.removesuffix("s") == other.removesuffix("s"):
        return True
    size = min(len(word), len(other))
    return size >= _STEM and word[: max(_STEM, size - 2)] == other[: max(_STEM, size - 2)]


def _content(text: str) -> Iterator[str]:
    return (word for word in _WORD.findall(text) if word not in _passed() and not word.isdigit())


@cache
def _passed() -> frozenset[str]:
    return owner_words()["fillers"] | known_words()


def _script(words: Iterable[str]) -> bool:
    return any(word[0] > "\u2e80" for word in words)


LONGEST = 4
"""Words of a name; what follows is no part of it."""


def is_part_of_a_name(word: str) -> bool:
    words = owner_words()
    return word[0].isalnum() and word not in words["in_slot"] and word not in words["be"]


def name_at(tokens: list[str], start: int) -> list[str]:
    """The words of a name that begins at `start`: up to a sign, a verb, or four words."""
    words = owner_words()
    named: list[str] = []
    for word in tokens[start : start + LONGEST + 3]:
        if not is_part_of_a_name(word) or word in words["contracted"] or word in words["ends_a_name"]:
            break
        named.append(word)
        if is_possessive(word):
            break
    return plain(named)[:LONGEST]


def plain(words: list[str]) -> list[str]:
    return [word.removesuffix("'s").removesuffix("'") for word in words if word not in owner_words()["fillers"]]


def is_possessive(word: str) -> bool:
    return len(word) > 2 and word.endswith(("'s", "'")) and word not in owner_words()["contracted"]


def start_of_name(tokens: list[str], rank: int) -> int:
    while rank and is_part_of_a_name(tokens[rank - 1]) and tokens[rank - 1] not in owner_words()["fillers"]:
        rank -= 1
    return rank
