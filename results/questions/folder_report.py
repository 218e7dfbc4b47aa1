"""What is said about a folder of documents: twins, and what is no document."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from needlework.haystack_fixtures.documents.folder import DocumentSet
from needlework.haystack_fixtures.errors import printable

_SHOWN = 10


def add_list_argument(parser: argparse.ArgumentParser) -> None:
    """Add the option that has all left-out files listed."""
    parser.add_argument(
        "--list-left-out", action="store_true", help=f"list every file that is no document [the first {_SHOWN}]"
    )


def folder_lines(found: DocumentSet, twins: Sequence[Sequence[str]], *, every: bool) -> Iterator[str]:
    """Lines about everything in the folder that is not simply one document. `twins`: groups of names.

    `every`: list all files that are left out.
    """
    if found.missing:
        yield found.missing
    yield from listed("documents that are twins, equal or nearly", [", ".join(map(repr, names)) for names in twins])
    left_out = [f"{name!r}: {why}" for name, why in found.left_out]
    shown = len(left_out) if every else _SHOWN
    yield from listed("files that are no documents", left_out, shown, "--list-left-out shows all")


def listed(what: str, items: Sequence[str], shown: int = _SHOWN, rest: str = "") -> Iterator[str]:
    """How many there are, and the first of them. `rest`: how to see the others."""
    if items:
        yield f"{what}, {len(items)}:"
        yield from (printable(f"- {item}") for item in items[:shown])
        if len(items) > shown:
            yield f"- and {len(items) - shown} more{f' ({rest})' if rest else ''}"
