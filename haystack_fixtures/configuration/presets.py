"""The option table; presets: named, complete configurations, of files."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from needlework.core.errors import InputError, nearest
from needlework.core.options import Option, Parser, switch, text, whole, words
from needlework.haystack_fixtures.configuration import cell_options, run_options
from needlework.haystack_fixtures.configuration.peer_names import NAMES, translated
from needlework.haystack_fixtures.documents import data_set_files as data_sets
from needlework.haystack_fixtures.retrieval import options as retrieval
from needlework.haystack_fixtures.tasks import document_material as documents
from needlework.haystack_fixtures.tasks.published import leval_files as leval
from needlework.haystack_fixtures.tasks.published.leval import own_sources, own_suite
from needlework.haystack_fixtures.tasks.published.leval_files import OPTION, SOURCES, find_file

# Options of the run that published systems say with a data set.
_OF_RUN = {row.ours for row in NAMES.values()}
_FILE = re.compile(r"(?P<path>.+?\.(toml|ya?ml|json|py))(:(?P<name>.*))?", re.IGNORECASE | re.DOTALL)
_MOST_NOTES = 30


@dataclass(frozen=True, slots=True)
class Preset:
    """A preset: each suite maps option keys to values as written, every value a string. `run`: options of the run.

    `notes`: a line for each thing of a published configuration that is not taken over.
    """

    name: str
    about: str
    suites: tuple[Mapping[str, str], ...]
    run: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def load_preset(name: str) -> Preset:
    """Find a preset by name, or read a file that holds one (`name.toml` or `file.toml:name`)."""
    for source, content in _files():  # up to the one that has it: parsing all takes longer than all else in settings
        if name in (found := _read(source, content)):
            return found[name]
    built_in = built_in_presets()
    if name in built_in:
        return built_in[name]
    if file := _FILE.fullmatch(name):
        return _from_file(Path(file["path"]), file["name"] or "")
    near = get_close_matches(name, built_in, n=3)
    if near:
        raise InputError("--preset", name, f"did you mean {', '.join(near)}? (or a .toml file)")
    raise InputError("--preset", name, f"use a .toml file, or a name that --preset list prints: {', '.join(built_in)}")


@cache
def built_in_presets() -> dict[str, Preset]:
    """All presets that come with the project, by name."""
    found = {name: preset for file in _files() for name, preset in _read(*file).items()}
    every = (*found["leval-closed"].suites, *found["leval-open"].suites)
    found["leval"] = Preset("leval", "L-Eval: every task that --leval-data has, files of yours too", every)
    return found


@cache
def _files() -> tuple[tuple[str, str], ...]:
    """Names and texts of the files of built-in presets; that of the everyday ones is the first."""
    folder = resources.files("needlework.haystack_fixtures") / "presets"
    written = [file for file in folder.iterdir() if file.name.endswith(".toml")]
    written.sort(key=lambda file: (file.name != "own.toml", file.name))
    return tuple((file.name, file.read_text(encoding="utf-8")) for file in written)


@cache
def _read(source: str, text: str) -> Mapping[str, Preset]:
    return _parse(source, text)


def task_suite(task: str, suite: Mapping[str, Any]) -> dict[str, str]:
    """The suite of a task that no preset has, as written: the quick preset's grid where it says nothing else.

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


def _from_file(path: Path, wanted: str) -> Preset:
    from needlework.haystack_fixtures.configuration.published_presets import read_preset_file

    tables, notes = read_preset_file(path)
    found = _parse(str(path), "", tables)
    if wanted and wanted not in found:
        raise InputError("--preset", f"{path}:{wanted}", f"the file has {', '.join(found)}")
    if not found:
        raise InputError("--preset", path, "has no preset: it needs a table [[NAME.suite]] (docs/presets.md)")
    if not wanted and len(found) != 1:
        raise InputError("--preset", path, f"the file has {len(found)} presets; name one as {path}:NAME")
    return replace(found[wanted or next(iter(found))], notes=tuple(notes[:_MOST_NOTES]))


def _parse(source: str, text: str, tables: Mapping[str, Any] | None = None) -> dict[str, Preset]:
    found = {}
    for name, table in (tomllib.loads(text) if tables is None else tables).items():
        suites = table.get("suite") if isinstance(table, dict) else None
        if not isinstance(suites, list) or not suites or not all(isinstance(suite, dict) for suite in suites):
            raise InputError("--preset", f"{source}:{name}", f"a preset has one or more [[{name}.suite]] tables")
        run = _run(source, name, {key: value for key, value in table.items() if key not in ("about", "suite")})
        asked = []
        for number, suite in enumerate(suites, 1):
            written, of_run = _suite(source, suite)
            differs = next((key for key, value in of_run.items() if run.get(key, value) != value), None)
            if differs is not None:
                remedy = f"suite {number} says otherwise than what stands before: the run has one"
                raise InputError(f"--preset {source}", f"{differs} = {of_run[differs]}", remedy)
            asked.append(written)
            run |= of_run
        found[name] = Preset(name, str(table.get("about", "")), tuple(asked), run)
    return found


def _run(source: str, name: str, table: Mapping[str, Any]) -> dict[str, str | Sequence[str]]:
    """What stands in a preset's own table: options of the run."""
    where = f"--preset {source}"
    found = {}
    for key, value in _ours(where, table).items():
        if key not in BY_KEY or key in ("config", "preset", "task"):
            raise InputError(where, key, f"is no option of a run{_near(key)}")
        if BY_KEY[key].suite:
            raise InputError(where, key, f"stands in [[{name}.suite]]")
        found[key] = _written(where, key, value)
    return found


def _suite(source: str, suite: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, str | Sequence[str]]]:
    """A suite's keys, and those of the run that published systems have among them."""
    where = f"--preset {source}"
    table = _ours(where, suite)
    if {"needle", "needles"} & table.keys():
        table = {"task": "niah", **table}
    if "task" not in table:
        raise InputError("--preset", source, "every suite names its task, such as task = 'niah'")
    found: dict[str, str] = {}
    of_run: dict[str, str | Sequence[str]] = {}
    for key, value in table.items():
        if key in SUITE_KEYS or (key in BY_KEY and BY_KEY[key].suite):
            found[key] = json.dumps(value) if isinstance(value, list) and key == "needles" else _one(where, key, value)
        elif key in _OF_RUN and key in BY_KEY:
            of_run[key] = _written(where, key, value)
        else:
            remedy = "is an option of the run: it stands in the preset's own table, above its suites"
            raise InputError(where, key, remedy if key in BY_KEY else f"is no key of a suite{_near(key)}")
    return found, of_run


def _ours(where: str, table: Mapping[str, Any]) -> Mapping[str, Any]:
    said = translated(where, table)
    if said.left:
        raise InputError(where, said.left[0], f"here: {NAMES[said.left[0]].here}")
    return said.values


def _near(key: str) -> str:
    near = nearest(key, [*BY_KEY, *SUITE_KEYS], NAMES)
    return f": did you mean {near}?" if near else "; see docs/presets.md"


def _written(where: str, key: str, value: object) -> str | Sequence[str]:
    if BY_KEY[key].repeatable and isinstance(value, list):
        return [_one(where, key, part) for part in value]
    return _one(where, key, value)


def _one(where: str, key: str, value: object) -> str:
    return as_written(f"{where}: {key}", value)


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


_COMMON: tuple[Option, ...] = (
    *run_options.CONFIGURATION_OPTIONS,
    *run_options.MODEL_OPTIONS,
    *cell_options.CELL_OPTIONS,
    *cell_options.NEEDLE_OPTIONS,
    *cell_options.OPTIONS,
    *run_options.OPTIONS,
    *run_options.BATCHES_OPTIONS,
    *run_options.RESULTS_OPTIONS,
    *run_options.ADAPTIVE_OPTIONS,
)
# Options of one family of tasks; their values are in `Suite.family`.
FAMILY_OPTIONS = {
    option.key: option for option in (*documents.OPTIONS, *leval.OPTIONS, *data_sets.OPTIONS, *retrieval.OPTIONS)
}
OPTIONS: tuple[Option, ...] = (*_COMMON, *FAMILY_OPTIONS.values())
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


Written = Mapping[str, str | Sequence[str]]
"""Option key -> value as written; repeatable options have a sequence."""


def first(levels: Sequence[Written], key: str) -> str | Sequence[str] | None:
    """The value of the first level that has one."""
    return next((level[key] for level in levels if key in level), None)
