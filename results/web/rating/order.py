"""In which order an annotator sees items, and the answers of an item: drawn, and the same after a break."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from needlework.haystack_fixtures.draws import draws, shuffled
from needlework.results.web.rating.items import Answer, Item


def item_order(seed: str, annotator: str, items: Sequence[Item]) -> list[Item]:
    """The items, those of one group together: who has read a document answers all that is asked about it."""
    groups: dict[str, list[Item]] = defaultdict(list)
    for item in sorted(items, key=lambda each: each.id):
        groups[item.group].append(item)
    drawn = shuffled(draws("rating groups", seed, annotator.casefold()), sorted(groups))
    return [
        item
        for group in drawn
        for item in shuffled(draws("rating items", seed, annotator.casefold(), group), groups[group])
    ]


def answer_order(seed: str, annotator: str, item: Item) -> list[tuple[Answer, ...]]:
    """An item's answers in the order of their labels A, B, C; equal ones have one label."""
    return shuffled(draws("rating answers", seed, annotator.casefold(), item.id), item.texts)


def label(place: int) -> str:
    """A for the first, Z for the 26th, then AA."""
    name = ""
    place += 1
    while place:
        place, letter = divmod(place - 1, 26)
        name = chr(ord("A") + letter) + name
    return name
