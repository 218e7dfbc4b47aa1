"""`needlework matrix`: configurations over the same cells."""

from __future__ import annotations

import argparse
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from itertools import takewhile
from pathlib import Path
from shutil import get_terminal_size
from typing import Any, TextIO

from needlework.core.errors import InputError, OneLineParser, printable, refuse
from needlework.core.files import read_toml
from needlework.haystack_fixtures.configuration.option_table import BY_KEY
from needlework.haystack_fixtures.configuration.presets import as_written
from needlework.models.engines.keeper import die_with_parent
from needlework.models.engines.recipes import find_recipe, parse_args
from needlework.models.engines.serve import last_lines
from needlework.results.compare.command import RunsComparison, compare_named, write_comparison
from needlework.results.files.read_run import Run, read_run
from needlework.results.merge.status import clock, left_of_all, progress_of_run
from needlework.results.style import relative

INTERRUPTED = 2


def main(argv: Sequence[str]) -> int:
    """Run the command; returns the exit code (docs/recipes.md), 2 after one line about what was wrong, or Ctrl-C."""
    options = _parser().parse_args(argv)
    try:
        matrix = read_matrix(options.file)
        chosen = _chosen(matrix, options.only)
        if options.plan:
            return _plan(matrix, chosen)
        return _run(matrix, chosen, fail_if_worse=options.fail_if == "worse")
    except InputError as error:
        return refuse("matrix", error)
    except OSError as error:
        return refuse("matrix", InputError("file", error.filename or "output", error.strerror or str(error)))


def _run(matrix: Matrix, chosen: Sequence[Configuration], *, fail_if_worse: bool) -> int:
    ended: dict[str, Ended] = {}
    live = Live(sys.stdout)
    for each in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.default_int_handler)
    for number, configuration in enumerate(chosen, start=1):
        place = f"{number}/{len(chosen)} {configuration.label}"
        try:
            done = run(matrix, configuration, Path.cwd(), partial(_show, live, place))
        except KeyboardInterrupt:
            live.tell(f"{place}: interrupted; the same command goes on from here")
            return INTERRUPTED
        ended[configuration.label] = done
        live.tell(f"{place}: {_said(matrix, configuration, done)}")
    comparison = outcome(matrix, ended)
    print("", *comparison.lines, "", sep="\n")
    for path in write(matrix, comparison, ended):
        print(relative(path))
    return exit_code(comparison, ended, fail_if_worse=fail_if_worse)


def _show(live: Live, place: str, state: str) -> None:
    live.show(f"{place}: {state}")


def _said(matrix: Matrix, configuration: Configuration, done: Ended) -> str:
    took = clock(done.seconds)
    if done.why:
        return f"{done.why} ({took}; {relative(log_of(matrix, configuration))})"
    gates = {1: ", a gate failed or cells ended in errors", 10: ", a gate is inconclusive", 11: ", void"}
    return f"done in {took}{gates.get(done.code, '')}"


def _plan(matrix: Matrix, chosen: Sequence[Configuration]) -> int:
    """Print each configuration's command, and pytest's own plan of it."""
    code = 0
    for configuration in chosen:
        print(f"{configuration.label}: {shlex.join(command(matrix, configuration, Path.cwd()))}")
        done = run(matrix, configuration, Path.cwd(), lambda _state: None, "--plan", "-q", "-p", "no:cacheprovider")
        said = log_of(matrix, configuration).read_text(encoding="utf-8", errors="replace").splitlines()
        told = [line for line in takewhile(lambda line: not line.startswith("="), said) if line.strip()]
        told = [line for line in told if not line.startswith("no tests ran")]
        print(*(f"  {line}" for line in ([done.why] if done.why else told)), sep="\n")
        code = code or (INTERRUPTED if done.why else 0)
    return code


def _chosen(matrix: Matrix, only: Sequence[str]) -> tuple[Configuration, ...]:
    labels = [each.label for each in matrix.configurations]
    for label in only:
        if label not in labels:
            raise InputError("--only", label, f"the file has {', '.join(labels)}")
    return tuple(each for each in matrix.configurations if not only or each.label in only)


def _parser() -> argparse.ArgumentParser:
    parser = OneLineParser(
        prog="needlework matrix",
        description="Run the configurations of a TOML file over the same cells, one after another, and compare each"
        " with the first. The same command goes on where it stopped.",
    )
    parser.add_argument("file", type=Path, metavar="FILE.toml", help="options for all, and [[configuration]] entries")
    parser.add_argument("--plan", "--dry-run", action="store_true", help="tell what would be run, and run nothing")
    parser.add_argument(
        "--only", action="append", default=[], metavar="LABEL", help="run this configuration alone; all are compared"
    )
    parser.add_argument("--fail-if", choices=("worse",), help="exit with code 1 where a configuration is shown worse")
    return parser


# What the matrix says itself, or what makes a run that cannot be compared with the others.
_NOT_HERE = {"run_name", "plan", "power", "shard", "batch_out", "batch_in", "config", "fresh", "resume"}
_REPLACES = {"model"}  # of options that may be given several times; of all others a configuration adds its own
Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Configuration:
    """One run of a matrix. `words`: its options, as pytest takes them; `folder`: the name of its run's folder."""

    label: str
    words: Words

    @property
    def folder(self) -> str:
        """The run's name."""
        return re.sub(r"[^\w.+-]+", "_", self.label)


@dataclass(frozen=True, slots=True)
class Matrix:
    """`folder`: where its runs and the comparison lie. `pytest`: further words for pytest, the same for all."""

    name: str
    folder: Path
    pytest: Words
    configurations: tuple[Configuration, ...]


def read_matrix(path: Path) -> Matrix:
    """Read a matrix. Raises `InputError`, which names the configuration, the key and the remedy."""
    table = read_toml("matrix", path)
    entries = table.pop("configuration", None)
    if not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
        raise InputError("matrix", path, "has no [[configuration]]; write one for each run, the first to compare with")
    name = _text(f"{path}: name", table.pop("name", path.stem))
    results_dir = Path(_text(f"{path}: results_dir", table.pop("results_dir", "results/runs"))).expanduser()
    pytest = table.pop("pytest", [])
    if not isinstance(pytest, list) or not all(isinstance(word, str) for word in pytest):
        raise InputError(f"{path}: pytest", pytest, 'is a list of words for pytest, such as ["-n", "2"]')
    shared = _options(str(path), table)
    configurations = tuple(_configuration(path, number, entry, shared) for number, entry in enumerate(entries, start=1))
    _check_names(path, configurations)
    if name in (".", "..") or any(mark in name for mark in "/\\"):
        raise InputError(f"{path}: name", name, "is the name of a folder, without slashes")
    return Matrix(name, results_dir / name, tuple(pytest), configurations)


def _configuration(path: Path, number: int, entry: Mapping[str, Any], shared: Mapping[str, Words]) -> Configuration:
    label = _text(f"{path}: label of configuration {number}", entry.get("label"))
    where = f"{path}: {label}"
    own = _options(where, {key: value for key, value in entry.items() if key != "label"})
    values = dict(shared)
    for key, words in own.items():
        adds = BY_KEY[key].repeatable and key not in _REPLACES
        values[key] = (*values.get(key, ()), *words) if adds else words
    serve, args = values.get("serve"), values.get("serve_arg", ())
    if serve is not None:
        find_recipe(serve[0])
        parse_args(args)
    if args and serve is None:
        raise InputError(where, "serve_arg", 'there is no serve that takes it: write serve = "ENGINE"')
    return Configuration(label, tuple(word for key, given in values.items() for word in _words(key, given)))


def _options(where: str, table: Mapping[str, Any]) -> dict[str, Words]:
    """Option key -> its values as written. Raises `InputError`."""
    found: dict[str, Words] = {}
    for name, value in table.items():
        key = name.replace("-", "_")
        if key in _NOT_HERE:
            raise InputError(where, name, "is not for a matrix, which says it for each of its runs")
        if key not in BY_KEY:
            near = get_close_matches(key, [*BY_KEY, "label", "pytest", "results_dir", "name"], n=1)
            raise InputError(where, name, f"did you mean {near[0]}?" if near else "no such option (pytest --help)")
        option = BY_KEY[key]
        values = value if option.repeatable and isinstance(value, list) else [value]
        written = tuple(as_written(f"{where}: {name}", each) for each in values)
        for each in written:
            option.parse(f"{where}: {name}", each)
        found[key] = written
    return found


def _words(key: str, values: Words) -> Iterator[str]:
    option = BY_KEY[key]
    if not option.flag:
        yield from (f"--{option.name}={value}" for value in values)
    elif option.parse(f"--{option.name}", values[-1]):
        yield f"--{option.name}"


def _check_names(path: Path, configurations: tuple[Configuration, ...]) -> None:
    seen: dict[str, str] = {}
    for each in configurations:
        if each.folder in seen:
            raise InputError(f"{path}: label", each.label, f"is there twice (beside {seen[each.folder]!r}); rename one")
        if each.folder in ("comparison", "logs", ".", ".."):
            raise InputError(f"{path}: label", each.label, "is the name of a folder of the matrix itself; rename it")
        seen[each.folder] = each.label


def _text(what: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isprintable() or len(value) > 80:
        raise InputError(what, "" if value is None else value, "give a text that can be shown, up to 80 characters")
    return value.strip()


MISSING = 3
_FIRST_OF = (1, 11, 10, MISSING)


def outcome(matrix: Matrix, ended: Mapping[str, Ended]) -> RunsComparison:
    """Read what the runs have written, and compare it."""
    runs = {each.label: _outcome_run(matrix.folder / each.folder) for each in matrix.configurations}
    return compare_named(runs, {label: each.why for label, each in ended.items()})


def write(matrix: Matrix, comparison: RunsComparison, ended: Mapping[str, Ended]) -> list[Path]:
    """Write the comparison's files into the matrix's folder; return their paths."""
    links = {
        each.label: f"../{each.folder}/report.html"
        for each in matrix.configurations
        if (matrix.folder / each.folder / "report.html").is_file()
    }
    facts = {
        each.label: {
            "run": each.folder,
            "exit_code": ended[each.label].code if each.label in ended else None,
            "seconds": round(ended[each.label].seconds, 1) if each.label in ended else None,
        }
        for each in matrix.configurations
    }
    return write_comparison(comparison, matrix.folder / "comparison", title=matrix.name, links=links, facts=facts)


def exit_code(comparison: RunsComparison, ended: Mapping[str, Ended], *, fail_if_worse: bool) -> int:
    """1 where a configuration is shown worse, if that is asked, or a gate failed; 11, 10 as its gates say; 3 where a
    configuration has not run to its end; else 0.
    """
    codes = {each.code if each.code in (0, 1, 10, 11) else MISSING for each in ended.values()}
    if fail_if_worse and comparison.is_one_worse:
        codes.add(1)
    return next((code for code in _FIRST_OF if code in codes), 0)


def _outcome_run(folder: Path) -> Run | None:
    try:
        return read_run(folder)
    except InputError:
        return None


_LOOK_S, _AFRESH_S = 0.2, 2.0
_END_S = 120.0  # a run that is asked to end writes its files first


@dataclass(frozen=True, slots=True)
class Ended:
    """How a configuration's run ended: pytest's exit code, its time in seconds, and what its output said of an end
    before any cell; empty where there is nothing to say.
    """

    code: int
    seconds: float
    why: str = ""


def command(matrix: Matrix, configuration: Configuration, here: Path) -> list[str]:
    """The command line of a configuration's run."""
    from needlework.autoload import asks_for_benchmarks  # imports pytest, which this module does without

    own = list(matrix.pytest)
    named = any(word.partition("::")[0].endswith(".py") for word in own) or asks_for_benchmarks(
        own, "--pyargs" in own, here
    )
    words = own if named else ["--pyargs", "needlework.benchmarks", *own]
    where = [f"--results-dir={here / matrix.folder}", f"--run-name={configuration.folder}"]
    return [sys.executable, "-m", "pytest", "-p", "needlework.plugin", *words, *configuration.words, *where]


def run(matrix: Matrix, configuration: Configuration, here: Path, show: Callable[[str], None], *further: str) -> Ended:
    """Run it to its end, or until Ctrl-C, which it is told as a request to end; then `KeyboardInterrupt` is raised."""
    log = log_of(matrix, configuration)
    log.parent.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*command(matrix, configuration, here), *further],
            cwd=here,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=partial(die_with_parent, signal.SIGTERM) if sys.platform == "linux" else None,
        )
        try:
            code = _followed(process, matrix, configuration, log, show)
        except BaseException:
            process.terminate()
            with suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
                process.wait(_END_S)
            process.kill()
            process.wait()
            raise
    return Ended(code, time.monotonic() - begun, _why(log) if code in (2, 3, 4, 5) or code < 0 else "")


def log_of(matrix: Matrix, configuration: Configuration) -> Path:
    """What pytest printed."""
    return matrix.folder / "logs" / f"{configuration.folder}.txt"


def _followed(
    process: subprocess.Popen[bytes],
    matrix: Matrix,
    configuration: Configuration,
    log: Path,
    show: Callable[[str], None],
) -> int:
    looked, told = float("-inf"), ""
    while True:
        code = process.poll()
        if code is not None:
            return code
        if time.monotonic() - looked >= _AFRESH_S:
            looked = time.monotonic()
            told = _state(matrix.folder / configuration.folder, log)
        show(told)
        time.sleep(_LOOK_S)


def _state(run_folder: Path, log: Path) -> str:
    """`14 of 36 trials, 0:40 left`, or the last line that pytest printed while there is no trial yet."""
    with suppress(InputError, OSError):
        found = progress_of_run(run_folder, time.time())
        done, expected = (sum(getattr(each, name) for each in found) for name in ("done", "expected"))
        left = left_of_all(found)
        if done:
            return f"{done:,} of {expected:,} trials{f', {clock(left)} left' if left else ''}"
    return next(iter(last_lines(log, 1)), "")


def _why(log: Path) -> str:
    """The line of pytest's output that says why it ended."""
    lines = last_lines(log, 40)
    wrong = [line for line in lines if "rror: " in line or line.startswith(("ERROR: -", "E ", "! "))]
    return printable(next(reversed(wrong or lines), ""), 300).strip("! ")


_EVERY_S = 30.0  # where the output is no terminal


class Live:
    """Prints to `out`. On a terminal the state is one line that is written over; in a log it comes every 30 seconds."""

    def __init__(self, out: TextIO) -> None:
        self._out, self._terminal = out, out.isatty()
        self._said, self._shown = "", time.monotonic()

    def tell(self, line: str) -> None:
        """Print a line of its own."""
        self._print(f"\r\x1b[K{line}\n" if self._terminal else f"{line}\n")

    def show(self, state: str) -> None:
        """Print how it stands."""
        if self._terminal:
            self._print(f"\r\x1b[K{state[: get_terminal_size().columns - 1]}")
        elif time.monotonic() - self._shown >= _EVERY_S:
            if state != self._said:
                self._print(f"{state}\n")
            self._said, self._shown = state, time.monotonic()

    def _print(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()
