"""What an option is: one row of the table, for the command line, the ini file, a TOML file and presets alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from needlework.haystack_fixtures.settings.option_values import Parsed, Parser


def always(_own: Mapping[str, Parsed]) -> bool:
    """Of an option that is a part of what is asked."""
    return True


def never(_own: Mapping[str, Parsed]) -> bool:
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


@dataclass(frozen=True, slots=True)
class Option:
    """One option. `suite`: it describes what is asked (a preset's suite may set it), not how the run is made. `once`: a
    second one on the command line is refused; of other options that take one value the last one counts.

    `aliases`: further names on the command line. A `flag` of a `suite` has `--no-NAME` beside it.

    `bare`: the value of an option that is given without one.

    `counts(own)`: of a family's own option, whether a value other than the default is part of a trial's key, beside
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
