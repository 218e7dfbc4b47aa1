"""Lines about trials without a score, and about shared tokens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from needlework.core.record import Record
from needlework.results.records.samples import grouped, refused_below_window
from needlework.results.style import counted, one_line

_SHOWN = 300  # characters of an example


def unscored_lines(records: Sequence[Record], windows: Mapping[str, int] = MappingProxyType({})) -> list[str]:
    """One line for each reason why trials are invalid or were skipped: how many there are, and the first one's why.

    Errors are told by pytest itself, censored and unclear trials by their answers. `windows`: model -> tokens; what a
    server refused below them is told too.
    """
    unscored = (record for record in records if record.outcome in ("invalid", "skipped"))
    groups = grouped(unscored, lambda record: (record.outcome, ", ".join(record.details.invalid)))
    lines = [
        f"{outcome}: {counted(len(group), 'trial')}: {one_line(group[0].why)[:_SHOWN]}"
        for (outcome, _), group in sorted(groups.items())
    ]
    below = [record for record in records if refused_below_window(record, windows)]
    if below:
        length, window = min((record.length, windows[record.model]) for record in below)
        lines.append(
            f"skipped below the window: {len(below)}, from length {length} on, where {window} tokens are told:"
            " the server gives less; these count for --max-errors"
        )
    return lines


def shared_lines(records: Sequence[Record]) -> Iterator[str]:
    """One line for each model whose answers tell that tokens were shared, when they were asked for."""
    for model, group in grouped(records, lambda record: record.model).items():
        tokens = sum(record.prompt.tokens or 0 for record in group)
        shared = sum(record.timing.cached_tokens or 0 for record in group)
        if 0 < shared < tokens:
            yield one_line(
                f"{model}: {tokens:,} prompt tokens, {tokens - shared:,} computed and {shared:,} shared with other "
                f"prompts ({100 * shared / tokens:.0f} % saved)"
            )
