"""A folder of the user's documents: every file in it is a document, or is listed with the reason why not."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from needlework.haystack_fixtures.documents.formats import EXTRA, KINDS, read_file
from needlework.haystack_fixtures.documents.text_files import NOT_READ
from needlework.haystack_fixtures.errors import InputError, printable

OPTION = "--documents"
_SHOWN = 3
_HIDDEN, _LINK = "hidden", "a link"


@dataclass(frozen=True, slots=True)
class OwnDocument:
    """One document. `name`: its path in the folder with `/`, or `FILE.jsonl#ROW`; `text` is never blank."""

    name: str
    text: str


@dataclass(frozen=True)
class DocumentSet:
    """The documents sorted by name. `sha256`: of names and texts. `left_out`: (name, reason) of everything else, first
    what somebody will miss. `needs`: packages that are not installed, and the name of a file that needs each.
    """

    documents: tuple[OwnDocument, ...]
    sha256: str
    left_out: tuple[tuple[str, str], ...]
    needs: tuple[tuple[str, str], ...] = ()

    @property
    def missed(self) -> tuple[tuple[str, str], ...]:
        """Of `left_out`, files that should have been documents: not those of other kinds, hidden ones and links."""
        return tuple(each for each in self.left_out if not _harmless(each[1]))

    @property
    def missing(self) -> str:
        """One line on the packages that are not installed, with the command that does; empty where none is missing."""
        if not self.needs:
            return ""
        packages = ", ".join(sorted({package for package, _ in self.needs}))
        names = [printable(name, 60) for _, name in self.needs]
        shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
        files = "1 file is" if len(names) == 1 else f"{len(names)} files are"
        return f"{files} left out for want of {packages} ({shown}): {EXTRA}"

    def named(self, name: str) -> OwnDocument | None:
        """The document of a name; else the only one whose file name is this, white space and Unicode form aside.

        Published question files name files without their folder. `None` where there is none, or several.
        """
        exact = self._by_name.get(name)
        if exact is not None:
            return exact
        found = self._by_file_name.get(_loose(name), [])
        return found[0] if len(found) == 1 else None

    @cached_property
    def _by_name(self) -> Mapping[str, OwnDocument]:
        return {each.name: each for each in self.documents}

    @cached_property
    def _by_file_name(self) -> Mapping[str, list[OwnDocument]]:
        found: dict[str, list[OwnDocument]] = {}
        for each in self.documents:
            for key in {_loose(each.name), _loose(each.name.rpartition("/")[2])}:
                found.setdefault(key, []).append(each)
        return found


class _File(NamedTuple):
    """A file as it was found; `why` it cannot be a document, if so."""

    name: str
    changed_ns: int
    size: int
    why: str = ""


def read_documents(folder: str, option: str = OPTION) -> DocumentSet:
    """Read all below a folder; the last ones stay in memory while no file changes.

    Hidden files and links are left out, so nothing outside the folder is read and nothing twice. Raises `InputError`
    where it is no folder, or has nothing usable; `option` is what named the folder.
    """
    try:
        root = Path(folder).expanduser()
        if not root.is_dir():
            raise InputError(option, folder, "is not a folder: give the one that your documents are in")
        files = tuple(sorted(_files(root, "")))
    except OSError as error:
        raise InputError(option, folder, f"cannot be read ({error.strerror or error})") from None
    except (ValueError, RuntimeError):  # a NUL in the name; the home folder of nobody
        raise InputError(option, folder, "is no path: give the folder that your documents are in") from None
    return _read(str(root), files, option)


@lru_cache(2)
def _read(folder: str, files: tuple[_File, ...], option: str) -> DocumentSet:
    texts: dict[str, str] = {}
    left_out: list[tuple[str, str]] = []
    needs: list[tuple[str, str]] = []
    for file in files:
        if file.why:
            left_out.append((file.name, file.why))
            continue
        found = read_file(Path(folder, file.name), file.name)
        left_out += found.left_out
        needs += [(found.needs, file.name)] if found.needs else []
        for name, text in found.documents:
            if name in texts:
                left_out.append((name, "another document has this name"))
            else:
                texts[name] = text
    left_out.sort(key=lambda each: _harmless(each[1]))
    if not texts:
        shown = "; ".join(f"{printable(name, 60)}: {why}" for name, why in left_out[:_SHOWN]) or "it is empty"
        more = f"; and {len(left_out) - _SHOWN} more" if len(left_out) > _SHOWN else ""
        raise InputError(option, folder, f"has no document ({shown}{more}): {KINDS} are read")
    documents = tuple(OwnDocument(name, texts[name]) for name in sorted(texts))
    return DocumentSet(documents, _hash(documents), tuple(left_out), tuple(needs))


def _harmless(why: str) -> int:
    """0 for a file that should have been a document, 1 for another kind of file, 2 for what nobody meant."""
    if why == _HIDDEN or why.startswith(_LINK):
        return 2
    return int(NOT_READ in why and "save it as" not in why)


def _files(folder: Path, above: str) -> Iterator[_File]:
    with os.scandir(folder) as entries:
        for entry in entries:
            name = f"{above}{entry.name}"
            if not _is_text(entry.name):
                yield _File(name.encode("utf-8", "replace").decode(), 0, 0, "its name is not UTF-8: rename it")
            elif entry.name.startswith("."):
                yield _File(name, 0, 0, _HIDDEN)
            elif entry.is_symlink():
                yield _File(name, 0, 0, f"{_LINK}, and links are not followed: copy the file")
            elif entry.is_dir(follow_symlinks=False):
                try:
                    yield from _files(Path(entry.path), f"{name}/")
                except OSError as error:
                    yield _File(f"{name}/", 0, 0, f"cannot be read ({error.strerror or error})")
            elif entry.is_file(follow_symlinks=False):
                stat = entry.stat(follow_symlinks=False)
                yield _File(name, stat.st_mtime_ns, stat.st_size)
            else:
                yield _File(name, 0, 0, "not a plain file")


def _is_text(name: str) -> bool:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _loose(name: str) -> str:
    return " ".join(unicodedata.normalize("NFC", name).split())


def _hash(documents: tuple[OwnDocument, ...]) -> str:
    digest = sha256()
    for each in documents:
        for part in (each.name, each.text):
            data = part.encode("utf-8")
            digest.update(len(data).to_bytes(8, "big"))
            digest.update(data)
    return digest.hexdigest()
