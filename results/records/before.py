"""What a run's folder told before this session: when the run began, and the facts that its answers were given under."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from needlework.haystack_fixtures.errors import InputError
from needlework.results.records.manifest import OF_A_PROCESS, changed_facts, settings_of
from needlework.results.records.recipe import recipe_of
from needlework.results.records.run_file import read_run_json

Facts = Mapping[str, Mapping[str, Any]]
"""What a manifest tells of texts, prompts and models: part (`corpora`) -> name -> what is said of it."""

_SERVER = "server "  # before the name of what a server says of itself


@dataclass(frozen=True, slots=True)
class Before:
    """What a folder's manifest said before this session: when its run began and ended, `facts`, and which of them had
    `changed` by then. Where that run had other options, the facts are of the same models alone: answers to the same
    prompts are taken over, and what else there is to know is learnt without asking."""

    started: str | None = None
    ended: str | None = None
    facts: Facts = field(default_factory=dict)
    changed: tuple[str, ...] = ()


def told_before(path: Path, recipe: str, models: Container[str]) -> Before:
    """Read it, for a run of this recipe and these models; whatever cannot be read is empty."""
    try:
        content = read_run_json(path)
        started, ended = (content.get(name) for name in ("started", "ended"))
        same = recipe_of(settings_of(content)) == recipe
    except (OSError, ValueError, RecursionError, AttributeError, InputError):
        return Before()
    facts = {name: told for name, told in content.items() if name not in OF_A_PROCESS and isinstance(told, dict)}
    known = facts.get("models", {}).items()
    facts["models"] = {spec: model for spec, model in known if spec in models and isinstance(model, dict)}
    if not same:
        return Before(_date(started), _date(ended), {"models": facts["models"]})
    return Before(_date(started), _date(ended), facts, tuple(changed_facts(content)))


def _date(told: object) -> str | None:
    return told if isinstance(told, str) else None


def with_known(known: Facts, learnt: Facts) -> dict[str, dict[str, Any]]:
    """What was learnt now, and what was known before and is not learnt anew: a session whose answers are all there
    loads no model and asks nothing."""
    found = {name: {**known.get(name, {}), **learnt.get(name, {})} for name in (*known, *learnt)}
    before, now = known.get("models", {}), learnt.get("models", {})
    for spec in before.keys() & now.keys():
        found["models"][spec] = _model(before[spec], now[spec])
    return found


def _model(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """A model's facts. What a server says of itself belongs together; a window belongs to where it is from; and of a
    server that is away nothing is learnt."""
    told = {name: of for name, of in now.items() if of is not None and not (name in before and _nothing(name, now))}
    kept = dict(before)
    if any(name.startswith(_SERVER) for name in told):
        kept = {name: value for name, value in kept.items() if not name.startswith(_SERVER)}
    if told.get("window", kept.get("window")) != kept.get("window"):
        kept.pop("window_source", None)
    return {**now, **kept, **told}


def _nothing(name: str, now: Mapping[str, Any]) -> bool:
    """Whether a fact only says that nothing could be learnt."""
    failed = name.startswith("calibration") and str(now[name]).startswith("failed")
    return failed or (name == "window_source" and now.get("window") is None)
