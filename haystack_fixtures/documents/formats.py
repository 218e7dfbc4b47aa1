"""From a file to the texts in it, by the ending of its name. What cannot be read says why."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from needlework.haystack_fixtures.documents.found import BLANK, Found, UnusableError, one
from needlework.haystack_fixtures.documents.mail_and_books import eml_text, epub_text, rtf_text
from needlework.haystack_fixtures.documents.pdf_and_word import docx_text, pdf_text
from needlework.haystack_fixtures.documents.slides_and_sheets import pptx_text, xlsx_text
from needlework.haystack_fixtures.documents.text_files import json_file, other, page, rows, text_file

EXTRA = "pip install 'needlework[documents]'"
_LARGEST = 2**30  # bytes of a file


def read_file(path: Path, name: str) -> Found:
    """Read one file, which is called `name`. A kind whose package is not installed is left out.

    A text file that is one JSON string, as snorkel's long-context-eval stores documents, is the text of that string.
    """
    ending = path.suffix.lower()
    package, module = _PACKAGES.get(ending, ("", ""))
    if module and find_spec(module) is None:
        return Found(left_out=((name, f"needs {package}: {EXTRA}"),), needs=package)
    read = _READERS.get(ending, other)
    try:
        if path.stat().st_size > _LARGEST:
            raise UnusableError(f"it is larger than {_LARGEST >> 20:,} MiB: split it")
        return read(path, name)
    except UnusableError as error:
        return Found(left_out=((name, str(error)),))
    except OSError as error:
        return Found(left_out=((name, f"cannot be read ({error.strerror or error})"),))


def _extracted(path: Path, name: str, kind: str, text_of: Callable[[bytes], str]) -> Found:
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


_READERS: dict[str, Callable[[Path, str], Found]] = {
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
