"""Why trials have no score, in a line for each reason: a run that is void must say so, and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from needlework.results.records.record import Record
from needlework.results.records.windows import refused_below_window
from needlework.results.style.text import one_line

_SHOWN = 300  # characters of an example


def unscored_lines(records: Sequence[Record], windows: Mapping[str, int] = MappingProxyType({})) -> list[str]:
    """One line for each reason why trials are invalid or were skipped: how many there are, and the first one's why.

    Errors are told by pytest itself, censored and unclear trials by their answers. `windows`: model -> tokens; what a
    server refused below them is told too.
    """
    found: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        if record["outcome"] in ("invalid", "skipped"):
            reasons = ", ".join(record["details"].get("invalid", ()))
            found.setdefault((record["outcome"], reasons), []).append(record)
    lines = [
        f"{outcome}: {len(those)} {'trial' if len(those) == 1 else 'trials'}: {one_line(those[0]['why'])[:_SHOWN]}"
        for (outcome, _), those in sorted(found.items())
    ]
    below = [record for record in records if refused_below_window(record, windows)]
    if below:
        length, window = min((record["length"], windows[record["model"]]) for record in below)
        lines.append(
            f"skipped below the window: {len(below)}, from length {length} on, where {window} tokens are told:"
            " the server gives less; these count for --max-errors"
        )
    return lines
