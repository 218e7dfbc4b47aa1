"""What is said about a folder of documents: twins, and what is no document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from needlework.haystack_fixtures.documents.folder import DocumentSet
from needlework.haystack_fixtures.errors import printable

_SHOWN = 10


def folder_lines(found: DocumentSet, twins: Sequence[Sequence[str]]) -> Iterator[str]:
    """Lines about everything in the folder that is not simply one document. `twins`: groups of names."""
    yield from listed("documents that are twins, equal or nearly", [", ".join(map(repr, names)) for names in twins])
    yield from listed("files that are no documents", [f"{name!r}: {why}" for name, why in found.left_out])


def listed(what: str, items: Sequence[str]) -> Iterator[str]:
    """How many there are, and the first of them."""
    if items:
        yield f"{what}, {len(items)}:"
        yield from (printable(f"- {item}") for item in items[:_SHOWN])
        if len(items) > _SHOWN:
            yield f"- and {len(items) - _SHOWN} more"
