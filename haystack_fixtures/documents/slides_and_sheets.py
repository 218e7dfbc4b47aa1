"""The text of PowerPoint files (python-pptx) and of Excel files (openpyxl)."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

from needlework.haystack_fixtures.documents.found import unpacked


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


def _of_shapes(shapes: Iterable[Any]) -> Iterator[str]:
    for shape in shapes:
        if hasattr(shape, "shapes"):  # a group
            yield from _of_shapes(shape.shapes)
        elif shape.has_text_frame:
            yield shape.text_frame.text
        elif getattr(shape, "has_table", False):
            yield from (" | ".join(cell.text.strip() for cell in row.cells) for row in shape.table.rows)


def _rows(sheet: Any) -> Iterator[str]:
    sheet.reset_dimensions()  # what a file says of its size may be wrong
    for row in sheet.iter_rows(values_only=True):
        values = ["" if value is None else str(value).strip() for value in row]
        if any(values):
            yield " | ".join(values).rstrip(" |")
