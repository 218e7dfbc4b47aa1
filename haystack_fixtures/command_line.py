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
        self._words: list[str] = []

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """As argparse does, but that an unknown option is refused here, where its neighbours are known."""
        self._words = list(sys.argv[1:] if args is None else args)
        found, unknown = super().parse_known_args(args, namespace)
        option = next((word.partition("=")[0] for word in unknown if word.startswith("-")), None)
        if option is not None:
            self.error(self._unknown(option))
        return found, unknown

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and end with exit code 2. A misspelt option is told before what is missing beside it."""
        if message.startswith("the following arguments are required"):
            message = next((self._unknown(option) for option in self._options() if not self._has(option)), message)
        self.exit(2, f"{self.prog}: {printable(message)} (see {self.prog} --help)\n")

    def _options(self) -> Iterator[str]:
        """The options among the words of the command line, as they are written."""
        own = self._words[: self._words.index("--")] if "--" in self._words else self._words
        yield from (word.partition("=")[0] for word in own if word.startswith("--"))

    def _has(self, option: str) -> bool:
        """Whether it is an option of this parser's, or, as argparse takes it, the beginning of one."""
        return any(name == option or (self.allow_abbrev and name.startswith(option)) for name in _written(self))

    def _unknown(self, option: str) -> str:
        return f"there is no {option}{self._hint(option.lstrip('-'))}"

    def _hint(self, name: str) -> str:
        if name in self._theirs:
            return f": {self._theirs[name]}"
        near = nearest(name.replace("_", "-"), (known[2:] for known in _written(self)))
        return f": did you mean --{near}?" if near else ""


def _written(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:  # noqa: SLF001 - argparse names them nowhere else
        yield from (name for name in action.option_strings if name.startswith("--"))


def refuse(command: str, line: object) -> int:
    """Print one line to standard error, with the command's name once; the exit code for bad input."""
    said = printable(line, 1000).removeprefix(f"{command}: ")
    print(f"needlework {command}: {said}", file=sys.stderr)
    return 2
