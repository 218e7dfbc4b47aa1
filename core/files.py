"""Files: written whole or not at all, read small, computed once into the cache folder."""

import errno
import json
import os
import secrets
import shutil
import sys
import time
import tomllib
import zlib
from collections.abc import Callable, Hashable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar, cast

import platformdirs

from needlework.core.errors import InputError


def drop_halves(folder: Path) -> None:
    """Remove what killed runs have left half written."""
    for half in folder.glob(".*.tmp"):
        half.unlink()


def write_whole(path: Path | str, content: bytes, *, durable: bool = True) -> None:
    """Write `content` to `path` through a temporary file beside it. Makes the folder when it is missing.

    `durable`: on the disk before this returns, so that it outlives a power cut; caches do without. Raises `OSError`.
    """
    folder = Path(path).parent
    half = folder / f".{secrets.token_hex(8)}.tmp"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with half.open("xb") as file:
            file.write(content)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        half.replace(path)
    except BaseException:
        with suppress(OSError):
            half.unlink()
        raise


_LARGEST = 64 * 2**20  # bytes
Read = TypeVar("Read")


def read_text(option: str, name: str | Path, remedy: str = "give the path of a UTF-8 text file") -> str:
    """Read a file. Raises `InputError` if it is no file, unreadable, too large or not UTF-8."""
    try:
        path = Path(name).expanduser()
        if path.exists() and not path.is_file():
            raise InputError(option, name, f"is not a file; {remedy}")
        if path.exists() and path.stat().st_size > _LARGEST:
            raise InputError(option, name, f"is larger than {_LARGEST >> 20} MiB; {remedy}")
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(option, name, "is not UTF-8 text; save it as UTF-8") from None
    except OSError as error:
        raise InputError(option, name, f"cannot be read ({error.strerror}); {remedy}") from None
    except (ValueError, RuntimeError):  # a NUL in the name; the home folder of nobody
        raise InputError(option, name, f"is no path; {remedy}") from None


@lru_cache(128)
def _read_version(read: Callable[..., Any], path: str | Path, args: tuple[Any, ...], _version: object) -> Any:
    return read(path, *args)


def read_once(read: Callable[..., Read], path: str | Path, *args: Hashable) -> Read:
    """`read(path, *args)`, remembered while the file does not change: every trial asks for it."""
    try:
        stat = Path(path).expanduser().stat()
    except (OSError, ValueError, RuntimeError):
        return read(path, *args)  # which says what is wrong
    return cast(Read, _read_version(read, path, args, (stat.st_mtime_ns, stat.st_size)))


def json_rows(option: str, name: str | Path, text: str) -> Iterator[tuple[str, Any]]:
    """The values of JSON lines, each with its place, `FILE:LINE`. Raises `InputError`."""
    # Only "\n" ends a line: a text may hold U+2028 and other things that splitlines() takes for line ends.
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                yield f"{name}:{number}", json.loads(line)
            except (ValueError, RecursionError) as error:
                raise InputError(option, f"{name}:{number}", f"is not JSON ({error}): correct or delete it") from None


def read_toml(option: str, name: str | Path, remedy: str = "give the path of a TOML file") -> dict[str, Any]:
    """The file's tables."""
    return parse_toml(option, name, read_text(option, name, remedy))


def parse_toml(option: str, name: str | Path, text: str) -> dict[str, Any]:
    """The tables of a TOML text; `name` is for messages."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(option, name, f"is not valid TOML: {error}") from None


PROMPT = "--judge-prompt"


def prompt_text(path: str) -> str:
    """The text of the file. Raises `InputError`."""
    return read_text(PROMPT, path, "give a UTF-8 text file with {question}, {reference} and {answer}")


# A file here is whole or absent, named by everything that decides its content, and checked when it is read. A cache
# costs time at worst: what is missing, cut short or changed is made again, and what cannot be written is not kept.

# What a file system says that has no locks, or whose lock server is away.
_NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP)
_RUN_S = 24 * 3600.0
_CHECK = 4  # bytes of CRC-32 before the content


def default_cache_dir() -> Path:
    """The folder that NEEDLEWORK_CACHE names, else the user's cache folder; it may not exist yet."""
    named = os.environ.get("NEEDLEWORK_CACHE", "").strip()
    return Path(named).expanduser() if named else Path(platformdirs.user_cache_dir("needlework"))


def cache_key(*parts: str) -> str:
    """One name for everything that decides a file's content: 64 hex digits."""
    return sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def read_cached(path: Path | str) -> memoryview | None:
    """The content that `write_cached` put there; `None` where there is none, or where it is damaged."""
    try:
        data = memoryview(Path(path).read_bytes())
    except OSError:
        return None
    content = data[_CHECK:]
    return content if len(data) >= _CHECK and data[:_CHECK] == _check(content) else None


def write_cached(path: Path | str, content: bytes) -> None:
    """Put content into the cache, if it can be written. Processes may race: the last one's file stays."""
    with suppress(OSError):
        write_whole(path, _check(content) + content, durable=False)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file `path`, waiting as long as it takes. The system frees it when its holder dies.

    Where the file system has no locks nobody waits: processes that start together may each make the same (a converted
    model, a calibration), and the last one's stays.
    """
    from filelock import FileLock  # 70 ms to import, and most runs lock nothing

    path.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as held:
        try:
            held.enter_context(FileLock(path, fallback_to_soft=False))
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
        yield


def learnt_once(path: Path, learn: Callable[[], tuple[dict[str, Any], bool]]) -> dict[str, Any]:
    """Facts that the first process learns, the others wait for, and all then read.

    `learn` returns facts and whether they are worth keeping: what failed in passing is left to the next process.
    """
    with ExitStack() as held:
        with suppress(OSError):  # where nothing can be locked, each process learns for itself
            held.enter_context(locked(path.with_suffix(".lock")))
        content = read_cached(path)
        if content is not None:
            return dict(json.loads(bytes(content)))
        facts, lasting = learn()
        if lasting:
            write_cached(path, json.dumps(facts).encode())
        return facts


def folder_of_run(parent: Path, run: str) -> Path:
    """The folder for facts that each run learns anew. Removes those of earlier days."""
    for left in parent.glob("*"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _RUN_S:
                shutil.rmtree(left)
    return parent / cache_key(run)


def _check(content: bytes | memoryview) -> bytes:
    return zlib.crc32(content).to_bytes(_CHECK, "little")


def replace_closed_streams() -> None:
    """Write to nowhere where whoever started this process has closed its output: pytest needs a stream."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - to the process's end
