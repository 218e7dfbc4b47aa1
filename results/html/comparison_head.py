"""The sentence that a comparison's page begins with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from needlework.results.html.texts import on_one_line
from needlework.results.statistics.comparison.comparison import FamilyDifference
from needlework.results.tables.comparison import interval_words, points1


def verdict_sentence(families: Sequence[FamilyDifference], names: tuple[str, str]) -> str:
    """`new is worse than old: -33.3 points (95 % sure: -51.0..-15.6).`; of several tasks how many are which."""
    first, second = (on_one_line(name, 80) for name in names)
    if not families:
        return f"{first} and {second} have no question in common."
    if len(families) == 1:
        return f"{_told(families[0], first, second)}{_points(families[0])}."
    counts = Counter(family.verdict for family in families)
    of = f" of {len(families)} tasks"
    parts = [f"{word} on {counts[word]}{of}" for word in ("worse", "better") if counts[word]]
    rest = counts["no difference shown"] + counts["undetermined"]
    if not parts:
        return f"No difference between {first} and {second} is shown on any{of}."
    open_ = f"; no difference is shown on {rest}" if rest else ""
    return f"{second} is {' and '.join(parts)} than {first}{open_}."


def _told(family: FamilyDifference, first: str, second: str) -> str:
    if family.verdict in ("worse", "better"):
        return f"{second} is {family.verdict} than {first}"
    if family.verdict == "undetermined":
        return f"Too few samples tell {first} and {second} apart"
    return f"No difference between {first} and {second} is shown"


def _points(family: FamilyDifference) -> str:
    """What the verdict rests on: losses count as misses where there are any."""
    lost = bool(family.losses and family.counted is not None)
    found = family.counted if lost else family.difference
    if found is None:
        return ""
    ends = interval_words(found)
    sure = f" (95 % sure: {ends})" if ends else ""
    return f": {points1(found.mean)} points{sure}{', what was not answered counted as wrong' if lost else ''}"
