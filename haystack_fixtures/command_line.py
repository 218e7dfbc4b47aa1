"""What the sub-commands of `needlework` share: complaints in one line, exit code 2."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

from needlework.haystack_fixtures.errors import nearest, printable


class OneLineParser(argparse.ArgumentParser):
    """An argument parser whose complaints are one line, as all of ours are, and name the option that was meant.

    `theirs`: what to write in place of another system's option, by its name without dashes before it.
    """

    def __init__(self, *args: Any, theirs: Mapping[str, str] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._theirs = theirs or {}

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """As argparse does, but that an unknown option is refused here, where its neighbours are known."""
        found, unknown = super().parse_known_args(args, namespace)
        option = next((word.partition("=")[0] for word in unknown if word.startswith("-")), None)
        if option is not None:
            self.error(f"there is no {option}{self._hint(option.lstrip('-'))}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and end with exit code 2."""
        self.exit(2, f"{self.prog}: {printable(message)} (see {self.prog} --help)\n")

    def _hint(self, name: str) -> str:
        if name in self._theirs:
            return f": {self._theirs[name]}"
        near = nearest(name.replace("_", "-"), _names(self))
        return f": did you mean --{near}?" if near else ""


def _names(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:  # noqa: SLF001 - argparse names them nowhere else
        yield from (name[2:] for name in action.option_strings if name.startswith("--"))


def refuse(command: str, line: object) -> int:
    """Print one line to standard error; the exit code for bad input."""
    print(f"needlework {command}: {printable(line, 1000)}", file=sys.stderr)
    return 2
