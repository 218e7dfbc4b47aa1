"""Rows of the table that `make perf` prints: every test here tells what it measured, and against what."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROWS = Path(__file__).parent / "rows.json"
_ROWS = pytest.StashKey[list[dict[str, Any]]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="measure also what takes a quarter of an hour each")


@pytest.fixture
def perf_row(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Add one row: `perf_row(what="grid, cold", ours=0.09, peer=0.76, unit="CPU s", target=8, ...)`.

    `ours` and `peer` are in `unit`. Less is better, unless `more=True` (tokens/s). With a peer, `target` is the least
    ratio by which ours is to be better; without one it bounds `ours` itself. `note` says what the numbers include.
    """

    def add(
        *,
        what: str,
        ours: float,
        unit: str,
        peer: float | None = None,
        peer_name: str = "",
        target: float | None = None,
        more: bool = False,
        note: str = "",
    ) -> None:
        rows = request.config.stash.setdefault(_ROWS, [])
        rows.append(
            {
                "what": what,
                "ours": ours,
                "unit": unit,
                "peer": peer,
                "peer_name": peer_name,
                "target": target,
                "more": more,
                "note": note,
            }
        )

    return add


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Rows measured now replace earlier ones of the same name; the others stay."""
    measured = session.config.stash.get(_ROWS, [])
    if not measured:
        return
    earlier = json.loads(ROWS.read_text(encoding="utf-8")) if ROWS.is_file() else []
    rows = {(row["what"], row["peer_name"]): row for row in [*earlier, *measured]}
    ROWS.write_text(json.dumps(list(rows.values()), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
