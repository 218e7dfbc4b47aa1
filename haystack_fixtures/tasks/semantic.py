"""Questions without words of their needle: semantic and associative."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources

from needlework.core.draws import below, draws, pick, sample, shuffled
from needlework.core.grid import Cell
from needlework.core.prompts import Needle
from needlework.core.settings import Suite
from needlework.haystack_fixtures.tasks.statements import draw_people
from needlework.haystack_fixtures.tasks.task import Question, Task, labelled

# `As Niamh tells it, the most useful tip came from a night nurse in 1987: "keep the ladder dry".` Which attribute a
# model mistakes shows in which wrong saying it gives.
_DISTRACTORS = {"d0": 0, "d1": 1, "d4": 4}
_ATTRIBUTES = ("person", "thing", "source", "year")
_STATEMENT = {
    "en": 'As {person} tells it, the most useful {thing} came from {source} in {year}: "{saying}".',
    "zh": "据{person}说，最有用的{thing}是{year}年{source}给的：“{saying}”。",
}
_QUESTION = {
    "en": "As {person} tells it, what was the most useful {thing} that came from {source} in {year}? Reply with its "
    "exact words only.",
    "zh": "据{person}说，{year}年{source}给的最有用的{thing}是什么？请只照原文回答。",
}


def _labels(suite: Suite) -> tuple[str, ...]:
    return tuple(labelled(name, suite) for name in _DISTRACTORS)


def _ask(suite: Suite, cell: Cell, seed: int) -> Question:
    language = suite.language
    count = _DISTRACTORS[cell.needle.split("_")[0]]
    # The same draws for every number of distractors: more are the fewer ones and others.
    rng = draws("semantic", 1, seed, cell.repeat, language)
    things, sources, sayings = _tables(language)
    year = 1950 + below(rng, 70)
    pairs = {
        "person": draw_people(rng, language, 2),
        "thing": sample(rng, things, 2),
        "source": sample(rng, sources, 2),
        "year": [str(year), str(year + (1 + below(rng, 9)) * (1 if below(rng, 2) else -1))],
    }
    right, *wrong = sample(rng, sayings, 1 + len(_ATTRIBUTES))
    true = {name: pair[0] for name, pair in pairs.items()}
    changed = shuffled(rng, _ATTRIBUTES)[:count]
    question = _QUESTION[language].format(**true)
    text = _STATEMENT[language].format(**true, saying=right)
    wrong = wrong[:count]
    assert cell.depth is not None
    return Question(
        needles=(Needle("saying", text, question, right, key=true["person"], distractor_answers=tuple(wrong)),),
        depths=(cell.depth,),
        question=question,
        answer=right,
        reference={
            "answers": (right,),
            "statement": text,
            "distractors": tuple(wrong),
            "places": {right: cell.depth}
            | {saying: round(100 * (number + 1) / (count + 1), 2) for number, saying in enumerate(wrong)},
            "kinds": dict(zip(wrong, changed, strict=True)),
            "question": question,
            "language": language,
        },
        distractors=tuple(
            _STATEMENT[language].format(**{**true, name: pairs[name][1]}, saying=saying)
            for name, saying in zip(changed, wrong, strict=True)
        ),
        avoid=(*wrong, pairs["person"][1]),
    )


@cache
def _tables(language: str) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Things, sources and sayings."""
    file = resources.files("needlework.haystack_fixtures.tasks") / "data" / "semantic.toml"
    table = tomllib.loads(file.read_text(encoding="utf-8"))[language]
    things, sources, sayings = (
        tuple(entry.strip() for entry in re.split("[;\n]", table[name].strip()))
        for name in ("things", "sources", "sayings")
    )
    return things, sources, sayings


TASK = Task(
    "semantic",
    "a needle among sentences that differ from it in one attribute",
    _labels,
    lambda suite: suite.depths,
    _ask,
    scorer="confusion",
    version=1,
)
TASKS = (TASK,)


# `Thandiwe has a flat right beside the Eiffel Tower.` `Which person lives in France?` The idea is NoLiMa's; facts and
# sentences are ours. One hop leads from what the needle names to its neighbour in the table, two hops one further.
# Other people, of whom the same is said with other rows, are the distractors.
_DECOYS = 3
_FEWEST = 4  # rows to ask for: else a table is not asked


@dataclass(frozen=True, slots=True)
class _Form:
    """A table, how many steps its question is away, and the sentences. `only`: the one value that is asked for."""

    table: str
    hops: int
    needle: dict[str, str]
    question: dict[str, str]
    only: dict[str, str] | None = None


_LANDMARK = {"en": "{name} has a flat right beside {term}.", "zh": "{name}家的窗外就是{term}。"}
_DISH = {"en": "{name} always orders {term} at weekends.", "zh": "{name}每到周末都点{term}。"}
_HOME = {"en": "Which person lives in {value}?", "zh": "谁住在{value}？"}
_FORMS = {
    "landmark_1hop": _Form("landmark", 1, _LANDMARK, _HOME),
    "landmark_2hop": _Form("landmark", 2, _LANDMARK, _HOME),
    "city_1hop": _Form("city", 1, {"en": "{name} moved to {term} for good.", "zh": "{name}早已搬到{term}了。"}, _HOME),
    "currency_1hop": _Form(
        "currency",
        1,
        {"en": "{name} gets a monthly salary in {term}.", "zh": "{name}每个月领的薪水都是{term}。"},
        {"en": "Which person works in {value}?", "zh": "谁在{value}工作？"},
    ),
    "dish_1hop": _Form("dish", 1, _DISH, {"en": "Which person eats {value} regularly?", "zh": "谁经常吃{value}？"}),
    "dish_2hop": _Form(
        "dish",
        2,
        _DISH,
        {"en": "Which person cannot be a vegetarian?", "zh": "谁不可能是素食者？"},
        {"en": "meat", "zh": "有肉"},
    ),
    "instrument_1hop": _Form(
        "instrument",
        1,
        {"en": "{name} practises the {term} every evening.", "zh": "{name}天天晚上都练{term}。"},
        {"en": "Which person plays a {value} instrument?", "zh": "谁会演奏{value}乐器？"},
    ),
    "animal_1hop": _Form(
        "animal",
        1,
        {"en": "{name} feeds a {term} every morning.", "zh": "{name}每天早上都给{term}喂食。"},
        {"en": "Which person looks after a kind of {value}?", "zh": "谁养着一种{value}？"},
    ),
    "profession_1hop": _Form(
        "profession",
        1,
        {"en": "{name} has been a {term} for many years.", "zh": "{name}当了很多年{term}。"},
        {"en": "Which person most likely needs {value} at work?", "zh": "谁上班时最离不开{value}？"},
    ),
    "holiday_1hop": _Form(
        "holiday",
        1,
        {"en": "{name} was born on {term}.", "zh": "{name}来到世上那天正好是{term}。"},
        {"en": "Whose birthday is in {value}?", "zh": "谁是{value}里出生的？"},
    ),
}
_REPLY = {"en": " Reply with the name only.", "zh": "请只回答姓名。"}
_ARTICLE = re.compile(r"^(?:the|an?) ")
Row = tuple[str, ...]


def _association_labels(suite: Suite) -> tuple[str, ...]:
    generated = suite.corpus == "generated"
    return tuple(labelled(name, suite) for name, form in _FORMS.items() if _pairs(form, suite.language, generated))


def _association_ask(suite: Suite, cell: Cell, seed: int) -> Question:
    language = suite.language
    name = cell.needle.removesuffix(f"_{language}")
    form = _FORMS[name]
    rng = draws("association", 1, seed, cell.repeat, name, language)
    row, others = pick(rng, _pairs(form, language, suite.corpus == "generated"))
    decoys = shuffled(rng, others)[:_DECOYS]
    person, *wrong = draw_people(rng, language, 1 + _DECOYS)
    question = form.question[language].format(value=row[form.hops]) + _REPLY[language]
    assert cell.depth is not None
    text = form.needle[language].format(name=person, term=row[0])
    return Question(
        needles=(Needle("fact", text, question, person, key=person, distractor_answers=tuple(wrong)),),
        depths=(cell.depth,),
        question=question,
        answer=person,
        reference={
            "answers": (person,),
            "statement": text,
            "distractors": tuple(wrong),
            "places": {person: cell.depth}
            | {name: round(100 * (number + 1) / (_DECOYS + 1), 2) for number, name in enumerate(wrong)},
            "question": question,
            "language": language,
            # A guess among the people of whom something of the kind is said.
            "chance": 1 / (_DECOYS + 1),
        },
        distractors=tuple(
            form.needle[language].format(name=name, term=other[0]) for name, other in zip(wrong, decoys, strict=True)
        ),
        avoid=(*(_ARTICLE.sub("", term) for term in _terms(form, row)), *wrong),
    )


def _terms(form: _Form, row: Row) -> tuple[str, ...]:
    """What a row names; the value of a question that does not say it is no term."""
    return row[: form.hops + (form.only is None)]


def _pairs(form: _Form, language: str, generated: bool) -> list[tuple[Row, list[Row]]]:
    """Every row that may be asked, with the rows that may stand beside it: those that lead elsewhere at every step."""
    rows = [row for row in _rows(form.table, language, generated) if row[form.hops]]
    wanted = [row for row in rows if form.only is None or row[form.hops] == form.only[language]]
    pairs = [(row, [other for other in rows if not set(row[1:]) & set(other[1:])]) for row in wanted]
    pairs = [(row, others) for row, others in pairs if len(others) >= _DECOYS]
    return pairs if len(pairs) >= _FEWEST else []


@cache
def _rows(table: str, language: str, generated: bool) -> tuple[Row, ...]:
    """The rows of a table; for the generated corpus without those that it has a term of."""
    file = resources.files("needlework.haystack_fixtures.tasks") / "data" / "association.toml"
    tables = tomllib.loads(file.read_text(encoding="utf-8"))[language]
    taken = {term.strip() for term in re.split("[;\\n]", tables["generated"])} if generated else set()
    rows = (tuple(term.strip() for term in line.split("=")) for line in tables[table].strip().splitlines())
    return tuple(row for row in rows if not taken & {_ARTICLE.sub("", term) for term in row if term})


ASSOCIATION_TASK = Task(
    "association",
    "needle and question that share no word",
    _association_labels,
    lambda suite: suite.depths,
    _association_ask,
    scorer="confusion",
    version=1,
)
ASSOCIATION_TASKS = (ASSOCIATION_TASK,)
