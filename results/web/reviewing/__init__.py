"""Review of questions about the user's own documents: accept, edit or reject each pair, beside its document."""

from needlework.results.web.reviewing.routes import open_page

__all__ = ["open_page"]
