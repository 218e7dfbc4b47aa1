"""What is rated, and what annotators said of it: what all parts of the page work on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from starlette.exceptions import HTTPException
from starlette.requests import Request

from needlework.results.web.page import Context
from needlework.results.web.rating import marks
from needlework.results.web.rating.items import Answer, Item, Items
from needlework.results.web.rating.marks import Annotator
from needlework.results.web.rating.order import answer_order, item_order
from needlework.results.web.rating.tables import AnnotatorRow, Marks, annotator_row


@dataclass(frozen=True, slots=True)
class Rated:
    """What people rate. `left`: what is not rated, in words."""

    items: Items
    left: str


@dataclass(frozen=True, slots=True)
class Desk:
    """`seed`: what orders are drawn from. `read`: reads what is rated, once, when it is first asked for; it may raise
    `InputError`. What people said is never kept here.
    """

    context: Context
    seed: str
    read: Callable[[], Rated]
    _read: list[Rated] = field(default_factory=list)
    _turn: Lock = field(default_factory=Lock)
    _orders: dict[str, list[Item]] = field(default_factory=dict)

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
            found = next((each for each in marks.annotators(connection) if each.number == number), None)
        if found is None:
            raise HTTPException(404, "there is no such annotator")
        return found

    def order(self, annotator: Annotator) -> list[Item]:
        """The items as this annotator sees them."""
        if annotator.name not in self._orders:
            self._orders[annotator.name] = item_order(self.seed, annotator.name, self.items.items)
        return self._orders[annotator.name]

    def answers(self, annotator: Annotator, item: Item) -> list[tuple[Answer, ...]]:
        """An item's answers as this annotator sees them, equal ones together."""
        return answer_order(self.seed, annotator.name, item)

    def marks(self, annotator: Annotator) -> Marks:
        """What an annotator said."""
        with self.context.store.reading() as connection:
            return marks.marks_of(connection, annotator.number)

    def everyone(self) -> list[tuple[Annotator, Marks]]:
        """All annotators with what they said."""
        with self.context.store.reading() as connection:
            return [(each, marks.marks_of(connection, each.number)) for each in marks.annotators(connection)]

    def rows(self) -> list[AnnotatorRow]:
        """How far all annotators are."""
        return [annotator_row(self.items, annotator, said) for annotator, said in self.everyone()]

    def folder(self) -> Path:
        """Where files are written: beside the first answers."""
        sources = self.context.sources
        if len(sources.runs) > 1:
            return sources.runs[0].parent
        return sources.runs[0] if sources.runs else (*sources.predictions, *sources.annotated)[0].parent
