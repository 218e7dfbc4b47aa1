"""The cleaned file: all rows of the source in order, those that were edited with their new pairs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from needlework.results.web.editing.documents.line import Pair, read_line, with_pairs
from needlework.results.web.editing.documents.rows import keyed


@dataclass(frozen=True, slots=True)
class Cleaned:
    """`rows` of the file, `edited` ones, pairs `dropped` because both parts were blank.

    `uneven`: untouched rows whose instructions and outputs differ in number; `unread`: lines that are no documents.
    """

    content: bytes
    rows: int
    edited: int
    dropped: int
    uneven: int
    unread: int

    @property
    def counts(self) -> dict[str, Any]:
        """All but the content."""
        return {name: value for name, value in asdict(self).items() if name != "content"}


def clean(lines: Iterable[bytes], edited: Mapping[str, Sequence[Pair]]) -> Cleaned:
    """Put the pairs of edited rows (by key) in; what is not edited stays as it is, to the byte."""
    out: list[bytes] = []
    rows = changed = dropped = uneven = unread = 0
    for key, raw in keyed(lines):
        new = raw
        if key:
            rows += 1
            line = read_line(raw)
            if line.problem:
                unread += 1
            elif key in edited and tuple(edited[key]) != line.pairs:
                full = [pair for pair in edited[key] if not pair.blank]
                dropped += len(edited[key]) - len(full)
                new = with_pairs(raw, full)
            changed += new != raw
            uneven += new == raw and line.counts[0] != line.counts[1]
        out.append(new)
    return Cleaned(b"".join(out), rows, changed, dropped, uneven, unread)


def cleaned_path(source: Path) -> Path:
    """Where the cleaned file goes: beside its source."""
    return source.with_name(f"{source.stem}.cleaned.jsonl")
