"""Needlework: a long-context benchmark as pytest cases.

In a checkout the packages are the folders beside this file; in an installed wheel they lie in its folder. Both are
imported by the same names: `needlework.scoring`, `needlework.results`, `needlework.haystack_fixtures`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

__path__ = [str(Path(__file__).parent)]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one sub-command of the console command `needlework` and return its exit code."""
    from needlework.__main__ import main as run

    return run(argv)


if __name__ == "__main__":
    sys.exit(main())
