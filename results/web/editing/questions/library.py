"""The documents that the questions are about, by name and by number; there may be none."""

from __future__ import annotations

from pathlib import Path

from needlework.haystack_fixtures.documents.folder import OwnDocument, read_documents
from needlework.haystack_fixtures.documents.near_copies import twins
from needlework.results.questions.index import DocumentIndex
from needlework.results.web.editing.questions.later import Later


class Library:
    """Read once, when the server starts. Numbers are places in the folder's order."""

    def __init__(self, folder: Path | None) -> None:
        """Raises `InputError`. The index of words is made in the background."""
        self.folder = folder
        self._set = None if folder is None else read_documents(str(folder))
        self.documents: tuple[OwnDocument, ...] = self._set.documents if self._set else ()
        self._numbers = {each.name: number for number, each in enumerate(self.documents)}
        self._index = Later(lambda: DocumentIndex(self.documents))
        self._twins = Later(self._find_twins)

    @property
    def known(self) -> bool:
        """Whether a folder was given."""
        return self._set is not None

    def index(self, wait_s: float) -> DocumentIndex | None:
        """The index of words; `None` where it is not ready within so many seconds."""
        return self._index.get(wait_s)

    def twins_of(self, number: int) -> tuple[int, ...] | None:
        """The documents that are the same or nearly; `None` until that is known."""
        twins = self._twins.get()
        return None if twins is None else twins.get(number, ())

    def has(self, name: str) -> bool:
        """Whether there is a document of this name; where no folder was given, any is taken to be there."""
        return not self.known or self.number_of(name) is not None

    def number_of(self, name: str) -> int | None:
        """The document that a questions file calls so; files may be named without their folder."""
        document = self._set.named(name) if self._set else None
        return None if document is None else self._numbers[document.name]

    def numbers_of(self, names: object) -> list[int]:
        """The documents of a list of names, each once; what is no name of a document is passed by."""
        listed = names if isinstance(names, list | tuple) else ()
        found = [self.number_of(each) for each in listed if isinstance(each, str)]
        return list(dict.fromkeys(each for each in found if each is not None))

    def _find_twins(self) -> dict[int, tuple[int, ...]]:
        self._index.get(None)  # people wait for that one
        groups = [[self._numbers[name] for name in group] for group in twins(self.documents)]
        return {each: tuple(other for other in group if other != each) for group in groups for each in group}
