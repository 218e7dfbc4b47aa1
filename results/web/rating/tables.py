"""Ratings as tables: what each model got, and how far annotators agree."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import fsum

from needlework.results.statistics.agreement.raters import ordinal_alpha, weighted_kappa
from needlework.results.statistics.agreement.rates import share
from needlework.results.statistics.tasks import Share
from needlework.results.web.rating.items import Answer, Item, Items
from needlework.results.web.rating.marks import WHOLE_ITEM, Annotator, Mark, Place

LEVELS = 5
Marks = Mapping[Place, Mark]


@dataclass(frozen=True, slots=True)
class Rating:
    """One rating of one answer. `shown`: the same for answers of an item that say the same, and were rated once.

    `late`: made after names were shown.
    """

    annotator: str
    model: str
    answer: str
    group: Hashable
    rating: int
    late: bool
    shown: str = ""


@dataclass(frozen=True, slots=True)
class ModelRow:
    """What a model got: its mean is 1..5, `counts` how often each of 1..5. `answers`: how many have a rating."""

    model: str
    mean: Share
    counts: tuple[int, ...]
    n: int
    answers: int


@dataclass(frozen=True, slots=True)
class PairRow:
    """Two annotators on the answers that both rated: shares that are equal, and at most 1 apart."""

    first: str
    second: str
    equal: Share
    within_one: Share
    kappa: Share
    n: int


@dataclass(frozen=True, slots=True)
class AnnotatorRow:
    """How far one is, in items. `ratings`: of answers that are shown now; `mean`: theirs; `gone`: of other answers."""

    annotator: Annotator
    rated: int
    skipped: int
    ratings: int
    mean: float | None
    gone: int


@dataclass(frozen=True, slots=True)
class Results:
    """`models`: the highest mean first. `alpha`: of all answers with two ratings or more, `doubly` of them.

    `late`: ratings made after names were shown, which count in the tables only where `with_late`.
    """

    models: tuple[ModelRow, ...]
    pairs: tuple[PairRow, ...]
    alpha: Share
    doubly: int
    late: int
    with_late: bool


def mark_of(item: Item, same: Sequence[Answer], marks: Marks) -> Mark:
    """What stands for answers that say the same: what was last said of one of them."""
    said = [marks[item.id, each.id] for each in same if (item.id, each.id) in marks]
    return max(said, key=lambda mark: mark.number, default=Mark(item=item.id, answer=same[0].id))


def state_of(item_marks: Collection[Mark], answers: int) -> str:
    """How far an item is: `skipped`, `rated` (all its answers), `begun` or `open`."""
    if any(mark.skipped for mark in item_marks if mark.answer == WHOLE_ITEM):
        return "skipped"
    rated = sum(mark.rating is not None for mark in item_marks if mark.answer != WHOLE_ITEM)
    return "rated" if answers and rated == answers else "begun" if rated else "open"


def states(items: Items, marks: Marks) -> dict[str, str]:
    """How far each item is, by its id."""
    return {item.id: item_state(item, marks) for item in items.items}


def item_state(item: Item, marks: Marks) -> str:
    """How far an item is."""
    whole = marks.get((item.id, WHOLE_ITEM))
    said = [mark_of(item, same, marks) for same in item.texts]
    return state_of([*([whole] if whole else []), *said], len(said))


def ratings_of(items: Items, annotator: Annotator, marks: Marks) -> list[Rating]:
    """The ratings of answers that are shown now; those of answers that are not in the files any more are left out."""
    return [
        Rating(
            annotator.name,
            answer.model,
            answer.id,
            item.group,
            mark.rating,
            late=annotator.shown is not None and mark.at > annotator.shown,
            shown=same[0].id,
        )
        for item in items.items
        for same in item.texts
        if (mark := mark_of(item, same, marks)).rating is not None
        for answer in same
    ]


def annotator_row(items: Items, annotator: Annotator, marks: Marks) -> AnnotatorRow:
    """How far one annotator is."""
    found = ratings_of(items, annotator, marks)
    far = list(states(items, marks).values())
    here = {(item.id, answer.id) for item in items.items for answer in item.answers}
    gone = sum(mark.rating is not None for place, mark in marks.items() if place not in here)
    once = list({each.shown: each for each in found}.values())
    mean = fsum(each.rating for each in once) / len(once) if once else None
    return AnnotatorRow(annotator, far.count("rated"), far.count("skipped"), len(once), mean, gone)


def results_of(ratings: Iterable[Rating], *, with_late: bool) -> Results:
    """All tables. Without `with_late` the ratings that were made after names were shown are counted, and left out."""
    given = list(ratings)
    late = sum(each.late for each in given)
    kept = [each for each in given if with_late or not each.late]
    by_answer: dict[str, dict[str, Rating]] = {}  # of answers that say the same one
    for each in kept:
        by_answer.setdefault(each.shown or each.answer, {}).setdefault(each.annotator, each)
    several = [list(found.values()) for found in by_answer.values() if len(found) > 1]
    names = list(dict.fromkeys(each.annotator for each in kept))
    pairs = (_pair(first, second, several) for first, second in combinations(names, 2))
    return Results(
        models=tuple(sorted((_model(model, kept) for model in sorted({each.model for each in kept})), key=_best_first)),
        pairs=tuple(pair for pair in pairs if pair.n),
        alpha=ordinal_alpha([[each.rating for each in found] for found in several], _groups(several), LEVELS),
        doubly=len(several),
        late=late,
        with_late=with_late,
    )


def _model(model: str, ratings: Sequence[Rating]) -> ModelRow:
    own = [each for each in ratings if each.model == model]
    scaled = share([(each.rating - 1) / (LEVELS - 1) for each in own], [each.group for each in own])
    return ModelRow(
        model,
        Share(*(None if end is None else 1 + end * (LEVELS - 1) for end in (scaled.value, scaled.low, scaled.high))),
        tuple(sum(each.rating == level for each in own) for level in range(1, LEVELS + 1)),
        len(own),
        len({each.answer for each in own}),
    )


def _best_first(row: ModelRow) -> float:
    return -(row.mean.value or 0.0)


def _pair(first: str, second: str, several: Sequence[Sequence[Rating]]) -> PairRow:
    marks: list[tuple[int, int]] = []
    groups: list[Hashable] = []
    for found in several:
        by_name = {each.annotator: each.rating for each in found}
        if first in by_name and second in by_name:
            marks.append((by_name[first], by_name[second]))
            groups.append(found[0].group)
    return PairRow(
        first,
        second,
        share([float(one == other) for one, other in marks], groups),
        share([float(abs(one - other) <= 1) for one, other in marks], groups),
        weighted_kappa(marks, groups, LEVELS),
        len(marks),
    )


def _groups(several: Sequence[Sequence[Rating]]) -> list[Hashable]:
    return [found[0].group for found in several]
