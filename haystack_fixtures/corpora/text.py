"""What every loader does to text before it becomes part of a corpus."""

from __future__ import annotations

from needlework.haystack_fixtures.errors import InputError

_NOT_TEXT = "\x00"


def clean_text(text: str, where: str) -> str:
    """Text with `\\n` as its only line end and without a byte-order mark.

    NUL characters and lone surrogates (from a JSON escape, say) cannot be sent to a model: they raise InputError,
    which names `where`. Nothing is removed silently.
    """
    if _NOT_TEXT in text:
        raise InputError("--corpus", where, "it holds NUL characters: give a text file in UTF-8")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        remedy = f"half of a surrogate pair at character {error.start}: write the text in UTF-8 again"
        raise InputError("--corpus", where, remedy) from None
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
