"""What an adaptive run may say of one series and one bar, and what it rests on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from needlework.results.adaptive.base import SHARE, Base, wilson
from needlework.results.adaptive.design import Decision
from needlework.results.adaptive.plan import Column, out_of_reach
from needlework.results.adaptive.survey import Found, Place, Survey

_Z95 = 1.959963984540054
_GRID_SAMPLES = 10  # of the full grid that a run is compared with


Stopped = Literal["", "budget", "interrupted"]


@dataclass(frozen=True, slots=True)
class LengthFound:
    """One length. `n`, `total`: the trials that its last look counted, and their sum of scores (0..1 each); `looks`:
    how many; `asked`, `tokens`: what was sent there, trials beyond the last look and those without a score included.

    `low`, `high`: the 95 % interval of the score as it stands. A length that was decided early was so by luck too: its
    score lies on the side of the decision, and its interval holds less often than 95 %. `near`: it seems to score
    so near to the bar that the trials which are left cannot decide it. `per_depth`: what was sent, by depth (percent).
    """

    length: int
    n: int
    total: float
    looks: int
    decision: Decision
    asked: int
    tokens: int
    low: float | None
    high: float | None
    near: bool
    per_depth: Mapping[float | None, int]


@dataclass(frozen=True, slots=True)
class TurnFound:
    """A length was asked from so many trials to so many."""

    length: int
    begun: int
    ended: int


@dataclass(frozen=True, slots=True)
class Statement:
    """The longest length up to which every length scores at least `bar` lies between `low` and `high`, tokens.

    Wrong in at most 5 % of runs, whatever the model. `low` is `None` where no length was shown to hold the bar, `high`
    where the shortest one fails; `or_more`: nothing failed, so that it may be longer than the grid is. `bar` is `None`
    while the base that it is a share of is not known, or scores nothing. `stopped`: why more would have been asked, and
    was not; empty for a walk that came to its end.
    `grid_tokens`: what ten samples at every length and depth would have been.
    """

    model: str
    task: str
    needle: str
    mode: str
    rule: Literal["absolute", "relative"]
    bar: float | None
    base: Base | None
    low: int | None
    high: int | None
    or_more: bool
    stopped: Stopped
    lengths: tuple[LengthFound, ...]
    turns: tuple[TurnFound, ...]
    trials: int
    tokens: int
    grid_tokens: int

    def as_object(self) -> dict[str, Any]:
        """For `results.json`."""
        told = asdict(self)
        for length in told["lengths"]:
            length["per_depth"] = [{"depth": depth, "n": n} for depth, n in length["per_depth"].items()]
        return told


def statements_of(
    survey: Survey, places: Sequence[Place], names: tuple[str, str, str], stopped: Stopped = "interrupted"
) -> list[Statement]:
    """What each bar of a series says. `places`: of every trial that was sent; `names`: model, task, needle; `stopped`:
    why, where it has not come to its end."""
    found = []
    for bar in survey.found:
        low, high, or_more = _ends(bar)
        turns = [] if bar.walk is None else [(bar.walk.design.lengths[turn.at], turn) for turn in bar.walk.turns]
        found.append(
            Statement(
                *names,
                mode=survey.rules.mode,
                rule="relative" if bar.bar is None else "absolute",
                bar=_bar(bar),
                base=bar.base,
                low=low,
                high=high,
                or_more=or_more,
                stopped="" if bar.ended else stopped,
                lengths=tuple(_length(length, bar, places) for length in survey.lengths),
                turns=tuple(TurnFound(length, turn.begun, turn.ended) for length, turn in turns),
                trials=len(places),
                tokens=sum(place[0] for place in places),
                grid_tokens=_GRID_SAMPLES * len(survey.depths) * sum(survey.lengths),
            )
        )
    return found


def _bar(found: Found) -> float | None:
    if found.bar is not None or found.walk is None or found.base is None:
        return found.bar
    return SHARE * found.base.score


def _ends(found: Found) -> tuple[int | None, int | None, bool]:
    """The bracket in tokens. The length of a base holds its own bar."""
    if found.walk is None:
        return None, None, False
    lengths = (found.base.length if found.base else 0, *found.walk.design.lengths)
    low, high = found.walk.bracket
    return lengths[low] or None, lengths[high] or None, high == len(lengths) - 1


def _by_depth(counted: tuple[float | None, int]) -> float:
    return -1.0 if counted[0] is None else counted[0]


def _near(found: Found) -> list[int]:
    if found.walk is None:
        return []
    near = zip(found.walk.design.lengths, out_of_reach(found.walk.design, found.walk.columns), strict=True)
    return [length for length, out in near if out]


def _length(length: int, found: Found, places: Sequence[Place]) -> LengthFound:
    here = [place for place in places if place[0] == length]
    columns = {} if found.walk is None else dict(zip(found.walk.design.lengths, found.walk.columns, strict=True))
    column = columns.get(length, Column())
    if found.base is not None and length == found.base.length:
        column = Column(found.base.n, found.base.score * found.base.n, 1)
    low, high = wilson(column.total / column.n, column.n, _Z95) if column.n else (None, None)
    return LengthFound(
        length=length,
        n=column.n,
        total=column.total,
        looks=column.looks,
        decision=column.decision,
        asked=len(here),
        tokens=length * len(here),
        low=low,
        high=high,
        near=length in _near(found),
        per_depth=dict(sorted(Counter(depth for _, depth, _ in here).items(), key=_by_depth)),
    )
