"""`python -m perf.report`: the rows of the last `pytest perf` as one Markdown table."""

from __future__ import annotations

import json
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


def _target(row: Mapping[str, Any]) -> str:
    if row["target"] is None:
        return ""
    if row["peer"] is not None:
        return f">= {row['target']:g}x"
    return f"{'>=' if row['more'] else '<='} {_with_unit(row['target'], row['unit'])}"


def _with_unit(value: float, unit: str) -> str:
    return f"{value:,.4g} {unit}".strip()


def main() -> int:
    """Print the table; exit code 1 when no rows have been measured."""
    if not ROWS.is_file():
        print("perf.report: nothing measured yet: run `pytest perf`", file=sys.stderr)
        return 1
    print(f"{platform.platform()}, Python {platform.python_version()}\n")
    print(table(json.loads(ROWS.read_text(encoding="utf-8"))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
