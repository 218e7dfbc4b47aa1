"""Readers of documents: PDF, Word, slides, sheets, mail, books; folders of them."""

from __future__ import annotations

import email
import io
import logging
import os
import posixpath
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from email import policy
from functools import cached_property, lru_cache, partial
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote
from xml.etree import ElementTree
from zipfile import ZipFile

from needlework.core.errors import InputError, printable
from needlework.haystack_fixtures.documents.text_files import (
    BLANK,
    LARGEST_TEXT,
    NOT_READ,
    FileTexts,
    UnusableError,
    html_text,
    json_file,
    one,
    other,
    page,
    rows,
    text_file,
    unpacked,
)

EXTRA = "pip install 'needlework[documents]'"
_LARGEST = 2**30  # bytes of a file


def read_file(path: Path, name: str) -> FileTexts:
    """Read one file, which is called `name`. A kind whose package is not installed is left out.

    A text file that is one JSON string, as snorkel's long-context-eval stores documents, is the text of that string.
    """
    ending = path.suffix.lower()
    package, module = _PACKAGES.get(ending, ("", ""))
    if module and find_spec(module) is None:
        return FileTexts(left_out=((name, f"needs {package}: {EXTRA}"),), needs=package)
    read = _READERS.get(ending, other)
    try:
        if path.stat().st_size > _LARGEST:
            raise UnusableError(f"it is larger than {_LARGEST >> 20:,} MiB: split it")
        return read(path, name)
    except UnusableError as error:
        return FileTexts(left_out=((name, str(error)),))
    except OSError as error:
        return FileTexts(left_out=((name, f"cannot be read ({error.strerror or error})"),))


def _extracted(path: Path, name: str, kind: str, text_of: Callable[[bytes], str]) -> FileTexts:
    """The text that a library finds. Libraries raise whatever a broken file leads them to."""
    data = path.read_bytes()
    if not data.strip():
        raise UnusableError(BLANK)
    try:
        text = text_of(data)
    except UnusableError:
        raise
    except Exception as error:  # noqa: BLE001
        raise UnusableError(f"cannot be read as {kind} ({type(error).__name__}: {error})") from None
    return one(name, text)


def xlsx_text(data: bytes) -> str:
    """The sheets in their order: the name, then each row with values. Of formulas their results, as last computed."""
    from openpyxl import load_workbook

    unpacked(data).close()
    with warnings.catch_warnings(action="ignore"):  # of what it does not know: charts, colours, validations
        book = load_workbook(io.BytesIO(data), read_only=True, data_only=True)
        try:
            sheets = [(sheet.title, list(_rows(sheet))) for sheet in book.worksheets]
        finally:
            book.close()
    return "\n\n".join("\n".join([title, *rows]) for title, rows in sheets if rows)


def _rows(sheet: Any) -> Iterator[str]:
    sheet.reset_dimensions()  # what a file says of its size may be wrong
    size = 0
    for row in sheet.iter_rows(values_only=True):
        values = ["" if value is None else str(value).strip() for value in row]
        size += sum(map(len, values))  # many cells may share one long text
        if size > LARGEST_TEXT:
            raise UnusableError(f"its text has more than {LARGEST_TEXT:,} characters: split it")
        if any(values):
            yield " | ".join(values).rstrip(" |")


def eml_text(data: bytes) -> str:
    """Sender, receiver, date and subject, then what was written: plain text, else the page. No attachments."""
    mail = email.message_from_bytes(data, policy=policy.default)
    body = mail.get_body(("plain", "html"))
    written = str(body.get_content()) if body is not None else ""
    if body is not None and body.get_content_subtype() == "html":
        written = html_text(written)
    head = [f"{name}: {mail[name]}" for name in _HEAD if mail[name]]
    if not head and not written.strip():
        raise UnusableError("it is no mail")
    return "\n".join(head) + "\n\n" + written


_HEAD = ("From", "To", "Date", "Subject")


def epub_text(data: bytes) -> str:
    """The chapters in their order."""
    with unpacked(data) as packed:
        chapters = dict.fromkeys(_chapters(packed))
        if sum(packed.getinfo(name).file_size for name in chapters) > LARGEST_TEXT:
            raise UnusableError(f"it unpacks to more than {LARGEST_TEXT >> 20} MiB: store it as text")
        return "\n\n".join(html_text(packed.read(name).decode("utf-8-sig")) for name in chapters)


def _chapters(packed: ZipFile) -> list[str]:
    """The names of a book's pages in the order of reading, as its package file lists them."""
    package = next(
        each.get("full-path", "") for each in _xml(packed, _CONTAINER).iter() if each.tag.endswith("}rootfile")
    )
    listing = _xml(packed, package)
    items = {each.get("id"): each.get("href", "") for each in listing.iter() if each.tag.endswith("}item")}
    order = [items[each.get("idref")] for each in listing.iter() if each.tag.endswith("}itemref")]
    names = [posixpath.normpath(posixpath.join(posixpath.dirname(package), unquote(href))) for href in order]
    if _LOCKED in packed.namelist():
        locked = {unquote(each.get("URI", "")) for each in _xml(packed, _LOCKED).iter()}
        if locked & set(names):
            raise UnusableError("it is encrypted: store it without protection")
    return names


def _xml(packed: ZipFile, name: str) -> ElementTree.Element:
    text = packed.read(name)
    if b"<!ENTITY" in text:
        raise UnusableError("its list of chapters defines entities: store it as text")
    return ElementTree.fromstring(text)  # noqa: S314 - without entities there is nothing to expand


# EPUB is a zip of web pages with a list of their order. EbookLib reads it too, but under the AGPL, which would bind
# whoever passes it on with this package.
_CONTAINER, _LOCKED = "META-INF/container.xml", "META-INF/encryption.xml"


def docx_text(data: bytes) -> str:
    """Paragraphs and tables in their order, tables row by row."""
    from docx import Document

    unpacked(data).close()
    return "\n".join(_parts(Document(io.BytesIO(data)).iter_inner_content()))


def _parts(content: Iterator[object]) -> Iterator[str]:
    from docx.table import Table

    for part in content:
        if isinstance(part, Table):
            for row in part.rows:
                if sum(cell.grid_span for cell in row._tr.tc_lst) > _MOST_COLUMNS:  # noqa: SLF001 - cells repeats each
                    raise UnusableError(f"a table of it has more than {_MOST_COLUMNS:,} columns")
                yield " | ".join(dict.fromkeys(cell.text.strip() for cell in row.cells))  # merged cells come again
        else:
            yield str(getattr(part, "text", ""))


_MOST_COLUMNS = 1000  # of a Word file's table; Word makes 63


def rtf_text(data: bytes) -> str:
    """The text without its layout."""
    from striprtf import striprtf

    read: Any = striprtf.rtf_to_text  # it has no types
    if not data.lstrip().startswith(b"{\\rtf"):
        raise UnusableError("it is no RTF")
    # RTF is ASCII; what is not, was written in the encoding that its head names, and is read byte by byte.
    return str(read(data.decode("latin-1"), errors="ignore"))


def pptx_text(data: bytes) -> str:
    """The slides in their order: texts, tables row by row, then the speaker's notes."""
    from pptx import Presentation

    unpacked(data).close()
    slides = []
    for slide in Presentation(io.BytesIO(data)).slides:
        parts = list(_of_shapes(slide.shapes))
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            parts.append(slide.notes_slide.notes_text_frame.text)
        slides.append("\n".join(part for part in parts if part.strip()))
    return "\n\n".join(slides)


def _of_shapes(shapes: Iterable[Any]) -> Iterator[str]:
    for shape in shapes:
        if hasattr(shape, "shapes"):  # a group
            yield from _of_shapes(shape.shapes)
        elif shape.has_text_frame:
            yield shape.text_frame.text
        elif getattr(shape, "has_table", False):
            yield from (" | ".join(cell.text.strip() for cell in row.cells) for row in shape.table.rows)


def pdf_text(data: bytes) -> str:
    """The text of all pages. Raises `UnusableError` where there is none."""
    from pypdf import PdfReader

    complaints = logging.getLogger("pypdf")
    if not complaints.handlers:  # without one, each goes to the terminal; what matters is raised
        complaints.addHandler(logging.NullHandler())
    reader = PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        raise UnusableError("it is encrypted: store it without a password")
    text = "\n\n".join(page.extract_text() for page in reader.pages)
    if not text.strip():
        raise UnusableError("it has no text (scanned pages?): run text recognition on it")
    return text


_READERS: dict[str, Callable[[Path, str], FileTexts]] = {
    **dict.fromkeys((".txt", ".md", ".csv", ".tsv"), text_file),
    **dict.fromkeys((".html", ".htm"), page),
    ".json": json_file,
    ".jsonl": rows,
    ".pdf": partial(_extracted, kind="a PDF", text_of=pdf_text),
    ".docx": partial(_extracted, kind="a Word file", text_of=docx_text),
    ".pptx": partial(_extracted, kind="a PowerPoint file", text_of=pptx_text),
    ".xlsx": partial(_extracted, kind="an Excel file", text_of=xlsx_text),
    ".rtf": partial(_extracted, kind="RTF", text_of=rtf_text),
    ".epub": partial(_extracted, kind="a book", text_of=epub_text),
    ".eml": partial(_extracted, kind="a mail", text_of=eml_text),
}
# Of kinds that need one: the package as pip calls it, and as Python does.
_PACKAGES = {
    ".pdf": ("pypdf", "pypdf"),
    ".docx": ("python-docx", "docx"),
    ".pptx": ("python-pptx", "pptx"),
    ".xlsx": ("openpyxl", "openpyxl"),
    ".rtf": ("striprtf", "striprtf"),
}
KINDS = "txt, md, html, csv, tsv, jsonl, json (one string), pdf, docx, pptx, xlsx, rtf, epub and eml"


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
