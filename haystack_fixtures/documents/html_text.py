"""The text of a web page as people read it: no markup, scripts or styles."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_UNSEEN = frozenset({"script", "style", "title", "template", "noscript", "svg"})
_BLOCK_TAGS = """
address article aside blockquote body dd div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr li
main nav ol p pre section table tr ul
"""
_BLOCKS = frozenset(_BLOCK_TAGS.split())
_SPACE = re.compile(r"[ \t\r\n\f]+")
_GAPS = re.compile(r"\n{3,}")


def html_text(page: str) -> str:
    """Return the text, a line for each block of the page; broken markup is read as far as it goes."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    lines = "".join(reader.pieces).split("\n")
    return _GAPS.sub("\n\n", "\n".join(line.rstrip() for line in lines)).strip()


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._unseen = ""  # the tag that hides what stands in it
        self._as_it_is = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - HTMLParser's
        if tag == "body":
            self._unseen = ""
        elif tag in _UNSEEN:
            self._unseen = self._unseen or tag
        if tag == "br":
            self.pieces.append("\n")
        elif tag in ("td", "th") and self.pieces and not self.pieces[-1].endswith((" ", "\n")):
            self.pieces.append(" ")
        self._block(tag, inside=True)

    def handle_endtag(self, tag: str) -> None:
        if tag == self._unseen:
            self._unseen = ""
        self._block(tag, inside=False)

    def handle_data(self, data: str) -> None:
        if self._unseen:
            return
        if not self._as_it_is:
            data = _SPACE.sub(" ", data)
            if not self.pieces or self.pieces[-1].endswith((" ", "\n")):
                data = data.lstrip(" ")
        if data:
            self.pieces.append(data)

    def _block(self, tag: str, *, inside: bool) -> None:
        if tag == "pre":
            self._as_it_is = inside
        if tag in _BLOCKS:
            self.pieces.append("\n" if tag in ("li", "tr", "dt", "dd") else "\n\n")
