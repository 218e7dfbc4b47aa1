"""Statements with keys: many keys, many values, superseded values."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import partial
from random import Random
from typing import Any

from needlework.core.draws import below, different, digits, draws, pick, sample, shuffled
from needlework.core.grid import Cell
from needlework.core.prompts import Needle
from needlework.core.settings import Suite
from needlework.haystack_fixtures.tasks.task import Question, labelled, our_task, without_language
from needlework.haystack_fixtures.tasks.words import question_text, table, words

_TOKENS = 24  # of a statement, with room for tokenizers that need more

# Variants of `multikey` with the number of other keys; `near` ones share a word with the key that is asked for.
_NEAR = "near"
_OTHER_KEYS = {"k0": 0, "k4": 4, "k16": 16, _NEAR: 16, "k64": 64}
_MOST_KEYS = 1 + max(_OTHER_KEYS.values())
_VALUES = 4  # of `multivalue` and `multiquery`
# Variants of `superseded` with the number of updates: in the order of their dates, as in a log, or `shuffled`.
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


def fitting_labels(sizes: Mapping[str, int]) -> Callable[[Suite], tuple[str, ...]]:
    """Labels of the variants that fit a length of the suite; always the smallest.
    `sizes`: their numbers of statements."""
    least = min(sizes.values())
    return lambda suite: tuple(
        labelled(name, suite) for name, count in sizes.items() if count == least or _roomy_lengths(suite, count)
    )


def fitting_lengths(sizes: Mapping[str, int]) -> Callable[[Suite, str], tuple[int, ...]]:
    """The suite's lengths that a variant's statements fill to half at most; all if none is long enough."""
    return lambda suite, label: _roomy_lengths(suite, sizes[without_language(label, suite)]) or suite.lengths


def _roomy_lengths(suite: Suite, statements: int) -> tuple[int, ...]:
    return tuple(length for length in suite.lengths if length - suite.kept_free >= 2 * _TOKENS * statements)


def stratified(rng: Random, count: int) -> tuple[float, ...]:
    """Ascending depths in percent, one drawn from each of `count` equal parts of the context."""
    return tuple(round((number + below(rng, 1000) / 1000) * 100 / count, 2) for number in range(count))


def ask_among_others(cell: Cell, needle: Needle, others: Sequence[str], avoid: Sequence[str], **facts: Any) -> Question:
    """The question of a needle among other statements, which have its `distractor_answers`.

    `avoid`: texts that stand nowhere else. `facts`: further ones of the reference.
    """
    assert cell.depth is not None
    wrong = needle.distractor_answers
    spread = [round(100 * (number + 1) / (len(wrong) + 1), 2) for number in range(len(wrong))]
    return Question(
        needles=(needle,),
        depths=(cell.depth,),
        question=needle.question,
        answer=needle.answer,
        reference={
            "answers": (needle.answer,),
            "statement": needle.text,
            "distractors": wrong,
            "places": {needle.answer: cell.depth, **dict(zip(wrong, spread, strict=True))},
            **facts,
        },
        distractors=tuple(others),
        avoid=tuple(avoid),
    )


def draw_numbers(rng: Random, count: int, size: int = 7) -> list[str]:
    """Different numbers of `size` digits."""
    return different(count, lambda: digits(rng, size))


def draw_keys(rng: Random, language: str, count: int, form: str = "", *, near: bool = False) -> list[str]:
    """Keys of a form without a common word; `near`: the others have the first's adjective or noun, by turns."""
    adjectives, nouns = (sample(rng, words("keys", language, kind), count) for kind in ("adjectives", "nouns"))
    if near:
        first_adjective, first_noun = adjectives[0], nouns[0]
        adjectives = [first_adjective if at % 2 else word for at, word in enumerate(adjectives)]
        nouns = [word if at % 2 else first_noun for at, word in enumerate(nouns)]
    form = form or _sentences(language)["key"]
    return [form.format(adjective=adjective, noun=noun) for adjective, noun in zip(adjectives, nouns, strict=True)]


def _sentences(language: str) -> Mapping[str, Any]:
    return table("keys", language, "statements")


def _draw_kind(rng: Random, language: str) -> str:
    """Draw the purpose of one trial's codes."""
    kinds: list[str] = _sentences(language)["kinds"].split()
    return pick(rng, kinds)


def _multikey(suite: Suite, cell: Cell, seed: int) -> Question:
    name, language = without_language(cell.needle, suite), suite.language
    # The same draws for every variant: more keys are the fewer ones and others.
    rng = draws("multikey", 1, seed, cell.repeat, language)
    kind, values = _draw_kind(rng, language), draw_numbers(rng, _MOST_KEYS)
    keys = draw_keys(rng, language, _MOST_KEYS, near=name == _NEAR)
    others = _OTHER_KEYS[name]
    statements = [
        _sentences(language)["statement"].format(kind=kind, key=key, value=value)
        for key, value in zip(keys[: others + 1], values, strict=False)
    ]
    wrong = tuple(values[1 : others + 1])
    question = question_text("keys", language, "multikey", kind=kind, key=keys[0])
    needle = Needle("code", statements[0], question, values[0], key=keys[0], distractor_answers=wrong)
    return ask_among_others(cell, needle, statements[1:], (*keys[1 : others + 1], *wrong))


def _multivalue(task: str, suite: Suite, cell: Cell, seed: int) -> Question:
    language, several = suite.language, task == "multiquery"
    rng = draws(task, 1, seed, cell.repeat, language)
    kind, values, depths = _draw_kind(rng, language), draw_numbers(rng, _VALUES), stratified(rng, _VALUES)
    keys = draw_keys(rng, language, _VALUES) if several else draw_keys(rng, language, 1) * _VALUES
    order = shuffled(rng, range(_VALUES)) if several else list(range(_VALUES))  # of the question, not the document
    sentences = _sentences(language)
    *first, last = (keys[number] for number in order)
    listed = f"{sentences['comma'].join(first)}{sentences['and']}{last}"
    question = question_text("keys", language, task, kind=kind, key=keys[0], keys=listed, count=_VALUES)
    form = sentences["statement" if several else "one_of"]
    return Question(
        needles=tuple(
            Needle(f"code{rank}", form.format(kind=kind, key=key, value=value), question, value, key=key)
            for rank, (key, value) in enumerate(zip(keys, values, strict=True), 1)
        ),
        depths=depths,
        question=question,
        answer="\n".join(values[number] for number in order),
        reference={"answers": (), "parts": tuple(values), "places": dict(zip(values, depths, strict=True))},
    )


def _superseded(suite: Suite, cell: Cell, seed: int) -> Question:
    language = suite.language
    name = without_language(cell.needle, suite)
    count, which = _UPDATES[name], name.rsplit("_", 1)[1]
    # The same updates whatever is asked about them.
    rng = draws("superseded", 1, seed, cell.repeat, count, language)
    kind, (key,), values = _draw_kind(rng, language), draw_keys(rng, language, 1), draw_numbers(rng, count)
    depths = stratified(rng, count)
    # One in each of as many equal parts of some years, no two at the edge between two parts.
    days = [number * _DAYS + below(rng, _DAYS - 2) for number in range(count)]
    chosen = below(rng, count - 1)  # never the latest
    asked_day = days[chosen] + 1 + below(rng, days[chosen + 1] - days[chosen] - 1)
    right = {"latest": count - 1, "earliest": 0, "asof": chosen}[which]
    order = list(range(count))
    while "shuffled" in name and order[-1] == count - 1:
        order = shuffled(rng, order)
    texts = [
        _sentences(language)["update"].format(date=_date(day, language), kind=kind, key=key, value=value)
        for day, value in zip(days, values, strict=True)
    ]
    question = question_text("keys", language, which, kind=kind, key=key, date=_date(asked_day, language))
    wrong = [number for number in range(count) if number != right]
    wrong_values = tuple(values[number] for number in wrong)
    return Question(
        needles=tuple(
            Needle(
                f"update{number + 1}",
                texts[number],
                question,
                values[number] if number == right else "",
                key=key,
                distractor_answers=wrong_values if number == right else (),
            )
            for number in order
        ),
        depths=depths,
        question=question,
        answer=values[right],
        reference={
            "answers": (values[right],),
            "statement": texts[right],
            "distractors": wrong_values,
            "places": {values[number]: depth for number, depth in zip(order, depths, strict=True)},
            "kinds": {values[number]: "stale" if number < right else "newer" for number in wrong},
        },
        avoid=tuple(values),
    )


def _date(day: int, language: str) -> str:
    """A day by its number from the beginning of 2031."""
    year, rest = divmod(day, _DAYS)
    month, day_of_month = divmod(rest, 28)
    return written_date(date(_YEAR + year, month + 1, day_of_month + 1), language)


def written_date(day: date, language: str) -> str:
    """`6 January 2031`, `2031年1月6日`."""
    if language == "zh":
        return f"{day.year}年{day.month}月{day.day}日"
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


TASKS = (
    our_task("multikey", _multikey, labels=fitting_labels(_OTHER_KEYS), lengths=fitting_lengths(_OTHER_KEYS)),
    *(our_task(name, partial(_multivalue, name)) for name in ("multivalue", "multiquery")),
    our_task("superseded", _superseded, labels=fitting_labels(_UPDATES), lengths=fitting_lengths(_UPDATES)),
)
