"""The words after `--`, which are pytest's: what a launch takes out of them, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from needlework.autoload import asks_for_benchmarks
from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.redact import Redactor, named_secrets

_OURS = ("--shard", "--collect-only", "--co", "--plan", "--fresh")


def pytest_words(words: Sequence[str], here: Path) -> tuple[Path, tuple[str, ...]]:
    """Return the run's folder and the words that are left for each shard.

    Without a word that names benchmarks, they are ours. Raises `InputError`.
    """
    rest = list(words[1:] if words[:1] == ["pytest"] else words)
    name = _taken(rest, "--run-name")
    if not name or name in (".", "..") or any(mark in name for mark in "/\\\0"):
        raise InputError(
            "--run-name", name or "", "give one after `--`, a folder's name: the same command then goes on"
        )
    for word in rest:
        if word.partition("=")[0] in _OURS:
            raise InputError(
                "after --", word, "is not for a launch: it divides the cells itself, and starts all of them"
            )
        if secret_in(word):
            shown = word.partition("=")[0] if "=" in word else "a word with a key or password"
            remedy = (
                "holds a secret, and scripts keep words: name an environment variable (--api-key-env, header.X=ENV:Y)"
            )
            raise InputError("after --", shown, remedy)
    folder = here / (_taken(rest, "--results-dir") or "results/runs") / name
    if not any(word.partition("::")[0].endswith(".py") for word in rest) and not asks_for_benchmarks(
        rest, "--pyargs" in rest, here
    ):
        rest = ["--pyargs", "needlework.benchmarks", *rest]
    return folder, tuple(rest)


def _taken(words: list[str], option: str) -> str | None:
    """Take an option out of the words, each time that it is there, and return its last value."""
    found = None
    for i in reversed(range(len(words))):
        if words[i].startswith(f"{option}="):
            found = found or words.pop(i).partition("=")[2]
        elif words[i] == option and i + 1 < len(words):
            found = found or words[i + 1]
            del words[i : i + 2]
    return found


def secret_in(word: str) -> bool:
    """Whether a word holds a key, or a password in an address, instead of the name of what holds it."""
    if Redactor().clean(word) != word:
        return True
    return any(_is_secret(text) for text in _values(word))


def _values(word: str) -> Iterator[str]:
    """A word and what stands after each `=` in it."""
    while word:
        yield word
        word = word.partition("=")[2]


def _is_secret(text: str) -> bool:
    if "://" in text:
        with suppress(ValueError):
            return urlsplit(text).password is not None
    name, _, value = text.partition("=")
    if name.startswith("header."):
        named = {name.removeprefix("header."): value.removeprefix("Bearer ")}
        return not value.startswith("ENV:") and any(named_secrets(named))
    if text.startswith(("{", "[")):
        with suppress(ValueError, RecursionError):
            return any(named_secrets(json.loads(text)))
    return False
