"""A run's gates from the first look to the last: their verdicts, and the further trials of `--top-up`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.grid.cells import Cell, parse_id
from needlework.haystack_fixtures.settings.settings import Settings
from needlework.haystack_fixtures.tasks.catalogue import Series, sample_depths
from needlework.results.gates.baseline import OPTION, Baseline, load_baseline
from needlework.results.gates.gate import Gate
from needlework.results.gates.top_up import Want, next_round
from needlework.results.gates.verdict import Verdict
from needlework.results.gates.verdicts import gate_groups, judge_gate, judge_group
from needlework.results.records.record import Record
from needlework.results.records.tests_of_cells import task_of
from needlework.results.statistics.comparison.provenance import check_dtypes, differing_parts
from needlework.results.tables.comparison import differing_lines


@dataclass(frozen=True, slots=True)
class _Look:
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
        self._looks: dict[tuple[int, str], _Look] = {}
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
            raise InputError(OPTION, path, "is the folder of this very run; give this one another --run-name")
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
        model = record["model"]
        if not self._allow_dtypes and model not in self._checked and model in facts.get("models", {}):
            self._checked.add(model)
            check_dtypes(OPTION, self._baseline.path, self._baseline.manifest, facts)

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
                look = _Look(verdict, number, len(found))
                self._looks[at, group] = look
            if look.verdict.state == "inconclusive":
                cells = {cell_of_record(record) for record in found}
                # At the limit no number decides; half as many again keeps the looks few.
                wants.append(self._want(gate, cells, look.verdict.more_trials or len(found) // 2 + 1))
        if not any(known == at for known, _ in self._looks):
            (verdict,) = judge_gate(gate, records)  # no cell in scope
            self._looks[at, verdict.group] = _Look(verdict, 1, 0)
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
        raise InputError(OPTION, settings.baseline, 'is compared by a gate alone: give one such as "not worse"')
    if settings.top_up and not gates:
        raise InputError("--top-up", settings.top_up, "asks further trials until gates are decided: give a --gate")


def cell_of_record(record: Record) -> Cell:
    """The cell of a record; its id has the depth in three decimals only."""
    cell = parse_id(record["id"])
    depth, model = record["depth"], cell.model if cell is not None else ""
    return Cell(task_of(record["task"]), record["length"], depth, record["needle"], record["repeat"], model)
