"""`--load 1,4,16`: the same trials at several concurrency levels, each compared with the first.

Serving engines may lose needles when many ask at once (vllm#41834, llama.cpp#25259): no score without load shows it.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from needlework.cluster.matrix import Configuration, run_configurations
from needlework.cluster.plan import benchmark_words, pop_option
from needlework.core.errors import InputError
from needlework.core.settings import Settings
from needlework.models.specs import is_served
from needlework.results.files.read_run import Run
from needlework.results.records.samples import object_of
from needlework.results.report.charts import share_point
from needlework.results.report.comparison import score_cell
from needlework.results.report.section import ChartLine, ChartPoint, LineChart, Section, Table
from needlework.results.statistics.comparison.comparison import ComparedRun
from needlework.results.statistics.run_facts import latency_of, times_of
from needlework.results.statistics.wording import p_words, points_cells
from needlework.results.style import NONE, counted

OPTION = "--load"
_SET_HERE = ("--load", "--concurrency", "--run-name", "--results-dir")
_NOT_WORSE = "not worse"


def run_loads(words: Sequence[str], settings: Settings, name: str) -> int:
    """Run the command under each load, compare, write `name/comparison`; return a matrix's exit code.

    `words`: of the command line. A gate `not worse` without a baseline is about each load against the first. Raises
    `InputError`.
    """
    loads = tuple(map(int, settings.load))
    local = [spec for spec in settings.model if not (is_served(spec) or spec.startswith("mock:"))]
    if local:
        raise InputError(OPTION, ",".join(settings.load), f"{local[0]} is no served model: it takes prompts together")
    if len(settings.model) > 1:
        raise InputError(OPTION, ",".join(settings.load), "give one model: several would share the load")
    rest = list(words)
    for option in _SET_HERE:
        pop_option(rest, option)
    is_gate = _NOT_WORSE in settings.gate and settings.baseline is None
    rest = _without_gate(rest) if is_gate else rest
    pytest, folder = (*benchmark_words(rest, Path.cwd()), *rest), settings.results_dir / name
    configurations = [
        Configuration(f"load {load}", (*pytest, f"--load={load}"), folder / f"load_{load}") for load in loads
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
    table = Table("", head, tuple(_cells(row, run) for row, run in answered))
    notes = ("lost: errors, invalid and cut off answers; the verdict counts what one load alone lost as a miss",)
    return [Section("Under load", (table,), notes=notes, charts=(_chart(answered),), brief=True, open=True)]


def _load_of(row: ComparedRun) -> str:
    """The requests in flight: `load 16` is its configuration's label."""
    return row.name.split()[-1]


def _seconds(run: Run) -> tuple[float | None, float | None]:
    """Seconds of an answered request to its last token: the median, and what 5 % exceed."""
    times = times_of(run.records, latency_of)
    return (times.median, times.p95) if times else (None, None)


def _cells(row: ComparedRun, run: Run) -> tuple[str, ...]:
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


def _chart(answered: Sequence[tuple[ComparedRun, Run]]) -> LineChart:
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
