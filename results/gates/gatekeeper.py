"""The gates of a run, the samples that they need, further ones while they are undecided."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from needlework.core.errors import InputError
from needlework.core.grid import Cell, parse_id
from needlework.core.labels import label_parts
from needlework.core.record import Record
from needlework.core.settings import Settings
from needlework.haystack_fixtures.tasks.catalogue import Series, sample_depths
from needlework.results.gates.decide import gate_groups, judge_gate, judge_group
from needlework.results.gates.gate import OPTION as GATE_OPTION
from needlework.results.gates.gate import Baseline, Gate, Verdict, load_baseline
from needlework.results.records.samples import grouped
from needlework.results.statistics.comparison.provenance import check_dtypes, differing_parts
from needlework.results.statistics.intervals import BASE, detectable_drop, samples_needed, samples_to_show
from needlework.results.tables.comparison import differing_lines


@dataclass(frozen=True, slots=True)
class _LastLook:
    """The last look at a group: what it found, the how many-th it was, and the trials there were."""

    verdict: Verdict
    number: int
    trials: int


class Gatekeeper:
    """Judges a run's records, once or, with `--top-up`, after every round of further trials.

    The records are those of the cells that the command selects: a folder may hold others, of earlier commands, and
    further trials that this session has not come to yet. Without these a run that was killed, or goes on, decides as it
    would have done in a folder of its own. A group that is decided stays so.
    """

    def __init__(self, settings: Settings, grid: Sequence[Series], gates: Sequence[Gate], folder: Path) -> None:
        self._gates = gates
        self._seed = settings.seed
        self._top_up = settings.top_up
        self._allow_dtypes = settings.allow_different_dtypes
        self._checked: set[str] = set()
        self._looks: dict[tuple[int, str], _LastLook] = {}
        self._asked: set[Cell] = set()
        self._models: dict[Cell, str] = {}  # of every cell, at repeat 0, in the run's order
        self._repeats: dict[Cell, int] = {}
        self._spread: dict[Cell, Series] = {}  # of --depths spread, by cell without depth and repeat
        for series in grid:
            if series.suite.spread:
                places = {replace(cell, repeat=0, depth=None) for cell in series.cells if cell.depth is not None}
                self._spread |= dict.fromkeys(places, series)
            for cell in series.cells:
                at = replace(cell, repeat=0)
                self._models[at] = series.model
                # Under --depths spread a cell has a few of the repeats; further ones begin after all.
                last = series.suite.repeats if series.suite.spread else cell.repeat + 1
                self._repeats[at] = max(self._repeats.get(at, 0), last)
        self._order = {cell: place for place, cell in enumerate(self._models)}
        self._baseline = self._load(settings, folder)

    def _load(self, settings: Settings, folder: Path) -> Baseline | None:
        if settings.baseline is None:
            return None
        path = Path(settings.baseline).expanduser()
        if folder.resolve() in (path.resolve(), path.resolve().parent):
            raise InputError(GATE_OPTION, path, "is the folder of this very run; give this one another --run-name")
        trials = [
            (model, replace(cell, repeat=repeat))
            for cell, model in self._models.items()
            for repeat in range(self._repeats[cell])
        ]
        return load_baseline(path, trials, settings.seed)

    def check(self, record: Record, facts: Mapping[str, Any]) -> None:
        """Refuse a baseline that was asked another prompt than this one, or whose model is this one's in another kind
        of numbers. `facts`: what a manifest says of this run, as far as it is known. Raises `InputError`."""
        if self._baseline is None:
            return
        self._baseline.check(record)
        model = record.model
        if not self._allow_dtypes and model not in self._checked and model in facts.get("models", {}):
            self._checked.add(model)
            check_dtypes(GATE_OPTION, self._baseline.path, self._baseline.manifest, facts)

    def differences(self, manifest: Path) -> list[str]:
        """Lines on what differs from the baseline besides the scores: model, weights, server, prompts, versions."""
        from needlework.results.files.read_run import manifest_at

        baseline = self._baseline
        parts = differing_parts(baseline.manifest or None, manifest_at(manifest) or None) if baseline else []
        return differing_lines(parts, "the baseline and this run", "told by needlework compare") if parts else []

    def verdicts(
        self, records: Sequence[Record], interrupted: str = "", windows: Mapping[str, int] = MappingProxyType({})
    ) -> list[Verdict]:
        """Every gate's verdicts: those of the looks there were, or of one now. `windows`: model -> tokens.

        A run that was `interrupted`, in words, decides nothing: what it did not come to may be what would have failed.
        """
        if interrupted:
            return [Verdict(gate.text, "all", "inconclusive", note=f"void: {interrupted}") for gate in self._gates]
        if self._looks:
            return [look.verdict for _, look in sorted(self._looks.items(), key=lambda item: item[0][0])]
        return [
            verdict for gate in self._gates for verdict in judge_gate(gate, records, self._baseline, windows=windows)
        ]

    @property
    def spent(self) -> int:
        """Further trials asked so far."""
        return len(self._asked)

    def further(self, records: Sequence[Record], windows: Mapping[str, int] = MappingProxyType({})) -> list[Cell]:
        """Look at the gates; return the cells to ask beyond the run's repeats, none when there is nothing to gain.

        `windows`: model -> tokens.
        """
        if not self._top_up:
            return []
        wants = [want for at, gate in enumerate(self._gates) for want in self._look(at, gate, records, windows)]
        cells = next_round(wants, self._asked, self._order, self._top_up - self.spent)
        self._asked.update(cells)
        return cells

    def _look(self, at: int, gate: Gate, records: Sequence[Record], windows: Mapping[str, int]) -> list[Want]:
        wants = []
        groups = gate_groups(gate, records, self._baseline)
        for group, found in groups.items():
            look = self._looks.get((at, group))
            if look is None or (look.verdict.state == "inconclusive" and look.trials < len(found)):
                number = look.number + 1 if look else 1
                verdict = judge_group(gate, group, found, self._baseline, number, windows, groups=len(groups))
                look = _LastLook(verdict, number, len(found))
                self._looks[at, group] = look
            if look.verdict.state == "inconclusive":
                cells = {cell_of_record(record) for record in found}
                # At the limit no number decides; half as many again keeps the looks few.
                wants.append(self._want(gate, cells, look.verdict.more_trials or len(found) // 2 + 1))
        if not any(known == at for known, _ in self._looks):
            (verdict,) = judge_gate(gate, records)  # no cell in scope
            self._looks[at, verdict.group] = _LastLook(verdict, 1, 0)
        return wants

    def _want(self, gate: Gate, cells: set[Cell], trials: int) -> Want:
        places = {replace(cell, repeat=0) for cell in cells} & self._repeats.keys()
        next_ones = [replace(cell, repeat=self._repeats[cell]) for cell in places]
        trials, baseline = min(self._top_up - self.spent, trials), self._baseline
        if not gate.paired or baseline is None:
            return Want(next_ones, trials, self._asks)

        def may(cell: Cell) -> bool:
            return self._asks(cell) and baseline.has(self._models[replace(cell, repeat=0)], cell, self._seed)

        return Want(next_ones, trials, may, baseline.repeats)

    def _asks(self, cell: Cell) -> bool:
        """Whether a run with more repeats would have this cell: under `--depths spread` a sample has one depth."""
        series = self._spread.get(replace(cell, repeat=0, depth=None))
        if series is None:
            return True
        depths = series.task.depths(series.suite)
        return cell.depth in sample_depths(series.task, depths, self._seed, series.number, cell.length, cell.repeat)


def check_gates(settings: Settings, gates: Sequence[Gate]) -> None:
    """Refuse options that need one another and are given alone. Raises `InputError`."""
    drops = [gate.text for gate in gates if gate.paired]
    if drops and settings.baseline is None:
        raise InputError("--gate", drops[0], "needs a run to compare with: give --baseline RUN")
    if settings.baseline is not None and not drops:
        raise InputError(GATE_OPTION, settings.baseline, 'is compared by a gate alone: give one such as "not worse"')
    if settings.top_up and not gates:
        raise InputError("--top-up", settings.top_up, "asks further trials until gates are decided: give a --gate")


def cell_of_record(record: Record) -> Cell:
    """The cell of a record; its id has the depth in three decimals only."""
    cell = parse_id(record.id)
    depth, model = record.depth, cell.model if cell is not None else ""
    return Cell(record.task, record.length, depth, record.needle, record.repeat, model)


OPTION = "--power"
_GOAL = re.compile(
    r"(?P<what>drop|score)\s*=\s*(?P<size>\d*\.?\d+)\s*(?P<percent>%?)(?:\s*,\s*base\s*=\s*(?P<base>\d*\.?\d+))?"
)
# Where between the limit and 100 % the model is taken to be.
_MARGINS = (1.0, 0.75, 0.5)


@dataclass(frozen=True, slots=True)
class Goal:
    """A drop of `size` (0..1) from a score of `base`, or a score of at least `size`."""

    what: Literal["drop", "score"]
    size: float
    base: float = BASE


def parse_power(text: str) -> Goal:
    """Read `drop=0.05`, `drop=5%, base=0.98` or `score=0.9`. Raises `InputError`."""
    match = _GOAL.fullmatch(text.strip())
    if match is None or (match["base"] and match["what"] == "score"):
        raise InputError(OPTION, text, "write drop=0.05, drop=0.05,base=0.98 or score=0.9")
    size = float(match["size"]) / (100 if match["percent"] else 1)
    base = float(match["base"]) if match["base"] else BASE
    most = base if match["what"] == "drop" else 1
    if not 0 < base <= 1 or not 0 < size <= most or (size == 1 and match["what"] == "score"):
        remedy = f"a drop is above 0 and at most the base, {base:g}" if match["what"] == "drop" else "a score is 0..1"
        raise InputError(OPTION, text, f"{remedy}; 5 points are 0.05 or 5%")
    return Goal("drop" if match["what"] == "drop" else "score", size, base)


def check_power(settings: Settings) -> None:
    """Refuse `--power` without `--plan`, or with what is no goal. Raises `InputError`."""
    if settings.power is not None:
        parse_power(settings.power)
        if not settings.plan:
            raise InputError(OPTION, settings.power, "is told before a run: give --plan too")


@dataclass(frozen=True, slots=True)
class _GrainGroup:
    """The smallest group of one grain: its samples, those of one repeat, whether one is asked at several depths."""

    samples: int
    once: int
    several: bool


def power_lines(goal: Goal, cells: Sequence[Cell], own: Collection[str] = ()) -> Iterator[str]:
    """Lines for a plan of these cells: over all of them, for each length, and for each cell.

    `own`: tasks whose every cell has a needle of its own.
    """
    yield ""
    groups = _groups(cells, own)
    if goal.what == "drop":
        yield from _drop_lines(goal, groups)
    else:
        yield from _score_lines(goal, groups)
    if any(group.several for group in groups.values()):
        yield "  samples count, not trials: more --repeats are more needles, more depths of a needle are not;"
        yield "  --depths spread asks each at one depth, for as many requests as samples"


def _groups(cells: Sequence[Cell], own: Collection[str]) -> Mapping[str, _GrainGroup]:
    found = {}
    for name, key in (
        ("in all", lambda _cell: 0),
        ("per length", lambda cell: cell.length),
        ("per cell", lambda cell: (cell.task, cell.needle, cell.model, cell.length, cell.depth)),
    ):
        groups = [_group(each, own) for each in grouped(cells, key).values()]
        found[name] = min(groups, key=lambda group: group.samples)
    return found


def _group(cells: Sequence[Cell], own: Collection[str]) -> _GrainGroup:
    least = min(cell.repeat for cell in cells)
    samples = {_sample(cell, own) for cell in cells}
    first = {_sample(cell, own) for cell in cells if cell.repeat == least}
    places = {(_sample(cell, own), cell.length) for cell in cells}
    return _GrainGroup(len(samples), len(first), len(places) < len(cells))


def _sample(cell: Cell, own: Collection[str]) -> tuple[object, ...]:
    if cell.task in own:
        return (cell,)
    parts = label_parts(cell.task, cell.needle)
    return cell.model, cell.task, parts.panel, cell.repeat if parts.sample is None else parts.sample


def _drop_lines(goal: Goal, groups: Mapping[str, _GrainGroup]) -> Iterator[str]:
    needed = samples_needed(goal.size, base=goal.base)
    yield f"power: a drop of {_points(goal.size)} from {goal.base:.4g}, found in 80 of 100 comparisons with a baseline"
    yield f"  (p below 5 %), takes {needed:,} samples at one depth each"
    for name, group in groups.items():
        found = detectable_drop(group.samples, base=goal.base)
        shown = f"find a drop of {_points(found)}" if found is not None else "find no drop"
        samples = f"{group.samples:,} sample{'s' * (group.samples > 1)} planned"
        yield f"  {name + ':':12}{samples} {shown}; --repeats {ceil(needed / group.once):,} finds this one"


def _score_lines(goal: Goal, groups: Mapping[str, _GrainGroup]) -> Iterator[str]:
    yield f"power: score >= {goal.size:.4g} passes in 80 of 100 runs of a model with the true score"
    for margin in _MARGINS:
        true = goal.size + (1 - goal.size) * margin
        needed = samples_to_show(goal.size, true)
        if needed is None:
            yield f"  {true:.4g}: not with ten million samples"
            continue
        repeats = ", ".join(f"{ceil(needed / group.once):,} {name}" for name, group in groups.items())
        yield f"  {true:<6.4g} with {needed:,} samples at one depth each; --repeats: {repeats}"


def _points(share: float) -> str:
    return f"{100 * share:.3g} points"


@dataclass(frozen=True, slots=True)
class Want:
    """An undecided group: its cells, each at its first repeat beyond the run's, and the further trials that it needs.

    `may`: whether a cell may be asked (a baseline has to have the trial too); `repeats`: one more than the highest
    repeat that may.
    """

    cells: Collection[Cell]
    trials: int
    may: Callable[[Cell], bool] = lambda _cell: True
    repeats: int | None = None


def next_round(wants: Sequence[Want], asked: AbstractSet[Cell], order: Mapping[Cell, int], budget: int) -> list[Cell]:
    """Return the cells of the next round, at most `budget`, none of them in `asked`.

    Every group gets as many whole repeats of its cells as hold the trials that it needs. One repeat of all groups comes
    before the next: where the budget ends, each has had its share. `order`: where cells, at repeat 0, stand in the run.
    """
    found = {cell for want in wants for cell in _whole_repeats(want, asked)}
    return sorted(found, key=lambda cell: (cell.repeat, order[replace(cell, repeat=0)]))[:budget]


def _whole_repeats(want: Want, asked: AbstractSet[Cell]) -> list[Cell]:
    taken: list[Cell] = []
    cells = list(want.cells)
    while cells and len(taken) < want.trials:
        if want.repeats is not None:
            cells = [cell for cell in cells if cell.repeat < want.repeats]
        taken += [cell for cell in cells if cell not in asked and want.may(cell)]
        cells = [replace(cell, repeat=cell.repeat + 1) for cell in cells]
    return taken
