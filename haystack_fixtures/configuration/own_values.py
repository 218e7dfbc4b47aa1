"""What a suite says of one family alone, in keys of trials and in manifests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from needlework.haystack_fixtures.configuration.options import OWN
from needlework.haystack_fixtures.configuration.presets import as_written
from needlework.haystack_fixtures.settings.option_values import Parsed
from needlework.haystack_fixtures.settings.own import Own
from needlework.haystack_fixtures.settings.settings import Suite


def said(own: Mapping[str, Parsed]) -> Own:
    """The values of families' options that are not the default."""
    return Own({key: value for key, value in own.items() if value != OWN[key].usual})


def suite_table(suite: Suite) -> dict[str, Any]:
    """The suite as a flat table, for a manifest: its fields, and every family's options that a preset may set."""
    table = {each.name: getattr(suite, each.name) for each in fields(suite) if each.name != "own"}
    return table | {key: suite.own.get(key, option.usual) for key, option in OWN.items() if option.suite}


def run_table(suites: Sequence[Suite]) -> dict[str, Parsed]:
    """What a run has of families' options that no preset sets, for a manifest."""
    own = suites[0].own if suites else Own()
    return {key: own.get(key, option.usual) for key, option in OWN.items() if not option.suite}


def own_from_tables(*tables: Mapping[str, Any]) -> Own:
    """The families' options of `suite_table` and `run_table`. Raises `InputError`."""
    found = {key: table[key] for table in tables for key in OWN.keys() & table.keys() if table[key] is not None}
    return said({key: OWN[key].parse(key, as_written(key, value)) for key, value in found.items()})


def recipe_fields(suite: Suite) -> dict[str, object]:
    """The suite as a mapping of what shapes each trial: the grid's axes are left out, and what its questions say.

    What came later has a default, and counts only where it differs from that: keys of older runs stay what they were.
    """
    alone = replace(
        suite,
        lengths=(),
        depths=(),
        repeats=0,
        controls=(),
        variants=(),
        spread=False,
        window=False,
        judge_by_default=False,
        own=Own(),
    )
    values = {each.name: (getattr(alone, each.name), each.default) for each in fields(alone)}
    found = {name: value for name, (value, default) in values.items() if value != default}
    return found | {key: value for key, value in suite.own.items() if OWN[key].counts(suite.own)}
