"""Where a run stands in a series: by the step that its name or its model's name holds, or by the time it began."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

_NAMED = re.compile(
    r"(?i)(?:step|checkpoint|ckpt|iter|iteration|epoch|tokens)s?[-_ =]*(\d+(?:\.\d+)?)([kmb]?)(?![a-z0-9])"
)
_LAST = re.compile(r"(\d+(?:\.\d+)?)(?!.*\d)")
_TIMES = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9}


def step_of(names: Iterable[str]) -> float | None:
    """Return the step that the first of `names` with one holds: `step-2k` is 2000, `ckpt_500` 500, else its last
    number; `None` where there is no number.
    """
    texts = list(names)
    for text in texts:
        if named := _NAMED.findall(text):
            number, unit = named[-1]
            return float(number) * _TIMES[unit.lower()]
    return next((float(found[1]) for text in texts if (found := _LAST.search(text))), None)


def began(manifest: Mapping[str, Any]) -> datetime | None:
    """Return when a run began, as its manifest has it; `None` where it does not say."""
    started = manifest.get("started")
    try:
        when = datetime.fromisoformat(started) if isinstance(started, str) else None
    except ValueError:
        return None
    return when if when is None or when.tzinfo else when.replace(tzinfo=UTC)
