"""What a user's mistake raises: one exception, and a kind of it that a run of many tasks can go on without."""

from __future__ import annotations

_LONGEST_VALUE, _LONGEST = 120, 600


class InputError(Exception):
    """Something the user gave cannot be used.

    Its text is one line that names the option or file, the value, and the remedy; the plugin prints it as it is.
    """

    def __init__(self, what: str, value: object, remedy: str) -> None:
        shown = _cut(_one_line(value), _LONGEST_VALUE)
        super().__init__(f"{printable(what, _LONGEST_VALUE)}: {shown!r}: {printable(remedy)}")


class TooShortError(InputError):
    """A length, in tokens, that cannot hold what is asked; `least`: one that can, as far as it is known here."""

    def __init__(self, length: int, needed: str, least: int | None = None) -> None:
        super().__init__("--lengths", length, f"{needed}: use at least {least}" if least else needed)
        self.least = least


def printable(text: object, longest: int = _LONGEST) -> str:
    """On one line, and nothing in it that a terminal obeys: files and servers have a say in what we print."""
    return _cut("".join(c if c.isprintable() else ascii(c)[1:-1] for c in _one_line(text)), longest)


def _one_line(value: object) -> str:
    # Only the beginning can be shown: a value of a gigabyte is not split into words.
    return " ".join(str(value)[:10_000].split())


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 3]}..."
