"""Settings of a run folder: read as data, and made safe to build prompts with."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from needlework.core.errors import InputError
from needlework.core.options import Option, key_value
from needlework.core.settings import READ, FamilyValues, Places, Settings, Suite
from needlework.haystack_fixtures.configuration.presets import BY_KEY, OPTIONS
from needlework.haystack_fixtures.configuration.resolve import family_from_tables

# A manifest is data. Whatever it says of addresses and environment variables is dropped; a path that it names must lie
# in the run's folder, or in a file or folder that the user names now (`--read`).
_OF_SERVERS = (
    "embedder_base_url", "embedder_api_key_env",
    "questions_model", "questions_model_base_url", "questions_model_api_key_env",
)  # fmt: skip
_Table = TypeVar("_Table", Settings, Suite)
_OF_OPTIONS = {option.key: option for option in OPTIONS} | {"tokenizer_model": BY_KEY["tokenizer"]}


def without_servers(settings: Settings) -> Settings:
    """The settings without everything that says how a server is reached or started. What the answers are identified by
    stays: an address as the server's name."""
    usual = BY_KEY["api_key_env"].usual
    return replace(
        settings,
        suites=tuple(replace(suite, family=_without(suite.family, _OF_SERVERS)) for suite in settings.suites),
        model_arg=tuple(word for word in settings.model_arg if not reads_secret(word)),
        base_url=None,
        server_id=settings.server,
        api_key_env=str(usual),
        judge=(),
        judge_base_url=(),
        serve=None,
        serve_arg=(),
        plan=False,
        fresh=False,
        shard=None,
        batch_out=None,
        batch_in=(),
    )


def reads_secret(word: str) -> bool:
    """Whether a `--model-arg` is a header, or names an environment variable or a value that was hidden."""
    name, _, value = word.partition("=")
    return name.strip().lower().startswith("header.") or value.strip().startswith("ENV:") or value == "..."


def confined(settings: Settings, places: Places, *, moved: bool = True) -> Settings:
    """The settings with absolute paths, each of which lies where `places` allows it; names of data sets become the
    folders of the hub's cache. Raises `InputError`.

    Without `moved` no value may change, since answers are identified by some of them: a relative path must then be
    meant from the current folder, and a name be one that the user names now.
    """
    suites = tuple(_confined(suite, places, moved) for suite in settings.suites)
    return _confined(replace(settings, suites=suites), places, moved)


def _confined(table: _Table, places: Places, moved: bool) -> _Table:
    values = {each.name: getattr(table, each.name) for each in fields(table)}
    changed = _changed(values, places, moved)
    if isinstance(table, Suite):
        _check_files(table, places)
        changed["family"] = FamilyValues({**table.family, **_changed(table.family, places, moved)})
    return replace(table, **changed)


def _changed(values: Mapping[str, Any], places: Places, moved: bool) -> dict[str, Any]:
    given = {key: value for key in values.keys() & _OF_OPTIONS.keys() if isinstance(value := values[key], str)}
    return {key: safe_value(_OF_OPTIONS[key], value, places, moved=moved) for key, value in given.items()}


def safe_value(option: Option, value: str, places: Places, *, moved: bool = True) -> str:
    """The value of an option that may name a file, see `confined`. Raises `InputError`."""
    file, name = option.file(value), f"--{option.name}"
    option.parse(name, value)
    if file is not None and not (file.or_name and _is_name(file.path, places)):
        path = Path(file.path).expanduser()
        full = places.path(name, file.path)
        if full == Path.cwd() / path:
            return value
        if not moved:
            raise InputError(name, value, f"is meant from {places.start}: start this command there")
        return f"{file.prefix}{full}"
    hub = value.startswith("hf:") or (file is not None and file.prefix == "st:")
    if not hub or value in places.named:
        return value
    folder = _cached(option, value) if moved else None
    if folder is None:
        raise InputError(name, value, f"is on no disk here: if it may be fetched, give {READ} {value}")
    return folder


def _is_name(path: str, places: Places) -> bool:
    """Whether a value is no path, neither from where the run was started nor from here."""
    if path.startswith((".", "/", "~")) or "\\" in path or ".." in Path(path).parts:
        return False
    try:
        return not any((folder / path).exists() for folder in (places.start or places.run, Path.cwd()))
    except (OSError, ValueError):
        return True


def _cached(option: Option, value: str) -> str | None:
    """The folder of `hf:ID[@REVISION]` in the hub's cache, without a connection; `None` where it is not there."""
    if option.key not in ("tokenizer", "data", "leval_data"):
        return None
    from huggingface_hub import snapshot_download

    model = option.key == "tokenizer"
    name, _, revision = value.removeprefix("hf:").partition("@")
    kind = None if model else "dataset"
    try:
        folder = snapshot_download(name, repo_type=kind, revision=revision or None, local_files_only=True)
    except Exception:  # noqa: BLE001 - whatever the hub's client raises, it is not there
        return None
    return f"hf:{folder}" if model else folder


def _check_files(suite: Suite, places: Places) -> None:
    file = BY_KEY["corpus"].file(suite.corpus)
    if file is None:
        return
    for name in suite.file_list:
        places.path("--file-list", os.path.join(file.path, name))  # noqa: PTH118 - a path as text


def _without(values: FamilyValues, keys: tuple[str, ...]) -> FamilyValues:
    return FamilyValues({key: value for key, value in values.items() if key not in keys})


_MOST = 10**12
_ONCE_SINGLE = ("judge", "judge_base_url")  # had one value before there could be several judges


def read_settings(name: str, options: Mapping[str, Any], suites: Sequence[Mapping[str, Any]]) -> Settings:
    """The settings of these fields; those that this version does not know are passed over.

    Raises `InputError` with the `name` of the file, where fields are missing or of other types.
    """
    try:
        found = tuple(
            Suite(**_typed(name, Suite, suite), family=family_from_tables(options, suite)) for suite in suites
        )
        if not found or not all(suite.repeats for suite in found):
            raise TypeError("it has no cells")
        settings = Settings(suites=found, **_typed(name, Settings, options))
        for word in settings.model_arg:
            key_value(name, word)
        return settings
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(name, error, "is not a manifest of this version") from None


def _typed(name: str, kind: type, values: Mapping[str, Any]) -> dict[str, Any]:
    hints = get_type_hints(kind)
    known = {field.name for field in fields(kind)} - {"family"}
    typed: dict[str, Any] = {}
    for key in known & values.keys():
        value = values[key]
        value = tuple(value) if isinstance(value, list) else Path(value) if hints[key] is Path else value
        if key in _ONCE_SINGLE and not isinstance(value, tuple):
            value = () if value is None else (value,)
        if not _fits(value, hints[key]):
            raise InputError(name, f"{key}: {value!r}", "is not a manifest of this version")
        typed[key] = value
    return typed


def _fits(value: object, hint: Any) -> bool:
    """Whether a value is of a field's type; a grid has at least one length and one depth, and no negative number."""
    origin, inside = get_origin(hint), get_args(hint)
    if origin is tuple:
        numbers = inside[0] in (int, float)
        return isinstance(value, tuple) and all(_fits(part, inside[0]) for part in value) and bool(value or not numbers)
    if origin is Literal:
        return value in inside
    if inside:  # a union
        return any(_fits(value, part) for part in inside)
    if hint in (int, float) and isinstance(value, (int, float)) and not isinstance(value, bool):
        return 0 <= value < _MOST and (hint is float or isinstance(value, int))
    if isinstance(value, str):
        return hint is str and value == value.encode("utf-8", "replace").decode()  # no half of a surrogate pair
    return type(value) is hint or (isinstance(hint, type) and hint is not int and isinstance(value, hint))
