"""`python -m perf.report`: the rows of the last `pytest perf` as one Markdown table, and a verdict."""

import json
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROWS = Path(__file__).parent / "rows.json"


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Columns: what, ours, the peer, how much better ours is, the target, and whether it is met."""
    lines = ["| what | ours | peer | ratio | target | met | note |", "|---|---|---|---|---|---|---|"]
    for row in rows:
        ratio = _ratio(row)
        cells = (
            row["what"],
            _with_unit(row["ours"], row["unit"]),
            f"{row['peer_name']} {_with_unit(row['peer'], row['unit'])}".strip() if row["peer"] is not None else "",
            "" if ratio is None else f"{ratio:.3g}x",
            _target(row),
            {True: "yes", False: "**no**", None: ""}[met(row)],
            row["note"],
        )
        lines.append(f"| {' | '.join(str(cell).replace('|', '/') for cell in cells)} |")
    return "\n".join(lines)


def verdict(rows: Sequence[Mapping[str, Any]]) -> str:
    """One line: the number of aims met, and the missed ones with reached and wanted values."""
    aimed = [row for row in rows if row["target"] is not None]
    missed = [row for row in aimed if not met(row)]
    misses = [f"{row['what']} ({_reached(row)}, wanted {_target(row).removeprefix('>= ')})" for row in missed]
    return f"{len(aimed) - len(missed)} of {len(aimed)} aims met" + (f"; missed: {'; '.join(misses)}" if misses else "")


def met(row: Mapping[str, Any]) -> bool | None:
    """Whether a row meets its target; `None` without one."""
    if row["target"] is None:
        return None
    ratio = _ratio(row)
    if ratio is not None:
        return bool(ratio >= row["target"])
    return bool(row["ours"] >= row["target"] if row["more"] else row["ours"] <= row["target"])


def _ratio(row: Mapping[str, Any]) -> float | None:
    if row["peer"] is None:
        return None
    better, worse = (row["peer"], row["ours"]) if row["more"] else (row["ours"], row["peer"])
    return float(worse / better) if better else None


def _reached(row: Mapping[str, Any]) -> str:
    ratio = _ratio(row)
    return _with_unit(row["ours"], row["unit"]) if ratio is None else f"{ratio:.3g}x"


def _target(row: Mapping[str, Any]) -> str:
    if row["target"] is None:
        return ""
    if row["peer"] is not None:
        return f">= {row['target']:g}x"
    return f"{'>=' if row['more'] else '<='} {_with_unit(row['target'], row['unit'])}"


def _with_unit(value: float, unit: str) -> str:
    return f"{value:,.4g} {unit}".strip()


def _processor() -> str:
    """Cores, and whether they have AVX-512: figures of local models differ by it."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    info = Path("/proc/cpuinfo")
    flags = info.read_text(encoding="utf-8") if info.is_file() else ""
    return f"{cores} cores" + (f" {'with' if 'avx512f' in flags else 'without'} AVX-512" if flags else "")


def main() -> int:
    """Print the table and the verdict; exit code 1 when no rows have been measured."""
    if not ROWS.is_file():
        print("perf.report: nothing measured yet: run `pytest perf`", file=sys.stderr)
        return 1
    print(f"{platform.platform()}, {_processor()}, Python {platform.python_version()}\n")
    rows = json.loads(ROWS.read_text(encoding="utf-8"))
    print(f"{table(rows)}\n\n{verdict(rows)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
