"""The house: its rooms, its floors, and that imports go down only."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MOST_ROOMS = 25
# From the ground up: a room imports rooms of lower floors only, and none of its own floor.
FLOORS = {
    "results": (
        ("records",),
        ("style", "prompt", "adaptive"),
        ("statistics",),
        ("files", "tables", "hookspecs"),
        ("pictures", "html", "gates", "judging"),
        ("run", "leval", "elsewhere", "questions", "compare", "plot"),
        ("web", "rescore", "score", "session", "merge"),
        ("status",),
    ),
    "haystack_fixtures": (
        ("errors", "redact", "draws", "writing", "presets"),
        ("cache", "command_line", "grid"),
        ("corpora",),
        ("settings",),
        ("needles", "prompts"),
        ("tokenizers",),
        ("haystacks", "models"),
        ("documents",),
        ("retrieval",),
        ("tasks",),
        ("configuration",),
        ("configuration", "workers"),
        ("trials",),
        ("asking", "hookspecs"),
        ("session",),
    ),
    "scoring": (
        ("scores", "answers"),
        ("outcomes", "verdicts"),
        ("scorers", "custom"),
        ("published", "judges"),
        ("leval",),
        ("registry",),
        ("recording",),
        ("ahead",),
        ("hookspecs",),
        ("plugin",),
    ),
    "launching": (
        ("batch_in", "matrix", "shards"),
        ("kubernetes", "local", "progress", "ray_tasks", "slurm"),
        ("options",),
        ("launch",),
    ),
}


def imported(package: str, path: Path) -> Iterator[str]:
    """The rooms of its package that a module imports, at its top and inside functions."""
    start = f"needlework.{package}"
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names] if node.module == start else [node.module]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        yield from (name.removeprefix(f"{start}.").split(".")[0] for name in names if name.startswith(f"{start}."))


@pytest.mark.parametrize("package", FLOORS)
def test_every_room_stands_on_a_floor_and_imports_from_below(package: str) -> None:
    floor = {room: number for number, rooms in enumerate(FLOORS[package]) for room in rooms}
    up = []
    for path in sorted((ROOT / package).rglob("*.py")):
        parts = path.relative_to(ROOT / package).parts
        room = parts[0].removesuffix(".py")
        if "runs" in parts or room == "__init__":
            continue
        assert room in floor, f"{package}/{room} stands on no floor: add it to FLOORS"
        up += [
            f"{path} -> {other}" for other in imported(package, path) if other != room and floor[other] >= floor[room]
        ]
    assert not up


@pytest.mark.parametrize("package", FLOORS)
def test_no_folder_has_more_rooms_than_a_person_can_take_in(package: str) -> None:
    for folder in [ROOT / package, *(ROOT / package).rglob("*")]:
        if not folder.is_dir() or {"runs", "__pycache__", "data"} & set(folder.parts):
            continue
        rooms = [entry for entry in folder.iterdir() if entry.suffix == ".py" or any(entry.glob("*.py"))]
        assert len(rooms) <= MOST_ROOMS, f"{folder} has {len(rooms)} rooms"
