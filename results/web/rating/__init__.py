"""People rate models' answers 1 to 5, without knowing whose they are."""

from needlework.results.web.rating.page import open_page

__all__ = ["open_page"]
