"""The TOML file of a matrix: options for all, and `[[configuration]]` entries with their own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from needlework.haystack_fixtures.configuration.options import BY_KEY
from needlework.haystack_fixtures.configuration.presets import as_written
from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.models.served.engines.command import parse_args
from needlework.haystack_fixtures.models.served.engines.recipe import find_recipe
from needlework.haystack_fixtures.settings.user_files import read_toml

# What the matrix says itself, or what makes a run that cannot be compared with the others.
_NOT_HERE = {"run_name", "plan", "power", "shard", "batch_out", "batch_in", "config", "fresh", "resume"}
_REPLACES = {"model"}  # of options that may be given several times; of all others a configuration adds its own
Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Configuration:
    """One run of a matrix. `words`: its options, as pytest takes them; `folder`: the name of its run's folder."""

    label: str
    words: Words

    @property
    def folder(self) -> str:
        """The run's name."""
        return re.sub(r"[^\w.+-]+", "_", self.label)


@dataclass(frozen=True, slots=True)
class Matrix:
    """`folder`: where its runs and the comparison lie. `pytest`: further words for pytest, the same for all."""

    name: str
    folder: Path
    pytest: Words
    configurations: tuple[Configuration, ...]


def read_matrix(path: Path) -> Matrix:
    """Read a matrix. Raises `InputError`, which names the configuration, the key and the remedy."""
    table = read_toml("matrix", path)
    entries = table.pop("configuration", None)
    if not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
        raise InputError("matrix", path, "has no [[configuration]]; write one for each run, the first to compare with")
    name = _text(f"{path}: name", table.pop("name", path.stem))
    results_dir = Path(_text(f"{path}: results_dir", table.pop("results_dir", "results/runs"))).expanduser()
    pytest = table.pop("pytest", [])
    if not isinstance(pytest, list) or not all(isinstance(word, str) for word in pytest):
        raise InputError(f"{path}: pytest", pytest, 'is a list of words for pytest, such as ["-n", "2"]')
    shared = _options(str(path), table)
    configurations = tuple(_configuration(path, number, entry, shared) for number, entry in enumerate(entries, start=1))
    _check_names(path, configurations)
    if name in (".", "..") or any(mark in name for mark in "/\\"):
        raise InputError(f"{path}: name", name, "is the name of a folder, without slashes")
    return Matrix(name, results_dir / name, tuple(pytest), configurations)


def _configuration(path: Path, number: int, entry: Mapping[str, Any], shared: Mapping[str, Words]) -> Configuration:
    label = _text(f"{path}: label of configuration {number}", entry.get("label"))
    where = f"{path}: {label}"
    own = _options(where, {key: value for key, value in entry.items() if key != "label"})
    values = dict(shared)
    for key, words in own.items():
        adds = BY_KEY[key].repeatable and key not in _REPLACES
        values[key] = (*values.get(key, ()), *words) if adds else words
    serve, args = values.get("serve"), values.get("serve_arg", ())
    if serve is not None:
        find_recipe(serve[0])
        parse_args(args)
    if args and serve is None:
        raise InputError(where, "serve_arg", 'there is no serve that takes it: write serve = "ENGINE"')
    return Configuration(label, tuple(word for key, given in values.items() for word in _words(key, given)))


def _options(where: str, table: Mapping[str, Any]) -> dict[str, Words]:
    """Option key -> its values as written. Raises `InputError`."""
    found: dict[str, Words] = {}
    for name, value in table.items():
        key = name.replace("-", "_")
        if key in _NOT_HERE:
            raise InputError(where, name, "is not for a matrix, which says it for each of its runs")
        if key not in BY_KEY:
            near = get_close_matches(key, [*BY_KEY, "label", "pytest", "results_dir", "name"], n=1)
            raise InputError(where, name, f"did you mean {near[0]}?" if near else "no such option (pytest --help)")
        option = BY_KEY[key]
        values = value if option.repeatable and isinstance(value, list) else [value]
        written = tuple(as_written(f"{where}: {name}", each) for each in values)
        for each in written:
            option.parse(f"{where}: {name}", each)
        found[key] = written
    return found


def _words(key: str, values: Words) -> Iterator[str]:
    option = BY_KEY[key]
    if not option.flag:
        yield from (f"--{option.name}={value}" for value in values)
    elif option.parse(f"--{option.name}", values[-1]):
        yield f"--{option.name}"


def _check_names(path: Path, configurations: tuple[Configuration, ...]) -> None:
    seen: dict[str, str] = {}
    for each in configurations:
        if each.folder in seen:
            raise InputError(f"{path}: label", each.label, f"is there twice (beside {seen[each.folder]!r}); rename one")
        if each.folder in ("comparison", "logs", ".", ".."):
            raise InputError(f"{path}: label", each.label, "is the name of a folder of the matrix itself; rename it")
        seen[each.folder] = each.label


def _text(what: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isprintable() or len(value) > 80:
        raise InputError(what, "" if value is None else value, "give a text that can be shown, up to 80 characters")
    return value.strip()
