"""Statements with keys: many keys, many values, superseded values; words that tasks share."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from functools import cache, partial
from importlib import resources
from random import Random

from needlework.core.draws import below, digits, draws, pick, sample, shuffled
from needlework.core.grid import Cell
from needlework.core.prompts import Needle
from needlework.core.settings import Suite
from needlework.haystack_fixtures.tasks.task import Question, Task, labelled, no_depths

_NEAR = "near"
_OTHERS = {"k0": 0, "k4": 4, "k16": 16, _NEAR: 16, "k64": 64}
_MOST = max(_OTHERS.values())
_QUESTION = {
    "en": "What is the {kind} code for {key}? Reply with the code only.",
    "zh": "{key}的{kind}代码是什么？请只回答代码。",
}


def _labels(suite: Suite) -> tuple[str, ...]:
    return tuple(labelled(name, suite) for name in fitting(suite, _OTHERS))


def _ask(suite: Suite, cell: Cell, seed: int) -> Question:
    name, language = cell.needle.split("_")[0], suite.language
    others = _OTHERS[name]
    # The same draws for every variant: more keys are the fewer ones and others.
    rng = draws("multikey", 1, seed, cell.repeat, language)
    kind, values = draw_kind(rng, language), draw_values(rng, _MOST + 1)
    keys = (draw_near_keys if name == _NEAR else draw_keys)(rng, language, _MOST + 1)
    (key, *other_keys), (value, *wrong) = keys[: others + 1], values[: others + 1]
    question = _QUESTION[language].format(kind=kind, key=key)
    assert cell.depth is not None
    needle = Needle(
        "code", statement(language, kind, key, value), question, value, key=key, distractor_answers=tuple(wrong)
    )
    # Where trials.py puts distractors.
    spread = [round(100 * (number + 1) / (others + 1), 2) for number in range(others)]
    return Question(
        needles=(needle,),
        depths=(cell.depth,),
        question=question,
        answer=value,
        reference={
            "answers": (value,),
            "statement": needle.text,
            "distractors": tuple(wrong),
            "places": {value: cell.depth, **dict(zip(wrong, spread, strict=True))},
            "question": question,
            "language": language,
        },
        distractors=tuple(statement(language, kind, *pair) for pair in zip(other_keys, wrong, strict=True)),
        avoid=(*other_keys, *wrong),
    )


def long_enough(suite: Suite, statements: int) -> tuple[int, ...]:
    """The suite's lengths of which so many statements fill no more than half; all of them where none is long enough."""
    return _holding(suite, statements) or suite.lengths


def _holding(suite: Suite, statements: int) -> tuple[int, ...]:
    return tuple(length for length in suite.lengths if length - suite.kept_free >= 2 * _TOKENS * statements)


_TOKENS = 24  # of a statement, with room for tokenizers that need more


def draw_keys(rng: Random, language: str, count: int) -> list[str]:
    """Keys that have no word in common."""
    adjectives, nouns = (sample(rng, words, count) for words in _words(language))
    return [_key(language, *pair) for pair in zip(adjectives, nouns, strict=True)]


def nouns(language: str) -> tuple[str, ...]:
    """All nouns that keys are made of."""
    return _words(language)[1]


@cache
def _words(language: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Adjectives and nouns."""
    file = resources.files("needlework.haystack_fixtures.tasks") / "data" / "keys.toml"
    table = tomllib.loads(file.read_text(encoding="utf-8"))[language]
    return tuple(table["adjectives"].split()), tuple(table["nouns"].split())


@cache
def words(family: str, language: str, kind: str) -> tuple[str, ...]:
    """The words of one kind and language (`en`, `zh`) in the data file of a family, in its order."""
    text = (resources.files("needlework.haystack_fixtures.tasks") / "data" / f"{family}.toml").read_text(
        encoding="utf-8"
    )
    return tuple(tomllib.loads(text)[language][kind].split())


def adjectives(language: str) -> tuple[str, ...]:
    """All adjectives that keys are made of."""
    return _words(language)[0]


def _key(language: str, adjective: str, noun: str) -> str:
    return _KEY[language].format(adjective=adjective, noun=noun)


_KEY = {"en": "the {adjective} {noun}", "zh": "{adjective}{noun}"}


def statement(language: str, kind: str, key: str, value: str) -> str:
    """The sentence that gives a key's value."""
    return _STATEMENT[language].format(kind=kind, key=key, value=value)


_STATEMENT = {"en": "The {kind} code for {key} is {value}.", "zh": "{key}的{kind}代码是{value}。"}


def draw_near_keys(rng: Random, language: str, count: int) -> list[str]:
    """`draw_keys`, but all behind the first have its adjective or its noun, by turns."""
    adjectives, nouns = (sample(rng, words, count) for words in _words(language))
    pairs = [
        (adjectives[0], noun) if number % 2 else (adjectives[number], nouns[0]) for number, noun in enumerate(nouns)
    ]
    return [_key(language, *pair) for pair in pairs]


def draw_kind(rng: Random, language: str) -> str:
    """What the codes of one trial are for."""
    return pick(rng, KINDS[language])


KINDS = {
    "en": ("access", "locker", "badge", "ticket", "permit"),
    "zh": ("门禁", "储物柜", "徽章", "车票", "许可证"),
}


def draw_values(rng: Random, count: int) -> list[str]:
    """Different numbers of 7 digits."""
    values: dict[str, None] = {}
    while len(values) < count:
        values[digits(rng)] = None
    return list(values)


def fitting(suite: Suite, statements: Mapping[str, int]) -> tuple[str, ...]:
    """The variants, by name with their number of statements, that fit at a length of the suite; the smallest always."""
    least = min(statements.values())
    return tuple(name for name, count in statements.items() if count == least or _holding(suite, count))


TASK = Task(
    "multikey",
    "one key among many of the same form",
    _labels,
    lambda suite: suite.depths,
    _ask,
    scorer="confusion",
    version=1,
    lengths=lambda suite, label: long_enough(suite, _OTHERS[label.split("_")[0]]),
)


_COUNT = 4
_ONE_OF = {"en": "One {kind} code for {key} is {value}.", "zh": "{key}的{kind}代码之一是{value}。"}
_VALUES = {
    "en": "Which {kind} codes for {key} does the document give? Reply with all of them and nothing else, one per line.",
    "zh": "文档给出了{key}的哪些{kind}代码？请只列出全部代码，每行一个。",
}
_QUERIES = {
    "en": "What are the {kind} codes for {keys}? Reply with the {count} codes and nothing else, one per line, in this "
    "order.",
    "zh": "{keys}的{kind}代码分别是什么？请只回答这{count}个代码，按此顺序，每行一个。",
}
_AND = {"en": (", ", " and "), "zh": ("、", "和")}


def _multivalue_ask(task: str, suite: Suite, cell: Cell, seed: int) -> Question:
    language = suite.language
    rng = draws(task, 1, seed, cell.repeat, language)
    kind, values, depths = draw_kind(rng, language), draw_values(rng, _COUNT), stratified(rng, _COUNT)
    several = task == MULTIQUERY.name
    keys = draw_keys(rng, language, _COUNT if several else 1)
    if several:
        order = shuffled(rng, range(_COUNT))  # not the document's
        comma, last = _AND[language]
        listed = f"{comma.join(keys[number] for number in order[:-1])}{last}{keys[order[-1]]}"
        question = _QUERIES[language].format(kind=kind, keys=listed, count=_COUNT)
        texts = [statement(language, kind, *pair) for pair in zip(keys, values, strict=True)]
    else:
        order = list(range(_COUNT))
        question = _VALUES[language].format(kind=kind, key=keys[0])
        texts = [_ONE_OF[language].format(kind=kind, key=keys[0], value=value) for value in values]
    owners = keys if several else keys * _COUNT
    needles = tuple(
        Needle(f"code{rank + 1}", text, question, value, key=key)
        for rank, (text, value, key) in enumerate(zip(texts, values, owners, strict=True))
    )
    return Question(
        needles=needles,
        depths=depths,
        question=question,
        answer="\n".join(values[number] for number in order),
        reference={
            "answers": (),
            "parts": tuple(values),
            "places": dict(zip(values, depths, strict=True)),
            "question": question,
            "language": language,
        },
    )


def _task(name: str, about: str, label: str) -> Task:
    return Task(
        name,
        about,
        lambda suite: (labelled(label, suite),),
        no_depths,
        partial(_multivalue_ask, name),
        scorer="set_f1",
        version=1,
    )


def stratified(rng: Random, count: int) -> tuple[float, ...]:
    """Ascending depths in percent, one drawn from each of `count` equal parts of the context."""
    return tuple(round((number + below(rng, 1000) / 1000) * 100 / count, 2) for number in range(count))


MULTIQUERY = _task("multiquery", "the values of several keys", f"q{_COUNT}")


MULTIVALUE = _task("multivalue", "all values of one key", f"v{_COUNT}")


# `forward`: the updates stand in the order of their dates, as in a log; `shuffled`: in another one.
_UPDATES = {
    "m2_latest": 2,
    "m4_latest": 4,
    "m4_shuffled_latest": 4,
    "m4_earliest": 4,
    "m4_asof": 4,
    "m8_latest": 8,
    "m8_asof": 8,
}
_DAYS = 28 * 12  # a year of months with 28 days each, so that every date exists
_YEAR = 2031
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_UPDATE = {
    "en": "From {date} on, the {kind} code for {key} is {value}.",
    "zh": "自{date}起，{key}的{kind}代码是{value}。",
}
_SUPERSEDED_QUESTION = {
    "latest": {
        "en": "The {kind} code for {key} changed over time. What is the latest one? Reply with the code only.",
        "zh": "{key}的{kind}代码随时间变更过。最新的代码是什么？请只回答代码。",
    },
    "earliest": {
        "en": "The {kind} code for {key} changed over time. What was the earliest one? Reply with the code only.",
        "zh": "{key}的{kind}代码随时间变更过。最早的代码是什么？请只回答代码。",
    },
    "asof": {
        "en": "The {kind} code for {key} changed over time. Which one was valid on {date}? Reply with the code only.",
        "zh": "{key}的{kind}代码随时间变更过。在{date}有效的代码是什么？请只回答代码。",
    },
}


def _superseded_labels(suite: Suite) -> tuple[str, ...]:
    return tuple(labelled(name, suite) for name in fitting(suite, _UPDATES))


def _superseded_ask(suite: Suite, cell: Cell, seed: int) -> Question:
    language = suite.language
    name = cell.needle.removesuffix(f"_{language}")
    count, wanted = _UPDATES[name], name.rsplit("_", 1)[1]
    # The same updates whatever is asked about them.
    rng = draws("superseded", 1, seed, cell.repeat, count, language)
    kind, (key,), values = draw_kind(rng, language), draw_keys(rng, language, 1), draw_values(rng, count)
    depths = stratified(rng, count)
    # One in each of as many equal parts of some years, no two at the edge between two parts.
    days = [number * _DAYS + below(rng, _DAYS - 2) for number in range(count)]
    chosen = below(rng, count - 1)  # never the latest
    asked_day = days[chosen] + 1 + below(rng, days[chosen + 1] - days[chosen] - 1)
    right = {"latest": count - 1, "earliest": 0, "asof": chosen}[wanted]
    order = list(range(count))
    while "shuffled" in name and order[-1] == count - 1:
        order = shuffled(rng, order)
    texts = [
        _UPDATE[language].format(date=_date(day, language), kind=kind, key=key, value=value)
        for day, value in zip(days, values, strict=True)
    ]
    question = _SUPERSEDED_QUESTION[wanted][language].format(kind=kind, key=key, date=_date(asked_day, language))
    wrong = [number for number in range(count) if number != right]
    return Question(
        needles=tuple(
            Needle(
                f"update{number + 1}",
                texts[number],
                question,
                values[number] if number == right else "",
                key=key,
                distractor_answers=tuple(values[other] for other in wrong) if number == right else (),
            )
            for number in order
        ),
        depths=depths,
        question=question,
        answer=values[right],
        reference={
            "answers": (values[right],),
            "statement": texts[right],
            "distractors": tuple(values[number] for number in wrong),
            "places": {values[number]: depth for number, depth in zip(order, depths, strict=True)},
            "kinds": {values[number]: "stale" if number < right else "newer" for number in wrong},
            "question": question,
            "language": language,
        },
        avoid=tuple(values),
    )


def _date(day: int, language: str) -> str:
    """A day by its number from the beginning of 2031."""
    year, rest = divmod(day, _DAYS)
    month, date = divmod(rest, 28)
    if language == "zh":
        return f"{_YEAR + year}年{month + 1}月{date + 1}日"
    return f"{date + 1} {_MONTHS[month]} {_YEAR + year}"


SUPERSEDED_TASK = Task(
    "superseded",
    "one of several dated updates of a fact",
    _superseded_labels,
    no_depths,
    _superseded_ask,
    scorer="confusion",
    version=1,
    lengths=lambda suite, label: long_enough(suite, _UPDATES[label.removesuffix(f"_{suite.language}")]),
)


TASKS = (TASK, MULTIVALUE, MULTIQUERY, SUPERSEDED_TASK)


def draw_people(rng: Random, language: str, count: int) -> list[str]:
    """Different names, none part of another."""
    return sample(rng, _names(language), count)


@cache
def _names(language: str) -> tuple[str, ...]:
    file = resources.files("needlework.haystack_fixtures.tasks") / "data" / "people.toml"
    table = tomllib.loads(file.read_text(encoding="utf-8"))[language]
    if "names" in table:
        return tuple(table["names"].split())
    return tuple(surname + given for surname in table["surnames"].split() for given in table["given"].split())


def people(language: str) -> tuple[str, ...]:
    """All names."""
    return _names(language)


_CONSONANTS = "bdfgklmnprstvz"
_VOWELS = "aeiou"


def nonsense(rng: Random) -> Iterator[str]:
    """Different words, as many as are taken (there are 343,000)."""
    taken: set[str] = set()
    while True:
        word = "".join(pick(rng, _CONSONANTS) + pick(rng, _VOWELS) for _ in range(3))
        if word not in taken:
            taken.add(word)
            yield word
