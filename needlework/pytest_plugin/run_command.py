"""`needlework run` and `needlework.run()`: our own benchmarks, without a checkout and from Python."""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from needlework.core.errors import InputError
from needlework.core.settings import BY_KEY, OPTIONS
from needlework.haystack_fixtures.configuration.peer_names import hint
from needlework.pytest_plugin.options import add_option
from needlework.results.files.read_run import Run, read_run

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

    `options`: keys as in a TOML file (`answer_budget`), values as there or
    plain Python ones: numbers, booleans, lists. Returns `None` for a `plan`, which writes no run. Raises `InputError`
    for an option that there is not, and `RuntimeError` with pytest's last line where no run was written. A process of
    its own keeps a notebook's memory, imports and working folder out of the run.
    """
    words = [word for key, value in options.items() for word in _words(key, value)]
    with tempfile.TemporaryDirectory() as temporary:
        folder_file = Path(temporary) / "folder"
        lines, ended_well = _pytest(["-p", __name__, *BENCHMARKS, *words], {_FOLDER_FILE: str(folder_file)})
        if folder_file.exists():
            return read_run(folder_file.read_text(encoding="utf-8"))
    if ended_well and options.get("plan"):
        return None
    raise RuntimeError(next((line for line in reversed(lines) if line.startswith("ERROR")), lines[-1] if lines else ""))


# This module is also a plugin of the session that it starts.
@pytest.hookimpl(optionalhook=True)
def pytest_needlework_report(folder: Path) -> None:
    """Give the folder of the run to the process that started this one."""
    if _FOLDER_FILE in os.environ:
        Path(os.environ[_FOLDER_FILE]).write_text(str(folder.resolve()), encoding="utf-8")


def _words(key: str, value: object) -> Iterator[str]:
    if key not in BY_KEY:
        raise InputError("option", key, hint(key, BY_KEY) or "needlework run --help lists the options")
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
