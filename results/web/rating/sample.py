"""Which items are rated: a question that runs ask in many contexts is not asked of people as often."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from needlework.results.web.rating.items import Item


def sampled(items: Sequence[Item], questions: int | None, contexts: int) -> tuple[Item, ...]:
    """Of each question of a run so many of its contexts, of all questions so many, in their order.

    A question with its answer taken out, or after a search, is the same question; contexts in which the task asks it as
    it is come first. Then those that the most models answered; among equals the draw is by the item's id, the same for
    everyone.
    """
    asked: dict[tuple[object, ...], list[Item]] = defaultdict(list)
    plain = {item.question: item.references for item in items if item.trial and item.plain}
    for item in items:
        references = item.references if item.plain else plain.get(item.question, item.references)
        asked[(item.question, references) if item.trial else (item.id,)].append(item)
    kept = [found[:contexts] for found in (sorted(each, key=_wanted) for each in asked.values())]
    if questions is not None:
        kept = sorted(kept, key=lambda found: found[0].id)[:questions]
    chosen = {item.id for found in kept for item in found}
    return tuple(item for item in items if item.id in chosen)


def _wanted(item: Item) -> tuple[bool, int, str]:
    return not item.plain, -len(item.answers), item.id
