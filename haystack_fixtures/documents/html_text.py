"""The text of a web page as people read it: no markup, scripts or styles.

Read in one pass: the standard library's parser starts anew at each tag without an end, which takes minutes for pages
that are made for it, and raises on some.
"""

from __future__ import annotations

import re
from html import unescape

_RAW = frozenset({"script", "style"})  # what stands in them is no markup
_UNSEEN = frozenset({*_RAW, "title", "template", "noscript", "svg"})
_BLOCK_TAGS = """
address article aside blockquote body dd div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr li
main nav ol p pre section table tr ul
"""
_BLOCKS = frozenset(_BLOCK_TAGS.split())
_SPACE = re.compile(r"[ \t\r\n\f]+")
_GAPS = re.compile(r"\n{3,}")
# A comment, a declaration or the like, or a tag (the slash of an end, the name, what is left). What has no end goes on
# to the end of the page. A quote counts behind `=` only.
_MARKUP = re.compile(
    r"<!--(?:>|->|.*?(?:--!?>|\Z))|<(?:[!?]|/[^a-z>])[^>]*(?:>|\Z)|</>"
    r"""|<(/?)([a-z][^\s/>]*)((?:[^>=]|=\s*+"[^"]*+"|=\s*+'[^']*+'|=)*+)(?:>|\Z)""",
    re.DOTALL | re.IGNORECASE,
)
_RAW_ENDS = {tag: re.compile(rf"</{tag}(?![^\s/>])", re.IGNORECASE) for tag in _RAW}


def html_text(page: str) -> str:
    """Return the text, a line for each block of the page; broken markup is read as far as it goes."""
    reader, at = _Reader(), 0
    while markup := _MARKUP.search(page, at):
        reader.data(unescape(page[at : markup.start()]))
        at = markup.end()
        end, tag, attributes = markup.groups()
        tag = (tag or "").lower()
        if end:
            reader.end(tag)
        elif tag:
            reader.start(tag)
            if attributes.endswith("/"):
                reader.end(tag)
            elif tag in _RAW:
                close = _RAW_ENDS[tag].search(page, at)
                at = close.start() if close else len(page)
    reader.data(unescape(page[at:]))
    lines = "".join(reader.pieces).split("\n")
    return _GAPS.sub("\n\n", "\n".join(line.rstrip() for line in lines)).strip()


class _Reader:
    def __init__(self) -> None:
        self.pieces: list[str] = []
        self._unseen = ""  # the tag that hides what stands in it
        self._as_it_is = False

    def start(self, tag: str) -> None:
        if tag == "body":
            self._unseen = ""
        elif tag in _UNSEEN:
            self._unseen = self._unseen or tag
        if tag == "br":
            self.pieces.append("\n")
        elif tag in ("td", "th") and self.pieces and not self.pieces[-1].endswith((" ", "\n")):
            self.pieces.append(" ")
        self._block(tag, inside=True)

    def end(self, tag: str) -> None:
        if tag == self._unseen:
            self._unseen = ""
        self._block(tag, inside=False)

    def data(self, data: str) -> None:
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
