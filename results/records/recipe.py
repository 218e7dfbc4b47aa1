"""Which records belong together in one run folder."""

from __future__ import annotations

import json
from hashlib import sha256

from needlework.haystack_fixtures.configuration.own_values import recipe_fields
from needlework.haystack_fixtures.settings.settings import Settings


def adaptive_design(settings: Settings) -> list[object]:
    """What an adaptive run decides by: another mode, bar or grid decides anew, as if nothing were known."""
    axes = [[suite.task, suite.needle_set, suite.language, suite.lengths, suite.depths] for suite in settings.suites]
    rules = [settings.adaptive, settings.adaptive_bar, settings.relative_to, settings.max_errors, settings.seed]
    return json.loads(json.dumps([*rules, settings.censored_is_wrong, axes]))  # type: ignore[no-any-return]


def judging_design(settings: Settings) -> list[object]:
    """What judges, and when: other judges, prompts and strategies give other scores."""
    return ["judges", settings.judge, settings.judge_strategy, settings.judge_prompt_sha256]


def _judged_otherwise(settings: Settings) -> bool:
    """Whether judges differ from the one that all runs had before there were several: recipes of these stay."""
    by_default = any(suite.judge_by_default for suite in settings.suites)
    other = len(settings.judge) > 1 or settings.judge_strategy != "auto" or by_default
    return bool(settings.judge) and (other or settings.judge_prompt_sha256 is not None)


def recipe_of(settings: Settings) -> str:
    """A hash of everything but the grid's axes: records of one recipe are one run, whatever was selected when.

    Records of another recipe (another seed, prompt, needle set, ...) that lie in the same folder stay in the journal
    and out of the files.
    """
    content = [
        [recipe_fields(suite) for suite in settings.suites],
        settings.model, settings.model_arg, settings.server, settings.tokenizer, settings.seed, settings.cache_policy,
        *(["canary"] if settings.canary else []),
        *([adaptive_design(settings)] if settings.adaptive else []),
        *([judging_design(settings)] if _judged_otherwise(settings) else []),
    ]  # fmt: skip
    return sha256(json.dumps(content, sort_keys=True, default=str).encode("utf-8", "surrogatepass")).hexdigest()[:16]
