"""What a user's mistake raises: one exception, and kinds of it that are told for a whole run; and which name was
meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher, get_close_matches

_LONGEST_VALUE, _LONGEST = 120, 600
# What is this much like a name of ours is one of them, whatever others call theirs.
_OURS = 0.75


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


class TooLongError(InputError):
    """A length, in tokens, that the user's texts do not fill; `most`: what they fill with what is asked, `about`."""

    def __init__(self, length: int, most: int, about: str) -> None:
        self.told = f"all documents together fill {most} tokens with {about}"
        super().__init__("--lengths", length, f"{self.told}: use no more, or add some")
        self.length, self.most = length, most


class NoRoomError(InputError):
    """An answer budget, in tokens, that the answer does not fit; `needed`: one that it fits, with the answer's end."""

    def __init__(self, budget: int, of: str, needed: int) -> None:
        remedy = f"the answer of {of} and its end have {needed} tokens: use at least {needed}"
        super().__init__("--answer-budget", budget, remedy)
        self.needed = needed


def printable(text: object, longest: int = _LONGEST) -> str:
    """On one line, and nothing in it that a terminal obeys: files and servers have a say in what we print."""
    line = _one_line(text)
    if not line.isprintable():
        line = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)
    return _cut(line, longest)


def nearest(word: str, ours: Iterable[str], theirs: Iterable[str] = ()) -> str:
    """The nearest of the names, empty where none is near."""
    ours = list(ours)
    found = get_close_matches(word, ours, n=1, cutoff=_OURS) or get_close_matches(word, [*ours, *theirs], n=1)
    return found[0] if found and _begins_alike(word, found[0]) else ""


def _begins_alike(word: str, name: str) -> bool:
    """Whether the name has more of the word than some letters here and there, or the same ones in another order."""
    if sorted(word) == sorted(name):
        return True
    longest = SequenceMatcher(None, word, name, autojunk=False).find_longest_match().size
    return 2 * longest >= min(len(word), len(name))


def _one_line(value: object) -> str:
    # Only the beginning can be shown: a value of a gigabyte is not split into words.
    return " ".join(str(value)[:10_000].split())


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 3]}..."
