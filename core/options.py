"""Options: derived from the fields of Structs, with the words of `options.toml`; how values are read."""

import math
import re
import tomllib
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from msgspec import NODEFAULT, Meta, Struct, structs

from needlework.core.errors import InputError
from needlework.core.grid import parse_tokens

Parsed = str | int | float | bool | tuple[str, ...] | None
Parser = Callable[[str, str], Parsed]


@dataclass(frozen=True, slots=True)
class ForEach:
    """Marks a field whose option may be given several times, and how each value is read."""

    parse: Parser


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option: the field `key` of a Struct, and its entry in `options.toml`."""

    key: str
    parse: Parser
    default: str | None  # as it would be written
    repeatable: bool
    flag: bool  # one of a suite has `--no-NAME` beside it
    suite: bool  # it describes what is asked (a preset's suite may set it), not how the run is made
    # The entry: help for people, and rules of the command line.
    group: str
    help: str = field(repr=False)
    metavar: str = ""
    shown_default: str = ""  # in place of the field's
    bare: str = ""  # the value of an option that is given without one
    once: bool = False  # a second one is refused; of other options that take one value the last one counts
    aliases: tuple[str, ...] = ()  # further names on the command line

    @property
    def name(self) -> str:
        """The name on the command line: `answer-budget` for `answer_budget`."""
        return self.key.replace("_", "-")

    def pytest_words(self, value: object) -> Iterator[str]:
        """The option as pytest takes it; `None` and `False` are left out."""
        if value is False and self.flag and self.suite and not self.name.startswith("no-"):
            yield f"--no-{self.name}"
        if value is None or value is False:
            return
        if self.flag:
            yield f"--{self.name}"
        elif isinstance(value, str) or not isinstance(value, Iterable):
            yield f"--{self.name}={value}"
        elif self.repeatable:
            yield from (f"--{self.name}={each}" for each in value)
        else:
            yield f"--{self.name}={','.join(map(str, value))}"


@cache
def option_entries() -> dict[str, dict[str, Any]]:
    """The entries of all options by key, in the order in which help shows them.

    `of_run`: of a suite's option that is one of the run, not of what is asked.
    """
    tables = tomllib.loads((resources.files(__package__) / "options.toml").read_text(encoding="utf-8"))
    titles = tables.pop("groups")
    return {key: {"group": titles[group], **row} for group, rows in tables.items() for key, row in rows.items()}


def options_of(kind: type[Struct], *, suite: bool) -> Iterator[Option]:
    """The options that are fields of a Struct: those that have an entry."""
    hints = get_type_hints(kind, include_extras=True)
    for member in structs.fields(kind):
        if member.name in option_entries():
            entry, parser = dict(option_entries()[member.name]), _parser(hints[member.name])
            yield Option(
                key=member.name,
                parse=parser.parse if isinstance(parser, ForEach) else parser,
                default=None if member.default is NODEFAULT else _as_text(member.default),
                repeatable=isinstance(parser, ForEach),
                flag=hints[member.name] is bool and "metavar" not in entry,
                suite=suite and not entry.pop("of_run", False),
                aliases=tuple(entry.pop("aliases", ())),
                **entry,
            )


def read_value(hint: Any, option: str, value: str) -> Any:
    """The value of an option that is a field with this annotation. Raises `InputError`."""
    parser = _parser(hint)
    return (parser.parse if isinstance(parser, ForEach) else parser)(option, value)


def _parser(hint: Any) -> Parser | ForEach:
    """Return the parser of a field's values: the one its annotation names, else that of its type."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        named = [extra for extra in arguments[1:] if isinstance(extra, ForEach) or callable(extra)]
        if named:
            reader: Parser | ForEach = named[0]
            return reader
        least = next((extra.ge for extra in arguments[1:] if isinstance(extra, Meta)), None)
        return whole(int(least or 0))
    if origin in (Union, UnionType):
        return _parser(arguments[0])
    if origin is Literal:
        return one_of(*arguments)
    by_type: dict[Any, Parser] = {bool: switch, int: whole(0), Path: path}
    return by_type.get(hint, text)


def _as_text(value: Any) -> str | None:
    """A default as the command line would have it."""
    if value is None or value == ():
        return None
    if isinstance(value, tuple):
        return ",".join(value)
    return f"{value:g}" if isinstance(value, float) else str(value).lower() if isinstance(value, bool) else str(value)


_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_MOST_SHARDS = 10_000
_LONGEST_S = 1_000_000  # 11 days; what sockets take as a time-out is not endless


def text(option: str, value: str) -> str:
    """Read a text on one line; an empty one, or one that a terminal would obey, is a mistake."""
    if not value.strip():
        raise InputError(option, value, "give a value that is not empty")
    if _CONTROLS.search(value):
        raise InputError(option, value, "give a value without control characters")
    return value


def path(option: str, value: str) -> str:
    """A path; `~` is the home folder."""
    try:
        return str(Path(text(option, value)).expanduser())
    except RuntimeError:  # ~nobody
        raise InputError(option, value, "is no path; write the whole path") from None


HUB = "hf:"


def path_or_hub(option: str, value: str) -> str:
    """A path, or `hf:NAME` as it is."""
    return value if value.startswith(HUB) else path(option, value)


def conditions(option: str, value: str) -> tuple[str, ...]:
    """`n_needles=8,difficulty=hard|easy` as a tuple of conditions."""
    parts = tuple(part.strip() for part in text(option, value).split(","))
    for part in parts:
        if not re.fullmatch(r"[\w]+\s*=\s*\S.*", part):
            raise InputError(option, part, "write COLUMN=VALUE, or COLUMN=VALUE|VALUE, with commas between them")
    return parts


def any_text(option: str, value: str) -> str:
    """Any text, an empty one too."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise InputError(option, value, "is not UTF-8 text") from None
    return value


def words(option: str, value: str) -> tuple[str, ...]:
    """`a,b c` as a tuple."""
    parts = tuple(dict.fromkeys(word for word in value.replace(" ", ",").split(",") if word))
    if not parts:
        raise InputError(option, value, "give at least one value")
    return parts


def key_value(option: str, value: str) -> str:
    """`KEY=VALUE`."""
    if not value.partition("=")[0].strip() or "=" not in value:
        # What follows may be a header with a key in it.
        raise InputError(option, re.split(r"[\s:=]", value.strip())[0], "write KEY=VALUE, such as dtype=bfloat16")
    return value


def variable(option: str, value: str) -> str:
    """The name of an environment variable. Whatever is none may be the secret itself, and is not shown."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value):
        raise InputError(option, "...", "is the name of an environment variable, never the key itself")
    return value


def whole(least: int) -> Callable[[str, str], int]:
    """A whole number, at least `least`."""

    def parse(option: str, value: str) -> int:
        if re.fullmatch(r"[0-9]{16,}", value.strip()):
            raise InputError(option, value, "give a whole number of at most 15 digits")
        if not re.fullmatch(r"-?[0-9]{1,15}", value.strip()) or int(value) < least:
            raise InputError(option, value, f"give a whole number, {least} or more")
        return int(value)

    return parse


def loads(option: str, value: str) -> tuple[str, ...]:
    """`1,4,16`: numbers of requests in flight, each once."""
    parts = words(option, value)
    if not all(re.fullmatch(r"[1-9][0-9]{0,4}", part) for part in parts):
        raise InputError(option, value, "give numbers of requests in flight, such as 1,4,16")
    return parts


def some_tokens(option: str, value: str) -> int:
    """A number of tokens, at least one."""
    count = parse_tokens(option, value)
    if count < 1:
        raise InputError(option, value, "is no room for an answer: give 1 or more, such as 64")
    return count


def number(fits: Callable[[float], bool], remedy: str) -> Parser:
    """A number that fits."""

    def parse(option: str, value: str) -> float:
        try:
            amount = float(value)
        except ValueError:
            amount = math.nan
        if not fits(amount):
            raise InputError(option, value, remedy)
        return amount

    return parse


seconds = number(lambda amount: 0 < amount <= _LONGEST_S, f"give seconds above 0 and up to {_LONGEST_S:,}, such as 120")
positive = number(lambda amount: 0 < amount < 1e12, "give a number above 0")
percent = number(lambda amount: 0 <= amount <= 100, "give a percent from 0 to 100")
trials_or_share = number(
    lambda amount: 0 < amount < 1 or (1 <= amount < 1e9 and amount == int(amount)),
    "give a number of trials, such as 10, or a share of them, such as 0.1",
)


def file_limits(option: str, value: str) -> tuple[str, ...]:
    """The most requests and the most megabytes (of 1,000,000 bytes) of a file: `50000,200`."""
    parts = tuple(part.strip() for part in value.split(","))
    if len(parts) != 2 or not all(re.fullmatch("[1-9][0-9]{0,8}", part) for part in parts):
        raise InputError(option, value, "give the most requests and the most megabytes of a file, such as 50000,200")
    return parts


def one_of(*choices: str) -> Parser:
    """One word of a list."""

    def parse(option: str, value: str) -> str:
        if value not in choices:
            raise InputError(option, value, f"use one of {', '.join(choices)}")
        return value

    return parse


def some_of(*choices: str, or_none: bool = False) -> Callable[[str, str], tuple[str, ...]]:
    """Words of a list, in capitals or not; `or_none`: the word `none` stands for an empty one."""

    def parse(option: str, value: str) -> tuple[str, ...]:
        chosen = words(option, value.lower())
        if or_none and chosen == ("none",):
            return ()
        if not set(chosen) <= set(choices):
            raise InputError(option, value, f"use {'none, or ' if or_none else ''}some of {', '.join(choices)}")
        return chosen

    return parse


def shard(option: str, value: str) -> str:
    """One part of several, `2/4`."""
    match = re.fullmatch(r"\s*([0-9]{1,6})\s*/\s*([0-9]{1,6})\s*", value)
    number, of = map(int, match.groups()) if match else (0, 0)
    if not 1 <= number <= of <= _MOST_SHARDS:
        remedy = f"write I/N, I from 1 to N and N up to {_MOST_SHARDS:,}: 1/4, 2/4, 3/4 and 4/4 are a whole run"
        raise InputError(option, value, remedy)
    return f"{number}/{of}"


def pattern(option: str, value: str) -> str:
    """A regular expression."""
    try:
        with warnings.catch_warnings(action="error"):  # such as of "[[", which may mean something else one day
            re.compile(text(option, value))
    except (re.error, FutureWarning) as error:
        raise InputError(option, value, f"is no regular expression ({error})") from None
    return value


def switch(option: str, value: str) -> bool:
    """A yes or no."""
    word = value.strip().lower()
    if word not in ("true", "yes", "1", "on", "false", "no", "0", "off"):
        raise InputError(option, value, "use true or false")
    return word in ("true", "yes", "1", "on")


RELATIVE = "relative"


def bars(option: str, value: str) -> tuple[str, ...]:
    """`85.6`, `relative`, or both: percents above 0 and below 100."""
    for word in (chosen := words(option, value)):
        percents = re.fullmatch(r"([0-9]{1,2}(?:\.[0-9]{1,9})?)%?", word)
        if word != RELATIVE and (percents is None or float(percents[1]) <= 1):
            raise InputError(option, value, "give a score in percent, such as 85.6 or 90%, or relative, or both")
    return chosen


_PRICE = re.compile(r"(\S+=)?[0-9]{1,6}(\.[0-9]{1,6})?(,[0-9]{1,6}(\.[0-9]{1,6})?){1,2}")


def price(option: str, value: str) -> str:
    """Read `0.5,1.5`, `0.5,1.5,0.05` (cached tokens), or `MODEL=0.5,1.5`. Raises `InputError`."""
    written = "".join(value.split())
    if not _PRICE.fullmatch(written):
        remedy = "give dollars per million tokens, of prompts and of answers: 0.5,1.5, or MODEL=0.5,1.5"
        raise InputError(option, value, remedy)
    return written
