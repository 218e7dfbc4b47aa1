"""Which records belong together in one run folder."""

from __future__ import annotations

import json
from hashlib import sha256

from needlework.haystack_fixtures.configuration.own_values import recipe_fields
from needlework.haystack_fixtures.settings.settings import Settings


def recipe_of(settings: Settings) -> str:
    """A hash of everything but the grid's axes: records of one recipe are one run, whatever was selected when.

    Records of another recipe (another seed, prompt, needle set, ...) that lie in the same folder stay in the journal
    and out of the files.
    """
    content = [
        [recipe_fields(suite) for suite in settings.suites],
        settings.model, settings.model_arg, settings.server, settings.tokenizer, settings.seed, settings.cache_policy,
        *(["canary"] if settings.canary else []),
    ]  # fmt: skip
    return sha256(json.dumps(content, sort_keys=True, default=str).encode("utf-8", "surrogatepass")).hexdigest()[:16]
