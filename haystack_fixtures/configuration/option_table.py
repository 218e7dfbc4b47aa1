"""All options by key: fields of the settings and of suites."""

from needlework.core.options import Option, Parser, option_entries, options_of, switch, text, whole, words
from needlework.core.settings import FamilyOptions, Settings, Suite, WrittenOptions, WrittenSuite

_FIELDS = {
    **{option.key: option for kind in (Suite, WrittenSuite) for option in options_of(kind, suite=True)},
    **{option.key: option for kind in (Settings, WrittenOptions) for option in options_of(kind, suite=False)},
}
BY_KEY: dict[str, Option] = {key: _FIELDS[key] for key in option_entries()}
OPTIONS = tuple(BY_KEY.values())
# Options of the run that its suites have, as their tasks look at them.
OF_RUN = tuple(key for key in FamilyOptions.__struct_fields__ if not BY_KEY[key].suite)

# What only a preset's suite says (each under the name that OpenCompass's documents use, where it has one).
SUITE_KEYS: dict[str, Parser] = {
    "task": text,
    "num_repeats_per_file": whole(1),
    "judge_by_default": switch,
    "tokenizer_model": text,
    "keyword": text,
    "variants": words,
}
