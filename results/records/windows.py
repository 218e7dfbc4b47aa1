"""Windows of models, in tokens, as manifests know them; and trials that a server refused though they fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from needlework.results.records.record import Record


def windows_of(facts: Mapping[str, object]) -> dict[str, int]:
    """Return model -> window that a manifest tells; a model whose window is unknown is left out."""
    models = facts.get("models")
    told = {
        name: model.get("window")
        for name, model in (models.items() if isinstance(models, Mapping) else ())
        if isinstance(model, Mapping)
    }
    return {name: window for name, window in told.items() if type(window) is int}


def common_window(windows: Mapping[str, int], records: Iterable[Record]) -> int | None:
    """Return the window of the records' models; `None` where it is unknown, or not the same for all."""
    found = {windows.get(model) for model in {record["model"] for record in records}}
    return found.pop() if len(found) == 1 else None


def refused_below_window(record: Record, windows: Mapping[str, int]) -> bool:
    """Whether a trial was skipped because the server called it too long, though its length is within the window.

    A trial that was skipped before it was asked has no latency: there our own count says that it does not fit.
    """
    asked = record.get("timing", {}).get("latency_s") is not None
    return record["outcome"] == "skipped" and asked and record["length"] <= windows.get(record["model"], 0)
