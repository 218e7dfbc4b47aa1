"""The settings of a merged run: those of its parts, which have one recipe and may have other axes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from needlework.haystack_fixtures.configuration.options import BY_KEY
from needlework.haystack_fixtures.configuration.stored_settings import safe_value
from needlework.haystack_fixtures.settings.places import Places
from needlework.haystack_fixtures.settings.settings import Settings, Suite

Value = TypeVar("Value", bound=Hashable)


def merged_settings(
    parts: Sequence[Settings], into: Path, gates: Sequence[str], baseline: str | None, places: Places
) -> Settings:
    """The first part's settings, with every length, depth and repeat that a part asked, and without its shard.

    `gates`, `baseline`: what the merge was given, in place of what the parts were given. A baseline of the parts has to
    lie where `places` allows it.
    """
    first = parts[0]
    if baseline is None and first.baseline is not None and (gates or first.gate):
        baseline = safe_value(BY_KEY["baseline"], first.baseline, places)
    suites = tuple(_suite([part.suites[place] for part in parts]) for place in range(len(first.suites)))
    return replace(
        first,
        suites=suites,
        shard=None,
        top_up=0,
        fresh=False,
        results_dir=into.parent,
        run_name=into.name,
        gate=tuple(gates) or first.gate,
        baseline=baseline or first.baseline,
    )


def _suite(parts: Sequence[Suite]) -> Suite:
    return replace(
        parts[0],
        lengths=_all(part.lengths for part in parts),
        depths=_all(part.depths for part in parts),
        controls=_all(part.controls for part in parts),
        variants=_all(part.variants for part in parts),
        repeats=max(part.repeats for part in parts),
    )


def _all(found: Iterable[tuple[Value, ...]]) -> tuple[Value, ...]:
    """Every value once, in the order of the first that has it."""
    return tuple(dict.fromkeys(value for values in found for value in values))
