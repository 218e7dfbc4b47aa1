"""Questions without words of their needle: semantic and associative."""

import re
from functools import cache

from needlework.core.draws import below, draws, pick, sample, shuffled
from needlework.core.grid import Cell
from needlework.core.prompts import Needle
from needlework.core.settings import Suite
from needlework.haystack_fixtures.tasks.statements import ask_among_others
from needlework.haystack_fixtures.tasks.task import Question, labelled, our_task, without_language
from needlework.haystack_fixtures.tasks.words import draw_people, phrases, table

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


TASKS = (our_task("semantic", _semantic), our_task("association", _association, labels=_association_labels))
