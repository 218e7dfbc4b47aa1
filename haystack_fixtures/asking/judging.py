"""The judges of a run, as scoring asks them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.models.model_named import bears_threads, is_served
from needlework.haystack_fixtures.settings.settings import Settings, Suite


@dataclass(frozen=True, slots=True)
class Named:
    """One judge. `name`: its SPEC, and which one where two have the same. `base_url`: `None`: it is no server."""

    name: str
    spec: str
    base_url: str | None


def named_judges(settings: Settings) -> tuple[Named, ...]:
    """The judges of a run. Raises `InputError` where it cannot be told which of them is at which address."""
    specs, urls = settings.judge, settings.judge_base_url
    if specs and len(urls) not in (0, 1, len(specs)):
        remedy = f"give one address, or one for each of the {len(specs)} judges"
        raise InputError("--judge-base-url", f"{len(urls)} addresses", remedy)
    each = urls if len(urls) > 1 else (*(urls or (settings.base_url,)),) * len(specs)
    both = list(zip(specs, each, strict=False))
    if len(set(both)) < len(both):
        raise InputError("--judge", ", ".join(specs), "names one judge twice; a majority needs different ones")
    return tuple(
        Named(spec if specs.count(spec) == 1 else f"{spec} ({specs[: at + 1].count(spec)})", spec, url)
        for at, (spec, url) in enumerate(both)
    )


def strategy_of(settings: Settings, suite: Suite) -> str:
    """When the judges of a run are asked of a suite's answers; without judges it says what would be if there were."""
    by_default = suite.judge_by_default or settings.judge_prompt is not None
    return "llm" if settings.judge_strategy == "auto" and by_default else settings.judge_strategy


def judged_at_once(settings: Settings, workers: int) -> int:
    """How many answers one of `workers` processes may give to the judges at once; 0 where there are none.

    A judge that is computed here is asked one question at a time.
    """
    if not settings.judge:
        return 0
    return max(1, settings.concurrency // workers) if all(map(bears_threads, settings.judge)) else 1


def judging_identity(settings: Settings) -> str:
    """A hash of whatever can change the judges' rulings, as far as it is known without reaching them."""
    known = [(each.spec, each.base_url) for each in named_judges(settings)]
    return sha256(json.dumps([known, settings.judge_prompt_sha256]).encode()).hexdigest()


def judging_notes(settings: Settings) -> Sequence[str]:
    """What has to be told of a run's judges before it begins."""
    notes = []
    by_default = [suite for suite in settings.suites if suite.judge_by_default]
    if by_default and not settings.judge and settings.judge_strategy == "auto":
        scorer = by_default[0].scorer or "the rule"
        notes.append(
            f"preset {settings.preset}: as published, a language model judges (a mark of 0 to 10);"
            f" here {scorer} does, unless --judge names one"
        )
    own = "is the model under test: it judges itself, and judges favour their own answers"
    return notes + [f"the judge {judge.spec} {own}" for judge in named_judges(settings) if _is_judged(judge, settings)]


def _is_judged(judge: Named, settings: Settings) -> bool:
    """Whether a judge is a model under test."""
    return judge.spec in settings.model and (judge.base_url == settings.base_url or not is_served(judge.spec))
