"""Tasks on conversations, generated: multi-round co-reference, and memory of chat sessions over months."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache, lru_cache
from itertools import islice
from random import Random
from typing import Any

from needlework.core.draws import below, draws, pick, sample, shuffled
from needlework.core.grid import Cell
from needlework.core.prompts import Needle
from needlework.core.settings import Suite
from needlework.haystack_fixtures.haystacks.conversations import GrowingConversation, Round
from needlework.haystack_fixtures.tasks.statements import draw_numbers, fitting, written_date
from needlework.haystack_fixtures.tasks.task import Question, our_task, without_language
from needlework.haystack_fixtures.tasks.words import people, phrases, question_text, table, words

# Multi-round co-reference. The wanted pieces stand among others of the same format, of the same topic, and of neither.
# Pieces, their order and K are the same at every depth and length.
_PIECES = {"n2": 2, "n4": 4, "n8": 8}
_ROOM = {"n2": 20, "n4": 36, "n8": 72}  # as many statements of other tasks take as much room
_ALIKE = 0.6  # most that two wanted pieces have in common (Indel similarity)
_BEGINNING = 12  # characters with which no two of them begin alike
_NEAR = 3  # every third of the other rounds has the wanted topic, or the wanted format and a topic of few
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789"
_STRING_SIZE = 12
_ORDINAL = {1: "1st", 2: "2nd", 3: "3rd"}
_SLOT = re.compile(r"\{(\w+)\}")

Recipe = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class PieceFormat:
    """A kind of text."""

    name: str
    ask: str  # its name as the user writes it, with its article (Chinese: its measure word)
    head: tuple[str, ...]
    line: str = "{sentence}"
    join: str = " "
    tail: str = ""


@dataclass(frozen=True, slots=True)
class PieceGrammar:
    """The parts of the pieces of a language."""

    chars: int  # that a piece has at least
    formats: tuple[PieceFormat, ...]
    topics: tuple[str, ...]
    sentences: tuple[str, ...]
    words: Mapping[str, tuple[str, ...]]


@cache
def _grammar(language: str) -> PieceGrammar:
    grammar = table("mrcr", language)
    nouns = words("keys", language, "nouns")
    join = " " if language == "en" else ""
    slots = {name: tuple(grammar[f"{name}s"].split()) for name in ("verb", "day", "place")}
    return PieceGrammar(
        grammar["chars"],
        tuple(PieceFormat(**({"join": join} | each | {"head": tuple(each["head"])})) for each in grammar["format"]),
        tuple(grammar["topics"].split()) if "topics" in grammar else nouns,
        tuple(grammar["sentences"]),
        slots | {"name": people(language), "adj": words("keys", language, "adjectives"), "noun": nouns},
    )


def _piece(language: str, kind: PieceFormat, topic: str, recipe: Recipe, hidden: str) -> str:
    """A piece about a topic, which only its first line names; `hidden`: a topic that none speaks of."""
    rng, grammar = draws(*recipe), _grammar(language)
    fill = _slot_filler(rng, grammar, {topic, hidden})
    head = fill(pick(rng, kind.head).replace("{topic}", topic))
    parts = [head[:1].upper() + head[1:]]
    size = len(parts[0]) + len(kind.tail)
    for number, sentence in enumerate(shuffled(rng, grammar.sentences), 1):
        if size >= grammar.chars:
            break
        filled = fill(sentence)
        line = fill(kind.line.replace("{n}", str(number))).replace("{sentence}", filled[:1].upper() + filled[1:])
        parts.append(line)
        size += len(line)
    return ("\n" if "\n" in kind.join else kind.join).join([*parts, *([fill(kind.tail)] if kind.tail else [])])


def _slot_filler(rng: Random, grammar: PieceGrammar, avoided: set[str]) -> Callable[[str], str]:
    """A function that fills the slots of a text, each with a word of its own; no noun is part of a topic."""

    def word(slot: re.Match[str]) -> str:
        name = slot[1]
        if name == "sentence":
            return slot[0]
        if name == "number":
            return str(11 + below(rng, 980))
        if name == "time":
            hour, minute = 1 + below(rng, 12), 10 + below(rng, 50)
            return f"{hour}:{minute}" if grammar.words["day"][0].isascii() else f"{hour}点{minute}分"
        drawn = pick(rng, grammar.words[name.lower()])
        while any(drawn in topic or topic in drawn for topic in avoided):
            drawn = pick(rng, grammar.words[name.lower()])
        return drawn.capitalize() if name[0].isupper() else drawn

    return lambda text: _SLOT.sub(word, text)


def _asked_for(language: str, kind: PieceFormat, topic: str) -> str:
    return str(table("mrcr", language, "ask")["round"]).format(format=kind.ask, topic=topic, name=kind.name)


def _different_pieces(language: str, kind: PieceFormat, topic: str, recipe: Recipe, count: int) -> list[str]:
    """The wanted pieces; none is much like another, and no two begin alike."""
    from rapidfuzz.distance import Indel  # 48 modules, for this family alone

    pieces: list[str] = []
    number = 0
    while len(pieces) < count:
        number += 1
        drawn = _piece(language, kind, topic, (*recipe, "wanted", number), topic)
        if all(
            drawn[:_BEGINNING] != other[:_BEGINNING] and Indel.normalized_similarity(drawn, other) <= _ALIKE
            for other in pieces
        ):
            pieces.append(drawn)
    return pieces


def _other_rounds(language: str, kind: PieceFormat, topic: str, recipe: Recipe) -> Iterator[tuple[Round, str]]:
    """Endless other rounds, each with what it shares with the wanted ones: `topic`, `format`, nothing.

    Those that have something are of few kinds, which come again and again.
    """
    rng, grammar = draws(*recipe, "others"), _grammar(language)
    formats = [each for each in grammar.formats if each != kind]
    topics = [each for each in grammar.topics if each != topic]
    like = [(each, topic, "topic") for each in sample(rng, formats, 2)]
    like += [(kind, each, "format") for each in sample(rng, topics, 2)]
    number = 0
    while True:
        number += 1
        other, about, why = pick(rng, like) if below(rng, _NEAR) == 0 else (pick(rng, formats), pick(rng, topics), "")
        text = _piece(language, other, about, (*recipe, "others", number), topic)
        yield Round(_asked_for(language, other, about), text), why


def _generated_rounds(language: str, recipe: Recipe) -> Callable[[int], list[Round]]:
    """A conversation of texts that the user asked for: its first n rounds."""
    rng, grammar = draws(*recipe, "topic"), _grammar(language)
    kind, topic = pick(rng, grammar.formats), pick(rng, grammar.topics)
    return lambda n: [each for each, _ in islice(_other_rounds(language, kind, topic, recipe), n)]


@lru_cache(256)
def _draw_pieces(
    language: str, count: int, recipe: Recipe
) -> tuple[PieceFormat, str, str, list[str], list[tuple[Round, str]]]:
    """Wanted format and topic, the string to prepend, the wanted pieces, and rounds that resemble them."""
    rng, grammar = draws(*recipe), _grammar(language)
    kind, topic = pick(rng, grammar.formats), pick(rng, grammar.topics)
    string = "".join(pick(rng, _LETTERS) for _ in range(_STRING_SIZE))
    others = islice(_other_rounds(language, kind, topic, recipe), 4 * count * _NEAR)
    near = [(each, why) for each, why in others if why][: 2 * count]
    return kind, topic, string, _different_pieces(language, kind, topic, recipe, count), near


def _depths_around(depth: float, rank: int, count: int) -> tuple[float, ...]:
    """Depths in percent: the wanted one at `depth`, the others evenly before it and after it."""
    before = [depth * number / rank for number in range(rank - 1)]
    after = [depth + (100 - depth) * number / (count - rank + 1) for number in range(1, count - rank + 1)]
    return (*before, depth, *after)


def _ask_mrcr(suite: Suite, cell: Cell, seed: int) -> Question:
    language, count = suite.language, _PIECES[cell.needle.partition("_")[0]]
    recipe = ("mrcr", 1, seed, cell.repeat, count, language)
    kind, topic, string, pieces, near = _draw_pieces(language, count, recipe)
    block, turn = divmod(cell.repeat, count)  # each piece is asked for once in as many repeats
    k = shuffled(draws("mrcr", 1, seed, count, "order", block), range(1, count + 1))[turn]
    ask = _asked_for(language, kind, topic)
    sentences = table("mrcr", language, "ask")
    question = sentences["question"].format(
        string=string, k=k, ordinal=_ORDINAL.get(k, f"{k}th"), name=kind.name, format=kind.ask, topic=topic
    )
    assert cell.depth is not None
    return Question(
        needles=tuple(
            Needle(f"piece{n}", text, question, "", ask=ask, distractor_answers=(string + text,) if n != k else ())
            for n, text in enumerate(pieces, 1)
        ),
        depths=_depths_around(cell.depth, k, count),
        question=question,
        answer=string + pieces[k - 1],
        # Without the K-th and those behind it there are K - 1.
        needed=tuple(range(k - 1, count)),
        reference={
            "answers": (string + pieces[k - 1],),
            "given": (string,),
            "distractors": (*pieces[: k - 1], *pieces[k:], *(each.reply for each, _ in near)),
            "kinds": {text: f"#{n}" for n, text in enumerate(pieces, 1)} | {each.reply: why for each, why in near},
            "wanted": f"#{k}",
            "chance": 1 / count,
            "floor": 1 / count,
        },
        context=GrowingConversation(
            lambda n: [each for each, _ in islice(_other_rounds(language, kind, topic, recipe), n)],
            Round(*sentences["last"]),
        ),
        verbatim=True,
    )


# Memory: facts, updates, several sessions, dates, a preference. The kinds of questions are those of LongMemEval (Wu et
# al., 2025, arXiv:2410.10813), its texts are not. What the user never said is asked by the control `absent`. In the
# first round of a session the assistant says its date.
_SESSIONS = 8
_FIRST_DAY = date(2031, 1, 6)
_SHORTEST_GAP, _LONGEST_GAP = 12, 45  # days between two sessions
_MOST_VISITS = 6
_OPTIONS = 4  # of a question about a preference


@dataclass(frozen=True, slots=True)
class Statement:
    """A user's statement in a session (from 0), with the reply. `needed`: for the answer."""

    session: int
    round: Round
    needed: bool = False


# A question, the statements of all sessions, and the reference, whose first answer is the one a person would give.
MemoryQuestion = tuple[Sequence[Statement], str, dict[str, Any]]


def _statement(language: str, kind: str, session: int, *, needed: bool = False, **fields: str) -> Statement:
    ask, reply = (text.format(**fields) for text in table("memory", language)[kind])
    return Statement(session, Round(ask, reply), needed)


def _fact(rng: Random, language: str, _days: Sequence[date]) -> MemoryQuestion:
    """Numbers of three things, one of which is asked for."""
    things = sample(rng, phrases("memory", language, "things"), 3)
    values = draw_numbers(rng, len(things), 5)
    sessions = sample(rng, range(_SESSIONS), len(things))
    statements = [
        _statement(language, "fact", session, needed=thing == things[0], thing=thing, value=value)
        for session, thing, value in zip(sessions, things, values, strict=True)
    ]
    reference = {"answers": (values[0],), "distractors": tuple(values[1:])}
    return statements, question_text("memory", language, "fact", thing=things[0]), reference


def _update(rng: Random, language: str, _days: Sequence[date]) -> MemoryQuestion:
    """The number of a thing, which changes twice; the last is asked for."""
    thing, other = sample(rng, phrases("memory", language, "things"), 2)
    *old, new, other_value = draw_numbers(rng, 4, 5)
    first, *later = sorted(sample(rng, range(_SESSIONS), 3))
    statements = (
        _statement(language, "fact", first, needed=True, thing=thing, value=old[0]),
        *(
            _statement(language, "update", session, needed=True, thing=thing, value=value)
            for session, value in zip(later, (old[1], new), strict=True)
        ),
        _statement(language, "fact", below(rng, _SESSIONS), thing=other, value=other_value),
    )
    reference = {"answers": (new,), "distractors": (*old, other_value), "kinds": dict.fromkeys(old, "stale")}
    return statements, question_text("memory", language, "update", thing=thing), reference


def _visits(rng: Random, language: str, _days: Sequence[date]) -> MemoryQuestion:
    """Visits in several sessions, to be counted; two further museums were closed."""
    count = 1 + below(rng, _MOST_VISITS)
    topics = sample(rng, words("memory", language, "topics"), count + 2)
    sessions = sample(rng, range(_SESSIONS), len(topics))
    statements = [
        _statement(language, "visit" if number < count else "missed", session, needed=number < count, topic=topic)
        for number, (session, topic) in enumerate(zip(sessions, topics, strict=True))
    ]
    chance = 1 / _MOST_VISITS
    reference = {"answers": (str(count),), "chance": chance, "floor": chance}
    return statements, question_text("memory", language, "several"), reference


def _days_between(rng: Random, language: str, days: Sequence[date]) -> MemoryQuestion:
    """Two events of different sessions; the days between them are asked for."""
    events = sample(rng, phrases("memory", language, "events"), 4)
    sessions = sample(rng, range(_SESSIONS), len(events))
    sessions[:2] = sorted(sessions[:2])
    statements = [
        _statement(language, "event", session, needed=number < 2, event=event)
        for number, (session, event) in enumerate(zip(sessions, events, strict=True))
    ]
    answer = str((days[sessions[1]] - days[sessions[0]]).days)
    question = question_text("memory", language, "days", first=events[0], second=events[1])
    return statements, question, {"answers": (answer,), "floor": 0.0}


def _preference(rng: Random, language: str, _days: Sequence[date]) -> MemoryQuestion:
    """A preference of the user; the question: which of four proposals suits it."""
    wishes = dict(row.split(" = ") for row in phrases("memory", language, "wishes"))
    chosen = sample(rng, tuple(wishes), _OPTIONS)
    options = [wishes[wish] for wish in chosen]
    listed = table("memory", language)["comma"].join(shuffled(rng, options))
    question = question_text("memory", language, "preference", options=listed)
    statement = _statement(language, "wish", below(rng, _SESSIONS), needed=True, wish=chosen[0])
    reference = {"answers": (options[0],), "labels": tuple(options), "chance": 1 / _OPTIONS, "floor": 1 / len(wishes)}
    return [statement], question, reference


_KINDS: dict[str, Callable[[Random, str, Sequence[date]], MemoryQuestion]] = {
    "fact": _fact,
    "update": _update,
    "several": _visits,
    "days": _days_between,
    "preference": _preference,
}


def _ask_memory(suite: Suite, cell: Cell, seed: int) -> Question:
    language, kind = suite.language, without_language(cell.needle, suite)
    rng = draws("memory", 1, seed, cell.repeat, kind, language)
    days = [_FIRST_DAY + timedelta(below(rng, 28))]
    while len(days) < _SESSIONS:
        days.append(days[-1] + timedelta(_SHORTEST_GAP + below(rng, _LONGEST_GAP - _SHORTEST_GAP)))
    statements, question, reference = _KINDS[kind](rng, language, days)
    openings = [
        _statement(language, "opening", session, date=written_date(day, language)) for session, day in enumerate(days)
    ]
    # A session begins with its opening; its statements follow.
    placed = [(100 * each.session / _SESSIONS, each) for each in openings]
    placed += [(100 * (each.session + 0.2 + below(rng, 700) / 1000) / _SESSIONS, each) for each in statements]
    placed.sort(key=lambda pair: pair[0])
    closing = table("memory", language)["closing"]
    return Question(
        needles=tuple(
            Needle(f"{'statement' if each in statements else 'session'}{number}", each.round.reply, ask=each.round.ask)
            for number, (_, each) in enumerate(placed, 1)
        ),
        depths=tuple(round(depth, 2) for depth, _ in placed),
        question=question,
        answer=reference["answers"][0],
        reference=reference,
        needed=tuple(number for number, (_, each) in enumerate(placed) if each.needed),
        context=GrowingConversation(
            _generated_rounds(language, ("memory", 1, seed, cell.repeat, language, "others")), Round(*closing)
        ),
    )


TASKS = (
    our_task("mrcr", _ask_mrcr, **fitting(_ROOM)),
    *(our_task(name, _ask_memory) for name in ("memory", "memory_number", "memory_choice")),
)
