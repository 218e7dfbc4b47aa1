"""An option: one row of the table, and parsers of values."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from needlework.core.errors import InputError
from needlework.core.grid import parse_tokens


def always(_family: Mapping[str, Parsed]) -> bool:
    """Of an option that is a part of what is asked."""
    return True


def never(_family: Mapping[str, Parsed]) -> bool:
    """Of an option whose effect a trial's key knows by other means, such as a file's hash, or that has none on it."""
    return False


@dataclass(frozen=True, slots=True)
class FileIn:
    """The file or folder that an option's value names. `prefix`: the part of the value before it, such as `gguf:`.
    `or_name`: where there is no such path, the value is a name, such as one of the hub's."""

    path: str
    prefix: str = ""
    or_name: bool = False


def no_file(_value: str) -> FileIn | None:
    """Of an option whose value is never a path."""
    return None


def file_or_hub(value: str) -> FileIn | None:
    """Of an option whose value is a path, or `hf:NAME`."""
    return None if value.startswith("hf:") else FileIn(value)


Parsed = str | int | float | bool | tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Option:
    """One option. `suite`: it describes what is asked (a preset's suite may set it), not how the run is made. `once`: a
    second one on the command line is refused; of other options that take one value the last one counts.

    `aliases`: further names on the command line. A `flag` of a `suite` has `--no-NAME` beside it.

    `bare`: the value of an option that is given without one.

    `counts(family)`: of a family's option, whether a value other than the default is part of a trial's key, beside
    the family's other values that are no defaults.

    `file(value)`: the path in a value, `None` for a value that names no file.
    """

    name: str
    group: str
    help: str
    parse: Parser
    default: str | None = None
    shown_default: str = ""
    metavar: str = "VALUE"
    repeatable: bool = False
    once: bool = False
    flag: bool = False
    bare: str = ""
    suite: bool = False
    aliases: tuple[str, ...] = ()
    counts: Callable[[Mapping[str, Parsed]], bool] = always
    file: Callable[[str], FileIn | None] = no_file

    @property
    def usual(self) -> Parsed:
        """The default, parsed; `None` where there is none."""
        return None if self.default is None else self.parse(f"--{self.name}", self.default)

    @property
    def key(self) -> str:
        """The name in ini and TOML files: `answer_budget` for `--answer-budget`."""
        return self.name.replace("-", "_")


WHAT = "needlework: what is asked"
HOW = "needlework: how the prompt is made"
WHO = "needlework: the model under test"
SEND = "needlework: how requests are sent"
OUT = "needlework: results and gates"
ADAPTIVE = "needlework: adaptive effective length"
CONFIGURATION = "needlework: configuration"


Parser = Callable[[str, str], Parsed]

_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_MOST_SHARDS = 10_000
_LONGEST_S = 1_000_000  # 11 days; what sockets take as a time-out is not endless


def text(option: str, value: str) -> str:
    """Any text on one line; an empty one is a mistake, and so is one that a terminal would obey."""
    if not value.strip():
        raise InputError(option, value, "give a value that is not empty")
    if _CONTROLS.search(value):
        raise InputError(option, value, "give a value without control characters")
    return value


def path(option: str, value: str) -> str:
    """A path; `~` is the home folder."""
    try:
        if "\0" not in text(option, value):
            return str(Path(value).expanduser())
    except RuntimeError:  # ~nobody
        pass
    raise InputError(option, value, "is no path; write the whole path")


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


def whole(least: int) -> Parser:
    """A whole number, at least `least`."""

    def parse(option: str, value: str) -> int:
        if re.fullmatch(r"[0-9]{16,}", value.strip()):
            raise InputError(option, value, "give a whole number of at most 15 digits")
        if not re.fullmatch(r"-?[0-9]{1,15}", value.strip()) or int(value) < least:
            raise InputError(option, value, f"give a whole number, {least} or more")
        return int(value)

    return parse


def tokens(option: str, value: str) -> int:
    """A number of tokens, such as 64 or 2k."""
    return parse_tokens(option, value)


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


def pair(number_pattern: str, remedy: str) -> Parser:
    """Two numbers of a form, with a comma between them."""

    def parse(option: str, value: str) -> tuple[str, ...]:
        parts = tuple(part.strip() for part in value.split(","))
        if len(parts) != 2 or not all(re.fullmatch(number_pattern, part) for part in parts):
            raise InputError(option, value, remedy)
        return parts

    return parse


prices = pair(
    r"[0-9]{1,6}(\.[0-9]{1,6})?",
    "give dollars per million tokens, of prompts and of answers, such as 0.5,1.5",
)
file_limits = pair(
    r"[1-9][0-9]{0,8}",  # a megabyte has 1,000,000 bytes
    "give the most requests and the most megabytes of a file, such as 50000,200",
)


def one_of(*choices: str, former: Mapping[str, str] | None = None) -> Parser:
    """One word of a list; `former`: earlier names of some."""

    def parse(option: str, value: str) -> str:
        value = (former or {}).get(value, value)
        if value not in choices:
            raise InputError(option, value, f"use one of {', '.join(choices)}")
        return value

    return parse


def words_of(*choices: str) -> Parser:
    """Words of a list; `none` for none of them."""

    def parse(option: str, value: str) -> tuple[str, ...]:
        chosen = words(option, value)
        if chosen == ("none",):
            return ()
        if not set(chosen) <= set(choices):
            raise InputError(option, value, f"use none, or some of {', '.join(choices)}")
        return chosen

    return parse


def some_of(*choices: str) -> Parser:
    """Words of a list, at least one."""

    def parse(option: str, value: str) -> tuple[str, ...]:
        chosen = words(option, value)
        if not set(chosen) <= set(choices):
            raise InputError(option, value, f"use some of {', '.join(choices)}")
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
        re.compile(text(option, value))
    except re.error as error:
        raise InputError(option, value, f"is no regular expression ({error})") from None
    return value


def switch(option: str, value: str) -> bool:
    """A yes or no."""
    word = value.strip().lower()
    if word not in ("true", "yes", "1", "on", "false", "no", "0", "off"):
        raise InputError(option, value, "use true or false")
    return word in ("true", "yes", "1", "on")
