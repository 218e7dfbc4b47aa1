"""Settings of a run folder that may be somebody else's: no server, no key, and no file but the run's and the user's.

A manifest is data. Whatever it says of addresses and environment variables is dropped; a path that it names must lie in
the run's folder, or in a file or folder that the user names now (`--read`).
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from needlework.haystack_fixtures.configuration.options import BY_KEY, OPTIONS
from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.settings.option import Option
from needlework.haystack_fixtures.settings.own import Own
from needlework.haystack_fixtures.settings.settings import Settings, Suite

READ = "--read"
READ_HELP = "a file or folder outside the run that its options may name, such as that of --documents; may be repeated"
_OF_SERVERS = (
    "embedder_base_url", "embedder_api_key_env",
    "questions_model", "questions_model_base_url", "questions_model_api_key_env",
)  # fmt: skip
_Table = TypeVar("_Table", Settings, Suite)
_PATTERN = re.compile(r"[*?\[]")
_OF_OPTIONS = {option.key: option for option in OPTIONS} | {"tokenizer_model": BY_KEY["tokenizer"]}


@dataclass(frozen=True, slots=True)
class Places:
    """Where files may be read: the folder of the run, and what the user `named` on this command line, as written.

    `start`: the folder that the run was started in; relative paths of its options begin there.
    """

    run: Path
    start: Path | None = None
    named: tuple[str, ...] = ()

    def path(self, option: str, path: str) -> Path:
        """The absolute path that an option names. Raises `InputError` where it lies elsewhere."""
        try:
            given = Path(path).expanduser()
            full = (self.start or self.run) / given
            moved = self.run / full.name
            if full.parent.name == self.run.resolve().name and not full.exists() and moved.exists():
                full = moved  # the run's own file, and the folder was copied since
            self._check(option, full)
        except (OSError, ValueError, RuntimeError):  # no name of a file
            raise InputError(option, path, "is no path that can be read") from None
        return full

    def names(self, path: Path) -> bool:
        """Whether the user has named this path, or a folder that it lies in."""
        return any(path.is_relative_to(Path(each).expanduser().resolve()) for each in self.named)

    def _check(self, option: str, full: Path) -> None:
        parts = full.parts
        first = next((at for at, part in enumerate(parts) if _PATTERN.search(part)), len(parts))
        pattern = first < len(parts) and not full.exists()
        real = Path(*parts[:first]).resolve() if pattern else full.resolve()
        if self.names(real) and not (pattern and ".." in parts):
            return
        if not real.is_relative_to(self.run.resolve()) or (pattern and ".." in parts):
            shown = real if not pattern else full
            raise InputError(option, full, f"lies outside the run's folder: if it is yours, give {READ} {shown}")
        check_tree(real, self.run, option)


def check_tree(top: Path, run: Path, option: str = "RUN") -> None:
    """Refuse a link that leads out of a run's folder, and what is no file and no folder. Raises `InputError`."""
    inside = run.resolve()
    for folder, folders, files in os.walk(top, followlinks=False):
        for name in (*folders, *files):
            path = Path(folder, name)
            if path.is_symlink() and not path.resolve().is_relative_to(inside):
                raise InputError(option, path, "is a link that leads out of the run's folder: remove it")
            if not stat.S_ISREG(mode := path.lstat().st_mode) and not stat.S_ISDIR(mode) and not path.is_symlink():
                raise InputError(option, path, "is no file and no folder: remove it")


def without_servers(settings: Settings) -> Settings:
    """The settings without everything that says how a server is reached or started. What the answers are identified by
    stays: an address as the server's name."""
    usual = BY_KEY["api_key_env"].usual
    return replace(
        settings,
        suites=tuple(replace(suite, own=_without(suite.own, _OF_SERVERS)) for suite in settings.suites),
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
        changed["own"] = Own({**table.own, **_changed(table.own, places, moved)})
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
        if path.is_absolute() and path == full:
            return value
        if not moved and full != Path.cwd() / path:
            raise InputError(name, value, f"is meant from {places.start}: start this command there")
        return f"{file.prefix}{full}" if moved else value
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


def _without(own: Own, keys: tuple[str, ...]) -> Own:
    return Own({key: value for key, value in own.items() if key not in keys})
