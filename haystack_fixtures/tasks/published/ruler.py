"""RULER: retrieval and variable tracking."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from importlib import resources
from itertools import islice
from random import Random
from string import ascii_uppercase
from typing import Literal

from needlework.core.draws import below, digits, draws, pick, sample, shuffled, uuid4
from needlework.core.grid import Cell
from needlework.core.prompts import Needle
from needlework.core.settings import Suite
from needlework.haystack_fixtures.corpora.corpus_named import UNIT
from needlework.haystack_fixtures.haystacks.listing import Listing
from needlework.haystack_fixtures.tasks.task import Prose, Question, Task, labelled, no_depths

Made = Literal["words", "numbers", "uuids"]
_KNOWN = 3  # statements of a haystack of nothing else whose values a scorer is told; others look like them


@dataclass(frozen=True, slots=True)
class Kind:
    """One task's parameters, by their names in RULER.

    `among`: the haystack is made of needles that are not asked for.
    """

    name: str
    about: str
    key: Made = "words"
    value: Made = "numbers"
    num_needle_k: int = 1
    num_needle_v: int = 1
    num_needle_q: int = 1
    among: bool = False

    @property
    def several(self) -> bool:
        """Whether more than one value is asked for."""
        return self.num_needle_v * self.num_needle_q > 1


KINDS = (
    Kind("ruler_niah_single_1", "one number, in noise"),
    Kind("ruler_niah_single_2", "one number, in essays"),
    Kind("ruler_niah_single_3", "one UUID, in essays", value="uuids"),
    Kind("ruler_niah_multikey_1", "one of four keys' numbers", num_needle_k=4),
    Kind("ruler_niah_multikey_2", "one number among nothing but others", among=True),
    Kind("ruler_niah_multikey_3", "one UUID of a UUID among nothing but others", "uuids", "uuids", among=True),
    Kind("ruler_niah_multivalue", "all four numbers of one key", num_needle_v=4),
    Kind("ruler_niah_multiquery", "the numbers of four keys", num_needle_k=4, num_needle_q=4),
)

# The English wording is RULER's own (c3f5e3b), a constant of its protocol; one value is asked for in the singular.
_STATEMENT = {
    "en": "One of the special magic {more} for {key} is: {value}.",
    "zh": "{key}的特殊魔法{more}之一是：{value}。",
}
_INTRODUCTION = {
    ("en", False): "A special magic {one} is hidden within the following text. Make sure to memorize it. "
    "I will quiz you about the {one} afterwards.\n",
    ("en", True): "Some special magic {more} are hidden within the following text. Make sure to memorize it. "
    "I will quiz you about the {more} afterwards.\n",
    ("zh", False): "下面的文字中藏有一个特殊的魔法{one}。请务必记住它，之后我会就这个{one}向你提问。\n",
    ("zh", True): "下面的文字中藏有一些特殊的魔法{more}。请务必记住它们，之后我会就这些{more}向你提问。\n",
}
_QUESTION = {
    ("en", False): "What is the special magic {one} for {query} mentioned in the provided text?",
    ("en", True): "What are all the special magic {more} for {query} mentioned in the provided text?",
    ("zh", False): "文中提到的{query}的特殊魔法{one}是什么？",
    ("zh", True): "文中提到的{query}的特殊魔法{more}全部是什么？",
}
_PREFIX = {
    ("en", False): "The special magic {one} for {query} mentioned in the provided text is",
    ("en", True): "The special magic {more} for {query} mentioned in the provided text are",
    ("zh", False): "文中提到的{query}的特殊魔法{one}是",
    ("zh", True): "文中提到的{query}的特殊魔法{more}是",
}
_NAMES = {
    ("en", "numbers"): ("number", "numbers"),
    ("en", "uuids"): ("uuid", "uuids"),
    ("zh", "numbers"): ("数字", "数字"),
    ("zh", "uuids"): ("UUID", "UUID"),
}


@dataclass(frozen=True, slots=True)
class _KeyStatement:
    """One key with one of its values."""

    key: str
    value: str
    text: str


def _ask(kind: Kind, suite: Suite, cell: Cell, seed: int) -> Question:
    parts, language = seeds(kind.name, suite, cell, seed), suite.language
    rng = draws(*parts)
    made = _statements(rng, kind, language)
    # A key's values stand behind each other.
    stated = list(islice(made, kind.num_needle_k * kind.num_needle_v))
    queries = sample(rng, list(dict.fromkeys(each.key for each in stated)), kind.num_needle_q)
    wanted = [each for query in queries for each in stated if each.key == query]
    others = [each for each in stated if each.key not in queries]

    def units(count: int) -> list[str]:
        alike = _statements(draws(*parts, "haystack"), kind, language, taken=stated)
        return [f"{each.text}\n" for each in islice(alike, count)]

    if kind.among:
        others = list(islice(_statements(draws(*parts, "haystack"), kind, language, taken=stated), _KNOWN))
    distractors = tuple(each.value for each in others)
    words = _words(kind, language) | {"query": _joined(queries, language)}
    form = language, kind.several
    question, values = _QUESTION[form].format(**words), tuple(each.value for each in wanted)
    needles = [
        Needle(f"asked{number}", each.text, question, each.value, key=each.key, distractor_answers=distractors)
        for number, each in enumerate(wanted)
    ]
    needles += [Needle(f"other{n}", each.text, "", "") for n, each in enumerate(others) if not kind.among]
    return Question(
        needles=tuple(needles),
        depths=tuple(sample(rng, DEPTHS, len(needles))),
        question=question,
        answer=", ".join(values),
        reference={
            "answers": () if kind.several else values,
            "parts": values if kind.several else (),
            "distractors": distractors,
            "question": question,
            "language": language,
            "chance": len(queries) / kind.num_needle_k if kind.num_needle_k > len(queries) else 0.0,
        },
        needed=tuple(range(len(wanted))),
        context=Listing(units) if kind.among else Prose(),
        introduction=_INTRODUCTION[form].format(**words),
        answer_prefix=_PREFIX[form].format(**words),
    )


def _statements(rng: Random, kind: Kind, language: str, taken: Sequence[_KeyStatement] = ()) -> Iterator[_KeyStatement]:
    """Statements, each value and each key's group once; none whose key or value has to do with one that is taken."""
    keys, values = _stream(rng, kind.key, language), _stream(rng, kind.value, language)
    known = {each.value for each in taken}
    for key in keys:
        if any(key in each.key or each.key in key for each in taken):
            continue
        for _ in range(kind.num_needle_v):
            value = next(value for value in values if value not in known)
            yield _KeyStatement(key, value, _STATEMENT[language].format(key=key, value=value, **_words(kind, language)))


def _stream(rng: Random, made: Made, language: str) -> Iterator[str]:
    """Endless keys or values, each once."""
    if made == "words":
        yield from compounds(rng, vocabulary(language))
        return
    seen: set[str] = set()
    while True:
        found = digits(rng) if made == "numbers" else uuid4(rng)
        if found not in seen:
            seen.add(found)
            yield found


def _words(kind: Kind, language: str) -> dict[str, str]:
    one, more = _NAMES[language, kind.value]
    return {"one": one, "more": more}


def _joined(queries: Sequence[str], language: str) -> str:
    """`a`, or `a, b, and c`."""
    *first, last = queries
    return (f"{', '.join(first)}, and {last}" if language == "en" else f"{'、'.join(first)}和{last}") if first else last


def _task(kind: Kind) -> Task:
    return Task(
        kind.name,
        kind.about,
        lambda suite: (labelled(kind.value, suite),),
        no_depths,
        partial(_ask, kind),
        family=FAMILY,
        scorer="ruler_all",
        version=VERSION,
    )


def compounds(rng: Random, words: Vocabulary, barred: Collection[str] = ()) -> Iterator[str]:
    """Adjectives with nouns (`amber-lantern`), each once; none with a `barred` word in it.

    There are 78,000 in Chinese, 1.7 million in English.
    """
    seen: set[tuple[int, int]] = set()
    while len(seen) < len(words.adjectives) * len(words.nouns):
        pair = below(rng, len(words.adjectives)), below(rng, len(words.nouns))
        if pair not in seen:
            seen.add(pair)
            word = f"{words.adjectives[pair[0]]}{words.joint}{words.nouns[pair[1]]}"
            if not any(other in word for other in barred):
                yield word


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Words of one language. Adjectives, nouns and verbs have no word in common; the rest are parts of names.

    `joint` stands between the two words of a compound.
    """

    adjectives: tuple[str, ...]
    nouns: tuple[str, ...]
    verbs: tuple[str, ...]
    given: tuple[str, ...]
    surnames: tuple[str, ...]
    towns: tuple[str, ...]
    town_ends: tuple[str, ...]
    joint: str

    @property
    def words(self) -> tuple[str, ...]:
        """All single words."""
        return self.adjectives + self.nouns + self.verbs


@cache
def vocabulary(language: str) -> Vocabulary:
    """The words of `en` or `zh`."""
    file = resources.files("needlework.haystack_fixtures.tasks") / "data" / f"ruler.{language}.toml"
    tables = tomllib.loads(file.read_text(encoding="utf-8"))
    return Vocabulary(**{name: tuple(words.split()) for name, words in tables.items()}, joint=_JOINTS[language])


_JOINTS = {"en": "-", "zh": ""}


# Percent of the context: where RULER lets needles stand, drawn for each sample without replacement.
DEPTHS = tuple(float(round(100 * number / 39)) for number in range(40))


def seeds(task: str, suite: Suite, cell: Cell, seed: int) -> tuple[object, ...]:
    """What a trial's draws depend on: nothing that length or depth change."""
    return task, VERSION, seed, cell.repeat, suite.language


VERSION = 1


FAMILY = "ruler"


TASKS = tuple(map(_task, KINDS))


HOPS = 4
_LETTERS, _EXAMPLE_LETTERS = 5, 3
_EXAMPLE_LINES = 15  # of noise in the example, about 500 tokens in all

_TRACKING_INTRODUCTION = {
    "en": "The text below hides a chain of variable assignments. Keep in mind which value every variable has.\n\n",
    "zh": "下面的文字中藏有一串变量赋值。请记住每个变量的值。\n\n",
}
_TRACKING_QUESTION = {
    "en": "Question: Which variables have the value {value} in the text above? Name all {count} of them.",
    "zh": "问题：上面的文字中，哪些变量的值是{value}？请写出全部{count}个。",
}
_TRACKING_PREFIX = {
    "en": "Answer: By the assignments in the text above, {count} variables have the value {value}. They are:",
    "zh": "答案：根据上面文字中的赋值，有{count}个变量的值是{value}，它们是：",
}


def _tracking_ask(suite: Suite, cell: Cell, seed: int) -> Question:
    parts, language = seeds("ruler_vt", suite, cell, seed), suite.language
    rng = draws(*parts)
    value, names = _chain(rng, _LETTERS)
    words = {"value": value, "count": HOPS + 1}
    question = _TRACKING_QUESTION[language].format(**words)
    line = f"{UNIT[language]}\n"
    return Question(
        needles=tuple(
            Needle(f"hop{hop}", text, question, names[hop]) for hop, text in enumerate(_assignments(value, names))
        ),
        depths=tuple(sorted(sample(rng, DEPTHS, HOPS + 1))),
        question=question,
        answer=", ".join(names),
        reference={"answers": (), "parts": names, "question": question, "language": language},
        context=Listing(lambda count: [line] * count),
        introduction=_example(draws(*parts, "example"), value, language) + _TRACKING_INTRODUCTION[language],
        answer_prefix=_TRACKING_PREFIX[language].format(**words),
    )


def _chain(rng: Random, letters: int, unlike: str = "") -> tuple[str, tuple[str, ...]]:
    """A value, not `unlike`, and the names that have it."""
    value = next(drawn for drawn in _values(rng) if drawn != unlike)
    names: dict[str, None] = {}
    while len(names) <= HOPS:
        names["".join(pick(rng, ascii_uppercase) for _ in range(letters))] = None
    return value, tuple(names)


def _values(rng: Random) -> Iterator[str]:
    while True:
        yield str(10_000 + below(rng, 89_999))


def _assignments(value: str, names: tuple[str, ...]) -> list[str]:
    """`VAR ABCDE = 12345`, then each variable from the one before it."""
    sources = (value, *(f"VAR {name}" for name in names))
    return [f"VAR {name} = {source}" for name, source in zip(names, sources, strict=False)]


def _example(rng: Random, unlike: str, language: str) -> str:
    """A solved one, short, with shorter names."""
    value, names = _chain(rng, _EXAMPLE_LETTERS, unlike)
    lines = [UNIT[language]] * _EXAMPLE_LINES
    places = sorted(sample(rng, range(_EXAMPLE_LINES + 1), HOPS + 1), reverse=True)
    for place, text in zip(places, reversed(_assignments(value, names)), strict=True):
        lines.insert(place, text)
    words = {"value": value, "count": HOPS + 1}
    solved = f"{_TRACKING_PREFIX[language].format(**words)} {', '.join(names)}"
    question = _TRACKING_QUESTION[language].format(**words)
    return f"{_TRACKING_INTRODUCTION[language]}{chr(10).join(lines)}\n{question}\n{solved}\n\n"


TASK = Task(
    "ruler_vt",
    f"the variables of a chain of {HOPS} hops, in noise",
    lambda suite: (labelled(f"hops{HOPS}", suite),),
    no_depths,
    _tracking_ask,
    family=FAMILY,
    scorer="ruler_all",
    version=VERSION,
    absent=False,
)


def word_stream(rng: Random, words: Vocabulary, apart: int) -> Iterator[str]:
    """Words in a drawn order, each once: the single ones, then compounds.

    None of the first `apart` is part of another word, or has one in it.
    """
    order = shuffled(rng, words.words)
    first = list(islice((word for word in order if word in _solitary(words)), apart))
    yield from first
    yield from (word for word in order if word not in first)
    yield from compounds(rng, words, first)


def first_words(parts: tuple[object, ...], language: str, apart: int, count: int) -> tuple[str, ...]:
    """The first words of a stream that is drawn for these `parts`."""
    return _first_words(parts, language, apart, enough(count))[:count]


def enough(count: int) -> int:
    """A number that is at most a quarter above `count`, and the same for many: lists of several sizes are tried for one
    prompt, and what is made for one of them serves the next."""
    step = 1 << max(0, count.bit_length() - 3)
    return -(-count // step) * step


@lru_cache(4)
def _first_words(parts: tuple[object, ...], language: str, apart: int, count: int) -> tuple[str, ...]:
    return tuple(islice(word_stream(draws(*parts), vocabulary(language), apart), count))


@cache
def _solitary(words: Vocabulary) -> frozenset[str]:
    """The single words that are no part of another and have none in them."""
    known, text = set(words.words), " ".join(words.words)
    return frozenset(
        word
        for word in words.words
        if text.count(word) == 1 and not any(word[i:j] in known for i, j in _pieces(len(word)))
    )


def _pieces(size: int) -> Iterator[tuple[int, int]]:
    """Where the shorter pieces of a word of that size begin and end."""
    return ((start, end) for start in range(size) for end in range(start + 1, size + 1) if end - start < size)


def person(rng: Random, language: str) -> str:
    """A whole name."""
    words = vocabulary(language)
    given, surname = pick(rng, words.given), pick(rng, words.surnames)
    return f"{given} {surname}" if language == "en" else f"{surname}{given}"


def town(rng: Random, language: str) -> str:
    """A town's name."""
    words = vocabulary(language)
    return f"{pick(rng, words.towns)}{pick(rng, words.town_ends)}"
