"""All options by key: fields of the settings, and of the families' options."""

from needlework.core.options import Option, Parser, option_words, options_of, switch, text, whole, words
from needlework.core.settings import Settings, Suite, WrittenOptions, WrittenSuite
from needlework.haystack_fixtures.documents.data_set import DataOptions
from needlework.haystack_fixtures.retrieval.search import RetrievalOptions
from needlework.haystack_fixtures.tasks.document_material import DocumentOptions
from needlework.haystack_fixtures.tasks.published.leval_files import LevalOptions

# Options of one family of tasks; their values are in `Suite.family`.
FAMILY_OPTIONS = {
    option.key: option
    for kind in (DocumentOptions, LevalOptions, DataOptions, RetrievalOptions)
    for option in options_of(kind, suite=True)
}
_FIELDS = {
    **{option.key: option for kind in (Suite, WrittenSuite) for option in options_of(kind, suite=True)},
    **{option.key: option for kind in (Settings, WrittenOptions) for option in options_of(kind, suite=False)},
    **FAMILY_OPTIONS,
}
BY_KEY: dict[str, Option] = {key: _FIELDS[key] for key in option_words()}
OPTIONS = tuple(BY_KEY.values())

# What only a preset's suite says (each under the name that OpenCompass's documents use, where it has one).
SUITE_KEYS: dict[str, Parser] = {
    "task": text,
    "num_repeats_per_file": whole(1),
    "judge_by_default": switch,
    "tokenizer_model": text,
    "keyword": text,
    "variants": words,
}
