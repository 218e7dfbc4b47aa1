"""`needlework schema summary|results|comparison [FILE...]`: print a file's JSON Schema, or hold files against it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from needlework.core.errors import InputError, OneLineParser, refuse
from needlework.core.record import Record
from needlework.results.files.json_files import parsed
from needlework.results.style import one_line

KINDS = ("summary", "results", "comparison")
_SHOWN = 5  # faults of one file
_LONGEST = 200


def main(argv: Sequence[str]) -> int:
    """Print the schema, or say of each file whether it is valid. 0; 1 where one is not; 2 after bad input."""
    options = _parser().parse_args(argv)
    try:
        if not options.files:
            print(schema_text(options.kind), end="")
            return 0
        wrong = [path for path in options.files if _check(options.kind, path)]
        return int(bool(wrong))
    except InputError as error:
        return refuse("schema", error)


def schema_text(kind: str) -> str:
    """The text of the schema (draft 2020-12) of `summary.json`, `results.json` or `comparison.json`."""
    text = files("needlework.results.files").joinpath("schemas", f"{kind}.schema.json").read_text(encoding="utf-8")
    if kind != "results":
        return text
    schema = json.loads(text)
    _, records = msgspec.json.schema_components((Record,), ref_template="#/$defs/{name}")
    schema["$defs"] |= records
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


def faults_of(kind: str, content: object) -> Iterator[str]:
    """What of a parsed file is not as its schema says: place and reason. Raises `InputError` without jsonschema."""
    try:
        validators: Any = import_module("jsonschema")
    except ImportError:
        raise InputError("FILE", kind, "needs the package jsonschema: pip install 'needlework[schema]'") from None
    validator = validators.Draft202012Validator(json.loads(schema_text(kind)))
    for error in validator.iter_errors(content):
        yield one_line(f"{error.json_path}: {error.message}")[:_LONGEST]


def _check(kind: str, path: Path) -> bool:
    """Whether a file is not valid; says so."""
    path = path / f"{kind}.json" if path.is_dir() else path
    faults = list(faults_of(kind, parsed(path)))
    print(f"{path}: {'valid' if not faults else f'{len(faults)} faults'}")
    for fault in faults[:_SHOWN]:
        print(f"  {fault}")
    return bool(faults)


def _parser() -> argparse.ArgumentParser:
    parser = OneLineParser(prog="needlework schema", description=__doc__)
    parser.add_argument(
        "kind",
        choices=KINDS,
        help="which file: a run's summary.json or results.json, or the comparison.json of several runs",
    )
    parser.add_argument(
        "files", nargs="*", type=Path, metavar="FILE", help="files, or folders that have them, to hold against it"
    )
    return parser
