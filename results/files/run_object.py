"""Which run a file is of, and which models and servers answered: as its manifest tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from needlework.results.statistics.run_facts import RunFacts


def run_object(facts: RunFacts | None) -> dict[str, Any]:
    """Which run it is: its name, commit, times and command; all but the name `null` where no manifest tells."""
    told = facts.told if facts else {}
    options = told.get("options")
    options = options if isinstance(options, Mapping) else {}
    return {
        "name": facts.name if facts else None,
        "started": told.get("started"),
        "ended": told.get("ended"),
        "commit": told.get("commit"),
        "command": list(facts.command) if facts else [],
        "preset": options.get("preset"),
        "seed": options.get("seed"),
        "judges": list(options.get("judge") or ()),
        "judge_prompt_sha256": options.get("judge_prompt_sha256"),
        "versions": dict(told.get("versions") or {}),
    }


def models_object(facts: RunFacts | None, names: Sequence[str]) -> list[dict[str, Any]]:
    """What is known of each model and its server. `window`: tokens, `null` where nobody knows."""
    told = (facts.told if facts else {}).get("models")
    known = told if isinstance(told, Mapping) else {}
    found = []
    for name in names:
        own = known.get(name)
        own = own if isinstance(own, Mapping) else {}
        window = own.get("window")
        found.append({"name": name, "window": window if isinstance(window, int) else None, "facts": dict(own)})
    return found
