"""From a recipe and `--serve-arg` to the words that start a server. Pure, but for a look at what is installed."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from importlib.util import find_spec

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.grid.spacing import parse_tokens
from needlework.haystack_fixtures.models.served.engines.recipe import HERE, WORDS, Recipe, looks_secret


def parse_args(args: Sequence[str]) -> dict[str, str | None]:
    """`NAME=VALUE`, or `NAME` alone for an option without a value; the last of a name counts. Raises `InputError`."""
    found: dict[str, str | None] = {}
    for text in args:
        name, equals, value = text.partition("=")
        name = name.strip().lstrip("-")
        if not name or any(sign.isspace() for sign in name):
            raise InputError("--serve-arg", name, "write NAME=VALUE, such as window=32k, or NAME for a flag")
        if looks_secret(name):
            remedy = "a server on this machine needs no key, and what it needs elsewhere comes from its environment"
            raise InputError("--serve-arg", name, remedy)
        word = name.replace("_", "-")
        found[word if word in (*WORDS, "name") else name] = value if equals else None
    return found


def command(
    recipe: Recipe, args: Mapping[str, str | None], *, model: str, name: str, port: int | str
) -> tuple[str, ...]:
    """The words that start the server: the recipe's, what is said in words of ours, then the engine's own options."""
    filled = [_filled(word, model=model, name=name, port=port) for word in recipe.command]
    said: list[str] = []
    own = dict(recipe.defaults) | {key: value for key, value in args.items() if key not in WORDS and key != "name"}
    for word in WORDS:
        if word in args:
            said += _said(recipe, word, args[word])
    for option, value in own.items():
        said += [_option(option)] if value is None else [_option(option), value]
    return (*filled, *said)


def check_installed(recipe: Recipe, words: Sequence[str]) -> None:
    """Refuse a command that is not there. Raises `InputError`."""
    if sys.platform == "win32":
        raise InputError("--serve", recipe.name, "works on Linux and macOS; start the server yourself, with --base-url")
    if recipe.needs and find_spec(recipe.needs) is None:
        raise InputError("--serve", recipe.name, f"{recipe.needs} is not installed: {recipe.install}")
    if shutil.which(words[0]) is None:
        remedy = recipe.install or "give its whole path"
        raise InputError("--serve", recipe.name, f"there is no program {words[0]} on PATH: {remedy}")


def shown_command(words: Sequence[str]) -> str:
    """The command line as it may be written down: values of options that look like keys are left out."""
    shown: list[str] = []
    for word in words:
        option, equals, _ = word.partition("=")
        hidden = bool(shown) and shown[-1].startswith("-") and looks_secret(shown[-1])
        shown.append("..." if hidden else f"{option}=..." if equals and looks_secret(option) else word)
    return shlex.join(shown)


def _filled(word: str, *, model: str, name: str, port: int | str) -> str:
    values = {"model": model, "name": name, "port": str(port), "python": sys.executable, "here": str(HERE)}
    return re.sub(r"\{(model|name|port|python|here)\}", lambda match: values[match[1]], word)


def _said(recipe: Recipe, word: str, value: str | None) -> list[str]:
    how = recipe.say.get(word)
    if how is None:
        known = ", ".join(recipe.say) or "none of them"
        remedy = f"{recipe.name} is not told that in a word of ours (it knows {known}); give the engine's own option"
        raise InputError("--serve-arg", word, remedy)
    if not value:
        raise InputError("--serve-arg", word, f"write {word}=VALUE")
    if word == "window":
        value = str(parse_tokens("--serve-arg window", value))
    if isinstance(how, Mapping):
        if value not in how:
            near = get_close_matches(value, how, n=1)
            hint = f"did you mean {near[0]}? " if near else ""
            raise InputError(f"--serve-arg {word}", value, f"{hint}{recipe.name} takes {', '.join(how)}")
        return list(how[value])
    options = (how,) if isinstance(how, str) else how
    return [part for option in options for part in (_option(option), value)]


def _option(name: str) -> str:
    return name if name.startswith("-") else f"--{name}" if len(name) > 1 else f"-{name}"
