"""From a file to the texts in it: text, Markdown, web pages, JSON, PDF, Word. What cannot be read says why."""

from __future__ import annotations

import codecs
import io
import json
import logging
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from needlework.haystack_fixtures.documents.html_text import html_text

EXTRA = "pip install 'needlework[documents]'"
_FIELDS = ("text", "input", "content", "document")  # of a row, the first that is a text
_NAMES = ("id", "title")
_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_CHARSET = re.compile(rb"<meta[^>]+charset=[\"']?([\w-]+)", re.IGNORECASE)
_HEAD = 2048  # bytes of a page that may name its encoding
_BLANK = "it is blank"
_LARGEST = 2**30  # bytes of a file
_LARGEST_UNPACKED = 2**28  # bytes of a Word file's parts: a small file can hold gigabytes
_MOST_COLUMNS = 1000  # of a Word file's table; Word makes 63


class MissingPackageError(Exception):
    """A kind of file needs a package that is not installed. Its text names both."""


class _UnusableError(Exception):
    """Why a file, or a row of one, is no document."""


@dataclass(frozen=True, slots=True)
class Found:
    """The texts of one file by name, and what is left out of it: (name, reason)."""

    documents: tuple[tuple[str, str], ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()


def read_file(path: Path, name: str) -> Found:
    """Read one file, which is called `name`. Raises `MissingPackageError` where its kind needs a package of the extra.

    A text file that is one JSON string, as snorkel's long-context-eval stores documents, is the text of that string.
    """
    read = _READERS.get(path.suffix.lower(), _other)
    try:
        if path.stat().st_size > _LARGEST:
            raise _UnusableError(f"it is larger than {_LARGEST >> 20:,} MiB: split it")
        return read(path, name)
    except _UnusableError as error:
        return Found(left_out=((name, str(error)),))
    except OSError as error:
        return Found(left_out=((name, f"cannot be read ({error.strerror or error})"),))


def _text_file(path: Path, name: str) -> Found:
    return _one(name, _unwrapped(_decoded(path.read_bytes())))


def _page(path: Path, name: str) -> Found:
    data = path.read_bytes()
    declared = _CHARSET.search(data[:_HEAD])
    encoding = declared[1].decode("ascii").lower() if declared else "utf-8"
    if encoding.startswith("utf-16"):  # what says so in single bytes is not: browsers take it for UTF-8
        encoding = "utf-8"
    return _one(name, html_text(_decoded(data, encoding)))


def _json_file(path: Path, name: str) -> Found:
    text = _decoded(path.read_bytes())
    if not text.strip():
        raise _UnusableError(_BLANK)
    unwrapped = _json_string(text)
    if unwrapped is None:
        raise _UnusableError("JSON, but not one string: write one document a row as .jsonl")
    return _one(name, unwrapped)


def _other(path: Path, name: str) -> Found:
    """A file of an unknown kind is a document only where it is one JSON string."""
    kind = f"{path.suffix or 'a name without an ending'} is not a kind that is read"
    with path.open("rb") as file:
        if not file.read(64).removeprefix(codecs.BOM_UTF8).lstrip().startswith(b'"'):
            raise _UnusableError(kind)
    unwrapped = _json_string(_decoded(path.read_bytes()))
    if unwrapped is None:
        raise _UnusableError(kind)
    return _one(name, unwrapped)


def _rows(path: Path, name: str) -> Found:
    """One document a row, named by the rows' `id` or `title` where that tells them apart, else by the line from 1."""
    lines = _decoded(path.read_bytes()).split("\n")  # nothing else ends a line of jsonl
    rows = [(number, *_row(line)) for number, line in enumerate(lines, 1) if line.strip()]
    if not rows:
        raise _UnusableError(_BLANK)
    names = next((told for field in _NAMES if (told := _told_apart([row for _, row, _ in rows], field))), None)
    documents, left_out = [], []
    for at, (number, row, problem) in enumerate(rows):
        row_name = f"{name}#{names[at] if names else number}"
        try:
            if problem:
                raise _UnusableError(problem)
            documents.append((row_name, _usable(_row_text(row))))
        except _UnusableError as error:
            left_out.append((row_name, str(error)))
    return Found(tuple(documents), tuple(left_out))


def _row(line: str) -> tuple[Any, str]:
    try:
        return json.loads(line), ""
    except (ValueError, RecursionError) as error:
        return None, f"is not JSON ({error})"


def _told_apart(rows: Sequence[Any], field: str) -> list[str] | None:
    """The rows' values of a field, where all have one of their own."""
    values = [row.get(field) if isinstance(row, dict) else None for row in rows]
    if not all(isinstance(value, str | int) and str(value).strip() for value in values):
        return None
    names = [str(value) for value in values]
    whole = all(name == name.encode("utf-8", "replace").decode() for name in names)  # no half of a surrogate pair
    return names if whole and len(set(names)) == len(names) else None


def _row_text(row: Any) -> str:
    if isinstance(row, str):
        return row
    fields = row if isinstance(row, dict) else {}
    text = next((fields[field] for field in _FIELDS if isinstance(fields.get(field), str)), None)
    if text is None:
        raise _UnusableError(f"no text in a field {', '.join(_FIELDS[:-1])} or {_FIELDS[-1]}")
    return str(text)


def _pdf(path: Path, name: str) -> Found:
    try:
        from pypdf import PdfReader
    except ImportError:
        raise MissingPackageError(f"{name} needs pypdf: {EXTRA}, or take the PDF files out") from None

    def text() -> str:
        complaints = logging.getLogger("pypdf")
        if not complaints.handlers:  # without one, each goes to the terminal; what matters is raised
            complaints.addHandler(logging.NullHandler())
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise _UnusableError("it is encrypted: store it without a password")
        return "\n\n".join(page.extract_text() for page in reader.pages)

    data = path.read_bytes()
    extracted = _extracted("PDF", text)
    if not extracted.strip():
        raise _UnusableError("it has no text (scanned pages?): run text recognition on it")
    return _one(name, extracted)


def _docx(path: Path, name: str) -> Found:
    try:
        from docx import Document
        from docx.table import Table
    except ImportError:
        raise MissingPackageError(f"{name} needs python-docx: {EXTRA}, or take the Word files out") from None

    def parts() -> Iterator[str]:
        with ZipFile(io.BytesIO(data)) as packed:
            if sum(each.file_size for each in packed.infolist()) > _LARGEST_UNPACKED:
                raise _UnusableError(f"it unpacks to more than {_LARGEST_UNPACKED >> 20} MiB: store it as text")
        for part in Document(io.BytesIO(data)).iter_inner_content():
            if isinstance(part, Table):
                for row in part.rows:
                    if sum(cell.grid_span for cell in row._tr.tc_lst) > _MOST_COLUMNS:  # noqa: SLF001 - cells repeats each
                        raise _UnusableError(f"a table of it has more than {_MOST_COLUMNS:,} columns")
                    yield " | ".join(dict.fromkeys(cell.text.strip() for cell in row.cells))  # merged cells come again
            else:
                yield part.text

    data = path.read_bytes()
    return _one(name, _extracted("Word file", lambda: "\n".join(parts())))


def _extracted(kind: str, text: Callable[[], str]) -> str:
    """The text that a library finds. Libraries raise whatever a broken file leads them to."""
    try:
        return text()
    except _UnusableError:
        raise
    except Exception as error:  # noqa: BLE001
        raise _UnusableError(f"cannot be read as a {kind} ({type(error).__name__}: {error})") from None


_READERS: dict[str, Callable[[Path, str], Found]] = {
    **dict.fromkeys((".txt", ".md"), _text_file),
    **dict.fromkeys((".html", ".htm"), _page),
    ".json": _json_file,
    ".jsonl": _rows,
    ".pdf": _pdf,
    ".docx": _docx,
}
KINDS = "txt, md, html, jsonl, json (one string), pdf and docx"


def _decoded(data: bytes, encoding: str = "utf-8") -> str:
    encoding = next((name for bom, name in _BOMS if data.startswith(bom)), encoding)
    if b"\0" in data and encoding != "utf-16":
        raise _UnusableError("it is binary, not text")
    try:
        return data.decode(encoding)
    except (UnicodeError, LookupError):
        raise _UnusableError(f"it is not {encoding.upper().removesuffix('-SIG')} text: save it as UTF-8") from None


def _unwrapped(text: str) -> str:
    unwrapped = _json_string(text)
    return text if unwrapped is None else unwrapped


def _json_string(text: str) -> str | None:
    bare = text.strip()
    if len(bare) < 2 or not (bare.startswith('"') and bare.endswith('"')):
        return None
    try:
        value = json.loads(bare)
    except ValueError:
        return None
    return value if isinstance(value, str) else None


def _one(name: str, text: str) -> Found:
    return Found(((name, _usable(text)),))


def _usable(text: str) -> str:
    """The text with `\\n` as its only line end and nothing blank around it."""
    if "\0" in text:
        raise _UnusableError("it holds NUL characters, which no model can be sent")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise _UnusableError("it holds half of a surrogate pair: write the text in UTF-8 again") from None
    plain = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").strip()
    if not plain:
        raise _UnusableError(_BLANK)
    return plain
