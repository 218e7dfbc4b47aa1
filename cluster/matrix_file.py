"""The TOML file of a matrix: options for all runs, and `[[configuration]]` entries."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from needlework.core.errors import InputError
from needlework.core.files import read_toml
from needlework.haystack_fixtures.configuration.option_table import BY_KEY
from needlework.haystack_fixtures.configuration.presets import as_written
from needlework.models.engines.recipes import find_recipe, parse_args

# Options that the matrix sets itself, or that make a run that cannot be compared with the others.
_EXCLUDED = {"run_name", "plan", "power", "shard", "batch_out", "batch_in", "config", "fresh", "resume"}
_REPLACED = {"model"}  # repeatable options that a configuration replaces; to all others it adds its values
_MATRIX_KEYS = ("label", "pytest", "results_dir", "name")
Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Configuration:
    """One run of a matrix."""

    label: str
    words: Words  # options, as pytest takes them

    @property
    def folder(self) -> str:
        """The run's name."""
        return re.sub(r"[^\w.+-]+", "_", self.label)


@dataclass(frozen=True, slots=True)
class Matrix:
    """Runs of several configurations over the same cells."""

    name: str
    folder: Path  # of the runs and the comparison
    pytest: Words  # further words for pytest, the same for all
    configurations: tuple[Configuration, ...]

    def run_folder(self, configuration: Configuration) -> Path:
        """The folder of a configuration's run."""
        return self.folder / configuration.folder

    def log(self, configuration: Configuration) -> Path:
        """The file of pytest's output."""
        return self.folder / "logs" / f"{configuration.folder}.txt"


def read_matrix(path: Path) -> Matrix:
    """Read a matrix. Raises `InputError`, which names the configuration, the key and the remedy."""
    table = read_toml("matrix", path)
    entries = table.pop("configuration", None)
    if not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
        raise InputError("matrix", path, "has no [[configuration]]; write one for each run, the first to compare with")
    name = _text(f"{path}: name", table.pop("name", path.stem))
    if name in (".", "..") or any(mark in name for mark in "/\\"):
        raise InputError(f"{path}: name", name, "is the name of a folder, without slashes")
    results_dir = Path(_text(f"{path}: results_dir", table.pop("results_dir", "results/runs"))).expanduser()
    pytest = table.pop("pytest", [])
    if not isinstance(pytest, list) or not all(isinstance(word, str) for word in pytest):
        raise InputError(f"{path}: pytest", pytest, 'is a list of words for pytest, such as ["-n", "2"]')
    shared = _options(str(path), table)
    configurations = tuple(_configuration(path, number, entry, shared) for number, entry in enumerate(entries, start=1))
    _check_labels(path, configurations)
    return Matrix(name, results_dir / name, tuple(pytest), configurations)


def _configuration(path: Path, number: int, entry: Mapping[str, Any], shared: Mapping[str, Words]) -> Configuration:
    label = _text(f"{path}: label of configuration {number}", entry.get("label"))
    source = f"{path}: {label}"
    options = dict(shared)
    for key, values in _options(source, {key: value for key, value in entry.items() if key != "label"}).items():
        is_added = BY_KEY[key].repeatable and key not in _REPLACED
        options[key] = (*options.get(key, ()), *values) if is_added else values
    serve_args = options.get("serve_arg", ())
    if "serve" in options:
        find_recipe(options["serve"][0])
        parse_args(serve_args)
    elif serve_args:
        raise InputError(source, "serve_arg", 'there is no serve that takes it: write serve = "ENGINE"')
    words: list[str] = []
    for key, values in options.items():
        option = BY_KEY[key]
        if not option.flag:
            words += [f"--{option.name}={value}" for value in values]
        elif option.parse(f"--{option.name}", values[-1]):
            words.append(f"--{option.name}")
    return Configuration(label, tuple(words))


def _options(source: str, table: Mapping[str, Any]) -> dict[str, Words]:
    """Return the values of each option key as text. Raises `InputError`."""
    options: dict[str, Words] = {}
    for name, value in table.items():
        key = name.replace("-", "_")
        if key in _EXCLUDED:
            raise InputError(source, name, "is not for a matrix, which sets it for each of its runs")
        if key not in BY_KEY:
            near = get_close_matches(key, [*BY_KEY, *_MATRIX_KEYS], n=1)
            raise InputError(source, name, f"did you mean {near[0]}?" if near else "no such option (pytest --help)")
        option = BY_KEY[key]
        values = value if option.repeatable and isinstance(value, list) else [value]
        options[key] = tuple(as_written(f"{source}: {name}", value) for value in values)
        for text in options[key]:
            option.parse(f"{source}: {name}", text)
    return options


def _check_labels(path: Path, configurations: tuple[Configuration, ...]) -> None:
    labels: dict[str, str] = {}
    for configuration in configurations:
        label, folder = configuration.label, configuration.folder
        if folder in labels:
            raise InputError(f"{path}: label", label, f"is there twice (beside {labels[folder]!r}); rename one")
        if folder in ("comparison", "logs", ".", ".."):
            raise InputError(f"{path}: label", label, "is the name of a folder of the matrix itself; rename it")
        labels[folder] = label


def _text(what: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isprintable() or len(value) > 80:
        raise InputError(what, "" if value is None else value, "give a text that can be shown, up to 80 characters")
    return value.strip()
