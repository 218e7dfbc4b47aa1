"""`needlework matrix`, `--load 1,4,16`: run several configurations over the same cells and compare them."""

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
from functools import partial
from pathlib import Path
from typing import Any

from needlework.cluster.job import benchmark_words, error_line, pop_option, start_logged
from needlework.cluster.launch import StatusLine, trials_status
from needlework.core.errors import InputError, OneLineParser, ending_signals, printable, run_command
from needlework.core.files import read_toml
from needlework.core.settings import BY_KEY, Settings
from needlework.haystack_fixtures.configuration.resolve import read_options
from needlework.models.engines.keeper import die_with_parent
from needlework.models.engines.recipes import find_recipe, parse_args
from needlework.models.engines.serve import last_lines
from needlework.models.specs import is_served
from needlework.results.compare.command import compare_named, write_comparison
from needlework.results.files.read_run import Run, read_run
from needlework.results.records.samples import object_of
from needlework.results.report.charts import share_point
from needlework.results.report.comparison import comparison_lines, score_cell
from needlework.results.report.section import ChartLine, ChartPoint, LineChart, Section, Table, section_lines
from needlework.results.statistics.comparison.comparison import ComparedRun
from needlework.results.statistics.run_facts import latency_of, times_of
from needlework.results.statistics.wording import p_words, points_cells
from needlework.results.style import NONE, clock, counted, relative

# Options that the matrix sets itself, or that leave nothing to compare with the others.
_EXCLUDED = {"run_name", "plan", "power", "shard", "batch_out", "batch_in", "fresh", "resume"}
_REPLACED = {"model"}  # repeatable options that a configuration replaces; to others it adds its values


@dataclass(frozen=True, slots=True)
class Configuration:
    """One run of a matrix."""

    label: str
    words: tuple[str, ...]  # for pytest: which tests, and options
    folder: Path  # of the run; the matrix's folder has those of all runs, and the comparison

    @property
    def log(self) -> Path:
        """The file of pytest's output."""
        return self.folder.parent / "logs" / f"{self.folder.name}.txt"


def read_matrix(path: Path) -> tuple[Configuration, ...]:
    """Read a matrix. Raises `InputError`, which names the configuration, the key and the remedy."""
    table = read_toml("matrix", path)
    entries = table.pop("configuration", None)
    if not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
        raise InputError("matrix", path, "has no [[configuration]]; write one for each run, the first to compare with")
    name = _text(f"{path}: name", table.pop("name", path.stem))
    if name in (".", "..") or any(mark in name for mark in "/\\"):
        raise InputError(f"{path}: name", name, "is the name of a folder, without slashes")
    results_dir = Path(_text(f"{path}: results_dir", table.pop("results_dir", "results/runs"))).expanduser()
    pytest = table.pop("pytest", [])
    if not isinstance(pytest, list) or not all(isinstance(word, str) for word in pytest):
        raise InputError(f"{path}: pytest", pytest, 'is a list of words for pytest, such as ["-n", "2"]')
    tests, shared = benchmark_words(pytest, Path.cwd()), _options(str(path), table)
    configurations: dict[str, Configuration] = {}  # by the names of their runs
    for number, entry in enumerate(entries, start=1):
        label = _text(f"{path}: label of configuration {number}", entry.pop("label", None))
        run_name = re.sub(r"[^\w.+-]+", "_", label)
        if run_name in configurations:
            twice = f"is there twice (beside {configurations[run_name].label!r}); rename one"
            raise InputError(f"{path}: label", label, twice)
        if run_name in ("comparison", "logs", ".", ".."):
            raise InputError(f"{path}: label", label, "is the name of a folder of the matrix itself; rename it")
        words = (*tests, *pytest, *_option_words(f"{path}: {label}", entry, shared))
        configurations[run_name] = Configuration(label, words, results_dir / name / run_name)
    return tuple(configurations.values())


def _option_words(source: str, table: Mapping[str, Any], shared: Mapping[str, Any]) -> Iterator[str]:
    """The shared options and a configuration's own, as pytest takes them."""
    options = dict(shared)
    for key, value in _options(source, table).items():
        is_added = BY_KEY[key].repeatable and key not in _REPLACED
        options[key] = [*options.get(key, ()), *value] if is_added else value
    serve_args = options.get("serve_arg", ())
    if "serve" in options:
        find_recipe(options["serve"])
        parse_args(serve_args)
    elif serve_args:
        raise InputError(source, "serve_arg", 'there is no serve that takes it: write serve = "ENGINE"')
    for key, value in options.items():
        yield from BY_KEY[key].pytest_words(value)


def _options(source: str, table: Mapping[str, Any]) -> dict[str, Any]:
    """The values of options by key: texts, lists of them, and flags. Raises `InputError`."""
    options: dict[str, Any] = {}
    for key, words in read_options(source, table).items():
        if key in _EXCLUDED:
            raise InputError(source, key, "is not for a matrix, which sets it for each of its runs")
        texts = [words] if isinstance(words, str) else words
        parsed = [BY_KEY[key].parse(f"{source}: {key}", text) for text in texts]
        options[key] = texts if BY_KEY[key].repeatable else parsed[0] if BY_KEY[key].flag else words
    return options


def _text(what: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isprintable() or len(value) > 80:
        raise InputError(what, "" if value is None else value, "give a text that can be shown, up to 80 characters")
    return value.strip()


INTERRUPTED, MISSING = 2, 3
_EXIT_CODES = (1, 11, 10, MISSING)  # by priority: a failed gate or a worse run, void, inconclusive, a run without end
_GATES = {1: ", a gate failed or cells ended in errors", 10: ", a gate is inconclusive", 11: ", void"}
_STATUS_S = 2.0
_STOP_S = 120.0  # a stopped run writes its files first


@dataclass(frozen=True, slots=True)
class EndedRun:
    """The end of a configuration's run."""

    code: int  # pytest's exit code
    seconds: float
    error: str = ""  # the reason, if it failed


def main(argv: Sequence[str]) -> int:
    """Run the command; returns the exit code (docs/recipes.md), 2 for wrong input or Ctrl-C."""
    options = _parser().parse_args(argv)
    return run_command("matrix", lambda: _run_matrix(options))


def _run_matrix(options: argparse.Namespace) -> int:
    configurations = read_matrix(options.file)
    labels = [configuration.label for configuration in configurations]
    if unknown := next((label for label in options.only if label not in labels), None):
        raise InputError("--only", unknown, f"the file has {', '.join(labels)}")
    chosen = [run for run in configurations if not options.only or run.label in options.only]
    if not options.plan:
        return run_configurations(configurations, chosen, fail_if_worse=options.fail_if == "worse")
    codes = []
    for configuration in chosen:
        words = command(configuration, Path.cwd())
        print(f"{configuration.label}: {shlex.join(words)}", flush=True)
        codes.append(subprocess.call([*words, "--plan", "-q", "-p", "no:cacheprovider"], stdin=subprocess.DEVNULL))
    return INTERRUPTED if any(codes) else 0


def _parser() -> argparse.ArgumentParser:
    parser = OneLineParser(
        prog="needlework matrix",
        description="Run the configurations of a TOML file over the same cells, one after another, and compare each"
        " with the first. The same command goes on where it stopped.",
    )
    parser.add_argument("file", type=Path, metavar="FILE.toml", help="options for all, and [[configuration]] entries")
    parser.add_argument("--plan", "--dry-run", action="store_true", help="print what would be run, and run nothing")
    only = "run this configuration alone; all are compared"
    parser.add_argument("--only", action="append", default=[], metavar="LABEL", help=only)
    parser.add_argument("--fail-if", choices=("worse",), help="exit with code 1 where a configuration is shown worse")
    return parser


MakeSections = Callable[[Sequence[ComparedRun], Mapping[str, Run | None]], list[Section]]


@ending_signals()
def run_configurations(
    configurations: Sequence[Configuration],
    chosen: Sequence[Configuration],
    *,
    fail_if_worse: bool,
    sections: MakeSections = lambda _rows, _runs: [],
) -> int:
    """Run the chosen ones one after another, compare all with the first, report; return the exit code.

    `sections`: what to say of all runs beside their comparison, and before it.
    """
    ended: dict[str, EndedRun] = {}
    line = StatusLine(sys.stdout)
    for number, configuration in enumerate(chosen, start=1):
        label = f"{number}/{len(chosen)} {configuration.label}"

        def show(status: str, label: str = label) -> None:
            line.update(f"{label}: {status}")

        try:
            run = ended[configuration.label] = _run(configuration, show)
        except KeyboardInterrupt:
            line.message(f"{label}: interrupted; the same command goes on from here")
            return INTERRUPTED
        duration = clock(run.seconds)
        end = f"done in {duration}{_GATES.get(run.code, '')}"
        if run.error:
            end = f"{run.error} ({duration}; {relative(configuration.log)})"
        line.message(f"{label}: {end}")
    runs: dict[str, Run | None] = {configuration.label: None for configuration in configurations}
    for configuration in configurations:
        with suppress(InputError):  # it has written no files
            runs[configuration.label] = read_run(configuration.folder)
    rows = compare_named(runs, {label: run.error for label, run in ended.items()})
    further = sections(rows, runs)
    print("", *section_lines(further), *([""] if further else []), *comparison_lines(rows), "", sep="\n")
    for path in _write(configurations, rows, ended, further):
        print(relative(path))
    codes = {run.code if run.code in (0, 1, 10, 11) else MISSING for run in ended.values()}
    if fail_if_worse and any(row.is_worse for row in rows):
        codes.add(1)
    return next((code for code in _EXIT_CODES if code in codes), 0)


def _write(
    configurations: Sequence[Configuration],
    rows: Sequence[ComparedRun],
    ended: Mapping[str, EndedRun],
    further: Sequence[Section],
) -> list[Path]:
    """Write the comparison's files into the matrix's folder; return their paths."""
    links: dict[str, str] = {}
    facts: dict[str, dict[str, object]] = {}
    folder = configurations[0].folder.parent
    for configuration in configurations:
        label, name, run = configuration.label, configuration.folder.name, ended.get(configuration.label)
        if (configuration.folder / "report.html").is_file():
            links[label] = f"../{name}/report.html"
        facts[label] = {"run": name, "exit_code": run and run.code, "seconds": run and round(run.seconds, 1)}
    return write_comparison(rows, folder / "comparison", title=folder.name, links=links, facts=facts, further=further)


def command(configuration: Configuration, cwd: Path) -> list[str]:
    """The command line of a configuration's run."""
    folder = cwd / configuration.folder
    run = [f"--results-dir={folder.parent}", f"--run-name={folder.name}"]
    return [sys.executable, "-m", "pytest", "-p", "needlework.plugin", *configuration.words, *run]


def _run(configuration: Configuration, show: Callable[[str], None]) -> EndedRun:
    """Run pytest to its end. Ctrl-C stops it; `KeyboardInterrupt` follows once its files are written.

    `show` is given `14 of 36 trials, 0:40 left`, or pytest's last line while there is no trial yet.
    """
    log, cwd = configuration.log, Path.cwd()
    log.parent.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    with log.open("wb") as out:
        stopped = partial(die_with_parent, signal.SIGTERM)
        process = start_logged(command(configuration, cwd), out, cwd, preexec_fn=stopped)
        try:
            while process.poll() is None:
                status = trials_status(configuration.folder)
                show("".join(last_lines(log, 1)) if not status or status.startswith("0 ") else status)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_STATUS_S)
        except BaseException:
            process.terminate()
            with suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
                process.wait(_STOP_S)
            process.kill()
            process.wait()
            raise
    code, lines = process.returncode, last_lines(log, 40)
    error = printable(error_line("\n".join(lines)) or next(reversed(lines), ""), 300).strip("! ")
    return EndedRun(code, time.monotonic() - started, error if code in (2, 3, 4, 5) or code < 0 else "")


# Serving engines may lose needles when many ask at once (vllm#41834, llama.cpp#25259): no score without load shows it.
# So the same trials are asked at several concurrency levels, each compared with the first.
OPTION = "--load"
_SET_HERE = ("--load", "--concurrency", "--run-name", "--results-dir")
_NOT_WORSE = "not worse"


def run_loads(words: Sequence[str], settings: Settings, name: str) -> int:
    """Run the command under each load, compare, write `name/comparison`; return a matrix's exit code.

    `words`: of the command line. A gate `not worse` without a baseline is about each load against the first. Raises
    `InputError`.
    """
    local = [spec for spec in settings.model if not (is_served(spec) or spec.startswith("mock:"))]
    if local:
        raise InputError(OPTION, ",".join(settings.load), f"{local[0]} is no served model: it takes prompts together")
    if len(settings.model) > 1:
        raise InputError(OPTION, ",".join(settings.load), "give one model: several would share the load")
    if settings.shard is not None:
        raise InputError(OPTION, ",".join(settings.load), "does not go with --shard: give it one load, or no shard")
    rest = list(words)
    for option in _SET_HERE:
        pop_option(rest, option)
    is_gate = _NOT_WORSE in settings.gate and settings.baseline is None
    rest = _without_gate(rest) if is_gate else rest
    pytest, folder = (*benchmark_words(rest, Path.cwd()), *rest), settings.results_dir / name
    configurations = [
        Configuration(f"load {load}", (*pytest, f"--load={load}"), folder / f"load_{load}") for load in settings.load
    ]
    return run_configurations(configurations, configurations, fail_if_worse=is_gate, sections=load_sections)


def _without_gate(words: Sequence[str]) -> list[str]:
    """The words without `--gate "not worse"`."""
    rest: list[str] = []
    for word in words:
        if word == _NOT_WORSE and rest[-1:] == ["--gate"]:
            rest.pop()
        elif word != f"--gate={_NOT_WORSE}":
            rest.append(word)
    return rest


def load_sections(rows: Sequence[ComparedRun], runs: Mapping[str, Run | None]) -> list[Section]:
    """Score, verdict and times of each load, as a table and a picture."""
    answered = [(row, run) for row in rows if (run := runs[row.name]) is not None and run.records]
    if not answered:
        return []
    head = ("in flight", "trials", "score % (95 %)", "- the first", "95 %", "p (Holm)", "verdict", "lost",
            "seconds an answer", "slowest 5 %", "answers a second")  # fmt: skip
    table = Table("", head, tuple(_load_row(row, run) for row, run in answered))
    notes = ("lost: errors, invalid and cut off answers; the verdict counts what one load alone lost as a miss",)
    return [Section("Under load", (table,), notes=notes, charts=(_load_chart(answered),), brief=True, open=True)]


def _load_of(row: ComparedRun) -> str:
    """The requests in flight: `load 16` is its configuration's label."""
    return row.name.split()[-1]


def _seconds(run: Run) -> tuple[float | None, float | None]:
    """Seconds of an answered request to its last token: the median, and what 5 % exceed."""
    times = times_of(run.records, latency_of)
    return (times.median, times.p95) if times else (None, None)


def _load_row(row: ComparedRun, run: Run) -> tuple[str, ...]:
    whole = row.pair.whole if row.pair else None
    lost = sum(row.scores.counts[name] for name in ("error", "invalid", "censored"))
    pace = object_of(run.manifest.get("pace"))
    per_s = pace["trials"] / pace["seconds"] if pace.get("trials") and pace.get("seconds") else None
    return (
        _load_of(row),
        f"{row.scores.trials:,}",
        score_cell(row.scores),
        *points_cells(whole.counted if whole else None),
        NONE if whole is None or whole.p_adjusted is None else p_words(whole.p_adjusted),
        row.verdict or ("not compared" if row.base else "the first"),
        str(lost),
        *(NONE if value is None else f"{value:.3g}" for value in (*_seconds(run), per_s)),
    )


def _load_chart(answered: Sequence[tuple[ComparedRun, Run]]) -> LineChart:
    """Scores on the left, seconds of an answer on the right: the median, and up to the slowest 5 %."""
    scores, seconds = [], []
    for row, run in answered:
        load, (middle, slowest), n = _load_of(row), _seconds(run), row.scores.n
        scores.append(share_point(int(load), load, row.scores.share, n))
        seconds.append(ChartPoint(int(load), load, middle, middle, slowest, n))
    worse = [_load_of(row) for row, _ in answered if row.is_worse]
    title = f"Worse with {', '.join(worse)} in flight" if worse else "No load is shown worse than the first"
    subtitle = f"{counted(len(scores), 'load')} of the same trials; dotted: seconds an answer, up to the slowest 5 %"
    lines, right = (ChartLine("score", tuple(scores)),), ChartLine("seconds an answer", tuple(seconds))
    return LineChart("load", title, "requests in flight", lines, subtitle, right=right)
