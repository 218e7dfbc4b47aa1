"""Text and HTML files, and what reading a file gives."""

from __future__ import annotations

import codecs
import io
import json
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import regex

NOT_READ = "is not a kind that is read"
_FIELDS = ("text", "input", "content", "document")  # of a row, the first that is a text
_NAMES = ("id", "title")
_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_CHARSET = re.compile(rb"<meta[^>]+charset=[\"']?([\w-]+)", re.IGNORECASE)
_HEAD = 2048  # bytes of a page that may name its encoding
# Of files that are not read, as what they can be stored.
_OLD = {
    ".doc": ".docx", ".odt": ".docx", ".pages": ".docx", ".ppt": ".pptx", ".odp": ".pptx", ".key": ".pptx",
    ".xls": ".xlsx", ".ods": ".xlsx", ".numbers": ".xlsx", ".mobi": ".epub", ".azw3": ".epub", ".msg": ".eml",
}  # fmt: skip


def text_file(path: Path, name: str) -> FileTexts:
    """The text as it is; where it is one JSON string, the text of that."""
    text = _decoded(path.read_bytes())
    unwrapped = _json_string(text)
    return one(name, text if unwrapped is None else unwrapped)


def page(path: Path, name: str) -> FileTexts:
    """The text that people see of a web page."""
    data = path.read_bytes()
    declared = _CHARSET.search(data[:_HEAD])
    encoding = declared[1].decode("ascii").lower() if declared else "utf-8"
    if encoding.startswith("utf-16"):  # what says so in single bytes is not: browsers take it for UTF-8
        encoding = "utf-8"
    return one(name, html_text(_decoded(data, encoding)))


def json_file(path: Path, name: str) -> FileTexts:
    """The text of a file that is one JSON string."""
    text = _decoded(path.read_bytes())
    if not text.strip():
        raise UnusableError(BLANK)
    unwrapped = _json_string(text)
    if unwrapped is None:
        raise UnusableError("JSON, but not one string: write one document a row as .jsonl")
    return one(name, unwrapped)


def other(path: Path, name: str) -> FileTexts:
    """A file of an unknown kind is a document only where it is one JSON string."""
    kind = f"{path.suffix or 'a name without an ending'} {NOT_READ}"
    if (better := _OLD.get(path.suffix.lower())) is not None:
        kind += f": save it as {better}"
    with path.open("rb") as file:
        if not file.read(64).removeprefix(codecs.BOM_UTF8).lstrip().startswith(b'"'):
            raise UnusableError(kind)
    unwrapped = _json_string(_decoded(path.read_bytes()))
    if unwrapped is None:
        raise UnusableError(kind)
    return one(name, unwrapped)


def rows(path: Path, name: str) -> FileTexts:
    """One document a row, named by the rows' `id` or `title` where that tells them apart, else by the line from 1."""
    lines = _decoded(path.read_bytes()).split("\n")  # nothing else ends a line of jsonl
    rows = [(number, *_row(line)) for number, line in enumerate(lines, 1) if line.strip()]
    if not rows:
        raise UnusableError(BLANK)
    names = next((told for field in _NAMES if (told := _told_apart([row for _, row, _ in rows], field))), None)
    documents, left_out = [], []
    for at, (number, row, problem) in enumerate(rows):
        row_name = f"{name}#{names[at] if names else number}"
        try:
            if problem:
                raise UnusableError(problem)
            documents.append((row_name, usable(_row_text(row))))
        except UnusableError as error:
            left_out.append((row_name, str(error)))
    return FileTexts(tuple(documents), tuple(left_out))


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
        raise UnusableError(f"no text in a field {', '.join(_FIELDS[:-1])} or {_FIELDS[-1]}")
    return str(text)


def _decoded(data: bytes, encoding: str = "utf-8") -> str:
    encoding = next((name for bom, name in _BOMS if data.startswith(bom)), encoding)
    if b"\0" in data and encoding != "utf-16":
        raise UnusableError("it is binary, not text")
    try:
        return data.decode(encoding)
    except (UnicodeError, LookupError):
        raise UnusableError(f"it is not {encoding.upper().removesuffix('-SIG')} text: save it as UTF-8") from None


def _json_string(text: str) -> str | None:
    bare = text.strip()
    if len(bare) < 2 or not (bare.startswith('"') and bare.endswith('"')):
        return None
    try:
        value = json.loads(bare)
    except ValueError:
        return None
    return value if isinstance(value, str) else None


# Read in one pass: the standard library's parser starts anew at each tag without an end, which takes minutes for pages
# that are made for it, and raises on some.
_RAW = frozenset({"script", "style"})  # what stands in them is no markup
_UNSEEN = frozenset({*_RAW, "title", "template", "noscript", "svg"})
_BLOCK_TAGS = """
address article aside blockquote body dd div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr li
main nav ol p pre section table tr ul
"""
_BLOCKS = frozenset(_BLOCK_TAGS.split())
_SPACE = re.compile(r"[ \t\r\n\f]+")
_GAPS = re.compile(r"\n{3,}")
# A comment, a declaration or the like, or a tag (the slash of an end, the name, what is left). What has no end goes on
# to the end of the page. A quote counts behind `=` only.
_MARKUP = re.compile(
    r"<!--(?:>|->|.*?(?:--!?>|\Z))|<(?:[!?]|/[^a-z>])[^>]*(?:>|\Z)|</>"
    r"""|<(/?)([a-z][^\s/>]*)((?:[^>=]|=\s*+"[^"]*+"|=\s*+'[^']*+'|=)*+)(?:>|\Z)""",
    re.DOTALL | re.IGNORECASE,
)
_RAW_ENDS = {tag: re.compile(rf"</{tag}(?![^\s/>])", re.IGNORECASE) for tag in _RAW}


def html_text(page: str) -> str:
    """Return the text, a line for each block of the page; broken markup is read as far as it goes."""
    reader, at = _TextReader(), 0
    while markup := _MARKUP.search(page, at):
        reader.data(unescape(page[at : markup.start()]))
        at = markup.end()
        end, tag, attributes = markup.groups()
        tag = (tag or "").lower()
        if end:
            reader.end(tag)
        elif tag:
            reader.start(tag)
            if attributes.endswith("/"):
                reader.end(tag)
            elif tag in _RAW:
                close = _RAW_ENDS[tag].search(page, at)
                at = close.start() if close else len(page)
    reader.data(unescape(page[at:]))
    lines = "".join(reader.pieces).split("\n")
    return _GAPS.sub("\n\n", "\n".join(line.rstrip() for line in lines)).strip()


class _TextReader:
    def __init__(self) -> None:
        self.pieces: list[str] = []
        self._unseen = ""  # the tag that hides what stands in it
        self._as_it_is = False

    def start(self, tag: str) -> None:
        if tag == "body":
            self._unseen = ""
        elif tag in _UNSEEN:
            self._unseen = self._unseen or tag
        if tag == "br":
            self.pieces.append("\n")
        elif tag in ("td", "th") and self.pieces and not self.pieces[-1].endswith((" ", "\n")):
            self.pieces.append(" ")
        self._block(tag, inside=True)

    def end(self, tag: str) -> None:
        if tag == self._unseen:
            self._unseen = ""
        self._block(tag, inside=False)

    def data(self, data: str) -> None:
        if self._unseen:
            return
        if not self._as_it_is:
            data = _SPACE.sub(" ", data)
            if not self.pieces or self.pieces[-1].endswith((" ", "\n")):
                data = data.lstrip(" ")
        if data:
            self.pieces.append(data)

    def _block(self, tag: str, *, inside: bool) -> None:
        if tag == "pre":
            self._as_it_is = inside
        if tag in _BLOCKS:
            self.pieces.append("\n" if tag in ("li", "tr", "dt", "dd") else "\n\n")


BLANK = "it is blank"
_LARGEST_UNPACKED = 2**28  # bytes of a packed file's parts: a small file can hold gigabytes
LARGEST_TEXT = 2**25  # bytes of the parts that are read, and characters of a text: more than any window holds
_MARKUP_ENDINGS = (".xml", ".rels", ".html", ".xhtml", ".htm")


class UnusableError(Exception):
    """Why a file, or a row of one, is no document."""


@dataclass(frozen=True, slots=True)
class FileTexts:
    """The texts of one file by name, and what is left out of it: (name, reason).

    `needs`: the package without which this kind of file cannot be read; empty where nothing is missing.
    """

    documents: tuple[tuple[str, str], ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    needs: str = ""


def one(name: str, text: str) -> FileTexts:
    """A file that is one document. Raises `UnusableError`."""
    return FileTexts(((name, usable(text)),))


def usable(text: str) -> str:
    """The text with `\\n` as its only line end and nothing blank around it."""
    if "\0" in text:
        raise UnusableError("it holds NUL characters, which no model can be sent")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise UnusableError("it holds half of a surrogate pair: write the text in UTF-8 again") from None
    plain = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").strip()
    if not plain:
        raise UnusableError(BLANK)
    return plain


def unpacked(data: bytes) -> ZipFile:
    """A packed file, opened. Raises `UnusableError` where its parts are too large together."""
    packed = ZipFile(io.BytesIO(data))
    markup = [each for each in packed.infolist() if each.filename.lower().endswith(_MARKUP_ENDINGS)]
    for parts, most in ((packed.infolist(), _LARGEST_UNPACKED), (markup, LARGEST_TEXT)):
        if sum(each.file_size for each in parts) > most:
            raise UnusableError(f"it unpacks to more than {most >> 20} MiB: store it as text")
    return packed


_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}"
# Plain letters before a plain character come first: sets of properties take three times as long.
_RUN = regex.compile(rf"[a-z0-9]++(?=[\n -~])|[{_UNSPACED}]++|[\w--[_{_UNSPACED}]]++", regex.V1)
_FIRST_UNSPACED = "\u2e80"
_IS_UNSPACED = regex.compile(f"[{_UNSPACED}]")


def word_runs(text: str) -> list[str]:
    """The words of a text in order, case and compatibility forms folded.

    Text without spaces between words (Chinese, Japanese) comes in runs, up to what is none of it.
    """
    return _RUN.findall(unicodedata.normalize("NFKC", text).casefold())


def is_unspaced(run: str) -> bool:
    """Whether a run of `word_runs` is text without spaces between words."""
    return run >= _FIRST_UNSPACED and _IS_UNSPACED.match(run) is not None


def pairs_of(run: str) -> list[str]:
    """The pairs of neighbouring characters; of one character none."""
    return [run[at : at + 2] for at in range(len(run) - 1)]
