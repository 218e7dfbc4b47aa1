"""A fact that is updated: which value holds last, held first, or held on a day? Older values are stale.

`forward`: the updates stand in the order of their dates, as in a log; `shuffled`: in another one.
"""

from __future__ import annotations

from needlework.haystack_fixtures.draws import below, draws, shuffled
from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.needles.needle import Needle
from needlework.haystack_fixtures.settings.settings import Suite
from needlework.haystack_fixtures.tasks.parts.fitting import fitting, long_enough
from needlework.haystack_fixtures.tasks.parts.statement_keys import draw_keys, draw_kind, draw_values, stratified
from needlework.haystack_fixtures.tasks.task import Asked, Task, labelled, no_depths

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
_QUESTION = {
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


def _labels(suite: Suite) -> tuple[str, ...]:
    return tuple(labelled(name, suite) for name in fitting(suite, _UPDATES))


def _ask(suite: Suite, cell: Cell, seed: int) -> Asked:
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
    question = _QUESTION[wanted][language].format(kind=kind, key=key, date=_date(asked_day, language))
    wrong = [number for number in range(count) if number != right]
    return Asked(
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


TASK = Task(
    "superseded",
    "one of several dated updates of a fact",
    _labels,
    no_depths,
    _ask,
    scorer="confusion",
    version=1,
    lengths=lambda suite, label: long_enough(suite, _UPDATES[label.removesuffix(f"_{suite.language}")]),
)
