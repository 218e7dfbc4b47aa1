"""The statement of an adaptive run: between which lengths every length holds the bar."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any, Literal

from needlework.core.errors import InputError
from needlework.core.record import Record
from needlework.core.settings import Settings
from needlework.haystack_fixtures.tasks.catalogue import Series, grid
from needlework.results.adaptive.design import SHARE, BaseScore, Decision, wilson
from needlework.results.adaptive.survey import BarSearch, Survey, name_of, surveys_of
from needlework.results.adaptive.walk import LengthState, LengthTurn, bracket, out_of_reach
from needlework.results.statistics.wording import bar_words
from needlework.results.style import length_label

_GRID_SAMPLES = 10  # of the full grid that a run is compared with
Stopped = Literal["", "budget", "interrupted"]


@dataclass(frozen=True, slots=True)
class LengthResult:
    """The result at one length.

    A length that was decided early was so by luck too: its score lies on the side of the decision, and its interval
    holds less often than 95 %.
    """

    length: int
    n: int  # trials that its last look counted
    total: float  # their sum of scores, 0..1 each
    looks: int
    decision: Decision
    asked: int  # trials sent, those beyond the last look and without a score included
    tokens: int  # of the trials sent
    low: float | None  # both ends of the 95 % interval of the score as it stands
    high: float | None
    near: bool  # its score seems so near to the bar that the trials which are left cannot decide it
    per_depth: dict[float | None, int]  # trials sent, by depth (percent)


@dataclass(frozen=True, slots=True)
class LengthStatement:
    """The longest length up to which all lengths score at least `bar`: from `low` to `high` tokens.

    Wrong in at most 5 % of runs, whatever the model.
    """

    model: str
    task: str
    needle: str
    mode: str
    rule: Literal["absolute", "relative"]
    bar: float | None  # `None` while the base that it is a share of is unknown, and if that scores nothing
    base: BaseScore | None
    low: int | None  # `None`: no length was shown to hold the bar
    high: int | None  # `None`: the shortest length fails
    or_more: bool  # nothing failed: it may be longer than the grid is
    stopped: Stopped  # why the run ended early; empty for a search that came to its end
    lengths: tuple[LengthResult, ...]
    turns: tuple[LengthTurn, ...]
    trials: int
    tokens: int
    grid_tokens: int  # of ten samples at every length and depth

    @property
    def series(self) -> str:
        """`model · task · needle`."""
        return " · ".join((self.model, self.task, self.needle))

    @property
    def clause(self) -> str:
        """`holds RULER's 85.6 % up to a length between 32k and 64k tokens (95 % sure)`; empty if unknown."""
        if self.bar is None:
            return ""
        bar = bar_words(self.rule, self.bar)
        if self.high is None:
            return f"does not hold {bar} even at {length_label(self.lengths[0].length)} tokens (95 % sure)"
        high = f"{length_label(self.high)}{' or more' if self.or_more else ''} tokens"
        if self.low is None and self.or_more:
            scored = any(each.n for each in self.lengths)
            return f"is not decided: no length is shown to hold {bar}, none to fail it" if scored else ""
        if self.low is None:
            return f"holds {bar} up to at most {high} (95 % sure)"
        if self.low < self.high:
            return f"holds {bar} up to a length between {length_label(self.low)} and {high} (95 % sure)"
        every = "at every length, " if self.or_more else ""
        return f"holds {bar} {every}up to {length_label(self.low)} tokens (95 % sure)"

    def as_object(self) -> dict[str, Any]:
        """The object for `results.json`."""
        content = asdict(self)
        for length in content["lengths"]:
            length["per_depth"] = [{"depth": depth, "n": n} for depth, n in length["per_depth"].items()]
        return content


def adaptive_statements(
    settings: Settings, records: Sequence[Record], series: Iterable[Series] | None = None
) -> tuple[LengthStatement, ...]:
    """The statements of an adaptive run; none of other runs. `series`: those of the settings by default."""
    if settings.adaptive is None:
        return ()
    try:
        surveys = surveys_of(settings, grid(settings) if series is None else series, records)
    except InputError:  # of tasks of the user's own, which only a session knows
        return ()
    budget = settings.adaptive_tokens
    following = [sum(length for length, _, _ in trials) for survey in surveys if (trials := survey.next_trials(1))]
    spent = sum(survey.tokens for survey in surveys)
    out_of_budget = budget is not None and following and spent + min(following) > budget
    statements = (statements_of(each, "budget" if out_of_budget else "interrupted") for each in surveys)
    return tuple(chain.from_iterable(statements))


def statements_of(survey: Survey, stopped: Stopped = "interrupted") -> list[LengthStatement]:
    """The statement of each bar of a series with trials. `stopped`: why a search has not ended."""
    return [
        LengthStatement(
            *name_of(survey.series),
            survey.rules.mode,
            "relative" if search.bar is None else "absolute",
            search.bar if search.bar is not None or not search.walk or not search.base else SHARE * search.base.score,
            search.base,
            *_ends(search),
            stopped="" if search.ended else stopped,
            lengths=tuple(_length(length, search, survey) for length in survey.lengths),
            turns=search.walk.turns if search.walk is not None else (),
            trials=len(survey.outcomes),
            tokens=survey.tokens,
            grid_tokens=_GRID_SAMPLES * len(survey.depths) * sum(survey.lengths),
        )
        for search in (survey.searches if survey.outcomes else ())
    ]


def _ends(search: BarSearch) -> tuple[int | None, int | None, bool]:
    """The bracket in tokens. The length of a base holds its own bar."""
    if search.walk is None:
        return None, None, False
    lengths = (search.base.length if search.base else 0, *search.walk.design.lengths)
    low, high = bracket(search.walk.columns)
    return lengths[low] or None, lengths[high] or None, high == len(lengths) - 1


def _length(length: int, search: BarSearch, survey: Survey) -> LengthResult:
    depths = Counter(depth for at, depth, _ in survey.outcomes if at == length)
    column, near = LengthState(), False
    if search.base is not None and length == search.base.length:
        column = LengthState(search.base.n, search.base.score * search.base.n, 1)
    elif search.walk is not None and length in search.walk.design.lengths:
        index = search.walk.design.lengths.index(length)
        column = search.walk.columns[index]
        near = out_of_reach(search.walk.design, search.walk.columns)[index]
    low, high = wilson(column.total / column.n, column.n) if column.n else (None, None)
    return LengthResult(
        length,
        column.n,
        column.total,
        column.looks,
        column.decision,
        asked=depths.total(),
        tokens=length * depths.total(),
        low=low,
        high=high,
        near=near,
        per_depth=dict(sorted(depths.items(), key=lambda item: -1.0 if item[0] is None else item[0])),
    )
