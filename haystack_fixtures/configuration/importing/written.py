"""A published configuration as it was written: a Python file, YAML, JSON, or a command for a shell."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from needlework.haystack_fixtures.configuration.importing.evalscope import import_evalscope, is_evalscope
from needlework.haystack_fixtures.configuration.importing.imported import Imported, Line
from needlework.haystack_fixtures.configuration.importing.known import Unknown
from needlework.haystack_fixtures.configuration.importing.opencompass import datasets_of, import_opencompass
from needlework.haystack_fixtures.configuration.importing.python_file import OPTION, read_python
from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.settings.user_files import read_text

_COMMAND = re.compile(r"^\s*\$?\s*(\S*/)?evalscope\s+eval\s", re.MULTILINE)
_NOTHING = "has no data sets of OpenCompass and no task of EvalScope; give the file that defines them"
_READ = {"True": True, "False": False, "None": None}


def import_file(path: Path) -> Imported:
    """What becomes of a configuration. Nothing in it is run. Raises `InputError` where it is none that is known."""
    text = read_text(OPTION, path)
    if not text.strip():
        raise InputError(OPTION, path, "is empty")
    if path.suffix.lower() in (".yaml", ".yml", ".json"):
        return _of_table(path, _json(path, text) if path.suffix.lower() == ".json" else _yaml(path, text))
    if _COMMAND.search(text):
        return import_evalscope(path, _of_command(path, text))
    if path.suffix.lower() != ".py" and text.lstrip().startswith("{"):
        return _of_table(path, _json(path, text))
    return _of_python(path)


def _of_table(path: Path, table: Any) -> Imported:
    if not isinstance(table, dict) or not is_evalscope(table):
        raise InputError(OPTION, path, _NOTHING)
    return import_evalscope(path, table)


def _of_python(path: Path) -> Imported:
    found = read_python(path)
    unread = tuple(Line("unread", line) for line in found.unread)
    if datasets_of(found):
        imported = import_opencompass(found)
    else:
        tasks = [call.arguments for call in found.calls if call.name.rpartition(".")[2] == "TaskConfig"]
        tasks += [value for value in found.values.values() if isinstance(value, dict) and is_evalscope(value)]
        if not tasks:
            told = f"; {found.unread[0]}" if found.unread else ""
            raise InputError(OPTION, path, f"{_NOTHING}{told}")
        imported = import_evalscope(path, tasks[0])
        unread += tuple(Line("not here", "a further task", "give it a file of its own") for _ in tasks[1:])
    if not imported.suites:
        raise InputError(OPTION, path, f"asks nothing that is asked here; {'; '.join(map(str, imported.lines))}")
    return Imported(imported.system, imported.suites, (*imported.lines, *unread), imported.options)


def _json(path: Path, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(OPTION, path, f"is no JSON: {error}") from None


def _yaml(path: Path, text: str) -> Any:
    try:
        import yaml
    except ImportError:
        raise InputError(OPTION, path, "needs a reader of YAML: pip install 'needlework[yaml]'") from None
    try:
        # What refers to itself may have parts without end.
        if any(isinstance(event, yaml.events.AliasEvent) for event in yaml.parse(text, yaml.SafeLoader)):
            raise InputError(OPTION, path, "has aliases (*name), which are not read: write the values out")
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InputError(OPTION, path, f"is no YAML: {' '.join(str(error).split())[:200]}") from None


def _of_command(path: Path, text: str) -> Mapping[str, Any]:
    """The options of `evalscope eval ...` as a table; those of JSON as what they say."""
    start = _COMMAND.search(text)
    rest = text[start.end() :] if start else ""
    try:
        words = shlex.split(_one_command(rest), comments=True)
    except ValueError as error:
        raise InputError(OPTION, path, f"is no command for a shell: {error}") from None
    found: dict[str, Any] = {}
    key = ""
    for word in words:
        if word.startswith("--"):
            key, equals, value = word[2:].partition("=")
            found[key] = _value(value) if equals else True
        elif key:
            found[key] = _value(word) if found[key] is True else [*_listed(found[key]), _value(word)]
    if isinstance(written := found.get("generation-config"), str):
        pairs = (part.partition("=") for part in written.split(","))
        found["generation-config"] = {name.strip(): _value(value.strip()) for name, _, value in pairs}
    return found


def _one_command(text: str) -> str:
    """The command up to the end of its last line; a comment behind a line is none of it."""
    lines = []
    for line in text.splitlines():
        lines.append(line.rstrip().removesuffix("\\"))
        if not line.rstrip().endswith("\\") and _balanced("\n".join(lines)):
            break
    return "\n".join(lines)


def _balanced(text: str) -> bool:
    try:
        shlex.split(text, comments=True)
    except ValueError:
        return False
    return True


def _value(word: str) -> Any:
    if word in _READ:
        return _READ[word]
    if word.startswith("$"):
        return Unknown(word)
    try:
        return json.loads(word)
    except (ValueError, RecursionError):
        return word


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
