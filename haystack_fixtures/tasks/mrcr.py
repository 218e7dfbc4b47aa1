"""Multi-round co-reference, generated."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from itertools import islice
from random import Random

from needlework.core.draws import below, draws, pick, sample, shuffled
from needlework.core.grid import Cell
from needlework.core.prompts import Needle
from needlework.core.settings import Suite
from needlework.haystack_fixtures.haystacks.conversations import GrowingConversation, Round
from needlework.haystack_fixtures.tasks.statements import adjectives, fitting, long_enough, nouns, people
from needlework.haystack_fixtures.tasks.task import Question, Task, labelled, without_language

# The wanted pieces stand among others of the same format, of the same topic, and of neither. Pieces, their order and K
# are the same at every depth and length.
_PIECES = {"n2": 2, "n4": 4, "n8": 8}
# As many statements of other tasks take as much room (see `fitting`).
_ROOM = {"n2": 20, "n4": 36, "n8": 72}
_ALIKE = 0.6  # most that two wanted pieces have in common (Indel similarity)
_BEGINNING = 12  # characters with which no two of them begin alike
_NEAR = 3  # every third of the other rounds has the wanted topic, or the wanted format and a topic of few
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789"
_STRING = 12
_ORDINAL = {1: "1st", 2: "2nd", 3: "3rd"}
_ASK = {"en": "Write {format} about {topic}.", "zh": "写一{format}关于{topic}的{name}。"}
_QUESTION = {
    "en": "Which is the {ordinal} {name} about {topic} that you wrote in our conversation, counting from 1? Prepend "
    "{string} to it and reply with nothing else: {string}, then that {name} word for word.",
    "zh": "我们对话中你写的第{k}{format}关于{topic}的{name}是哪一{format}（从1数起）？请把{string}写在它的开头，"
    "只回答这些内容：{string}，然后是那{format}{name}的原文。",
}
_LAST = {"en": Round("What else did you note today?", "This."), "zh": Round("今天你还记了什么？", "这些。")}

Recipe = tuple[object, ...]


def wanted_number(seed: int, repeat: int, count: int) -> int:
    """Which of the pieces is asked for, from 1: each of them once in as many repeats."""
    block, place = divmod(repeat, count)
    return shuffled(draws("mrcr", 1, seed, count, "order", block), range(1, count + 1))[place]


def depths_around(depth: float, wanted: int, count: int) -> tuple[float, ...]:
    """Depths in percent: the wanted one at `depth`, those before it evenly from the start, the others to the end."""
    before = [depth * number / wanted for number in range(wanted - 1)]
    after = [depth + (100 - depth) * number / (count - wanted + 1) for number in range(1, count - wanted + 1)]
    return (*before, depth, *after)


def _ask(suite: Suite, cell: Cell, seed: int) -> Question:
    language, count = suite.language, _PIECES[cell.needle.partition("_")[0]]
    recipe = ("mrcr", 1, seed, cell.repeat, count, language)
    kind, topic, string, pieces, near = _material(language, count, recipe)
    k = wanted_number(seed, cell.repeat, count)
    ask = _asked_for(language, kind, topic)
    question = _QUESTION[language].format(
        string=string, k=k, ordinal=_ORDINAL.get(k, f"{k}th"), name=kind.name, format=kind.ask, topic=topic
    )
    assert cell.depth is not None
    return Question(
        needles=tuple(
            Needle(f"piece{n}", text, question, "", ask=ask, distractor_answers=(string + text,) if n != k else ())
            for n, text in enumerate(pieces, 1)
        ),
        depths=depths_around(cell.depth, k, count),
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
            "question": question,
            "language": language,
            "chance": 1 / count,
            "floor": 1 / count,
        },
        context=GrowingConversation(
            lambda n: [each for each, _ in islice(_others(language, kind, topic, recipe), n)], _LAST[language]
        ),
        verbatim=True,
    )


@lru_cache(256)
def _material(language: str, count: int, recipe: Recipe) -> tuple[Format, str, str, list[str], list[tuple[Round, str]]]:
    """Wanted format and topic, the string to prepend, the wanted pieces, and rounds like theirs with their likeness."""
    rng, made = draws(*recipe), grammar(language)
    kind, topic = pick(rng, made.formats), pick(rng, made.topics)
    string = "".join(pick(rng, _LETTERS) for _ in range(_STRING))
    others = islice(_others(language, kind, topic, recipe), 4 * count * _NEAR)
    near = [(each, why) for each, why in others if why][: 2 * count]
    return kind, topic, string, _apart(language, kind, topic, recipe, count), near


def _apart(language: str, kind: Format, topic: str, recipe: Recipe, count: int) -> list[str]:
    """The wanted pieces; none is much like another, and no two begin alike."""
    from rapidfuzz.distance import Indel  # 48 modules, for this family alone

    found: list[str] = []
    number = 0
    while len(found) < count:
        number += 1
        made = piece(language, kind, topic, (*recipe, "wanted", number), topic)
        if all(
            made[:_BEGINNING] != other[:_BEGINNING] and Indel.normalized_similarity(made, other) <= _ALIKE
            for other in found
        ):
            found.append(made)
    return found


def _others(language: str, kind: Format, topic: str, recipe: Recipe) -> Iterator[tuple[Round, str]]:
    """The other rounds, without end, each with what it has in common with the wanted ones: `topic`, `format`, nothing.

    Those that have something are of few kinds, which come again and again.
    """
    rng, made = draws(*recipe, "others"), grammar(language)
    formats = [each for each in made.formats if each != kind]
    topics = [each for each in made.topics if each != topic]
    like = [(each, topic, "topic") for each in sample(rng, formats, 2)]
    like += [(kind, each, "format") for each in sample(rng, topics, 2)]
    number = 0
    while True:
        number += 1
        other, about, why = pick(rng, like) if below(rng, _NEAR) == 0 else (pick(rng, formats), pick(rng, topics), "")
        text = piece(language, other, about, (*recipe, "others", number), topic)
        yield Round(_asked_for(language, other, about), text), why


def _asked_for(language: str, kind: Format, topic: str) -> str:
    return _ASK[language].format(format=kind.ask, topic=topic, name=kind.name)


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of text. `ask`: its name as the user writes it, with its article (Chinese: its measure word)."""

    name: str
    ask: str
    head: tuple[str, ...]
    line: str = "{sentence}"
    join: str = " "
    tail: str = ""


def piece(language: str, kind: Format, topic: str, recipe: tuple[object, ...], hidden: str) -> str:
    """A piece of a kind about a topic, which stands in its first line alone; `hidden`: a topic that none speaks of."""
    rng, made = draws(*recipe), grammar(language)
    fill = _filler(rng, made, {topic, hidden})
    head = fill(pick(rng, kind.head).replace("{topic}", topic))
    gap = kind.join if "\n" not in kind.join else "\n"
    parts = [head[:1].upper() + head[1:]]
    size = len(parts[0]) + len(kind.tail)
    for number, sentence in enumerate(shuffled(rng, made.sentences), 1):
        if size >= made.chars:
            break
        said = fill(sentence)
        line = fill(kind.line.replace("{n}", str(number))).replace("{sentence}", said[:1].upper() + said[1:])
        parts.append(line)
        size += len(line)
    return gap.join([*parts, *([fill(kind.tail)] if kind.tail else [])])


@cache
def grammar(language: str) -> Grammar:
    """The grammar of a language (`en`, `zh`)."""
    text = (resources.files("needlework.haystack_fixtures.tasks") / "data" / "mrcr.toml").read_text(encoding="utf-8")
    table = tomllib.loads(text)[language]
    join = " " if language == "en" else ""
    formats = (Format(**({"join": join} | each | {"head": tuple(each["head"])})) for each in table["format"])
    words = {name: tuple(table[f"{name}s"].split()) for name in ("verb", "day", "place")}
    return Grammar(
        table["chars"],
        tuple(formats),
        tuple(table["topics"].split()) if "topics" in table else nouns(language),
        tuple(table["sentences"]),
        words | {"name": people(language), "adj": adjectives(language), "noun": nouns(language)},
    )


@dataclass(frozen=True, slots=True)
class Grammar:
    """What the pieces of a language are made of. `chars`: characters that a piece has at least."""

    chars: int
    formats: tuple[Format, ...]
    topics: tuple[str, ...]
    sentences: tuple[str, ...]
    words: Mapping[str, tuple[str, ...]]


def _filler(rng: Random, made: Grammar, avoided: set[str]) -> Callable[[str], str]:
    """A function that fills the slots of a text, each with a word of its own; no noun is part of a topic."""

    def word(slot: re.Match[str]) -> str:
        name = slot[1]
        if name == "sentence":
            return slot[0]
        if name == "number":
            return str(11 + below(rng, 980))
        if name == "time":
            hour, minute = 1 + below(rng, 12), 10 + below(rng, 50)
            return f"{hour}:{minute}" if made.words["day"][0].isascii() else f"{hour}点{minute}分"
        found = pick(rng, made.words[name.lower()])
        while any(found in topic or topic in found for topic in avoided):
            found = pick(rng, made.words[name.lower()])
        return found.capitalize() if name[0].isupper() else found

    return lambda text: _SLOT.sub(word, text)


# can tell apart without reading them.
_SLOT = re.compile(r"\{(\w+)\}")


TASK = Task(
    "mrcr",
    "one of several pieces of a conversation, word for word",
    lambda suite: tuple(labelled(label, suite) for label in fitting(suite, _ROOM)),
    lambda suite: suite.depths,
    _ask,
    scorer="mrcr",
    lengths=lambda suite, label: long_enough(suite, _ROOM[without_language(label, suite)]),
    suite={"prompt": "conversation", "lengths": "4k,8k", "depths": "0,50,100", "answer_budget": 384},
)
TASKS = (TASK,)
