"""Recipes of serving engines: from options to a command line."""

import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import msgspec

from needlework.core.errors import InputError
from needlework.core.files import parse_toml, read_toml
from needlework.core.grid import parse_tokens

HERE = Path(__file__).parent
_SECRET = re.compile(r"(?i)(^|[_-])(api_?key|key|token|secret|password|authorization)$")
_SLOW_S = 1800.0  # large weights come from a hub, or from a slow disk
Word = Literal["window", "dtype", "kv-dtype", "tensor-parallel", "prefix-caching", "chat-template"]
WORDS: tuple[Word, ...] = get_args(Word)  # options of one name for all engines, as far as its recipe has them
Say = str | tuple[str, ...] | dict[str, tuple[str, ...]]


class Recipe(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The start of one engine; a recipe's file has these fields, `name` for `served_name`."""

    command: tuple[str, ...]  # its words, with {port}, {model}, {name}
    engine: str = ""
    about: str = ""
    serves: Literal["folder", "gguf", "any"] = "any"
    health: Annotated[str, msgspec.Meta(pattern="^(/|$)")] = ""  # ready when this path answers below 400
    install: str = ""
    needs: str = ""  # a Python package of this environment
    served_name: str = msgspec.field(default="", name="name")  # of every model, where the engine takes no name
    start_s: Annotated[float, msgspec.Meta(gt=0)] = _SLOW_S  # seconds that it may take until it is healthy
    defaults: dict[str, str] = {}  # options of the engine, unless the user gives them
    reports: tuple[str, ...] = ()  # options that make replies tell more (cached tokens) and change no answer
    say: dict[Word, Say] = {}
    """For each of `WORDS` the engine's option, several options with one value, or the words for each value."""


def known_engines() -> tuple[str, ...]:
    """The names of the recipes that come with needlework."""
    return tuple(sorted(path.name.removesuffix(".toml") for path in (HERE / "recipes").glob("*.toml")))


def find_recipe(text: str) -> Recipe:
    """The recipe of `--serve`: an engine, a TOML file, or a command with {port}. Raises `InputError`."""
    if text in known_engines():
        path = HERE / "recipes" / f"{text}.toml"
        return _read(text, text, parse_toml("--serve", text, path.read_text(encoding="utf-8")))
    if "{port}" in text:
        return _of_command(text)
    if text.endswith(".toml"):
        return _read(text, Path(text).stem, read_toml("--serve", text))
    remedy = f"use one of {', '.join(known_engines())}, a TOML file, or a 'COMMAND --port {{port}}'"
    raise InputError("--serve", text, remedy)


def _of_command(text: str) -> Recipe:
    """A command line as a recipe."""
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise InputError("--serve", text, f"cannot be split into words: {error}") from None
    for option in (word.partition("=")[0] for word in words):
        if looks_secret(option):
            remedy = "a command is written into the run's files: let the server read its key from the environment"
            raise InputError("--serve", option, remedy)
    return Recipe(engine=Path(words[0]).name, command=words, about="a command of yours")


def looks_secret(option: str) -> bool:
    """Whether an option's name says that its value is a key."""
    return _SECRET.search(option) is not None


def _read(path: str, engine: str, table: Mapping[str, Any]) -> Recipe:
    try:
        recipe = msgspec.convert({**table, "engine": engine}, Recipe)
    except msgspec.ValidationError as error:
        raise InputError(f"--serve {path}", "recipe", f"{error}; docs/engines.md shows one") from None
    if not any("{port}" in word for word in recipe.command):
        raise InputError(f"--serve {path}", "command", 'a word of it has {port}, such as ["serve", "{port}"]')
    return recipe


def parse_args(args: Sequence[str]) -> dict[str, str | None]:
    """`NAME=VALUE`, or `NAME` for an option without a value; the last one counts. Raises `InputError`."""
    parsed: dict[str, str | None] = {}
    for text in args:
        name, equals, value = text.partition("=")
        name = name.strip().lstrip("-")
        if not name or any(sign.isspace() for sign in name):
            raise InputError("--serve-arg", name, "write NAME=VALUE, such as window=32k, or NAME for a flag")
        if looks_secret(name):
            remedy = "a server on this machine needs no key, and what it needs elsewhere comes from its environment"
            raise InputError("--serve-arg", name, remedy)
        word = name.replace("_", "-")
        parsed[word if word in (*WORDS, "name") else name] = value if equals else None
    return parsed


def command(
    recipe: Recipe, args: Mapping[str, str | None], *, model: str, name: str, port: int | str
) -> tuple[str, ...]:
    """The server's command line: the recipe's words, those for our words in `args`, engine options."""
    values = {"model": model, "name": name, "port": str(port), "python": sys.executable, "here": str(HERE)}
    words = [re.sub(rf"\{{({'|'.join(values)})\}}", lambda match: values[match[1]], word) for word in recipe.command]
    for word in WORDS:
        if word in args:
            words += _translated(recipe, word, args[word])
    options = dict(recipe.defaults) | {key: value for key, value in args.items() if key not in (*WORDS, "name")}
    for option, value in options.items():
        words += [_option(option)] if value is None else [_option(option), value]
    return (*words, *recipe.reports)


def shown_command(words: Sequence[str]) -> str:
    """The command line as it may be written down: values of options that look like keys are left out."""
    shown: list[str] = []
    for word in words:
        option, equals, _ = word.partition("=")
        hidden = bool(shown) and shown[-1].startswith("-") and looks_secret(shown[-1])
        shown.append("..." if hidden else f"{option}=..." if equals and looks_secret(option) else word)
    return shlex.join(shown)


def _translated(recipe: Recipe, word: Word, value: str | None) -> list[str]:
    """One of our words with its value, as the engine's options."""
    how = recipe.say.get(word)
    if how is None:
        known = ", ".join(recipe.say) or "none of them"
        remedy = f"{recipe.engine} is not told that in a word of ours (it knows {known}); give the engine's own option"
        raise InputError("--serve-arg", word, remedy)
    if not value:
        raise InputError("--serve-arg", word, f"write {word}=VALUE")
    if word == "window":
        value = str(parse_tokens("--serve-arg window", value))
    if isinstance(how, Mapping):
        if value not in how:
            raise InputError(f"--serve-arg {word}", value, f"{recipe.engine} takes {', '.join(how)}")
        return list(how[value])
    options = (how,) if isinstance(how, str) else how
    return [part for option in options for part in (_option(option), value)]


def _option(name: str) -> str:
    return name if name.startswith("-") else f"--{name}" if len(name) > 1 else f"-{name}"
