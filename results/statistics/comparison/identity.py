"""Models of several runs that are the same, or are not, whatever they are called: by the hashes of their weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from needlework.results.style.text import one_line


def weights_of(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Return model -> hash of its weights, of those that a manifest has one for."""
    models = manifest.get("models")
    told = {
        name: model.get("weights_sha256")
        for name, model in (models.items() if isinstance(models, Mapping) else ())
        if isinstance(model, Mapping)
    }
    return {name: sha256 for name, sha256 in told.items() if isinstance(sha256, str)}


def weights_lines(manifests: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Say which runs have the same weights under different names, and different weights under one name.

    `manifests`: by the run's name. `step1000 and step2000 are the same weights (sha256 b179c9523d0e)`.
    """
    by_hash: dict[str, dict[str, str]] = {}
    by_name: dict[str, dict[str, str]] = {}
    for run, manifest in manifests.items():
        for model, sha256 in weights_of(manifest).items():
            by_hash.setdefault(sha256, {})[run] = model
            by_name.setdefault(model, {})[run] = sha256
    lines = [
        f"{_listed(own)} are the same weights (sha256 {sha256[:12]})"
        for sha256, own in by_hash.items()
        if len(set(own.values())) > 1
    ]
    for model, own in by_name.items():
        if len(set(own.values())) > 1:
            lines.append(f"{_listed(own)} are different weights under one name, {one_line(model)}")
    return lines


def _listed(runs: Mapping[str, str]) -> str:
    *names, last = map(one_line, runs)
    return f"{', '.join(names)} and {last}"
