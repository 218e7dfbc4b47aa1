"""Presets: named, complete configurations, of files."""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from needlework.core.errors import InputError, nearest
from needlework.core.files import read_text, read_toml
from needlework.core.settings import BY_KEY, SUITE_KEYS
from needlework.haystack_fixtures.configuration import published_presets as published
from needlework.haystack_fixtures.configuration.peer_names import NAMES, our_names
from needlework.haystack_fixtures.tasks.published.leval import find_own_tasks, own_suite
from needlework.haystack_fixtures.tasks.published.leval_files import LEVAL_TASKS, OPTION, files_of

# Options of the run that published systems say with a data set.
_OF_RUN = {row.ours for row in NAMES.values()}
_FILE = re.compile(r"(?P<path>.+?\.(toml|ya?ml|json|py))(:(?P<name>.*))?", re.IGNORECASE | re.DOTALL)
_MOST_NOTES = 30
_LARGEST, _DEEPEST = 50_000, 50  # characters of a file in another format than TOML, and tables inside of tables


@dataclass(frozen=True, slots=True)
class Preset:
    """A preset: each suite maps option keys to values as written, every value a string."""

    name: str
    about: str
    suites: tuple[Mapping[str, str], ...]
    run: Mapping[str, str | Sequence[str]] = field(default_factory=dict)  # options of the run
    notes: tuple[str, ...] = ()  # a line for each thing of a published configuration that is not taken over


def load_preset(name: str) -> Preset:
    """Find a preset by name, or read a file that holds one (`name.toml` or `file.toml:name`)."""
    built_in = built_in_presets()
    if name in built_in:
        return built_in[name]
    if file := _FILE.fullmatch(name):
        return _from_file(Path(file["path"]), file["name"] or "")
    near = nearest(name, built_in)
    hint = f"did you mean {near}? " if near else ""
    remedy = f"{hint}use a .toml file, or a name of --preset list: {', '.join(built_in)}"
    raise InputError("--preset", name, remedy)


@cache
def built_in_presets() -> dict[str, Preset]:
    """All presets that come with the project, by name; the everyday ones first."""
    folder = resources.files("needlework.haystack_fixtures") / "presets"
    files = [file for file in folder.iterdir() if file.name.endswith(".toml")]
    by_name: dict[str, Preset] = {}
    for file in sorted(files, key=lambda file: (file.name != "own.toml", file.name)):
        by_name |= _presets(file.name, tomllib.loads(file.read_text(encoding="utf-8")))
    every = (*by_name["leval-closed"].suites, *by_name["leval-open"].suites)
    by_name["leval"] = Preset("leval", "L-Eval: every task that --leval-data has, files of yours too", every)
    return by_name


def task_suite(task: str, suite: Mapping[str, Any]) -> dict[str, str]:
    """The suite, as written, of a task that no preset has; by default on the quick preset's grid.

    Raises `InputError` for keys that no suite has.
    """
    usual = {key: value for key, value in load_preset("quick").suites[0].items() if key in ("lengths", "depths")}
    return usual | _suite(f"task {task}", dict(suite) | {"task": task})[0]


def as_written(option: str, value: object) -> str:
    """A TOML value as the command line would have it: lists become `a,b`."""
    if isinstance(value, list) and all(isinstance(part, (str, int, float)) for part in value):
        return ",".join(str(part) for part in value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (str, int, float)):
        return str(value)
    raise InputError(option, value, "give a string, a number, true, false, or a list of those")


def _from_file(path: Path, name: str) -> Preset:
    tables, notes = _read_file(path)
    by_name = _presets(str(path), tables)
    if name and name not in by_name:
        raise InputError("--preset", f"{path}:{name}", f"the file has {', '.join(by_name)}")
    if not by_name:
        raise InputError("--preset", path, "has no preset: it needs a table [[NAME.suite]] (docs/presets.md)")
    if not name and len(by_name) != 1:
        raise InputError("--preset", path, f"the file has {len(by_name)} presets; name one as {path}:NAME")
    return replace(by_name[name or next(iter(by_name))], notes=tuple(notes[:_MOST_NOTES]))


def _read_file(path: Path) -> tuple[Mapping[str, Any], Sequence[str]]:
    """A file's presets by name, each with its suites, and a line for each thing that is not taken over.

    A flat file of options or published names is one preset, under the file's name. Raises `InputError`.
    """
    if path.suffix.lower() == ".py":
        suites, unread = published.suites_of_python(path, _short_text("--preset", path))
        return {path.stem: {"suite": suites}}, unread
    table = read_table("--preset", path)
    keys = {key.replace("-", "_"): value for key, value in table.items()}
    tables = [each for each in table.values() if isinstance(each, dict)]
    has_suites = any("suite" in each for each in tables)
    if not table or has_suites or (tables and not keys.keys() & NAMES.keys()):
        return table, ()
    if published.is_task(keys):
        notes: list[str] = []
        return {path.stem: {"suite": published.suites_of_task(path, keys, notes)}}, notes
    of_run = {key: keys[key] for key in keys.keys() & BY_KEY.keys() - NAMES.keys() if not BY_KEY[key].suite}
    of_run.pop("task", None)
    suite = {key: value for key, value in keys.items() if key not in of_run}
    usual = {} if "multi_needle" in keys else {"task": "niah"}
    return {path.stem: of_run | {"suite": [usual | suite]}}, ()


def read_table(option: str, path: Path) -> Mapping[str, Any]:
    """The names and values of a TOML, YAML or JSON file. Raises `InputError`."""
    kind = path.suffix.lower()
    if kind not in (".json", ".yaml", ".yml"):
        return read_toml(option, path, f"give the path of a {option.removeprefix('--')} file")
    import yaml

    text, depth = _short_text(option, path), 0
    try:
        for event in yaml.parse(text, yaml.SafeLoader) if kind != ".json" else ():
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if isinstance(event, yaml.AliasEvent) or depth > _DEEPEST:
                raise ValueError("it has aliases (*name), or is nested too deep")
        table = json.loads(text) if kind == ".json" else yaml.safe_load(text)
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        raise InputError(option, path, f"is no {kind[1:].upper()} that is read: {error}") from None
    if not isinstance(table, dict) or not all(isinstance(key, str) for key in table):
        raise InputError(option, path, "is no table of names and values")
    return table


def _short_text(option: str, path: Path) -> str:
    text = read_text(option, path, "give the path of a preset file")
    if len(text) > _LARGEST:
        raise InputError(option, path, f"has more than {_LARGEST:,} characters: write it as TOML")
    return text


def _presets(source: str, tables: Mapping[str, Any]) -> dict[str, Preset]:
    by_name = {}
    for name, table in tables.items():
        suites = table.get("suite") if isinstance(table, dict) else None
        if not isinstance(suites, list) or not suites or not all(isinstance(suite, dict) for suite in suites):
            raise InputError("--preset", f"{source}:{name}", f"a preset has one or more [[{name}.suite]] tables")
        run = _run(source, name, {key: value for key, value in table.items() if key not in ("about", "suite")})
        written = []
        for number, suite in enumerate(suites, 1):
            values, of_run = _suite(source, suite)
            differs = next((key for key, value in of_run.items() if run.get(key, value) != value), None)
            if differs is not None:
                remedy = f"suite {number} says otherwise than what stands before: the run has one"
                raise InputError(f"--preset {source}", f"{differs} = {of_run[differs]}", remedy)
            written.append(values)
            run |= of_run
        by_name[name] = Preset(name, str(table.get("about", "")), tuple(written), run)
    return by_name


def _run(source: str, name: str, table: Mapping[str, Any]) -> dict[str, str | Sequence[str]]:
    """Options of the run, which a preset's table has beside its suites."""
    where = f"--preset {source}"
    values = {}
    for key, value in our_names(where, table).items():
        if key not in BY_KEY or key in ("config", "preset", "task"):
            raise InputError(where, key, f"is no option of a run{_near(key)}")
        if BY_KEY[key].suite:
            raise InputError(where, key, f"stands in [[{name}.suite]]")
        values[key] = as_words(where, key, value)
    return values


def _suite(source: str, suite: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, str | Sequence[str]]]:
    """A suite's keys, and those of the run that published systems have among them."""
    where = f"--preset {source}"
    table = our_names(where, suite)
    if {"needle", "needles"} & table.keys():
        table = {"task": "niah", **table}
    if "task" not in table:
        raise InputError("--preset", source, "every suite names its task, such as task = 'niah'")
    values: dict[str, str] = {}
    of_run: dict[str, str | Sequence[str]] = {}
    for key, value in table.items():
        if key == "needles" and isinstance(value, list):
            values[key] = json.dumps(value)
        elif key in SUITE_KEYS or (key in BY_KEY and BY_KEY[key].suite):
            values[key] = as_written(f"{where}: {key}", value)
        elif key in _OF_RUN and key in BY_KEY:
            of_run[key] = as_words(where, key, value)
        else:
            remedy = "is an option of the run: it stands in the preset's own table, above its suites"
            raise InputError(where, key, remedy if key in BY_KEY else f"is no key of a suite{_near(key)}")
    return values, of_run


def _near(key: str) -> str:
    near = nearest(key, [*BY_KEY, *SUITE_KEYS], NAMES)
    return f": did you mean {near}?" if near else "; see docs/presets.md"


def as_words(where: str, key: str, value: object) -> str | Sequence[str]:
    """The value of an option in a file as on the command line; of a repeatable one a list of them."""
    if BY_KEY[key].repeatable and isinstance(value, list):
        return [as_written(f"{where}: {key}", part) for part in value]
    return as_written(f"{where}: {key}", value)


NAME = "leval"
# What `--task` takes beside the names of tasks: L-Eval's own names, and what its `--mc_tasks` asks.
_TASKS_OF = {task.name: (task.task,) for task in LEVAL_TASKS.values()} | {
    "leval_mc": ("leval_coursera", "leval_quality", "leval_tpo")
}


def full_names(tasks: Sequence[str]) -> tuple[str, ...]:
    """The names of `--task`, with L-Eval's own and `leval_mc` written out."""
    return tuple(dict.fromkeys(name for task in tasks for name in _TASKS_OF.get(task, (task,))))


def with_data_files(preset: Preset, data: str | None, tasks: Sequence[str]) -> Preset:
    """The preset with the tasks of the user's files in `data`; of L-Eval's those with a file or named.

    Raises `InputError` where there is no task at all.
    """
    if data is None:
        return preset
    files = {path.name for path in files_of(data)}
    chosen = {task.task for task in LEVAL_TASKS.values() if task.file in files} | set(tasks)
    of_leval = [suite for suite in preset.suites if suite["task"] in chosen]
    suites = (*of_leval, *map(own_suite, find_own_tasks(data)))
    if not suites:
        raise InputError(OPTION, data, "has no jsonl file of L-Eval's form (input, instructions, outputs, evaluation)")
    return replace(preset, suites=suites)


Written = Mapping[str, Any]
"""Option key -> value as written, a string; repeatable options have a sequence of them."""


def first(levels: Sequence[Written], key: str) -> Any:
    """The value of the first level that has one."""
    return next((level[key] for level in levels if key in level), None)
