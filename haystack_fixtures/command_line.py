"""What the sub-commands of `needlework` share: complaints in one line, exit code 2."""

from __future__ import annotations

import argparse
import sys
from typing import NoReturn

from needlework.haystack_fixtures.errors import printable


class OneLineParser(argparse.ArgumentParser):
    """An argument parser whose complaints are one line, as all of ours are."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and end with exit code 2."""
        self.exit(2, f"{self.prog}: {printable(message)} (see {self.prog} --help)\n")


def refuse(command: str, line: object) -> int:
    """Print one line to standard error; the exit code for bad input."""
    print(f"needlework {command}: {printable(line, 1000)}", file=sys.stderr)
    return 2
