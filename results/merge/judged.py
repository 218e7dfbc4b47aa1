"""The gates of a merged run: as a run judges them at its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.settings.settings import Settings
from needlework.results.gates.baseline import OPTION, Baseline, load_baseline
from needlework.results.gates.gate import parse_gate
from needlework.results.gates.gatekeeper import cell_of_record, check_gates
from needlework.results.gates.verdict import Verdict
from needlework.results.gates.verdicts import judge_gate
from needlework.results.records.record import Record
from needlework.results.records.windows import windows_of
from needlework.results.statistics.comparison.provenance import check_dtypes, differing_parts
from needlework.results.tables.comparison import differing_lines


@dataclass(frozen=True, slots=True)
class Judged:
    """The verdicts, and lines on what differs from the baseline besides the scores."""

    verdicts: list[Verdict]
    differences: list[str]


def judged(
    settings: Settings, records: Sequence[Record], manifest: Mapping[str, Any], into: Path, interrupted: str
) -> Judged:
    """Judge the run's gates. `manifest`: of the merged run, `interrupted`: why it is not whole, if it is not.

    Raises `InputError` for a gate that is none, and a baseline that cannot be compared with.
    """
    gates = [parse_gate(text) for text in settings.gate]
    check_gates(settings, gates)
    if not gates:
        return Judged([], [])
    baseline = _baseline(settings, records, manifest, into)
    if baseline is not None:
        for record in records:
            baseline.check(record)
        if not settings.allow_different_dtypes:
            check_dtypes(OPTION, baseline.path, baseline.manifest, manifest)
    if interrupted:
        return Judged([Verdict(gate.text, "all", "inconclusive", note=f"void: {interrupted}") for gate in gates], [])
    windows = windows_of(manifest)
    verdicts = [verdict for gate in gates for verdict in judge_gate(gate, records, baseline, windows=windows)]
    parts = differing_parts(baseline.manifest or None, manifest) if baseline else []
    told = differing_lines(parts, "the baseline and this run", "told by needlework compare") if parts else []
    return Judged(verdicts, told)


def _baseline(
    settings: Settings, records: Sequence[Record], manifest: Mapping[str, Any], into: Path
) -> Baseline | None:
    if settings.baseline is None:
        return None
    path = Path(settings.baseline).expanduser()
    if not path.exists():  # as the shards were given it, seen from where they ran
        path = Path(str(manifest.get("folder", ""))) / path
    if into.resolve() in (path.resolve(), path.resolve().parent):
        raise InputError(OPTION, path, "is the folder that is merged into; give another --into")
    return load_baseline(path, [(record["model"], cell_of_record(record)) for record in records], settings.seed)
