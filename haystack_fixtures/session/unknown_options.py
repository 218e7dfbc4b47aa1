"""What is said beside pytest's complaint about options that it does not know: which of ours were meant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from needlework.haystack_fixtures.configuration.options import BY_KEY
from needlework.haystack_fixtures.configuration.peer_names import NAMES
from needlework.haystack_fixtures.errors import nearest


class UnknownOptions:
    """A line of pytest's usage errors (`Parser.extra_info`), made when it is shown: by then every plugin is loaded."""

    def __init__(self, parser: pytest.Parser, words: Sequence[str]) -> None:
        self._parser = parser
        self._words = words
        self._asked = False

    def __str__(self) -> str:
        return "; ".join(hints(self._unknown())) or "pytest --help lists all options"

    def _unknown(self) -> list[str]:
        if self._asked:  # what cannot be parsed for another reason complains again
            return []
        self._asked = True
        try:
            return self._parser.parse_known_and_unknown_args(self._words)[1]
        except pytest.UsageError:
            return []
        finally:
            self._asked = False


def hints(unknown: Sequence[str]) -> Iterator[str]:
    """For each unknown option: how it is written, what says it here, or the nearest name."""
    for word in unknown:
        name = word.partition("=")[0]
        if not name.startswith("--"):
            continue
        key = name.removeprefix("--").replace("-", "_")
        if key in BY_KEY:
            yield f"{name}: write --{BY_KEY[key].name}"
        elif key in NAMES:
            yield f"{name} ({', '.join(NAMES[key].peers)}): here {NAMES[key].remedy}"
        elif near := nearest(key, BY_KEY, NAMES):
            ours = near in BY_KEY
            yield f"{name}: did you mean --{BY_KEY[near].name}?" if ours else f"{name}: here {NAMES[near].remedy}"
