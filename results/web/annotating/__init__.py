"""The page that annotates jsonl documents: read a long text, edit its instructions and outputs, lose nothing."""

from __future__ import annotations

from needlework.results.web.annotating.page import open_page

__all__ = ["open_page"]
