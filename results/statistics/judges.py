"""What the judges of a run say of each other: sentences for a report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from needlework.results.records.record import Record
from needlework.results.records.samples import own_label
from needlework.results.statistics.agreement.rates import agreement, share
from needlework.results.statistics.tasks import Share
from needlework.results.style.text import percent1
from needlework.scoring.judges.several import JUDGE_SAID

_RIGHT = 0.9  # of a mark 0..1: found


def judge_notes(records: Sequence[Record]) -> Iterator[str]:
    """How far several judges agree; nothing for a run with one judge."""
    ruled = [record for record in records if _said(record)]
    names = list(dict.fromkeys(name for record in ruled for name in _said(record)))
    if len(names) > 1:
        yield from _agreement(ruled, names)


def _agreement(ruled: Sequence[Record], names: Sequence[str]) -> Iterator[str]:
    samples = [own_label(record["needle"]).question or record["id"] for record in ruled]
    labels = [{name: _label(value) for name, value in _said(record).items()} for record in ruled]
    whole = [
        (set(each.values()), sample) for each, sample in zip(labels, samples, strict=True) if None not in each.values()
    ]
    same = share([float(len(found) == 1) for found, _ in whole], [sample for _, sample in whole])
    ties = sum(1 for record in ruled if (record["details"].get("score") or {}).get("tied"))
    split = f"; an even split on {ties}: no score" if ties else ""
    yield f"judges: all {len(names)} agree on {_percent(same)} of {len(whole)} answers{split}"
    for one, other in combinations(names, 2):
        both = [(each[one], each[other], sample) for each, sample in zip(labels, samples, strict=True)]
        pairs = [(first, second, sample) for first, second, sample in both if first and second]
        found = agreement([pair[:2] for pair in pairs], [pair[2] for pair in pairs])
        kappa = "" if found.kappa.value is None else f", Cohen's kappa {found.kappa.value:.2f}"
        yield f"judges {one} and {other} agree on {_percent(found.agreement)} of {found.n} answers{kappa}"


def _percent(share: Share) -> str:
    """`89.5 % (95 %: 68.6 to 97.1)`."""
    if share.value is None:
        return "no share"
    ends = (
        "" if share.low is None or share.high is None else f" (95 %: {100 * share.low:.1f} to {100 * share.high:.1f})"
    )
    return f"{percent1(share.value)} %{ends}"


def _said(record: Record) -> dict[str, float | None]:
    """What each of several judges made of an answer, 0..1, by its name; `None` where its reply could not be read."""
    details = record["details"].get("score") or {}
    return {key.removeprefix(JUDGE_SAID): value for key, value in details.items() if key.startswith(JUDGE_SAID)}


def _label(value: float | None) -> str | None:
    return None if value is None else "right" if value >= _RIGHT else "wrong"
