"""Which variants of a task fit where: many statements need a long context."""

from __future__ import annotations

from collections.abc import Mapping

from needlework.haystack_fixtures.settings.settings import Suite

_TOKENS = 24  # of a statement, with room for tokenizers that need more


def fitting(suite: Suite, statements: Mapping[str, int]) -> tuple[str, ...]:
    """The variants, by name with their number of statements, that fit at a length of the suite; the smallest always."""
    least = min(statements.values())
    return tuple(name for name, count in statements.items() if count == least or _holding(suite, count))


def long_enough(suite: Suite, statements: int) -> tuple[int, ...]:
    """The suite's lengths of which so many statements fill no more than half; all of them where none is long enough."""
    return _holding(suite, statements) or suite.lengths


def _holding(suite: Suite, statements: int) -> tuple[int, ...]:
    return tuple(length for length in suite.lengths if length - suite.kept_free >= 2 * _TOKENS * statements)
