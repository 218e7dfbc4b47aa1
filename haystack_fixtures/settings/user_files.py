"""Small files that a user names: options, needles, presets, prompt shapes. Every mistake is one line."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from needlework.haystack_fixtures.errors import InputError

_LARGEST = 64 * 2**20  # bytes


def read_text(option: str, name: str | Path, remedy: str = "give the path of a UTF-8 text file") -> str:
    """The file's text. Raises `InputError` for what is no file, cannot be read, is not UTF-8, or has no end."""
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


def read_toml(option: str, name: str | Path, remedy: str = "give the path of a TOML file") -> dict[str, Any]:
    """The file's tables."""
    return parse_toml(option, name, read_text(option, name, remedy))


def parse_toml(option: str, name: str | Path, text: str) -> dict[str, Any]:
    """The tables of a TOML text; `name` is for messages."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(option, name, f"is not valid TOML: {error}") from None
