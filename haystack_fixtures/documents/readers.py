"""Folders of documents: text files, web pages, rows of JSON, PDF and Word files."""

from __future__ import annotations

import codecs
import io
import json
import logging
import os
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZipFile

from needlework.core.errors import InputError, printable
from needlework.haystack_fixtures.corpora.corpus import documents_sha256, plain_text

OPTION = "--documents"
EXTRA = "pip install 'needlework[documents]'"
KINDS = "txt, md, html, csv, tsv, jsonl, json (one string), pdf and docx"
# The package that reads a kind of file, as pip calls it.
_PACKAGES = {".html": "lxml", ".htm": "lxml", ".pdf": "pypdf", ".docx": "python-docx"}
_CONVERTIBLE = (".doc", ".odt", ".rtf", ".pptx", ".ppt", ".odp", ".xlsx", ".xls", ".ods", ".epub", ".eml", ".msg")
_LARGEST = 2**30  # bytes of a file
_LARGEST_UNPACKED = 2**28  # bytes of a Word file's parts: a small file can hold gigabytes
_FIELDS = ("text", "input", "content", "document")  # of a row, the first that is a text
_SHOWN = 3
_BLANK, _HIDDEN, _LINK, _OTHER_KIND = "it is blank", "hidden", "a link", "is not a kind that is read"


@dataclass(frozen=True, slots=True)
class OwnDocument:
    """One document with a text that is never blank."""

    name: str  # its path in the folder with `/`, or `FILE.jsonl#ROW`
    text: str


@dataclass(frozen=True)
class DocumentSet:
    """The documents of a folder, sorted by name."""

    documents: tuple[OwnDocument, ...]
    sha256: str  # of names and texts
    left_out: tuple[tuple[str, str], ...]  # name and reason of everything else, first what somebody will miss

    @property
    def missed(self) -> tuple[tuple[str, str], ...]:
        """Files of `left_out` that should have been documents: no other kinds, hidden files or links."""
        return tuple(row for row in self.left_out if not _harmless(row[1]))

    def named(self, name: str) -> OwnDocument | None:
        """The document of a name; else the only one of that file name, ignoring spaces and Unicode form.

        Published question files name files without their folder. `None` where there is none, or several.
        """
        wanted = _loose(name)
        alike = [each for each in self.documents if each.name == name] or [
            each for each in self.documents if wanted in (_loose(each.name), _loose(each.name.rpartition("/")[2]))
        ]
        return alike[0] if len(alike) == 1 else None


class _Entry(NamedTuple):
    """A file of a folder; `problem`: why it cannot be a document."""

    name: str
    changed_ns: int = 0
    size: int = 0
    problem: str = ""


def read_documents(folder: str, option: str = OPTION) -> DocumentSet:
    """Read all documents below a folder, once while it is unchanged. Raises `InputError`."""
    try:
        root = Path(folder).expanduser()
        entries = tuple(sorted(_entries(root, "")))
    except OSError as error:
        remedy = f"cannot be read ({error.strerror or error}): give the folder that your documents are in"
        raise InputError(option, folder, remedy) from None
    except (ValueError, RuntimeError):  # a NUL in the name; ~nobody
        raise InputError(option, folder, "is no path: give the folder that your documents are in") from None
    return _read_folder(str(root), entries, option)


def read_file(path: Path, name: str) -> dict[str, str | UnusableError]:
    """The texts of one file, called `name`, by their names, or why they are no documents.

    Of a text file that is one JSON string, the string is the text.
    """
    ending = path.suffix.lower()
    try:
        if path.stat().st_size > _LARGEST:
            raise UnusableError(f"it is larger than {_LARGEST >> 20:,} MiB: split it")
        if ending == ".jsonl":
            return dict(_rows(_decoded(path.read_bytes()), name))
        read = _READERS.get(ending)
        return {name: _usable(_only_string(path) if read is None else read(path.read_bytes()))}
    except UnusableError as error:
        reason = str(error)
    except ImportError:
        reason = f"needs {_PACKAGES[ending]}: {EXTRA}"
    except OSError as error:
        reason = f"cannot be read ({error.strerror or error})"
    except Exception as error:  # noqa: BLE001 - libraries raise whatever a broken file leads them to
        reason = f"cannot be read as {ending[1:]} ({type(error).__name__}: {error})"
    return {name: UnusableError(reason)}


class UnusableError(Exception):
    """The reason why a file, or a row of one, is no document."""


@lru_cache(2)
def _read_folder(folder: str, entries: tuple[_Entry, ...], option: str) -> DocumentSet:
    texts: dict[str, str] = {}
    left_out: list[tuple[str, str]] = []
    for entry in entries:
        unread: dict[str, str | UnusableError] = {entry.name: UnusableError(entry.problem)}
        for name, text in (unread if entry.problem else read_file(Path(folder, entry.name), entry.name)).items():
            if isinstance(text, UnusableError):
                left_out.append((name, str(text)))
            elif name in texts:
                left_out.append((name, "another document has this name"))
            else:
                texts[name] = text
    left_out.sort(key=lambda row: _harmless(row[1]))
    if not texts:
        shown = "; ".join(f"{printable(name, 60)}: {reason}" for name, reason in left_out[:_SHOWN]) or "it is empty"
        more = f"; and {len(left_out) - _SHOWN} more" if len(left_out) > _SHOWN else ""
        raise InputError(option, folder, f"has no document ({shown}{more}): {KINDS} are read")
    documents = tuple(OwnDocument(name, texts[name]) for name in sorted(texts))
    digest = documents_sha256(part for document in documents for part in (document.name, document.text))
    return DocumentSet(documents, digest, tuple(left_out))


def _harmless(reason: str) -> int:
    """0 for a file that should have been a document, 1 for another kind of file, 2 for what nobody meant."""
    if reason == _HIDDEN or reason.startswith(_LINK):
        return 2
    return int(_OTHER_KIND in reason and "save it as" not in reason)


def _entries(folder: Path, above: str) -> Iterator[_Entry]:
    with os.scandir(folder) as entries:
        for entry in entries:
            name = f"{above}{entry.name}"
            if name.encode("utf-8", "replace").decode() != name:
                yield _Entry(name.encode("utf-8", "replace").decode(), problem="its name is not UTF-8: rename it")
            elif entry.name.startswith("."):
                yield _Entry(name, problem=_HIDDEN)
            elif entry.is_symlink():
                yield _Entry(name, problem=f"{_LINK}, and links are not followed: copy the file")
            elif entry.is_dir(follow_symlinks=False):
                try:
                    yield from _entries(Path(entry.path), f"{name}/")
                except OSError as error:
                    yield _Entry(f"{name}/", problem=f"cannot be read ({error.strerror or error})")
            elif entry.is_file(follow_symlinks=False):
                stat = entry.stat(follow_symlinks=False)
                yield _Entry(name, stat.st_mtime_ns, stat.st_size)
            else:
                yield _Entry(name, problem="not a plain file")


@lru_cache(100_000)
def _loose(name: str) -> str:
    return " ".join(unicodedata.normalize("NFC", name).split())


def _decoded(data: bytes) -> str:
    boms = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
    encoding = next((name for bom, name in boms if data.startswith(bom)), "utf-8")
    if b"\0" in data and encoding != "utf-16":
        raise UnusableError("it is binary, not text")
    try:
        return data.decode(encoding)
    except UnicodeError:
        raise UnusableError(f"it is not {encoding.upper().removesuffix('-SIG')} text: save it as UTF-8") from None


def _usable(text: str) -> str:
    """The plain text with nothing blank around it."""
    try:
        if plain := plain_text(text).strip():
            return plain
    except ValueError as error:
        raise UnusableError(str(error)) from None
    raise UnusableError(_BLANK)


def _json_string(text: str) -> str | None:
    try:
        value = json.loads(text) if text.strip().startswith('"') else None
    except ValueError:
        return None
    return value if isinstance(value, str) else None


def _text_or_string(data: bytes) -> str:
    text = _decoded(data)
    string = _json_string(text)
    return text if string is None else string


def _only_string(path: Path) -> str:
    """The text of a JSON file, or one of an unknown kind: a document only where it is one JSON string."""
    with path.open("rb") as file:
        begins = file.read(64).removeprefix(codecs.BOM_UTF8).lstrip().startswith(b'"')
    string = _json_string(_decoded(path.read_bytes())) if begins else None
    if string is None:
        ending = path.suffix.lower()
        remedy = ": save it as PDF or text" if ending in _CONVERTIBLE else ""
        reason = "JSON, but not one string: write one document a row as .jsonl" if ending == ".json" else ""
        raise UnusableError(reason or f"{path.suffix or 'a name without an ending'} {_OTHER_KIND}{remedy}")
    return string


def _rows(text: str, name: str) -> Iterator[tuple[str, str | UnusableError]]:
    """One document a row, named by its `id` or `title` if these differ, else by its line from 1."""
    rows: list[tuple[int, Any]] = []
    for number, line in enumerate(text.split("\n"), 1):  # nothing else ends a line of jsonl
        if line.strip():
            try:
                rows.append((number, json.loads(line)))
            except (ValueError, RecursionError) as error:
                rows.append((number, UnusableError(f"is not JSON ({error})")))
    if not rows:
        raise UnusableError(_BLANK)
    names = [str(number) for number, _ in rows]
    for field in ("title", "id"):
        values = [row.get(field) if isinstance(row, dict) else None for _, row in rows]
        texts = [str(value) for value in values if isinstance(value, str | int) and str(value).strip()]
        is_utf8 = "".join(texts) == "".join(texts).encode("utf-8", "replace").decode()
        names = texts if is_utf8 and len(set(texts)) == len(rows) else names
    for row_name, (_, row) in zip(names, rows, strict=True):
        try:
            yield f"{name}#{row_name}", _usable(_row_text(row))
        except UnusableError as error:
            yield f"{name}#{row_name}", error


def _row_text(row: Any) -> str:
    if isinstance(row, UnusableError):
        raise row
    fields = row if isinstance(row, dict) else {"text": row}
    text = next((fields[field] for field in _FIELDS if isinstance(fields.get(field), str)), None)
    if text is None:
        raise UnusableError(f"no text in a field {', '.join(_FIELDS[:-1])} or {_FIELDS[-1]}")
    return str(text)


_UNSEEN = ("head", "script", "style", "template", "noscript", "svg")
_BLOCK_TAGS = """
address article aside blockquote body dd div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr li
main nav ol p pre section table tr ul
"""
_BLOCKS = frozenset(_BLOCK_TAGS.split())


def page_text(data: bytes) -> str:
    """The text that people see of a web page, a line for each block."""
    from lxml import html

    charset = None if re.search(rb"<meta[^>]+charset=[\"']?(?!utf-16)", data[:2048], re.IGNORECASE) else "utf-8"
    charset = charset if data[:2] not in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-16"
    page = html.document_fromstring(data, parser=html.HTMLParser(encoding=charset, remove_comments=True))
    text = "".join(_markup_text(page))
    return re.sub(r" *[\x1e\x1f][ \x1e\x1f]*", lambda gap: "\n\n" if "\x1e" in gap[0] else "\n", text).strip()


def _markup_text(top: Any) -> Iterator[str]:
    """The pieces of text of a page; \\x1e stands for a blank line, \\x1f for the end of a line."""
    from lxml.etree import iterwalk

    hidden = 0
    for event, element in iterwalk(top, events=("start", "end")):
        tag, is_start = element.tag, event == "start"
        hidden += (tag in _UNSEEN) * (1 if is_start else -1)
        if not hidden:
            if tag in _BLOCKS:
                yield "\x1f" if tag in ("li", "tr", "dt", "dd") else "\x1e"
            elif is_start and tag in ("br", "td", "th"):
                yield "\x1f" if tag == "br" else " "
            piece = (element.text if is_start else element.tail) or ""
            yield piece if tag == "pre" and is_start else re.sub(r"\s+", " ", piece)


def _pdf_text(data: bytes) -> str:
    from pypdf import PdfReader

    logging.getLogger("pypdf").addHandler(logging.NullHandler())  # else complaints go to the terminal
    reader = PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        raise UnusableError("it is encrypted: store it without a password")
    text = "\n\n".join(page.extract_text() for page in reader.pages)
    if not text.strip():
        raise UnusableError("it has no text (scanned pages?): run text recognition on it")
    return text


def _docx_text(data: bytes) -> str:
    """Paragraphs and tables in their order, tables row by row."""
    from docx import Document
    from docx.table import Table, _Cell

    with ZipFile(io.BytesIO(data)) as packed:
        if sum(part.file_size for part in packed.infolist()) > _LARGEST_UNPACKED:
            raise UnusableError(f"it unpacks to more than {_LARGEST_UNPACKED >> 20} MiB: store it as text")
    parts: list[str] = []
    for part in Document(io.BytesIO(data)).iter_inner_content():
        if isinstance(part, Table):  # not `row.cells`, which repeats a cell for each column that it spans
            parts += [" | ".join(_Cell(cell, part).text.strip() for cell in row._tr.tc_lst) for row in part.rows]  # noqa: SLF001
        else:
            parts.append(part.text)
    return "\n".join(parts)


_READERS: dict[str, Callable[[bytes], str]] = {
    **dict.fromkeys((".txt", ".md", ".csv", ".tsv"), _text_or_string),
    **dict.fromkeys((".html", ".htm"), page_text),
    ".pdf": _pdf_text,
    ".docx": _docx_text,
}
