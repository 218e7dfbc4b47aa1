"""RULER's eight retrieval tasks: keys with values, hidden in noise, in essays, or among nothing but their like."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from random import Random
from typing import Literal

from needlework.haystack_fixtures.draws import digits, draws, sample, uuid4
from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.haystacks.listing import Listing
from needlework.haystack_fixtures.needles.needle import Needle
from needlework.haystack_fixtures.settings.settings import Suite
from needlework.haystack_fixtures.tasks.ruler.protocol import DEPTHS, FAMILY, VERSION, seeds
from needlework.haystack_fixtures.tasks.ruler.vocabulary import compounds, vocabulary
from needlework.haystack_fixtures.tasks.task import Asked, Prose, Task, labelled, no_depths

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
class _Statement:
    """One key with one of its values."""

    key: str
    value: str
    text: str


def _ask(kind: Kind, suite: Suite, cell: Cell, seed: int) -> Asked:
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
    return Asked(
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


def _statements(rng: Random, kind: Kind, language: str, taken: Sequence[_Statement] = ()) -> Iterator[_Statement]:
    """Statements, each value and each key's group once; none whose key or value has to do with one that is taken."""
    keys, values = _stream(rng, kind.key, language), _stream(rng, kind.value, language)
    known = {each.value for each in taken}
    for key in keys:
        if any(key in each.key or each.key in key for each in taken):
            continue
        for _ in range(kind.num_needle_v):
            value = next(value for value in values if value not in known)
            yield _Statement(key, value, _STATEMENT[language].format(key=key, value=value, **_words(kind, language)))


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


TASKS = tuple(map(_task, KINDS))
