"""From options as written (command line, TOML, ini, preset) to the settings of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from needlework.haystack_fixtures.configuration import leval_preset
from needlework.haystack_fixtures.configuration.levels import Written, first
from needlework.haystack_fixtures.configuration.options import BY_KEY, OPTIONS, OWN, SUITE_KEYS
from needlework.haystack_fixtures.configuration.own_values import said
from needlework.haystack_fixtures.configuration.peer_names import NAMES
from needlework.haystack_fixtures.configuration.peer_values import translated
from needlework.haystack_fixtures.configuration.presets import as_written, load_preset
from needlework.haystack_fixtures.configuration.suites import suites_of
from needlework.haystack_fixtures.errors import InputError, nearest
from needlework.haystack_fixtures.settings.judge_prompt import prompt_sha256
from needlework.haystack_fixtures.settings.option import Option
from needlework.haystack_fixtures.settings.option_values import Parsed, text
from needlework.haystack_fixtures.settings.settings import Settings
from needlework.haystack_fixtures.settings.user_files import read_toml
from needlework.haystack_fixtures.tasks.documents.votes import with_votes


def resolve_settings(
    command_line: Written, ini: Written, root: Path, *, own: Sequence[Mapping[str, str]] = ()
) -> Settings:
    """Bring the sources together: command line over `--config` TOML over ini over defaults.

    A preset counts as written at the place where it is named: `--preset` beats `lengths` of the ini file, and
    `--lengths` beats the preset. `own`: suites of the user's own tasks, asked too where no preset is named. Relative
    results folders start at `root`. Raises `InputError`.
    """
    levels = _levels(command_line, ini)
    wanted = _wanted(first(levels, "task"))
    own_names = {suite["task"] for suite in own}
    # Of the ini file it says where the data lies, and not what is asked.
    data_alone = first(levels[:-1], "leval_data")
    levels.append({"preset": _default_preset(wanted, own_names, data_alone)})
    named = next(i for i, level in enumerate(levels) if "preset" in level)
    preset = load_preset(cast(str, levels[named]["preset"]))
    if levels[named] is levels[-1]:
        preset = replace(preset, suites=(*preset.suites, *(() if preset.name == leval_preset.NAME else own)))
    if preset.name == leval_preset.NAME:
        preset = leval_preset.with_files(preset, cast("str | None", first(levels, "leval_data")), wanted)
    above, below = levels[: named + 1], levels[named + 1 :]

    of_run = [*above, preset.run, *below]
    run: dict[str, Parsed] = {}
    for option in OPTIONS:
        if option.suite or option.key in ("config", "preset", "task", "resume"):
            continue
        value = first(of_run, option.key)
        if option.repeatable:
            values = [value] if isinstance(value, str) else list(value or ())
            run[option.key] = tuple(cast(str, option.parse(f"--{option.name}", word)) for word in values) or (
                (option.default,) if option.default else ()
            )
        else:
            written = _single(option, value) if value is not None else option.default
            run[option.key] = None if written is None else option.parse(f"--{option.name}", written)
    results_dir = Path(cast(str, run.pop("results_dir")))
    own_values = {option.key: run.pop(option.key) for option in OWN.values() if not option.suite}
    suites = suites_of(preset, above, below, wanted)
    suites = tuple(replace(suite, own=said({**suite.own, **own_values})) for suite in suites)
    if run["adaptive"] is not None:  # the grid has every place once; which samples are asked there is found out
        suites = tuple(replace(suite, spread=False, repeats=1, repeats_per_file=0, controls=()) for suite in suites)
    return Settings(
        preset=preset.name,
        suites=with_votes(suites),
        results_dir=results_dir if results_dir.is_absolute() else root / results_dir,
        judge_prompt_sha256=prompt_sha256(cast(str, run["judge_prompt"])) if run["judge_prompt"] else None,
        **cast("dict[str, Any]", run),
    )


def _single(option: Option, value: str | Sequence[str]) -> str:
    if isinstance(value, str):
        return value
    if len(value) > 1:
        raise InputError(f"--{option.name}", ", ".join(value), f"is given {len(value)} times; give one")
    return value[0]


def written(command_line: Written, ini: Written, key: str) -> str | None:
    """What is said of an option, wherever it is; none of a preset's. Raises `InputError`."""
    return cast("str | None", first(_levels(command_line, ini), key))


def _levels(command_line: Written, ini: Written) -> list[Written]:
    return [command_line, _read_config(_one(command_line, "config") or _one(ini, "config")), ini]


def _wanted(tasks: object) -> tuple[str, ...]:
    names = cast("tuple[str, ...]", BY_KEY["task"].parse("--task", tasks)) if isinstance(tasks, str) else ()
    return leval_preset.in_full(names)


def _default_preset(wanted: Sequence[str], own: set[str], leval_data: object) -> str:
    """`quick`, or where that lacks a task that was asked for, the preset that has every one."""
    if not set(wanted) & own and leval_preset.asks_leval(wanted, leval_data):
        return leval_preset.NAME
    return "families" if set(wanted) - own - {suite["task"] for suite in load_preset("quick").suites} else "quick"


def _read_config(path: str | None) -> Written:
    if path is None:
        return {}
    where = f"--config {path}"
    table = {name.replace("-", "_"): value for name, value in read_toml("--config", text("--config", path)).items()}
    said_here = translated(where, table)
    if said_here.left:
        raise InputError(where, said_here.left[0], f"here: {NAMES[said_here.left[0]].here}")
    found: dict[str, str | Sequence[str]] = {}
    for key, value in said_here.values.items():
        if key in SUITE_KEYS and key != "task":
            raise InputError(where, key, "stands in a suite of a preset file (docs/presets.md)")
        if key not in BY_KEY or key == "config":
            near = nearest(key, BY_KEY, NAMES)
            raise InputError(where, key, f"did you mean {near}?" if near else "no such option")
        if BY_KEY[key].repeatable and isinstance(value, list):
            found[key] = [as_written(f"{where}: {key}", part) for part in value]
        else:
            found[key] = as_written(f"{where}: {key}", value)
    return found


def _one(level: Written, key: str) -> str | None:
    return cast("str | None", level.get(key))
