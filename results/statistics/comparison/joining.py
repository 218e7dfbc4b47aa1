"""Joins the records of two runs: which trials are the same."""

from collections.abc import Mapping, Sequence
from typing import cast

from needlework.core.record import Record
from needlework.results.statistics.panels import depth_order

Family = tuple[str, str, str]
"""Model, task, needle; the model is empty where the two runs are compared whatever their models are called."""
Identity = tuple[Family, int, float | None, int, int | None]
"""Family, length, depth, repeat, seed."""


def joined(first: Sequence[Record], second: Sequence[Record]) -> tuple[dict[Identity, Record], dict[Identity, Record]]:
    """Return the records of both runs by identity.

    Runs of one model each are joined whatever the models are; runs of several models must have the same ones, and each
    is joined with itself. Raises `ValueError` where the runs have no trial in common, or one of them a trial twice.
    """
    by_model = _several_models(first, second)
    a, b = _indexed(first, by_model), _indexed(second, by_model)
    if not a.keys() & b.keys():
        raise ValueError(f"they have no trial in common: {_why_disjoint(a, b)}")
    return a, b


def prompts_match(first: Record, second: Record) -> bool | None:
    """Whether two records were asked the same prompt, by its hash; `None` where one of them has none."""
    hashes = first.prompt.sha256, second.prompt.sha256
    return hashes[0] == hashes[1] if all(hashes) else None


def identity_order(at: Identity) -> tuple[Family, int, tuple[bool, float], int, int]:
    """Sort key of identities."""
    family, length, depth, repeat, seed = at
    return family, length, depth_order(depth), repeat, -1 if seed is None else seed


def _several_models(first: Sequence[Record], second: Sequence[Record]) -> bool:
    models = [sorted({record.model for record in records}) for records in (first, second)]
    if max(map(len, models)) <= 1:
        return False
    if models[0] != models[1]:
        shown = " / ".join(", ".join(names) or "none" for names in models)
        raise ValueError(f"runs of several models must have the same ones ({shown}); compare runs of one model")
    return True


def _indexed(records: Sequence[Record], by_model: bool) -> dict[Identity, Record]:
    index: dict[Identity, Record] = {}
    for record in records:
        family = (record.model if by_model else "", record.task_label, record.needle)
        at = (family, record.length, record.depth, record.repeat, record.seed)
        if at in index:
            raise ValueError(f"one of them has {record.id} twice; its results.json has it once")
        index[at] = record
    return index


def _why_disjoint(a: Mapping[Identity, Record], b: Mapping[Identity, Record]) -> str:
    """The first part of the identity that no trial shares."""
    for name, part in (("task and needle", 0), ("length", 1), ("depth", 2), ("repeat", 3), ("seed", 4)):
        values = [{at[part] for at in index} for index in (a, b)]
        if not values[0] & values[1]:
            shown = [", ".join(sorted({_words(value) for value in side})[:3]) or "none" for side in values]
            return f"{name} {shown[0]} / {shown[1]}"
    return "task, needle, length, depth, repeat and seed never match together"


def _words(value: object) -> str:
    return " ".join(filter(None, cast(Family, value))) if isinstance(value, tuple) else str(value)
