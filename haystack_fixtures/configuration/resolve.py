"""From options as written (command line, TOML, ini, preset) to the settings of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, cast

from needlework.haystack_fixtures.configuration import leval_preset
from needlework.haystack_fixtures.configuration.options import BY_KEY, OPTIONS, OWN, SUITE_KEYS
from needlework.haystack_fixtures.configuration.own_values import said
from needlework.haystack_fixtures.configuration.presets import Preset, as_written, built_in_presets, load_preset
from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.grid.spacing import parse_depths, parse_lengths, without_window
from needlework.haystack_fixtures.grid.spread import SPREAD
from needlework.haystack_fixtures.settings.judge_prompt import prompt_sha256
from needlework.haystack_fixtures.settings.option import Option
from needlework.haystack_fixtures.settings.option_values import Parsed, text
from needlework.haystack_fixtures.settings.settings import Settings, Suite
from needlework.haystack_fixtures.settings.user_files import read_toml
from needlework.haystack_fixtures.tasks.documents.votes import with_votes

Written = Mapping[str, str | Sequence[str]]
"""Option key -> value as written; repeatable options have a sequence."""


def resolve_settings(
    command_line: Written, ini: Written, root: Path, *, own: Sequence[Mapping[str, str]] = ()
) -> Settings:
    """Bring the sources together: command line over `--config` TOML over ini over defaults.

    A preset counts as written at the place where it is named: `--preset` beats `lengths` of the ini file, and
    `--lengths` beats the preset. `own`: suites of the user's own tasks, asked too where no preset is named. Relative
    results folders start at `root`. Raises `InputError`.
    """
    levels = _levels(command_line, ini)
    wanted = _wanted(_first(levels, "task"))
    own_names = {suite["task"] for suite in own}
    # Of the ini file it says where the data lies, and not what is asked.
    data_alone = _first(levels[:-1], "leval_data")
    levels.append({"preset": _default_preset(wanted, own_names, data_alone)})
    named = next(i for i, level in enumerate(levels) if "preset" in level)
    preset = load_preset(cast(str, levels[named]["preset"]))
    if levels[named] is levels[-1]:
        preset = replace(preset, suites=(*preset.suites, *(() if preset.name == leval_preset.NAME else own)))
    if preset.name == leval_preset.NAME:
        preset = leval_preset.with_files(preset, cast("str | None", _first(levels, "leval_data")), wanted)
    above, below = levels[: named + 1], levels[named + 1 :]

    run: dict[str, Parsed] = {}
    for option in OPTIONS:
        if option.suite or option.key in ("config", "preset", "task", "resume"):
            continue
        value = _first(levels, option.key)
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
    suites = _suites(preset, above, below, wanted)
    suites = tuple(replace(suite, own=said({**suite.own, **own_values})) for suite in suites)
    if run["adaptive"] is not None:  # the grid has every place once; which samples are asked there is found out
        suites = tuple(replace(suite, spread=False, repeats=1, controls=()) for suite in suites)
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
    return cast("str | None", _first(_levels(command_line, ini), key))


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


def _suites(
    preset: Preset, above: Sequence[Written], below: Sequence[Written], wanted: Sequence[str]
) -> tuple[Suite, ...]:
    known = tuple(dict.fromkeys(suite["task"] for suite in preset.suites))
    for task in wanted:
        if task not in known:
            others = [other.name for other in built_in_presets().values() if task in {s["task"] for s in other.suites}]
            near = get_close_matches(task, known, n=1)
            hint = f"; --preset {others[0]} has it" if others else f"; did you mean {near[0]}?" if near else ""
            raise InputError("--task", task, f"preset {preset.name} has {', '.join(known)}{hint}")
    asked = cast("str | None", _first(above, "language"))
    found: list[Suite] = []
    missing: set[str] = set()
    for written in preset.suites:
        if wanted and written["task"] not in wanted:
            continue
        own = written.get("language")
        languages = _languages(asked or own or cast("str | None", _first(below, "language")) or "en")
        if asked and own:
            missing |= set(languages) - set(_languages(own))
            languages = tuple(language for language in languages if language in _languages(own))
        found += [_suite(written, language, above, below) for language in languages]
    if not found:
        raise InputError("--language", asked, f"preset {preset.name} has no suite in that language")
    served = {suite.language for suite in found}
    if missing - served:
        raise InputError(
            "--language", asked, f"preset {preset.name} has no suite in {', '.join(sorted(missing - served))}"
        )
    return _merge(found)


def _merge(suites: Sequence[Suite]) -> tuple[Suite, ...]:
    """Drop suites that an option has made equal (two suites of one grid, after `--needle-set`)."""
    return tuple(dict.fromkeys(suites))


def _suite(written: Mapping[str, str], language: str, above: Sequence[Written], below: Sequence[Written]) -> Suite:
    def get(key: str) -> tuple[str, str | None]:
        option = BY_KEY[key]
        found = _first(above, key) or written.get(key) or _first(below, key) or option.default
        return f"--{option.name}", cast("str | None", found)

    values: dict[str, Parsed | tuple[int, ...] | tuple[float, ...]] = {}
    for option in OPTIONS:
        if option.suite and option.key not in ("lengths", "depths", "length_spacing", "depth_spacing", "language"):
            name, value = get(option.key)
            values[option.key] = None if value is None else option.parse(name, value)
    own = said({key: cast(Parsed, values.pop(key)) for key in OWN.keys() & values.keys()})
    for key, parse in SUITE_KEYS.items():
        if key not in ("task", "num_repeats_per_file"):
            values[key] = parse(key, written[key]) if key in written else None
    if "num_repeats_per_file" in written and not _first(above, "repeats"):
        values["repeats"] = SUITE_KEYS["num_repeats_per_file"]("num_repeats_per_file", written["num_repeats_per_file"])
    # A system prompt may be empty on purpose: that is not "not given".
    values["system_prompt"] = next(
        (cast(str, level["system_prompt"]) for level in (*above, written, *below) if "system_prompt" in level), None
    )
    for key, parse_grid in (("lengths", parse_lengths), ("depths", parse_depths)):
        name, value = get(key)
        if key == "depths" and value is not None and value.partition(":")[0].strip() == SPREAD:
            values["spread"] = True
            value = value.partition(":")[2] or _unspread(written, below)
        if value is None:
            raise InputError(name, "", f"give --{key}, or a preset that has them")
        if key == "lengths":
            value, values["window"] = without_window(value)
            if not value:
                values[key] = ()
                continue
        spacing_name, spacing = get(f"{key[:-1]}_spacing")
        values[key] = parse_grid(
            name, value, cast(str, BY_KEY[f"{key[:-1]}_spacing"].parse(spacing_name, spacing or ""))
        )
    values["length_buffer"] = values["length_buffer"] or 0
    values["guide"] = bool(values["guide"])
    values["judge_by_default"] = bool(values["judge_by_default"])
    values["file_list"] = values["file_list"] or ()
    values["controls"] = values["controls"] or ()
    values["variants"] = values["variants"] or ()
    return Suite(task=written["task"], language=language, own=own, **cast("dict[str, Any]", values))


def _unspread(written: Mapping[str, str], below: Sequence[Written]) -> str | None:
    """The depths that `--depths spread` is about: those of the preset, or of what it was written over."""
    found = (cast(str, level["depths"]) for level in (written, *below) if "depths" in level)
    named = (depths.removeprefix(SPREAD).lstrip(" :") for depths in found)
    return next((depths for depths in named if depths), None)


def _languages(value: str) -> tuple[str, ...]:
    found = cast("tuple[str, ...]", BY_KEY["language"].parse("--language", value))
    for language in found:
        if language not in ("en", "zh"):
            raise InputError("--language", language, "use en, zh or en,zh")
    return found


def _read_config(path: str | None) -> Written:
    if path is None:
        return {}
    table = read_toml("--config", text("--config", path))
    found: dict[str, str | Sequence[str]] = {}
    for name, value in table.items():
        key = name.replace("-", "_")
        if key not in BY_KEY or key == "config":
            near = get_close_matches(key, BY_KEY, n=1)
            raise InputError(f"--config {path}", name, f"did you mean {near[0]}?" if near else "no such option")
        if BY_KEY[key].repeatable and isinstance(value, list):
            found[key] = [as_written(f"--config {path}: {name}", part) for part in value]
        else:
            found[key] = as_written(f"--config {path}: {name}", value)
    return found


def _first(levels: Sequence[Written], key: str) -> str | Sequence[str] | None:
    return next((level[key] for level in levels if key in level), None)


def _one(level: Written, key: str) -> str | None:
    return cast("str | None", level.get(key))
