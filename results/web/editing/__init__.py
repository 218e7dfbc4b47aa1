"""The editor: questions and answers beside a long document, of a questions file or a jsonl file of documents."""

from needlework.results.web.editing.page import open_page

__all__ = ["open_page"]
