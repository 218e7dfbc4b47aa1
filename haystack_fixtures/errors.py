"""The one exception that a user's mistake raises."""

from __future__ import annotations


class InputError(Exception):
    """Something the user gave cannot be used.

    Its text is one line that names the option or file, the value, and the remedy; the plugin prints it as it is.
    """

    def __init__(self, what: str, value: object, remedy: str) -> None:
        shown = " ".join(str(value).split())
        if len(shown) > 120:
            shown = shown[:117] + "..."
        super().__init__(f"{what}: {shown!r}: {remedy}")
