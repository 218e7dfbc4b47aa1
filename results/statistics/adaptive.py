"""An adaptive run's series: from settings and records to what is known of them, and what may be said."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from needlework.core.errors import InputError
from needlework.core.grid import Cell
from needlework.core.record import SCORED, Record
from needlework.core.settings import Settings
from needlework.haystack_fixtures.tasks.catalogue import Series, grid
from needlework.results.adaptive.survey import LengthStatement, Place, Rules, Stopped, Survey, statements_of
from needlework.results.statistics.length_scores import RELATIVE_TO, parse_relative_to

_RELATIVE = "relative"


@dataclass(frozen=True, slots=True)
class Surveyed:
    """A series with its survey, and the places of all of its trials so far."""

    series: Series
    survey: Survey
    places: tuple[Place, ...]

    def cell(self, place: Place) -> Cell:
        """The cell of a trial at a place."""
        first = self.series.cells[0]
        length, depth, repeat = place
        return Cell(first.task, length, depth, first.needle, repeat, first.model)

    @property
    def names(self) -> tuple[str, str, str]:
        """Model, task and needle."""
        return self.series.model, self.series.cells[0].task, self.series.cells[0].needle

    @property
    def tokens(self) -> int:
        """What its trials have taken: the lengths of their prompts with the answers' budgets."""
        return sum(length for length, _, _ in self.places)


def rules_of(settings: Settings) -> Rules:
    """How the run is adaptive. Raises `InputError` where its base cannot be used."""
    assert settings.adaptive is not None
    bars = tuple(None if bar == _RELATIVE else _share(bar) for bar in settings.adaptive_bar)
    base = parse_relative_to(settings.relative_to)
    if base is not None and len(base.lengths) > 1 and None in bars:
        raise InputError(
            RELATIVE_TO, settings.relative_to, "--adaptive measures its base at one length, or takes a score"
        )
    return Rules(
        settings.adaptive,
        bars,
        settings.seed,
        settings.max_errors,
        base=base.score if base else None,
        base_length=base.lengths[0] if base and base.lengths else None,
    )


def axes_of(series: Series) -> tuple[tuple[int, ...], tuple[float | None, ...]]:
    """The lengths, ascending, and the depths of a series."""
    return tuple(sorted({cell.length for cell in series.cells})), tuple(dict.fromkeys(c.depth for c in series.cells))


def surveyed(settings: Settings, series: Iterable[Series], records: Sequence[Record]) -> list[Surveyed]:
    """What these records say of each series."""
    rules = rules_of(settings)
    of_series: dict[tuple[str, str, str], dict[Place, float | None]] = {}
    for record in records:
        place = (record.length, record.depth, record.repeat)
        outcome = _outcome(record, settings.censored_is_wrong)
        of_series.setdefault((record.model, record.task, record.needle), {})[place] = outcome
    found = []
    for each in series:
        first = each.cells[0]
        outcomes = of_series.get((each.model, first.task, first.needle), {})
        found.append(Surveyed(each, Survey(rules, *axes_of(each), outcomes), tuple(outcomes)))
    return found


def adaptive_statements(
    settings: Settings, records: Sequence[Record], series: Iterable[Series] | None = None
) -> tuple[LengthStatement, ...]:
    """What an adaptive run says; nothing of a run that is none. `series`: those of the settings, if nothing is said."""
    if settings.adaptive is None:
        return ()
    try:
        known = grid(settings) if series is None else series
    except InputError:  # of tasks of the user's own, which only a session knows
        return ()
    found = surveyed(settings, known, records)
    stopped = _stopped(settings.adaptive_tokens, found)
    return tuple(
        statement
        for each in found
        if each.places
        for statement in statements_of(each.survey, each.places, each.names, stopped)
    )


def _stopped(budget: int | None, found: Sequence[Surveyed]) -> Stopped:
    """Why a run that has not come to its end has not."""
    wanted = [sum(length for length, _, _ in places) for each in found if (places := each.survey.ahead(1))]
    spent = sum(each.tokens for each in found)
    return "budget" if budget is not None and wanted and spent + min(wanted) > budget else "interrupted"


def _share(bar: str) -> float:
    return round(float(bar.removesuffix("%")) / 100, 9)


def _outcome(record: Record, censored_is_wrong: bool) -> float | None:
    if record.outcome == "censored" and censored_is_wrong:
        return 0.0
    return record.score if record.outcome in SCORED else None
