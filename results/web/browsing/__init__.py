"""Browsing of records: which trials there are, what was sent, what came back, and how it was scored."""

from needlework.results.web.browsing.pages import open_page

__all__ = ["open_page"]
