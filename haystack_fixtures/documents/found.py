"""What reading a file comes to: the texts in it, or why it is no document."""

from __future__ import annotations

import io
from dataclasses import dataclass
from zipfile import ZipFile

BLANK = "it is blank"
_LARGEST_UNPACKED = 2**28  # bytes of a packed file's parts: a small file can hold gigabytes


class UnusableError(Exception):
    """Why a file, or a row of one, is no document."""


@dataclass(frozen=True, slots=True)
class Found:
    """The texts of one file by name, and what is left out of it: (name, reason).

    `needs`: the package without which this kind of file cannot be read; empty where nothing is missing.
    """

    documents: tuple[tuple[str, str], ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    needs: str = ""


def one(name: str, text: str) -> Found:
    """A file that is one document. Raises `UnusableError`."""
    return Found(((name, usable(text)),))


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
    if sum(each.file_size for each in packed.infolist()) > _LARGEST_UNPACKED:
        raise UnusableError(f"it unpacks to more than {_LARGEST_UNPACKED >> 20} MiB: store it as text")
    return packed
