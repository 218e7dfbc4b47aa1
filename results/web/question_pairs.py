"""Question pairs under review: opinions, competitors, places of answers."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, fields
from functools import lru_cache
from hashlib import sha256
from itertools import islice
from typing import Any, Literal, cast

import regex

from needlework.results.questions.evidence import DocumentIndex
from needlework.results.web.store import Event, Log
from needlework.scoring.content_words import content_words

Row = Mapping[str, Any]
_LONGEST = 20_000  # characters of a question, an answer or a name that a reviewer may write
_MOST = 200  # answers, supporting documents


@dataclass(frozen=True, slots=True)
class ReviewedPair:
    """`answers`: the reference first, then its aliases. `document`, `supporting`: names of documents."""

    question: str = ""
    answers: tuple[str, ...] = ()
    document: str = ""
    supporting: tuple[str, ...] = ()


def pair_of(row: Row) -> ReviewedPair:
    """The pair of a row of a questions file; what the row lacks is empty, so that a reviewer can mend it."""
    return ReviewedPair(
        question=_text(row.get("question")),
        answers=_texts(row.get("answer"), row.get("aliases")),
        document=row["answer_doc"] if isinstance(row.get("answer_doc"), str) else "",
        supporting=_texts(row.get("supporting_docs"), strip=False),
    )


def with_pair(row: Row, pair: ReviewedPair) -> dict[str, Any]:
    """The row with this pair: fields that say the same stay as they are, and all others of the row."""
    old, changed = pair_of(row), dict(row)
    if pair.question != old.question:
        changed["question"] = pair.question
    if pair.answers != old.answers:
        if isinstance(row.get("answer"), list):
            changed["answer"] = list(pair.answers)
            if "aliases" in row:
                changed["aliases"] = []
        else:
            changed["answer"] = pair.answers[0] if pair.answers else ""
            if "aliases" in row or len(pair.answers) > 1:
                changed["aliases"] = list(pair.answers[1:])
    if pair.document != old.document:
        changed["answer_doc"] = pair.document
    if pair.supporting != old.supporting:
        changed["supporting_docs"] = list(pair.supporting)
    return changed


def changed_fields(old: ReviewedPair, new: ReviewedPair) -> list[str]:
    """The names of the fields that differ."""
    return [each.name for each in fields(ReviewedPair) if getattr(old, each.name) != getattr(new, each.name)]


def fingerprint(pair: ReviewedPair) -> str:
    """Tells whether a file still says what a reviewer saw."""
    return sha256(json.dumps(pair_json(pair)).encode()).hexdigest()[:16]


def pair_json(pair: ReviewedPair) -> dict[str, Any]:
    """The pair as the page and the state file have it."""
    return {
        "question": pair.question,
        "answers": list(pair.answers),
        "document": pair.document,
        "supporting": list(pair.supporting),
    }


def pair_from(said: object) -> ReviewedPair:
    """The pair that a page sent. Raises `ValueError` that says what is wrong with it."""
    told = said if isinstance(said, dict) else {}
    question, document = told.get("question"), told.get("document")
    answers, supporting = told.get("answers"), told.get("supporting", [])
    if not isinstance(question, str) or not question.strip():
        raise ValueError("the question is empty")
    if not isinstance(document, str) or not document:
        raise ValueError("the answer document is empty")
    if not isinstance(answers, list) or not isinstance(supporting, list) or len(answers) + len(supporting) > _MOST:
        raise ValueError(f"answers and supporting documents are lists of at most {_MOST}")
    pair = ReviewedPair(question.strip(), _texts(answers), document, _texts(supporting, strip=False))
    if not pair.answers:
        raise ValueError("the answer is empty")
    if any(len(text) > _LONGEST for text in (pair.question, *pair.answers, pair.document, *pair.supporting)):
        raise ValueError(f"a text is longer than {_LONGEST} characters")
    return pair


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def _texts(*values: object, strip: bool = True) -> tuple[str, ...]:
    """The texts among values and lists of values, numbers written out, each once. Names of files keep their spaces."""
    listed = [each for value in values for each in (value if isinstance(value, list) else [value])]
    told = [str(each) for each in listed if isinstance(each, str | int | float) and not isinstance(each, bool)]
    return tuple(dict.fromkeys(text.strip() if strip else text for text in told if text.strip()))


PAGE = "questions"
Status = Literal["accept", "reject"]
STATUSES: tuple[Status, ...] = ("accept", "reject")


@dataclass(frozen=True, slots=True)
class Opinion:
    """A decision. `pair`: the wording that it is about; `None`: the file's. `about`: fingerprint of the file's pair.

    `number`: its place in the log. `at`: UTC.
    """

    number: int
    key: str
    by: str
    at: str
    status: Status
    reason: str
    pair: ReviewedPair | None
    about: str


def opinions_log(connection: sqlite3.Connection, file: str) -> Log:
    """What was said about a questions file."""
    return Log(connection, PAGE, file)


def opinions(log: Log, *, key: str | None = None, by: str | None = None) -> tuple[Opinion, ...]:
    """The decisions that stand, in order: each reviewer's last one about each key; of one key, by one reviewer."""
    return tuple(_opinion(each) for each in log.standing(key, by))


def by_key(found: Iterable[Opinion]) -> dict[str, dict[str, Opinion]]:
    """Decisions by key and reviewer."""
    keyed: dict[str, dict[str, Opinion]] = {}
    for each in found:
        keyed.setdefault(each.key, {})[each.by] = each
    return keyed


def last_opinion(log: Log, key: str, by: str) -> Opinion | None:
    """What a reviewer says of a key now."""
    found = opinions(log, key=key, by=by)
    return found[-1] if found else None


def decide(log: Log, key: str, by: str, *, status: Status, reason: str, pair: ReviewedPair | None, about: str) -> None:
    """Add a decision."""
    log.add(key, by, status, {"reason": reason, "pair": pair and pair_json(pair), "about": about})


def take_back(log: Log, opinion: Opinion) -> None:
    """Add that a reviewer takes a decision of theirs back; the one before it counts again."""
    log.take_back(Event(opinion.number, opinion.key, opinion.by, opinion.status, {}, opinion.at))


def _opinion(event: Event) -> Opinion:
    pair = event.said["pair"]
    return Opinion(
        number=event.number,
        key=event.item,
        by=event.who,
        at=event.at,
        status=cast("Status", event.what),
        reason=event.said["reason"],
        pair=pair_from(pair) if pair else None,
        about=event.said["about"],
    )


_MOST_HOLDERS = 6
_LIKE = 3


@dataclass(frozen=True, slots=True)
class Competitor:
    """`number` of the document. `why`: "check" (questions check named it), "answer" (it says the answer), "like"."""

    number: int
    why: str
    shared: int
    words: int


@dataclass(frozen=True, slots=True)
class Competitors:
    """The listed ones, the most telling first; `holders`: how many others say the answer, listed or not."""

    listed: tuple[Competitor, ...]
    holders: int


def competitors(
    index: DocumentIndex,
    question: str,
    answers: Sequence[str],
    *,
    own: Collection[int],
    named: Sequence[int],
) -> Competitors:
    """Other documents than the pair's `own`: the answer's, its twins, supporting ones. `named`: by the check, first."""
    like = {each.number: each for each in index.likeness(question)}
    ranks = {number: rank for rank, number in enumerate(like)}
    holders = [each for each in holding(index, answers) if each not in own]
    reasons = {number: "check" for number in named if number not in own}
    for number in sorted(holders, key=lambda each: ranks.get(each, len(ranks)))[:_MOST_HOLDERS]:
        reasons.setdefault(number, "answer")
    for number in [each for each in like if each not in own and each not in reasons][:_LIKE]:
        reasons[number] = "like"
    words = next(iter(like.values())).words if like else 0
    listed = tuple(
        Competitor(number, why, like[number].shared if number in like else 0, words) for number, why in reasons.items()
    )
    return Competitors(listed, len(holders))


def holding(index: DocumentIndex, answers: Sequence[str]) -> list[int]:
    """The documents that say one of the answers in the same words (`places.literal_places`)."""
    found: set[int] = set()
    for answer in answers:
        wanted = answer_pattern((answer,))
        if wanted is not None:
            found.update(each for each in index.having(answer) if wanted.search(index.documents[each].text))
    return sorted(found)


# Places are (start, end) in characters of the document's text.
Place = tuple[int, int]
MOST_PLACES = 500
_EDGE = " \t\r\n.,;:!?。，；：！？、…\"'“”‘’"
_ALIKE = (("'‘’ʼ′", "['‘’ʼ′]"), ('"“”„«»', '["“”„«»]'), ("-‐‑–—−", "[-‐‑–—−]"))
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}"
_IS_UNSPACED = regex.compile(f"[{_UNSPACED}]")
_SENTENCE_END = re.compile(r"[.!?](?=\s)|[。！？]|\n")
_WIDEST = 12  # sentences of a passage
_PLACES_LONGEST = 1500  # characters of a passage
_WORTH = 0.5  # words


@dataclass(frozen=True, slots=True)
class AnswerPassages:
    """Where the answer is. `literal`: `places` say it; else they are the one passage that has `recall` (0..1) of its
    content words, or there is none. `more`: there are more places than are listed.
    """

    places: tuple[Place, ...]
    literal: bool
    recall: float
    more: bool = False


@lru_cache(64)
def find_answer(text: str, answers: tuple[str, ...]) -> AnswerPassages:
    """Look for answers in a document's text."""
    literal = literal_places(text, answers)
    if literal:
        return AnswerPassages(literal[:MOST_PLACES], True, 1.0, len(literal) > MOST_PLACES)
    best: tuple[float, int, Place] | None = None
    for answer in answers:
        passage = nearest_passage(text, answer)
        if passage and (best is None or passage[0] > best[0]):
            best = (passage[0], len(answer), passage[1])
    return AnswerPassages((best[2],), False, best[0]) if best else AnswerPassages((), False, 0.0)


def literal_places(text: str, answers: Sequence[str]) -> tuple[Place, ...]:
    """At most `MOST_PLACES` + 1 places that say one of the answers: whole words, whatever case, quotes and spaces."""
    wanted = answer_pattern(tuple(answers))
    if wanted is None:
        return ()
    return tuple(match.span() for match in islice(wanted.finditer(text), MOST_PLACES + 1))


@lru_cache(64)
def answer_pattern(answers: tuple[str, ...]) -> regex.Pattern[str] | None:
    """What finds one of the answers, the longest first; `None` where all are empty."""
    parts = [part for answer in sorted(answers, key=len, reverse=True) if (part := _part(answer.strip(_EDGE)))]
    return regex.compile("|".join(parts), regex.IGNORECASE) if parts else None


def nearest_passage(text: str, answer: str) -> tuple[float, Place] | None:
    """The run of sentences that has the most of the answer's content words, and their share.

    A sentence more must bring more than half a word, so that a passage does not grow for a chance word far away.
    """
    wanted = content_words(answer)
    sentences: list[tuple[int, int, Set[str]]] = []
    hits = word_places(wanted, text)
    hit = next(hits, None)
    for start, end in _sentences(text):
        words: Set[str] = frozenset()
        while hit is not None and hit[0] < end:
            words = words | hit[1]
            hit = next(hits, None)
        if words or not text[start:end].isspace():
            sentences.append((start, end, words))
    best: tuple[float, int, Place, int] | None = None  # worth, -length, place, words
    for first, (start, _, found) in enumerate(sentences):
        if not found:
            continue
        held = found
        for more, (_, end, words) in enumerate(sentences[first : first + _WIDEST]):
            if more and end - start > _PLACES_LONGEST:
                break
            held = held | words
            worth = len(held) - more * _WORTH
            if best is None or (worth, start - end) > best[:2]:
                best = (worth, start - end, (start, end), len(held))
    if best is None:
        return None
    start, end = best[2]
    passage = text[start:end]
    return best[3] / len(wanted), (end - len(passage.lstrip()), start + len(passage.rstrip()))


def utf16_places(text: str, places: Sequence[Place]) -> list[Place]:
    """Places in UTF-16 units, as a browser counts them."""
    if text.isascii() or max(text) <= "\uffff":
        return list(places)
    found: list[Place] = []
    at = units = 0
    for start, end in places:  # in order, none within another
        units += _units(text[at:start])
        found.append((units, units + _units(text[start:end])))
        at, units = end, found[-1][1]
    return found


def _sentences(text: str) -> Iterator[Place]:
    """All of the text: a sentence ends with its mark, with its line, or where it is too long."""
    start = 0
    for match in _SENTENCE_END.finditer(text):
        yield from _cut(start, match.end())
        start = match.end()
    yield from _cut(start, len(text))


def _cut(start: int, end: int) -> Iterator[Place]:
    for at in range(start, end, _PLACES_LONGEST):
        yield at, min(end, at + _PLACES_LONGEST)


def _part(answer: str) -> str:
    pieces: list[str] = []
    before = ""
    for char in answer:
        if char.isspace():
            if not before.isspace():
                pieces.append(r"\s+")
        else:
            if char.isdigit() and before.isdigit():
                pieces.append(r"[,'_\u2009\u202f]?")  # 1,234 is 1234
            elif _IS_UNSPACED.match(char) and before and _IS_UNSPACED.match(before):
                pieces.append(r"\s*")
            pieces.append(next((alike for chars, alike in _ALIKE if char in chars), regex.escape(char)))
        before = char
    if not pieces:
        return ""
    head = rf"(?<![^\W{_UNSPACED}])" if _is_word(answer[0]) else ""
    tail = rf"(?![^\W{_UNSPACED}])" if _is_word(answer[-1]) else ""
    return f"{head}{''.join(pieces)}{tail}"


def _is_word(char: str) -> bool:
    return (char.isalnum() or char == "_") and not _IS_UNSPACED.match(char)


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


_TOKEN = regex.compile(r"\w++(?:['’.,]\w++)*+")
_REMEMBERED = 1 << 17


def word_places(wanted: Set[str], text: str) -> Iterator[tuple[int, Set[str]]]:
    """Where the wanted content words stand in a text, in order: (start, those that the word there has)."""
    held = {token: found for token in set(_TOKEN.findall(text.casefold())) if (found := _of_token(token) & wanted)}
    if held:
        for match in _TOKEN.finditer(text):
            here = held.get(match[0].casefold())
            if here:
                yield match.start(), here


@lru_cache(_REMEMBERED)
def _of_token(token: str) -> frozenset[str]:
    return content_words(token)
