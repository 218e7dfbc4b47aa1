"""Tables of ratings."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import combinations
from math import fsum
from pathlib import Path
from threading import Lock
from typing import Any, Literal

from starlette.exceptions import HTTPException
from starlette.requests import Request

from needlework.core.errors import InputError
from needlework.core.files import write_whole
from needlework.core.grid import slug
from needlework.results.statistics.agreement import ordinal_alpha, share, weighted_kappa
from needlework.results.statistics.tasks import Share
from needlework.results.web import rating_marks
from needlework.results.web.app import Context
from needlework.results.web.rating_items import Items, RatedAnswer, RatedItem, answer_order, item_order, label
from needlework.results.web.rating_marks import WHOLE_ITEM, Annotator, Place, RatingMark

LEVELS = 5
Marks = Mapping[Place, RatingMark]


@dataclass(frozen=True, slots=True)
class AnswerRating:
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


def mark_of(item: RatedItem, same: Sequence[RatedAnswer], marks: Marks) -> RatingMark:
    """What stands for answers that say the same: what was last said of one of them."""
    said = [marks[item.id, each.id] for each in same if (item.id, each.id) in marks]
    return max(said, key=lambda mark: mark.number, default=RatingMark(item=item.id, answer=same[0].id))


def state_of(item_marks: Collection[RatingMark], answers: int) -> str:
    """How far an item is: `skipped`, `rated` (all its answers), `begun` or `open`."""
    if any(mark.skipped for mark in item_marks if mark.answer == WHOLE_ITEM):
        return "skipped"
    rated = sum(mark.rating is not None for mark in item_marks if mark.answer != WHOLE_ITEM)
    return "rated" if answers and rated == answers else "begun" if rated else "open"


def states(items: Items, marks: Marks) -> dict[str, str]:
    """How far each item is, by its id."""
    return {item.id: item_state(item, marks) for item in items.items}


def item_state(item: RatedItem, marks: Marks) -> str:
    """How far an item is."""
    whole = marks.get((item.id, WHOLE_ITEM))
    said = [mark_of(item, same, marks) for same in item.texts]
    return state_of([*([whole] if whole else []), *said], len(said))


def ratings_of(items: Items, annotator: Annotator, marks: Marks) -> list[AnswerRating]:
    """The ratings of answers that are shown now; those of answers that are not in the files any more are left out."""
    return [
        AnswerRating(
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


def results_of(ratings: Iterable[AnswerRating], *, with_late: bool) -> Results:
    """All tables. Without `with_late` the ratings that were made after names were shown are counted, and left out."""
    given = list(ratings)
    late = sum(each.late for each in given)
    kept = [each for each in given if with_late or not each.late]
    by_answer: dict[str, dict[str, AnswerRating]] = {}  # of answers that say the same one
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


def _model(model: str, ratings: Sequence[AnswerRating]) -> ModelRow:
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


def _pair(first: str, second: str, several: Sequence[Sequence[AnswerRating]]) -> PairRow:
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


def _groups(several: Sequence[Sequence[AnswerRating]]) -> list[Hashable]:
    return [found[0].group for found in several]


Kind = Literal["results", "ratings"]
KINDS: dict[str, Kind] = {"results": "results", "ratings": "ratings"}


def file_name(kind: Kind, annotator: Annotator) -> str:
    """`results_from_NAME.jsonl` as L-Eval calls it, or `ratings_from_NAME.jsonl`."""
    return f"{kind}_from_{slug(annotator.name)}.jsonl"


def export(kind: Kind, items: Items, seed: str, annotator: Annotator, marks: Marks) -> bytes:
    """The content of a file."""
    if kind == "results":
        return json.dumps(_counts(items, annotator, marks)).encode("ascii")
    return "".join(f"{json.dumps(row)}\n" for row in _rows(items, seed, annotator, marks)).encode("ascii")


def write(path: Path, content: bytes, *, over: bool) -> bool:
    """Write a file. Returns False where there is one of other content, and `over` does not say to replace it."""
    try:
        if not over and path.exists() and path.read_bytes() != content:
            return False
        write_whole(path, content)
    except OSError as error:
        raise InputError("file", path, f"cannot be written ({error.strerror})") from None
    return True


def _counts(items: Items, annotator: Annotator, marks: Marks) -> dict[str, Counter[str]]:
    """L-Eval's (cd34b05, `Evaluation/web_human_eval.py`): a key for each model, `5.0` for a rating of 5."""
    counts: dict[str, Counter[str]] = {}
    for each in ratings_of(items, annotator, marks):
        counts.setdefault(each.model, Counter())[str(float(each.rating))] += 1
    return counts


def _rows(items: Items, seed: str, annotator: Annotator, marks: Marks) -> Iterator[dict[str, Any]]:
    """In the order in which the annotator saw them."""
    for place, item in enumerate(item_order(seed, annotator.name, items.items), 1):
        about = {"annotator": annotator.name, "item": item.id, "place": place, "question": item.question}
        whole = marks.get((item.id, WHOLE_ITEM))
        if whole is not None and whole.skipped:
            yield {**about, "skipped": whole.comment, "time": whole.at}
        for at, same in enumerate(answer_order(seed, annotator.name, item)):
            mark = mark_of(item, same, marks)
            for answer in same if mark.rating is not None or mark.comment else ():
                yield {
                    **about,
                    "references": list(item.references),
                    "model": answer.model,
                    "answer_sha256": sha256(answer.text.encode("utf-8", "surrogatepass")).hexdigest(),
                    "shown_as": label(at),
                    "rating": mark.rating,
                    "comment": mark.comment,
                    "time": mark.at,
                    "names_were_shown": annotator.shown is not None and mark.at > annotator.shown,
                }


@dataclass(frozen=True, slots=True)
class Rated:
    """What people rate. `left`: what is not rated, in words."""

    items: Items
    left: str


@dataclass(frozen=True, slots=True)
class RatingContext:
    """`seed`: what orders are drawn from. `read`: reads what is rated, once, when it is first asked for; it may raise
    `InputError`. What people said is never kept here.
    """

    context: Context
    seed: str
    read: Callable[[], Rated]
    _read: list[Rated] = field(default_factory=list)
    _turn: Lock = field(default_factory=Lock)
    _orders: dict[str, list[RatedItem]] = field(default_factory=dict)

    @property
    def is_read(self) -> bool:
        """Whether what is rated was read."""
        return bool(self._read)

    @property
    def rated(self) -> Rated:
        """What is rated, read where it was not. Raises `InputError`."""
        with self._turn:
            if not self._read:
                self._read.append(self.read())
            return self._read[0]

    @property
    def items(self) -> Items:
        """The questions and their answers."""
        return self.rated.items

    def annotator(self, request: Request) -> Annotator:
        """Whom an address names. Raises `HTTPException`."""
        number = request.path_params["annotator"]
        with self.context.store.reading() as connection:
            found = next((each for each in rating_marks.annotators(connection) if each.number == number), None)
        if found is None:
            raise HTTPException(404, "there is no such annotator")
        return found

    def order(self, annotator: Annotator) -> list[RatedItem]:
        """The items as this annotator sees them."""
        if annotator.name not in self._orders:
            self._orders[annotator.name] = item_order(self.seed, annotator.name, self.items.items)
        return self._orders[annotator.name]

    def answers(self, annotator: Annotator, item: RatedItem) -> list[tuple[RatedAnswer, ...]]:
        """An item's answers as this annotator sees them, equal ones together."""
        return answer_order(self.seed, annotator.name, item)

    def marks(self, annotator: Annotator) -> Marks:
        """What an annotator said."""
        with self.context.store.reading() as connection:
            return rating_marks.marks_of(connection, annotator.number)

    def everyone(self) -> list[tuple[Annotator, Marks]]:
        """All annotators with what they said."""
        with self.context.store.reading() as connection:
            return [
                (each, rating_marks.marks_of(connection, each.number)) for each in rating_marks.annotators(connection)
            ]

    def rows(self) -> list[AnnotatorRow]:
        """How far all annotators are."""
        return [annotator_row(self.items, annotator, said) for annotator, said in self.everyone()]

    def folder(self) -> Path:
        """Where files are written: beside the first answers."""
        sources = self.context.sources
        if len(sources.runs) > 1:
            return sources.runs[0].parent
        return sources.runs[0] if sources.runs else (*sources.predictions, *sources.annotated)[0].parent
