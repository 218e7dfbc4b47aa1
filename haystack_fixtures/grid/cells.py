"""Cells: the coordinates of one trial, and the test id that says them."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, replace

_NUMBER = r"\d+(?:\.\d+)?"
_ID = re.compile(
    rf"(?P<task>[a-z0-9_]+)(?:@[^-\[\]]+)?-len(?P<length>\d+)-depth(?P<depth>{_NUMBER}|all)"
    r"-(?P<needle>[^-\[\]]+)-r(?P<repeat>\d+)(?:-(?P<model>[^\[\]]+))?"
)
_ON_DOCUMENT = re.compile(r"\A(doc\d+)_q\d+((?:_[a-z0-9]+)?)\Z")


@dataclass(frozen=True, slots=True)
class Cell:
    """One trial of one (task, needle, length, depth).

    `length` is in tokens: the window that prompt and answer budget need together.
    `depth` is in percent of the context's tokens; `None` where a task puts a needle at every depth.
    `needle` names the needle; other languages than English are part of the name (`code_zh`).
    `model` is a slug, empty while only one model is under test.
    """

    task: str
    length: int
    depth: float | None
    needle: str
    repeat: int = 0
    model: str = ""

    @property
    def id(self) -> str:
        """The pytest id. Every number is followed by `-` or the end, so that `-k depth10-` is exact."""
        parts = [self.task, f"len{self.length}", f"depth{depth_label(self.depth)}", self.needle, f"r{self.repeat}"]
        return "-".join([*parts, self.model] if self.model else parts)

    @property
    def haystack_id(self) -> str:
        """The id without its depth, and of questions on a document (`doc3_q7`) without the question.

        Cells that share it share a haystack, and so a worker.
        """
        needle = _ON_DOCUMENT.sub(r"\1\2", self.needle)
        return replace(self, needle=needle).id.replace(f"-depth{depth_label(self.depth)}-", "-", 1)


def depth_label(depth: float | None) -> str:
    """Write a depth as ids, file names and tables do: `50`, `99.104`, `all`."""
    return "all" if depth is None else f"{depth:g}" if depth == round(depth, 3) else f"{depth:.3f}"


def parse_id(text: str) -> Cell | None:
    """Find the cell in a pytest node id, or in the id of a cell or record; `None` when there is none."""
    inside = re.search(r"\[(.+)\]", text)
    found = inside.group(1) if inside else text
    match = _ID.fullmatch(found)
    # pytest's way to write other letters, unless its ini file says otherwise
    if match and "\\" in found and found.isascii():
        with suppress(UnicodeDecodeError):
            match = _ID.fullmatch(found.encode("ascii").decode("unicode_escape"))
    if match is None:
        return None
    depth = match["depth"]
    return Cell(
        task=match["task"],
        length=int(match["length"]),
        depth=None if depth == "all" else float(depth),
        needle=match["needle"],
        repeat=int(match["repeat"]),
        model=match["model"] or "",
    )


def slug(text: str) -> str:
    """Make a word that is safe in ids and file names: everything but letters, digits, `.` becomes `_`."""
    return re.sub(r"[^\w.]+", "_", text).strip("_") or "unnamed"
