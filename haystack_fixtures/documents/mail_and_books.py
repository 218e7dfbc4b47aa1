"""The text of mails and of EPUB books, read with the standard library, and of RTF files (striprtf).

EPUB is a zip of web pages with a list of their order. EbookLib reads it too, but under the AGPL, which would bind
whoever passes it on with this package.
"""

from __future__ import annotations

import email
import posixpath
from email import policy
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree
from zipfile import ZipFile

from needlework.haystack_fixtures.documents.found import UnusableError, unpacked
from needlework.haystack_fixtures.documents.html_text import html_text

_CONTAINER, _LOCKED = "META-INF/container.xml", "META-INF/encryption.xml"
_HEAD = ("From", "To", "Date", "Subject")


def eml_text(data: bytes) -> str:
    """Sender, receiver, date and subject, then what was written: plain text, else the page. No attachments."""
    mail = email.message_from_bytes(data, policy=policy.default)
    body = mail.get_body(("plain", "html"))
    written = str(body.get_content()) if body is not None else ""
    if body is not None and body.get_content_subtype() == "html":
        written = html_text(written)
    head = [f"{name}: {mail[name]}" for name in _HEAD if mail[name]]
    if not head and not written.strip():
        raise UnusableError("it is no mail")
    return "\n".join(head) + "\n\n" + written


def rtf_text(data: bytes) -> str:
    """The text without its layout."""
    from striprtf import striprtf

    read: Any = striprtf.rtf_to_text  # it has no types
    if not data.lstrip().startswith(b"{\\rtf"):
        raise UnusableError("it is no RTF")
    # RTF is ASCII; what is not, was written in the encoding that its head names, and is read byte by byte.
    return str(read(data.decode("latin-1"), errors="ignore"))


def epub_text(data: bytes) -> str:
    """The chapters in their order."""
    with unpacked(data) as packed:
        return "\n\n".join(html_text(packed.read(name).decode("utf-8-sig")) for name in _chapters(packed))


def _chapters(packed: ZipFile) -> list[str]:
    """The names of a book's pages in the order of reading, as its package file lists them."""
    package = next(
        each.get("full-path", "") for each in _xml(packed, _CONTAINER).iter() if each.tag.endswith("}rootfile")
    )
    listing = _xml(packed, package)
    items = {each.get("id"): each.get("href", "") for each in listing.iter() if each.tag.endswith("}item")}
    order = [items[each.get("idref")] for each in listing.iter() if each.tag.endswith("}itemref")]
    names = [posixpath.normpath(posixpath.join(posixpath.dirname(package), unquote(href))) for href in order]
    if _LOCKED in packed.namelist():
        locked = {unquote(each.get("URI", "")) for each in _xml(packed, _LOCKED).iter()}
        if locked & set(names):
            raise UnusableError("it is encrypted: store it without protection")
    return names


def _xml(packed: ZipFile, name: str) -> ElementTree.Element:
    text = packed.read(name)
    if b"<!ENTITY" in text:
        raise UnusableError("its list of chapters defines entities: store it as text")
    return ElementTree.fromstring(text)  # noqa: S314 - without entities there is nothing to expand
