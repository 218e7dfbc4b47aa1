"""Presets: named, complete configurations, read from TOML files (ours, or one of the user's)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from needlework.haystack_fixtures.configuration.options import BY_KEY, SUITE_KEYS
from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.settings.user_files import read_toml


@dataclass(frozen=True, slots=True)
class Preset:
    """A preset: each suite maps option keys to values as written, every value a string."""

    name: str
    about: str
    suites: tuple[Mapping[str, str], ...]


def load_preset(name: str) -> Preset:
    """Find a preset by name, or read a TOML file that holds one (`name.toml` or `file.toml:name`)."""
    built_in = built_in_presets()
    if name in built_in:
        return built_in[name]
    path, _, wanted = name.partition(".toml")
    if _:
        return _from_file(Path(path + ".toml"), wanted.removeprefix(":"))
    near = get_close_matches(name, built_in, n=3)
    hint = f"did you mean {', '.join(near)}?" if near else f"use one of {', '.join(built_in)}"
    raise InputError("--preset", name, f"{hint} (or a .toml file)")


@cache
def built_in_presets() -> dict[str, Preset]:
    """All presets that come with the project, by name: those of a family lie in its folder."""
    found: dict[str, Preset] = {}
    files = resources.files("needlework.haystack_fixtures")
    folders = [files / "presets", *(family / "presets" for family in (files / "tasks").iterdir())]
    written = [
        file for folder in folders if folder.is_dir() for file in folder.iterdir() if file.name.endswith(".toml")
    ]
    for file in sorted(written, key=lambda file: (file.name != "own.toml", file.name)):
        found |= _parse(file.name, file.read_text(encoding="utf-8"))
    every = (*found["leval-closed"].suites, *found["leval-open"].suites)
    found["leval"] = Preset("leval", "L-Eval: every task that --leval-data has, files of yours too", every)
    return found


def task_suite(task: str, suite: Mapping[str, Any]) -> dict[str, str]:
    """The suite of a task that no preset has, as written: the quick preset's grid where it says nothing else.

    Raises `InputError` for keys that no suite has.
    """
    usual = {key: value for key, value in load_preset("quick").suites[0].items() if key in ("lengths", "depths")}
    return usual | _suite(f"task {task}", dict(suite) | {"task": task})


def as_written(option: str, value: object) -> str:
    """A TOML value as the command line would have it: lists become `a,b`."""
    if isinstance(value, list) and all(isinstance(part, (str, int, float)) for part in value):
        return ",".join(str(part) for part in value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (str, int, float)):
        return str(value)
    raise InputError(option, value, "give a string, a number, true, false, or a list of those")


def _from_file(path: Path, wanted: str) -> Preset:
    found = _parse(str(path), "", read_toml("--preset", path))
    if wanted and wanted not in found:
        raise InputError("--preset", f"{path}:{wanted}", f"the file has {', '.join(found)}")
    if not wanted and len(found) != 1:
        raise InputError("--preset", path, f"the file has {len(found)} presets; name one as {path}:NAME")
    return found[wanted or next(iter(found))]


def _parse(source: str, text: str, tables: Mapping[str, Any] | None = None) -> dict[str, Preset]:
    found = {}
    for name, table in (tomllib.loads(text) if tables is None else tables).items():
        suites = table.get("suite") if isinstance(table, dict) else None
        if not isinstance(suites, list) or not suites or not all(isinstance(suite, dict) for suite in suites):
            raise InputError("--preset", f"{source}:{name}", f"a preset has one or more [[{name}.suite]] tables")
        found[name] = Preset(name, str(table.get("about", "")), tuple(_suite(source, suite) for suite in suites))
    return found


def _suite(source: str, suite: Mapping[str, Any]) -> dict[str, str]:
    if "task" not in suite:
        raise InputError("--preset", source, "every suite names its task, such as task = 'niah'")
    known = {key for key, option in BY_KEY.items() if option.suite} | set(SUITE_KEYS)
    for key in suite:
        if key not in known:
            near = get_close_matches(key, known, n=1)
            raise InputError(
                "--preset",
                f"{source}: {key}",
                f"did you mean {near[0]}?" if near else "not a suite's key; see docs/presets.md",
            )
    return {key: as_written(f"--preset {source}: {key}", value) for key, value in suite.items()}
