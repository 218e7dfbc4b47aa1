"""The corpus value that every loader returns."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Corpus:
    """Named source text.

    `documents` are in a fixed order of their own (sorted by file name, or as published); a haystack's seed shuffles
    them. `sha256` identifies the text (`documents_sha256`) or, for generated text, the recipe that makes it.
    """

    name: str
    language: str
    licence: str
    source: str
    documents: tuple[str, ...] = field(repr=False)
    sha256: str

    @property
    def chars(self) -> int:
        """Characters in all documents."""
        return sum(map(len, self.documents))

    @property
    def facts(self) -> dict[str, str | int]:
        """What a manifest tells of it."""
        return {
            "name": self.name,
            "language": self.language,
            "licence": self.licence,
            "source": self.source,
            "sha256": self.sha256,
            "documents": len(self.documents),
            "characters": self.chars,
        }


def documents_sha256(documents: Iterable[str]) -> str:
    """Hash documents in order; lengths are part of it, so that moving a boundary changes the hash."""
    digest = hashlib.sha256()
    for document in documents:
        data = document.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.hexdigest()
