"""All options: the rows of `rows/`, by what they say, and those of one family, which lie in its folder."""

from __future__ import annotations

from needlework.haystack_fixtures.configuration.rows import (
    adaptive,
    asked,
    batches,
    configured,
    model,
    needles,
    prompt,
    results,
    sending,
)
from needlework.haystack_fixtures.documents.data_sets import options as data_sets
from needlework.haystack_fixtures.retrieval import options as retrieval
from needlework.haystack_fixtures.settings.option import Option
from needlework.haystack_fixtures.settings.option_values import Parser, switch, text, whole, words
from needlework.haystack_fixtures.tasks.documents import options as documents
from needlework.haystack_fixtures.tasks.leval import options as leval

_COMMON: tuple[Option, ...] = (
    *configured.OPTIONS,
    *model.OPTIONS,
    *asked.OPTIONS,
    *needles.OPTIONS,
    *prompt.OPTIONS,
    *sending.OPTIONS,
    *batches.OPTIONS,
    *results.OPTIONS,
    *adaptive.OPTIONS,
)
# What one family has of its own; its values ride in `Suite.own`.
OWN = {option.key: option for option in (*documents.OPTIONS, *leval.OPTIONS, *data_sets.OPTIONS, *retrieval.OPTIONS)}
OPTIONS: tuple[Option, ...] = (*_COMMON, *OWN.values())
BY_KEY = {option.key: option for option in OPTIONS}

# What only a preset's suite says (each under the name that OpenCompass's documents use, where it has one).
SUITE_KEYS: dict[str, Parser] = {
    "task": text,
    "num_repeats_per_file": whole(1),
    "judge_by_default": switch,
    "tokenizer_model": text,
    "keyword": text,
    "variants": words,
}
