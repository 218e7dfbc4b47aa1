"""How much of the prompts was not computed again: what cells of one text have in common."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from needlework.results.records.record import Record
from needlework.results.style.text import one_line


def shared_lines(records: Sequence[Record]) -> Iterator[str]:
    """One line for each model whose answers tell that tokens were shared, when they were asked for."""
    for model in dict.fromkeys(record["model"] for record in records):
        own = [each for each in records if each["model"] == model]
        tokens = sum(each["prompt"].get("tokens") or 0 for each in own)
        shared = sum(each["timing"].get("cached_tokens") or 0 for each in own)
        if 0 < shared < tokens:
            yield one_line(
                f"{model}: {tokens:,} prompt tokens, {tokens - shared:,} computed and {shared:,} shared with other "
                f"prompts ({100 * shared / tokens:.0f} % saved)"
            )
