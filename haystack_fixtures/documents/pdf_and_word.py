"""The text of PDF files (pypdf) and of Word files (python-docx)."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator

from needlework.haystack_fixtures.documents.found import UnusableError, unpacked

_MOST_COLUMNS = 1000  # of a Word file's table; Word makes 63


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
