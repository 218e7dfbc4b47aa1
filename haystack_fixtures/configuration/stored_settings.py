"""Settings in a run's manifest: written, read as data, and made safe to build prompts with."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import structs

from needlework.core.errors import InputError
from needlework.core.options import Option, key_value
from needlework.core.settings import BY_KEY, OF_RUN, READ, Places, Settings, Suite
from needlework.haystack_fixtures.corpora.corpus import NAMES
from needlework.haystack_fixtures.needles.needle_sets import is_inline, is_own

# A manifest is data. Whatever it says of addresses and environment variables is dropped; a path that it names must lie
# in the run's folder, or in a file or folder that the user names now (`--read`).
_DROPPED = (
    "base_url", "api_key_env", "judge", "judge_base_url", "serve", "serve_arg", "plan", "fresh", "shard",
    "batch_out", "batch_in", "embedder_base_url", "embedder_api_key_env",
)  # fmt: skip
_Table = TypeVar("_Table", Settings, Suite)
_OF_OPTIONS = BY_KEY | {"tokenizer_model": BY_KEY["tokenizer"]}


@dataclass(frozen=True, slots=True)
class FileIn:
    """The file or folder that an option's value names."""

    path: str
    prefix: str = ""  # the part of the value before it, such as `gguf:`
    or_name: bool = False  # where there is no such path, the value is a name, such as one of the hub


def _tokenizer_file(value: str) -> FileIn | None:
    kind, colon, name = value.partition(":")
    if colon and kind in ("gguf", "hf"):
        return FileIn(name, f"{kind}:", or_name=kind == "hf")
    return None if kind == "tiktoken" or value in ("smollm2", "server") else FileIn(value, or_name=True)


def _corpus_file(value: str) -> FileIn | None:
    kind, colon, path = value.partition(":")
    if colon and kind == "cdme":
        return FileIn(path, "cdme:")
    return None if value in NAMES else FileIn(value)


# The path in a value, by the option's key; `None` for a value that names no file.
_FILES: Mapping[str, Callable[[str], FileIn | None]] = {
    "tokenizer": _tokenizer_file,
    "judge_prompt": FileIn,
    "baseline": FileIn,
    "corpus": _corpus_file,
    "needle_set": lambda value: FileIn(value) if is_own(value) and not is_inline(value) else None,
    "prompt": lambda value: FileIn(value) if value.endswith(".toml") else None,
    "questions": FileIn,
    "documents": FileIn,
    **dict.fromkeys(("leval_data", "data"), lambda value: None if value.startswith("hf:") else FileIn(value)),
    "embedder": lambda value: FileIn(value[3:], "st:", or_name=True) if value.startswith("st:") else None,
}


def without_servers(settings: Settings) -> Settings:
    """The settings without everything that says how a server is reached or started.
    The identity of the answers stays: an address as the server's name."""
    of_run, of_suites = (
        {field.name: field.default for field in structs.fields(kind) if field.name in _DROPPED}
        for kind in (Settings, Suite)
    )
    return structs.replace(
        settings,
        suites=tuple(structs.replace(suite, **of_suites) for suite in settings.suites),
        model_arg=tuple(word for word in settings.model_arg if not reads_secret(word)),
        server_id=settings.server,
        **of_run,
    )


def reads_secret(word: str) -> bool:
    """Whether a `--model-arg` is a header, or names an environment variable or a value that was hidden."""
    name, _, value = word.partition("=")
    return name.strip().lower().startswith("header.") or value.strip().startswith("ENV:") or value == "..."


def confined(settings: Settings, places: Places) -> Settings:
    """The settings with absolute paths, each of which `places` allows. Raises `InputError`.
    Names of data sets become the folders of the hub's cache."""
    suites = tuple(_confined(suite, places) for suite in settings.suites)
    return _confined(structs.replace(settings, suites=suites), places)


def _confined(table: _Table, places: Places) -> _Table:
    if isinstance(table, Suite) and (file := _corpus_file(table.corpus)) is not None:
        for name in table.file_list:
            places.path("--file-list", os.path.join(file.path, name))  # noqa: PTH118 - a path as text
    values = structs.asdict(table)
    texts = {key: value for key in values.keys() & _OF_OPTIONS.keys() if isinstance(value := values[key], str)}
    changed = {key: safe_value(_OF_OPTIONS[key], value, places) for key, value in texts.items()}
    return structs.replace(table, **changed)


def safe_value(option: Option, value: str, places: Places) -> str:
    """The value of an option that may name a file, see `confined`. Raises `InputError`."""
    file = _FILES[option.key](value) if option.key in _FILES else None
    name = f"--{option.name}"
    option.parse(name, value)
    if file is not None and not (file.or_name and _is_name(file.path, places)):
        path = Path(file.path).expanduser()
        full = places.path(name, file.path)
        if full == Path.cwd() / path:
            return value
        return f"{file.prefix}{full}"
    hub = value.startswith("hf:") or (file is not None and file.prefix == "st:")
    if not hub or value in places.named:
        return value
    folder = _cached(option, value)
    if folder is None:
        raise InputError(name, value, f"is on no disk here: if it may be fetched, give {READ} {value}")
    return folder


def paths_to_name(settings: Settings, places: Places) -> list[str]:
    """The paths that prompts are made of and `confined` refuses until the user names them (`--read`)."""
    paths: dict[str, None] = {}
    for table in (structs.replace(settings, judge_prompt=None, baseline=None), *settings.suites):
        for key, value in structs.asdict(table).items():
            read = _FILES.get(_OF_OPTIONS[key].key) if key in _OF_OPTIONS and key != "embedder" else None
            file = read(value) if read and isinstance(value, str) else None
            if file is None or (file.or_name and _is_name(file.path, places)):
                continue
            full = (places.start or places.run) / Path(file.path).expanduser()
            if not full.resolve().is_relative_to(places.run.resolve()):
                paths[str(full)] = None
    return list(paths)


def _is_name(path: str, places: Places) -> bool:
    """Whether a value is no path, neither from where the run was started nor from here."""
    if path.startswith((".", "/", "~")) or "\\" in path or ".." in Path(path).parts:
        return False
    try:
        return not any((folder / path).exists() for folder in (places.start or places.run, Path.cwd()))
    except (OSError, ValueError):
        return True


def _cached(option: Option, value: str) -> str | None:
    """The folder of `hf:ID[@REVISION]` in the hub's cache, without a connection; `None` if missing."""
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


def settings_tables(settings: Settings) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The settings as a manifest has them: a table of the run's options, and one of each suite's."""
    options = msgspec.to_builtins(settings, enc_hook=str)
    suites = options.pop("suites")
    options |= {key: suite.pop(key) for suite in suites for key in OF_RUN}
    return options, suites


def read_settings(name: str, options: Mapping[str, Any], suites: Sequence[Mapping[str, Any]]) -> Settings:
    """The settings of `settings_tables`; fields that this version does not know are passed over.

    Raises `InputError` with the `name` of the file, where fields are missing or of other types.
    """
    try:
        of_run = {key: options[key] for key in OF_RUN if key in options}
        tables = [{key: value for key, value in {**of_run, **suite}.items() if value is not None} for suite in suites]
        settings = msgspec.convert({**options, "suites": tables}, Settings, dec_hook=_from_builtins)
        json.dumps(msgspec.to_builtins(settings, enc_hook=str), ensure_ascii=False).encode()  # no lone surrogates
        for word in settings.model_arg:
            key_value(name, word)
        return settings
    except (AttributeError, TypeError, ValueError, msgspec.ValidationError) as error:
        raise InputError(name, error, "is not a manifest of this version") from None


def _from_builtins(kind: type, value: Any) -> object:
    return value if isinstance(value, kind) else kind(value)
