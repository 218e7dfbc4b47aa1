"""Preset `leval`: every task of L-Eval that `--leval-data` has a file for, files of one's own too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from needlework.haystack_fixtures.configuration.presets import Preset
from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.tasks.leval.files import find_file
from needlework.haystack_fixtures.tasks.leval.own import own_sources, own_suite
from needlework.haystack_fixtures.tasks.leval.rows import OPTION
from needlework.haystack_fixtures.tasks.leval.sources import SOURCES

NAME = "leval"
_TASKS = "leval_"
# What `--task` takes beside the names of tasks: L-Eval's own names, and what its `--mc_tasks` asks.
_SHORT = {source.name: (source.task,) for source in SOURCES} | {
    "leval_mc": ("leval_coursera", "leval_quality", "leval_tpo")
}


def in_full(tasks: Sequence[str]) -> tuple[str, ...]:
    """The names of `--task`, L-Eval's own and `leval_mc` written out."""
    return tuple(dict.fromkeys(name for task in tasks for name in _SHORT.get(task, (task,))))


def asks_leval(tasks: Sequence[str], given: object) -> bool:
    """Whether a run that names no preset is one of L-Eval: its tasks alone are named, or its data alone is `given`."""
    return all(task.startswith(_TASKS) for task in tasks) if tasks else given is not None


def with_files(preset: Preset, given: str | None, wanted: Sequence[str]) -> Preset:
    """The preset with the tasks of one's own, and of L-Eval's those that have a file, or are `wanted`.

    Raises `InputError` where there is no task at all.
    """
    if given is None:
        return preset
    there = {source.task for source in SOURCES if find_file(given, source)}
    asked = [suite for suite in preset.suites if suite["task"] in there or suite["task"] in wanted]
    suites = (*asked, *map(own_suite, own_sources(given)))
    if not suites:
        raise InputError(OPTION, given, "has no jsonl file of L-Eval's form (input, instructions, outputs, evaluation)")
    return replace(preset, suites=suites)
