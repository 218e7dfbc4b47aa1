"""Which of a run's trials are shown, and in what order: as an address says it, and as it is said in an address."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any
from urllib.parse import urlencode

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.settings.option_values import percent
from needlework.results.statistics.panels import OUTCOMES, depth_order
from needlework.results.style.text import natural
from needlework.results.web.browsing.rows import Row

_ALWAYS = ("flag", "outcome")  # to choose from even where all trials are alike
SAME = ("model", "task", "needle", "language", "length", "depth", "context")


@dataclass(frozen=True, slots=True)
class Filter:
    """What to show; empty fields ask for nothing.

    `low`, `high`: score in percent, both included. `q`: words that must all stand in the question, the answer, what
    was expected, why, or the id. `sort`: a column of `SORTS`, downwards with a `-` before it. `beside`: number of
    another run. `differ`: trials alone whose outcome or score is another one there. `page`: from 1.
    """

    model: str = ""
    task: str = ""
    needle: str = ""
    language: str = ""
    length: str = ""
    depth: str = ""
    context: str = ""
    flag: str = ""
    low: float | None = None
    high: float | None = None
    q: str = ""
    outcome: tuple[str, ...] = ()
    sort: str = ""
    beside: int | None = None
    differ: bool = False
    page: int = 1

    def but(self, **changes: Any) -> Filter:
        """The same, with other values; from the first page on."""
        return replace(self, **{"page": 1, **changes})

    def address(self, **changes: Any) -> str:
        """What stands after the `?`: what is asked for and no more, so that equal filters have equal addresses."""
        wanted = self.but(**changes) if changes else self
        pairs: list[tuple[str, str]] = []
        for each in fields(wanted):
            value = getattr(wanted, each.name)
            if value == each.default:
                continue
            values = value if isinstance(value, tuple) else (value,)
            pairs += [(each.name, f"{part:g}" if isinstance(part, float) else _text(part)) for part in values]
        return urlencode(pairs, errors="surrogatepass")


def filter_of(pairs: Iterable[tuple[str, str]]) -> Filter:
    """The filter that an address's pairs ask for; names that are none are passed over. Raises `InputError`."""
    given: dict[str, Any] = {}
    for name, value in pairs:
        if name not in Filter.__dataclass_fields__ or not value:
            continue
        if name == "outcome":
            given[name] = (*given.get(name, ()), value)
        else:
            given[name] = _READERS.get(name, _as_it_is)(name, value)
    wanted = Filter(**given)
    if wanted.sort and wanted.sort.removeprefix("-") not in SORTS:
        raise InputError("sort", wanted.sort, f"is no column; sort by {', '.join(SORTS)}")
    known = tuple(name for name in OUTCOMES if name in wanted.outcome)
    return replace(wanted, outcome=known, sort="" if wanted.sort == "run" else wanted.sort)


def in_question(rows: Iterable[Row], wanted: Filter) -> list[Row]:
    """The rows of what the filter is about: whatever their length, depth, score and outcome."""
    same = [(name, getattr(wanted, name)) for name in SAME if name not in ("length", "depth") and getattr(wanted, name)]
    words = wanted.q.casefold().split()
    return [
        row
        for row in rows
        if all(row.same[name] == value for name, value in same)
        and (not wanted.flag or wanted.flag in row.flags)
        and all(word in row.text for word in words)
    ]


def with_any_outcome(
    rows: Iterable[Row], wanted: Filter, beside: Callable[[Row], Row | None] | None = None
) -> list[Row]:
    """Of rows `in_question`, those of the wanted length, depth and score. `beside`: finds a row of the other run."""
    return [
        row
        for row in rows
        if wanted.length in ("", row.same["length"])
        and wanted.depth in ("", row.same["depth"])
        and _within(row.score, wanted)
        and not (wanted.differ and beside is not None and _alike(row, beside(row)))
    ]


def shown(rows: Iterable[Row], wanted: Filter) -> list[Row]:
    """Of rows `with_any_outcome`, those of the wanted outcomes, sorted; rows without a value come last."""
    found = [row for row in rows if not wanted.outcome or row.outcome in wanted.outcome]
    if not wanted.sort:
        return found
    value = SORTS[wanted.sort.lstrip("-")]
    known = [row for row in found if value(row) is not None]
    known.sort(key=value, reverse=wanted.sort.startswith("-"))
    return known + [row for row in found if value(row) is None]


def counted(rows: Sequence[Row]) -> dict[str, int]:
    """How many rows have each outcome, zeros included."""
    counts: dict[str, int] = dict.fromkeys(OUTCOMES, 0)
    for row in rows:
        counts[row.outcome] += 1
    return counts


def choices(rows: Iterable[Row]) -> dict[str, tuple[str, ...]]:
    """What there is to choose from, by field: fields of which all rows have the same value are left out."""
    found: dict[str, set[str]] = {name: set() for name in (*SAME, *_ALWAYS)}
    for row in rows:
        for name in SAME:
            found[name].add(row.same[name])
        found["flag"] |= row.flags
        found["outcome"].add(row.outcome)
    ordered = {name: tuple(sorted(values - {""}, key=natural)) for name, values in found.items()}
    return {name: values for name, values in ordered.items() if len(values) > (name not in _ALWAYS)}


def _alike(row: Row, other: Row | None) -> bool:
    return other is not None and (row.outcome, row.score) == (other.outcome, other.score)


def _within(score: float | None, wanted: Filter) -> bool:
    if wanted.low is None and wanted.high is None:
        return True
    low, high = (wanted.low or 0.0), (100.0 if wanted.high is None else wanted.high)
    return score is not None and low <= round(100 * score, 6) <= high


def _as_it_is(_name: str, value: str) -> str:
    return value


def _number(name: str, value: str) -> int:
    if not (value.isascii() and value.isdigit() and len(value) < 10):
        raise InputError(name, value, "is no number")
    return int(value)


def _text(value: object) -> str:
    return "on" if value is True else str(value)


_READERS: Mapping[str, Callable[[str, str], Any]] = {
    "low": percent,
    "high": percent,
    "beside": _number,
    "page": lambda name, value: max(1, _number(name, value)),
    "differ": lambda _name, value: value == "on",
}
# Columns of the list, and what they are sorted by.
SORTS: Mapping[str, Callable[[Row], Any]] = {
    "trial": lambda row: (row.same["task"], natural(row.same["needle"]), row.record["repeat"]),
    "length": lambda row: row.record["length"],
    "depth": lambda row: depth_order(row.record["depth"]),
    "outcome": lambda row: OUTCOMES.index(row.outcome),
    "score": lambda row: row.score,
}
