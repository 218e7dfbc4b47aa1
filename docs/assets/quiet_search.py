"""A hook of mkdocs: jieba, which splits Chinese words for the search, need not tell how it loads its dictionary."""

from __future__ import annotations

import logging
from typing import Any


def on_startup(**_: Any) -> None:
    """Called once the plugins are loaded, jieba among them."""
    logging.getLogger("jieba").setLevel(logging.WARNING)
