"""Why trials have no score, in a line for each reason: a run that is void must say so, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable

from needlework.results.records.record import Record
from needlework.results.style.text import one_line

_SHOWN = 300  # characters of an example


def unscored_lines(records: Iterable[Record]) -> list[str]:
    """One line for each reason why trials are invalid or were skipped: how many there are, and the first one's why.

    Errors are told by pytest itself, censored and unclear trials by their answers.
    """
    found: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        if record["outcome"] in ("invalid", "skipped"):
            reasons = ", ".join(record["details"].get("invalid", ()))
            found.setdefault((record["outcome"], reasons), []).append(record)
    return [
        f"{outcome}: {len(those)} {'trial' if len(those) == 1 else 'trials'}: {one_line(those[0]['why'])[:_SHOWN]}"
        for (outcome, _), those in sorted(found.items())
    ]
