"""What does not go with `--adaptive`: told in one line, before anything is asked."""

from __future__ import annotations

from pathlib import Path

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.settings.settings import Settings
from needlework.haystack_fixtures.tasks.catalogue import TASKS
from needlework.results.adaptive.design import unit_of
from needlework.results.files.read_run import manifest_at
from needlework.results.records.manifest import settings_of
from needlework.results.records.recipe import adaptive_design
from needlework.results.records.run_folder import JOURNAL, MANIFEST
from needlework.results.run.adaptive_run import OPTION
from needlework.results.statistics.adaptive import rules_of


def check_adaptive(settings: Settings, folder: Path) -> None:
    """Raises `InputError`."""
    if settings.adaptive is None:
        return
    for name, value in (
        ("--shard", settings.shard),
        ("--gate", settings.gate),
        ("--baseline", settings.baseline),
        ("--top-up", settings.top_up),
        ("--stability", settings.stability),
        ("--vote", any("vote" in suite.own for suite in settings.suites)),
        ("--power", settings.power),
        ("--batch-out", settings.batch_out),
        ("--batch-in", settings.batch_in),
    ):
        if value:
            raise InputError(OPTION, settings.adaptive, f"does not go with {name}: leave one of them out")
    rules = rules_of(settings)
    for suite in settings.suites:
        if _of_documents(suite.task) or suite.own.get("retriever", ("none",)) != ("none",):
            remedy = "its samples are questions on documents, not repeats: choose other tasks with --task"
            raise InputError(OPTION, suite.task, remedy)
        if None in rules.bars and rules.base is None:
            if len(suite.lengths) < 2:
                raise InputError(
                    "--adaptive-bar", "relative", "needs a length for the base, and a longer one: --lengths"
                )
            if rules.base_length is not None and rules.base_length >= max(suite.lengths):
                raise InputError("--relative-to", settings.relative_to, "leaves no length to judge; see --lengths")
        first = min(suite.lengths) * unit_of(len(suite.depths))
        if settings.adaptive_tokens is not None and settings.adaptive_tokens < first:
            remedy = f"a first look at {suite.task} takes {first:,}: give more"
            raise InputError("--adaptive-tokens", settings.adaptive_tokens, remedy)
    _check_same(settings, folder)


def _of_documents(task: str) -> bool:
    return task in TASKS and TASKS[task].corpus is not None


def _check_same(settings: Settings, folder: Path) -> None:
    """A statement holds for one set of rules: with others the same trials would be looked at once more."""
    if settings.fresh or not (folder / JOURNAL).is_file():
        return
    try:
        before = settings_of(manifest_at(folder / MANIFEST))
    except InputError:
        return
    if before.adaptive is not None and adaptive_design(before) != adaptive_design(settings):
        remedy = "this run was begun with another mode, bar, grid or seed: give the same, another --run-name or --fresh"
        raise InputError(OPTION, settings.adaptive, remedy)
