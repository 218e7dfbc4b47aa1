"""The gates of a run: verdicts, further trials (`--top-up`), plans (`--power`)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from math import ceil
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from msgspec import Struct

from needlework.core.errors import InputError
from needlework.core.grid import Cell, parse_id
from needlework.core.record import Record, label_parts
from needlework.core.settings import Settings
from needlework.haystack_fixtures.tasks.catalogue import Series, sample_depths
from needlework.results.gates.decide import judge_gate, judge_group
from needlework.results.gates.gate import BASELINE, GATE, Gate, Verdict, groups_of, load_baseline
from needlework.results.records.manifest import start_of
from needlework.results.records.samples import grouped, windows_of
from needlework.results.report.comparison import differing_lines
from needlework.results.statistics.comparison.provenance import check_dtypes, differing_parts
from needlework.results.statistics.intervals import BASE, detectable_drop, samples_needed, samples_to_show
from needlework.results.style import counted


def check_gates(settings: Settings, gates: Sequence[Gate]) -> None:
    """Refuse options of gates that need one another. Raises `InputError`."""
    drops = [gate.text for gate in gates if gate.paired]
    if drops and settings.baseline is None:
        raise InputError(GATE, drops[0], "needs a run to compare with: give --baseline RUN")
    if settings.baseline is not None and not drops:
        raise InputError(BASELINE, settings.baseline, 'is compared by a gate alone: give one such as "not worse"')
    if settings.top_up and not gates:
        raise InputError("--top-up", settings.top_up, "asks further trials until gates are decided: give a --gate")


class _Look(Struct, frozen=True):
    """The last look at a group: its result, its number from 1 on, and the trials there were."""

    verdict: Verdict
    number: int
    trials: int


class Gatekeeper:
    """Judges a run's records, once or, with `--top-up`, after every round of further trials.

    The records are those of the cells that the command selects: a folder may hold others, of earlier commands, and
    further trials that this session has not come to yet. Without these a run that was killed, or goes on, decides as it
    would have done in a folder of its own. A group that is decided stays so.
    """

    def __init__(
        self,
        settings: Settings,
        grid: Sequence[Series],
        gates: Sequence[Gate],
        folder: Path,
        merged: Sequence[Record] = (),
        facts: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        """`merged`: the records of a run that has no `grid`, and `facts` its manifest. Raises `InputError`."""
        self._settings = settings
        self._gates = gates
        self._checked: set[str] = set()  # models
        self._looks: dict[tuple[int, str], _Look] = {}  # by the gate's index and the group
        self._added: set[Cell] = set()  # further trials
        self._repeats: dict[Cell, int] = {}  # of every cell, at repeat 0, in the run's order
        self._spread: dict[Cell, Series] = {}  # of --depths spread, by cell without depth and repeat
        trials = [(record.model, cell_of_record(record)) for record in merged]
        for series in grid:
            for cell in series.cells:
                first = replace(cell, repeat=0)
                if series.suite.spread and cell.depth is not None:
                    self._spread[replace(first, depth=None)] = series
                # Under --depths spread a cell has a few of the repeats; further ones begin after all.
                last = series.suite.repeats if series.suite.spread else cell.repeat + 1
                self._repeats[first] = max(self._repeats.get(first, 0), last)
            trials += [(series.model, cell) for cell in series.cells]
        self._order = {cell: number for number, cell in enumerate(self._repeats)}
        self._baseline = None
        if settings.baseline is not None:
            path = Path(settings.baseline).expanduser()
            if not path.exists():  # relative to the folder in which merged shards ran
                path = (start_of(facts) or Path()) / path
            if folder.resolve() in (path.resolve(), path.resolve().parent):
                raise InputError(BASELINE, path, "is the folder of this very run; write into another one")
            self._baseline = load_baseline(path, trials, settings.seed)

    def check(self, record: Record, facts: Mapping[str, Any]) -> None:
        """Refuse a baseline that has another prompt than this one, or this model in another number format.

        `facts`: the manifest of this run, as far as it is known. Raises `InputError`.
        """
        if self._baseline is None:
            return
        self._baseline.check(record)
        if record.model not in self._checked and record.model in facts.get("models", {}):
            self._checked.add(record.model)
            if not self._settings.allow_different_dtypes:
                check_dtypes(BASELINE, self._baseline.path, self._baseline.manifest, facts)

    def differences(self, manifest: Mapping[str, Any]) -> list[str]:
        """Lines on differences from the baseline besides scores: model, weights, server, prompts, versions."""
        if self._baseline is None:
            return []
        written = json.loads(json.dumps(manifest, default=str))  # a baseline has lists for tuples
        parts = differing_parts(self._baseline.manifest or None, written or None)
        return differing_lines(parts, "the baseline and this run", "told by needlework compare") if parts else []

    def verdicts(self, records: Sequence[Record], interrupted: str, facts: Mapping[str, Any]) -> list[Verdict]:
        """The verdicts of every gate: of all looks so far, or of one now. `facts`: the manifest.

        A run that was `interrupted`, in words, decides nothing: what it did not come to may be what would have failed.
        """
        if interrupted:
            return [Verdict(gate.text, "all", "inconclusive", note=f"void: {interrupted}") for gate in self._gates]
        if self._looks:
            return [look.verdict for _, look in sorted(self._looks.items(), key=lambda item: item[0][0])]
        windows = windows_of(facts)
        return [
            verdict for gate in self._gates for verdict in judge_gate(gate, records, self._baseline, windows=windows)
        ]

    @property
    def spent(self) -> int:
        """The number of further trials so far."""
        return len(self._added)

    def next_cells(self, records: Sequence[Record], facts: Mapping[str, Any]) -> list[Cell]:
        """Look at the gates; return the further cells that would decide them. `facts`: the manifest."""
        if not self._settings.top_up:
            return []
        windows = windows_of(facts)
        wants = [want for number, gate in enumerate(self._gates) for want in self._look(number, gate, records, windows)]
        cells = next_round(wants, self._added, self._order, self._settings.top_up - self.spent)
        self._added.update(cells)
        return cells

    def _look(self, at: int, gate: Gate, records: Sequence[Record], windows: Mapping[str, int]) -> Iterator[Want]:
        groups = groups_of(gate, records, self._baseline)
        for group, members in groups.items():
            look = self._looks.get((at, group))
            if look is None or (look.verdict.state == "inconclusive" and look.trials < len(members)):
                number = look.number + 1 if look else 1
                verdict = judge_group(gate, group, members, self._baseline, number, windows, groups=len(groups))
                look = self._looks[at, group] = _Look(verdict, number, len(members))
            if look.verdict.state == "inconclusive":
                # At the limit no number decides; half as many again keeps the looks few.
                trials = min(self._settings.top_up - self.spent, look.verdict.more_trials or len(members) // 2 + 1)
                yield self._want(gate, members, trials)
        if not any(known == at for known, _ in self._looks):
            (verdict,) = judge_gate(gate, records)  # no cell in scope
            self._looks[at, verdict.group] = _Look(verdict, 1, 0)

    def _want(self, gate: Gate, members: Sequence[Record], trials: int) -> Want:
        baseline = self._baseline if gate.paired else None
        paired = [record for record in members if baseline is None or baseline.twin_of(record)]
        cells = {replace(cell_of_record(record), repeat=0) for record in paired} & self._repeats.keys()
        following = [replace(cell, repeat=self._repeats[cell]) for cell in cells]
        return Want(following, trials, self._is_sampled, baseline.repeats if baseline else None)

    def _is_sampled(self, cell: Cell) -> bool:
        """Whether more repeats would have this cell: under `--depths spread` a sample has one depth."""
        series = self._spread.get(replace(cell, repeat=0, depth=None))
        if series is None:
            return True
        depths, seed = series.task.depths(series.suite), self._settings.seed
        return cell.depth in sample_depths(series.task, depths, seed, series.number, cell.length, cell.repeat)


def cell_of_record(record: Record) -> Cell:
    """The cell of a record; its id has the depth in three decimals only."""
    cell = parse_id(record.id)
    model = cell.model if cell is not None else ""
    return Cell(record.task, record.length, record.depth, record.needle, record.repeat, model)


class Want(Struct, frozen=True):
    """An undecided group: its cells, at the first repeat beyond the run's, and its missing trials."""

    cells: Collection[Cell]
    trials: int
    is_allowed: Callable[[Cell], bool] = lambda _cell: True  # a baseline has to have the trial too
    repeats: int | None = None  # one more than the highest repeat that is allowed


def next_round(wants: Sequence[Want], added: AbstractSet[Cell], order: Mapping[Cell, int], budget: int) -> list[Cell]:
    """The cells of the next round, at most `budget`, none of them in `added`.

    Every group gets as many whole repeats of its cells as hold the trials that it needs. One repeat of all groups comes
    before the next: where the budget ends, each has had its share. `order`: of cells at repeat 0 in the run.
    """
    cells = {cell for want in wants for cell in _whole_repeats(want, added)}
    return sorted(cells, key=lambda cell: (cell.repeat, order[replace(cell, repeat=0)]))[:budget]


def _whole_repeats(want: Want, added: AbstractSet[Cell]) -> list[Cell]:
    chosen: list[Cell] = []
    cells = list(want.cells)
    while cells and len(chosen) < want.trials:
        if want.repeats is not None:
            cells = [cell for cell in cells if cell.repeat < want.repeats]
        chosen += [cell for cell in cells if cell not in added and want.is_allowed(cell)]
        cells = [replace(cell, repeat=cell.repeat + 1) for cell in cells]
    return chosen


POWER = "--power"
_GOAL = re.compile(
    r"(?P<what>drop|score)\s*=\s*(?P<size>\d*\.?\d+)\s*(?P<percent>%?)(?:\s*,\s*base\s*=\s*(?P<base>\d*\.?\d+))?"
)
_MARGINS = (1.0, 0.75, 0.5)  # assumed scores of the model, as shares of the way from the limit to 100 %


class Goal(Struct, frozen=True):
    """A drop of `size` (0..1) from a score of `base`, or a score of at least `size`."""

    what: Literal["drop", "score"]
    size: float
    base: float = BASE


def parse_power(text: str) -> Goal:
    """Parse `drop=0.05`, `drop=5%, base=0.98` or `score=0.9`. Raises `InputError`."""
    match = _GOAL.fullmatch(text.strip())
    if match is None or (match["base"] and match["what"] == "score"):
        raise InputError(POWER, text, "write drop=0.05, drop=0.05,base=0.98 or score=0.9")
    size, is_drop = float(match["size"]) / (100 if match["percent"] else 1), match["what"] == "drop"
    base = float(match["base"]) if match["base"] else BASE
    if not 0 < base <= 1 or not (0 < size <= base if is_drop else 0 < size < 1):
        remedy = f"a drop is above 0 and at most the base, {base:g}" if is_drop else "a score is 0..1"
        raise InputError(POWER, text, f"{remedy}; 5 points are 0.05 or 5%")
    return Goal("drop" if is_drop else "score", size, base)


def power_lines(goal: Goal, cells: Sequence[Cell], needle_a_cell: Collection[str] = ()) -> Iterator[str]:
    """Lines for a plan of these cells: over all, for the smallest length, for the smallest cell.

    `needle_a_cell`: tasks whose every cell has a needle of its own.
    """
    grains: dict[str, Callable[[Cell], Hashable]] = {
        "in all": lambda _cell: 0,
        "per length": lambda cell: cell.length,
        "per cell": lambda cell: (cell.task, cell.needle, cell.model, cell.length, cell.depth),
    }
    samples: dict[str, tuple[int, int]] = {}  # of the smallest group of each grain: in all, in one repeat
    for name, grain in grains.items():
        groups = []
        for members in grouped(cells, grain).values():
            least = min(cell.repeat for cell in members)
            once = {_sample(cell, needle_a_cell) for cell in members if cell.repeat == least}
            groups.append((len({_sample(cell, needle_a_cell) for cell in members}), len(once)))
        samples[name] = min(groups)
    yield ""
    yield from _drop_lines(goal, samples) if goal.what == "drop" else _score_lines(goal, samples)
    if len({(_sample(cell, needle_a_cell), cell.length) for cell in cells}) < len(cells):
        yield "  samples count, not trials: more --repeats are more needles, more depths of a needle are not;"
        yield "  --depths spread asks each at one depth, for as many requests as samples"


def _sample(cell: Cell, needle_a_cell: Collection[str]) -> tuple[object, ...]:
    if cell.task in needle_a_cell:
        return (cell,)
    parts = label_parts(cell.task, cell.needle)
    return cell.model, cell.task, parts.panel, cell.repeat if parts.sample is None else parts.sample


def _drop_lines(goal: Goal, samples: Mapping[str, tuple[int, int]]) -> Iterator[str]:
    needed = samples_needed(goal.size, base=goal.base)
    yield f"power: a drop of {_points(goal.size)} from {goal.base:.4g}, found in 80 of 100 comparisons with a baseline"
    yield f"  (p below 5 %), takes {needed:,} samples at one depth each"
    for name, (planned, once) in samples.items():
        drop = detectable_drop(planned, base=goal.base)
        shown = f"find a drop of {_points(drop)}" if drop is not None else "find no drop"
        plan = f"{counted(planned, 'sample')} planned {shown}"
        yield f"  {name + ':':12}{plan}; --repeats {ceil(needed / once):,} finds this one"


def _score_lines(goal: Goal, samples: Mapping[str, tuple[int, int]]) -> Iterator[str]:
    yield f"power: score >= {goal.size:.4g} passes in 80 of 100 runs of a model with the true score"
    for margin in _MARGINS:
        true = goal.size + (1 - goal.size) * margin
        needed = samples_to_show(goal.size, true)
        if needed is None:
            yield f"  {true:.4g}: not with ten million samples"
            continue
        repeats = ", ".join(f"{ceil(needed / once):,} {name}" for name, (_, once) in samples.items())
        yield f"  {true:<6.4g} with {needed:,} samples at one depth each; --repeats: {repeats}"


def _points(share: float) -> str:
    return f"{100 * share:.3g} points"
