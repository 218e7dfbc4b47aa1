"""Statements, of which some are asked for: by a key, by a date, or in other words than theirs."""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import cache, partial
from random import Random
from typing import Any

from needlework.core.draws import below, different, digits, draws, pick, sample, shuffled
from needlework.core.grid import Cell
from needlework.core.prompts import Needle
from needlework.core.settings import Suite
from needlework.haystack_fixtures.tasks.task import Question, labelled, our_task, without_language
from needlework.haystack_fixtures.tasks.words import draw_people, phrases, question_text, table, words

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


def fitting(sizes: Mapping[str, int]) -> dict[str, Callable[..., Any]]:
    """The variants that fit a length of the suite, always the smallest, and the lengths that they fill to half at most.

    `sizes`: their numbers of statements. The smallest has all lengths, where none is enough.
    """
    least = min(sizes.values())

    def labels(suite: Suite) -> tuple[str, ...]:
        fit = (name for name, count in sizes.items() if count == least or _roomy_lengths(suite, count))
        return tuple(labelled(name, suite) for name in fit)

    def lengths(suite: Suite, label: str) -> tuple[int, ...]:
        return _roomy_lengths(suite, sizes[without_language(label, suite)]) or suite.lengths

    return {"labels": labels, "lengths": lengths}


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


# `As Niamh tells it, the most useful tip came from a night nurse in 1987: "keep the ladder dry".` Which attribute a
# model mistakes shows in which wrong saying it gives.
_DISTRACTORS = {"d0": 0, "d1": 1, "d4": 4}
_ATTRIBUTES = ("person", "thing", "source", "year")


def _semantic(suite: Suite, cell: Cell, seed: int) -> Question:
    language = suite.language
    count = _DISTRACTORS[without_language(cell.needle, suite)]
    # The same draws for every number of distractors: more are the fewer ones and others.
    rng = draws("semantic", 1, seed, cell.repeat, language)
    things, sources, sayings = (phrases("semantic", language, kind) for kind in ("things", "sources", "sayings"))
    year = 1950 + below(rng, 70)
    pairs = {
        "person": draw_people(rng, language, 2),
        "thing": sample(rng, things, 2),
        "source": sample(rng, sources, 2),
        "year": [str(year), str(year + (1 + below(rng, 9)) * (1 if below(rng, 2) else -1))],
    }
    right, *others = sample(rng, sayings, 1 + len(_ATTRIBUTES))
    true = {name: pair[0] for name, pair in pairs.items()}
    changed = shuffled(rng, _ATTRIBUTES)[:count]
    wrong = tuple(others[:count])
    sentences = table("semantic", language, "sentences")
    question = sentences["question"].format(**true)
    text = sentences["statement"].format(**true, saying=right)
    kinds = dict(zip(wrong, changed, strict=True))
    others = [
        sentences["statement"].format(**{**true, name: pairs[name][1]}, saying=saying) for saying, name in kinds.items()
    ]
    needle = Needle("saying", text, question, right, key=true["person"], distractor_answers=wrong)
    return ask_among_others(cell, needle, others, (*wrong, pairs["person"][1]), kinds=kinds)


# `Thandiwe has a flat right beside the Eiffel Tower.` `Which person lives in France?` The idea is NoLiMa's; facts and
# sentences are ours. One hop leads from what the needle names to its neighbour in the table, two hops one further.
# Other people, of whom the same is said with other rows, are the distractors. A form with `only` asks for one value.
_FORMS = (
    "landmark_1hop",
    "landmark_2hop",
    "city_1hop",
    "currency_1hop",
    "dish_1hop",
    "dish_2hop",
    "instrument_1hop",
    "animal_1hop",
    "profession_1hop",
    "holiday_1hop",
)
_DECOYS = 3
_FEWEST = 4  # rows to ask for: else a table is not asked
_ARTICLE = re.compile(r"^(?:the|an?) ")
Row = tuple[str, ...]


def _association_labels(suite: Suite) -> tuple[str, ...]:
    generated = suite.corpus == "generated"
    return tuple(labelled(form, suite) for form in _FORMS if _pairs(form, suite.language, generated))


def _hops(form: str) -> int:
    return int(form[-len("1hop")])


def _association(suite: Suite, cell: Cell, seed: int) -> Question:
    language = suite.language
    form = without_language(cell.needle, suite)
    sentences = table("association", language, "forms")[form]
    rng = draws("association", 1, seed, cell.repeat, form, language)
    row, others = pick(rng, _pairs(form, language, suite.corpus == "generated"))
    decoys = shuffled(rng, others)[:_DECOYS]
    person, *wrong = draw_people(rng, language, 1 + _DECOYS)
    question = sentences["question"].format(value=row[_hops(form)])
    text = sentences["needle"].format(name=person, term=row[0])
    terms = row[: _hops(form) + ("only" not in sentences)]  # the value of a question that does not say it is no term
    needle = Needle("fact", text, question, person, key=person, distractor_answers=tuple(wrong))
    pairs = zip(wrong, decoys, strict=True)
    statements = [sentences["needle"].format(name=name, term=decoy[0]) for name, decoy in pairs]
    avoid = (*(_ARTICLE.sub("", term) for term in terms), *wrong)
    # Chance: a guess among the people of whom something of the kind is said.
    return ask_among_others(cell, needle, statements, avoid, chance=1 / (_DECOYS + 1))


@cache
def _pairs(form: str, language: str, generated: bool) -> list[tuple[Row, list[Row]]]:
    """Every row that may be asked, with its possible distractors: they differ from it at every step.

    `generated`: for the generated corpus, without rows that it has a term of.
    """
    tables = table("association", language)
    only = tables["forms"][form].get("only")
    taken = set(phrases("association", language, "generated")) if generated else set()
    lines = (line.split("=") for line in tables[form.partition("_")[0]].strip().splitlines())
    rows = [tuple(term.strip() for term in line) for line in lines]
    rows = [row for row in rows if not taken & {_ARTICLE.sub("", term) for term in row if term}]
    rows = [row for row in rows if row[_hops(form)]]
    pairs = [
        (row, [other for other in rows if not set(row[1:]) & set(other[1:])])
        for row in rows
        if only is None or row[_hops(form)] == only
    ]
    pairs = [(row, others) for row, others in pairs if len(others) >= _DECOYS]
    return pairs if len(pairs) >= _FEWEST else []


TASKS = (
    our_task("multikey", _multikey, **fitting(_OTHER_KEYS)),
    *(our_task(name, partial(_multivalue, name)) for name in ("multivalue", "multiquery")),
    our_task("superseded", _superseded, **fitting(_UPDATES)),
    our_task("semantic", _semantic),
    our_task("association", _association, labels=_association_labels),
)
