"""Options of pytest, what was given of them, answers to unknown ones; `needlework run`, and `run()` from Python."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from argparse import SUPPRESS, ArgumentError
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from needlework.core.errors import InputError, nearest
from needlework.core.options import Option
from needlework.core.settings import BY_KEY, OPTIONS
from needlework.haystack_fixtures.configuration.peer_names import NAMES, our_names

if TYPE_CHECKING:
    from needlework.results.files.read_run import Run


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    config = pluginmanager.get_plugin("pytestconfig")
    typed = [str(word) for word in config.invocation_params.args] if isinstance(config, pytest.Config) else []
    parser.extra_info["needlework"] = UnknownOptions(parser, typed)
    after = "general"
    for option in OPTIONS:
        # pytest's own general options come first; ours follow, most used ones at their head.
        group = parser.getgroup(option.group.replace(":", "").replace(" ", "-"), option.group, after=after)
        after = group.name
        try:
            add_option(group.addoption, option)
        except (ArgumentError, ValueError):
            remedy = "rename it, or leave it out with --noconftest or -p no:PLUGIN"
            raise pytest.UsageError(
                f"--{option.name}: a conftest.py or another plugin has an option of that name: {remedy}"
            ) from None
        kind: Literal["linelist", "string"] = "linelist" if option.repeatable else "string"
        parser.addini(option.key, f"as --{option.name}", type=kind, default=None)


def add_option(add: Callable[..., Any], option: Option) -> None:
    """Add the option by `add`, of pytest's parser or of one of argparse."""
    shown = option.shown_default or option.default
    default = f" [{shown}{', or as the preset says' if option.suite else ''}]" if shown and not option.flag else ""
    how: dict[str, Any] = {"action": "append" if option.repeatable or option.once else "store"}
    how["metavar"] = option.metavar or "VALUE"
    if option.flag:
        how = {"action": "store_const", "const": "true"}
    if option.bare:
        how |= {"nargs": "?", "const": option.bare}
    names = [f"--{name}" for name in (option.name, *option.aliases)]
    add(*names, dest=option.key, help=(option.help + default).replace("%", "%%"), **how)
    if option.flag and option.suite and not option.name.startswith("no-"):
        add(f"--no-{option.name}", dest=option.key, action="store_const", const="false", help=SUPPRESS)


class UnknownOptions:
    """A line of pytest's usage errors (`Parser.extra_info`), made late: all plugins are loaded then."""

    def __init__(self, parser: pytest.Parser, words: Sequence[str]) -> None:
        self._parser, self._words, self._is_parsing = parser, words, False

    def __str__(self) -> str:
        unknown: list[str] = []
        if not self._is_parsing:  # another parse error asks for this line again
            self._is_parsing = True
            with suppress(pytest.UsageError):
                unknown = self._parser.parse_known_and_unknown_args(self._words)[1]
            self._is_parsing = False
        return "; ".join(hints(unknown)) or "needlework run --help lists its options"


def hints(unknown: Sequence[str]) -> Iterator[str]:
    """A hint for each unknown option: its spelling, our option for it, or the nearest name."""
    for word in unknown:
        name = word.partition("=")[0]
        if not name.startswith("--"):
            continue
        key = name.removeprefix("--").replace("-", "_")
        if key in BY_KEY:
            yield f"{name}: write --{BY_KEY[key].name}"
        elif key in NAMES:
            yield f"{name} ({', '.join(NAMES[key].peers)}): here {NAMES[key].remedy}"
        elif near := nearest(key, BY_KEY, NAMES):
            ours = near in BY_KEY
            yield f"{name}: did you mean --{BY_KEY[near].name}?" if ours else f"{name}: here {NAMES[near].remedy}"


# Said by the machine that a process is on; the command line comes before it, files come after.
_OF_ENVIRONMENT = {"base_url": "NEEDLEWORK_BASE_URL"}


def command_line_values(config: pytest.Config) -> dict[str, str | list[str]]:
    values = {option.key: config.getoption(option.key) for option in OPTIONS}
    words = {key: _word(value) for key, value in values.items() if value is not None}
    return {key: value for key, name in _OF_ENVIRONMENT.items() if (value := os.environ.get(name, "").strip())} | words


def _word(value: Any) -> Any:
    """argparse reads `--option=--` as an empty list."""
    return "--" if value == [] else [_word(each) for each in value] if isinstance(value, list) else value


def ini_values(config: pytest.Config) -> dict[str, str | list[str]]:
    values = {option.key: config.getini(option.key) for option in OPTIONS}
    return {key: value for key, value in values.items() if value}


BENCHMARKS = ("-p", "needlework.plugin", "--pyargs", "needlework.benchmarks")
_FOLDER_FILE = "NEEDLEWORK_TELL_FOLDER"


def main(argv: Sequence[str]) -> int:
    """Run pytest on the benchmarks; returns its exit code. `--help` shows needlework's options alone."""
    if {"-h", "--help"} & set(argv):
        _help_parser().parse_args(["--help"])
    return int(pytest.main([*BENCHMARKS, *_join_values(argv)]))


def _join_values(argv: Sequence[str]) -> list[str]:
    """Write `--documents FOLDER` as `--documents=FOLDER`.

    pytest takes a path that stands alone for a folder of tests: it would look for its settings there, not here, and
    write its cache there.
    """
    takes_value = {f"--{name}" for option in OPTIONS if not option.flag for name in (option.name, *option.aliases)}
    joined: list[str] = []
    for word in argv:
        if joined and joined[-1] in takes_value and not word.startswith("-"):
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return joined


def _help_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="needlework run",
        usage="needlework run [OPTION ...]",
        description="Run needlework's benchmarks, as `pytest --pyargs needlework.benchmarks` does. Options of"
        " pytest (-n, -k, -q, ...: `pytest --help`) may stand among these.",
    )
    groups: dict[str, argparse._ArgumentGroup] = {}
    for option in OPTIONS:
        title = option.group
        group = groups[title] = groups.get(title) or parser.add_argument_group(title)
        add_option(group.add_argument, option)
    return parser


def run_session(options: Mapping[str, object]) -> Run | None:
    """Run the benchmarks with `options`, print what pytest prints as it comes, and read what was written.

    `options`: keys as in a TOML file (`answer_budget`, or a published system's `context_lengths`), values as there or
    plain Python ones: numbers, booleans, lists. Returns `None` for a `plan`, which writes no run. Raises `InputError`
    for an option that there is not, and `RuntimeError` with pytest's last line where no run was written. A process of
    its own keeps a notebook's memory, imports and working folder out of the run.
    """
    words = [word for key, value in our_names("option", options).items() for word in _words(key, value)]
    from needlework.results.files.read_run import read_run

    with tempfile.TemporaryDirectory() as temporary:
        folder_file = Path(temporary) / "folder"
        lines, ended_well = _pytest([*BENCHMARKS, *words], {_FOLDER_FILE: str(folder_file)})
        if folder_file.exists():
            return read_run(folder_file.read_text(encoding="utf-8"))
    if ended_well and options.get("plan"):
        return None
    raise RuntimeError(next((line for line in reversed(lines) if line.startswith("ERROR")), lines[-1] if lines else ""))


@pytest.hookimpl(optionalhook=True)
def pytest_needlework_report(folder: Path) -> None:
    """Give the folder of the run to the process that started this one."""
    if _FOLDER_FILE in os.environ:
        Path(os.environ[_FOLDER_FILE]).write_text(str(folder.resolve()), encoding="utf-8")


def _words(key: str, value: object) -> Iterator[str]:
    if key not in BY_KEY:
        near = nearest(key, BY_KEY, NAMES)
        raise InputError("option", key, f"did you mean {near}?" if near else "needlework run --help lists the options")
    return BY_KEY[key].pytest_words(value)


def _pytest(words: list[str], environment: Mapping[str, str]) -> tuple[list[str], bool]:
    """Run pytest; returns its printed lines, and whether it ended with 0. Ctrl-C lets it write files."""
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", *words],
        env={**os.environ, "PYTHONIOENCODING": "utf-8", **environment},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        encoding="utf-8", errors="replace",
    )  # fmt: skip
    assert process.stdout is not None
    lines: list[str] = []
    interrupt: KeyboardInterrupt | None = None
    while True:
        try:
            for line in process.stdout:
                lines.append(line.rstrip("\n"))
                print(line, end="", flush=True)
            break
        except KeyboardInterrupt as error:
            interrupt = error
            process.terminate()
    code = process.wait()
    if interrupt is not None:
        raise interrupt
    return lines, code == 0
