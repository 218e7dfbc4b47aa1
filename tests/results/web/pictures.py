"""Draws the pictures of docs/pages.md: `python -m tests.results.web.pictures [FOLDER]`.

FOLDER: docs/images.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.results.web import editing_documents_picture, editing_questions_picture, rating_picture


def main(folder: str = "docs/images") -> None:
    """Draw all of them."""
    place = Path(folder)
    rating_picture.main(place / "rating.png")
    editing_documents_picture.main(place / "editing-documents.png")
    editing_questions_picture.main(place / "editing-questions.png")


if __name__ == "__main__":
    main(*sys.argv[1:])
