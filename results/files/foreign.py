"""Result files of LLMTest_NeedleInAHaystack and OpenCompass (NeedleBench, CDME) as panels.

Facts of the formats: LLMTest writes one JSON file a cell (`model`, `context_length`, `depth_percent`, `version`,
`needle`, `model_response`, `score` 1..10, values sometimes strings) and its published GPT-4 results are lists of
`{token_limit, depth_percent, score}`. OpenCompass names the cell in the data set, `Length1000Depth0_origin_en_4k`,
which is a file `results/MODEL/DATASET.json` with a score of 0..100, or a row of the summary CSV. Its `parallel` data
sets hold every depth in one file, as `Depth0: score`.
"""

import csv
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

from needlework.core.errors import InputError
from needlework.core.record import OutcomeName
from needlework.results.records.run_folder import check_run_file, read_run_json
from needlework.results.records.samples import grouped
from needlework.results.statistics.panels import Panel, ScoredTrial, panels_of
from needlework.results.style import fit, one_line

LLMTEST, OPENCOMPASS = "LLMTest_NeedleInAHaystack", "OpenCompass"
_DATASET = re.compile(
    r"(?:(?P<prefix>[^/]+)_)?Length(?P<length>\d+)(?:Depth(?P<depth>\d+(?:\.\d+)?))?(?:_(?P<name>[^/]+))?"
)
_DEPTH = re.compile(r"Depth(?P<depth>\d+(?:\.\d+)?)")
_MOST = 10**12  # no length, depth or score is above it; no NaN is below
_ABOUT_ROWS = ("dataset", "version", "metric", "mode")
_LLMTEST_TASK, _LENGTHS = "needle-in-a-haystack", {"context_length", "token_limit"}


def foreign_panels(path: Path) -> tuple[Panel, ...]:
    """Read a file or folder of one of the systems. Raises `InputError` where it is of neither.

    Of a folder every JSON file; only without any the CSV files: OpenCompass writes the same scores to both.
    """
    trials: list[ScoredTrial] = []
    for ending in ("json", "csv"):
        files = sorted(path.rglob(f"*.{ending}")) if path.is_dir() else [path]
        trials = trials or [trial for file in files for trial in _trials(file)]
    if not trials:
        systems = f"Needlework, {LLMTEST} or {OPENCOMPASS}"
        raise InputError("results", path, f"holds no results of {systems}; give a file that they wrote")
    # Each further trial of a cell is the next sample; the systems have no numbers.
    cells = grouped(trials, lambda trial: trial[:5]).values()
    numbered = [trial._replace(sample=at) for cell in cells for at, trial in enumerate(cell)]
    systems_of = grouped(numbered, lambda trial: LLMTEST if trial.task == _LLMTEST_TASK else OPENCOMPASS)
    return tuple(panel for system in (LLMTEST, OPENCOMPASS) for panel in panels_of(systems_of.get(system, ()), system))


def _trials(path: Path) -> Iterator[ScoredTrial]:
    try:
        if path.suffix.lower() == ".csv":
            yield from _summary_trials(path)
            return
        content = read_run_json(path)
    except (ValueError, csv.Error, RecursionError) as error:
        raise InputError("results file", path, f"cannot be read ({error})") from None
    rows = content if isinstance(content, list) else [content]
    match = _DATASET.fullmatch(path.stem)
    if all(_is_llmtest(row) for row in rows):
        yield from (_llmtest_trial(row, path) for row in rows)
    elif match and isinstance(content, dict):
        for depth, score in _dataset_scores(match, content):
            yield _opencompass_trial(match, path.parent.name, depth, score, path)


def _is_llmtest(row: object) -> bool:
    return isinstance(row, dict) and {"depth_percent", "score"} <= row.keys() and not _LENGTHS.isdisjoint(row)


def _llmtest_trial(row: Mapping[str, Any], path: Path) -> ScoredTrial:
    # A file without a model is named by itself; `x_2.json` beside `x.json` is a repeat of the same model.
    first = re.sub(r"_\d+$", "", path.stem)
    stem = first if path.with_name(first + path.suffix).is_file() else path.stem
    needle, version = fit(one_line(str(row.get("needle") or "needle")), 40, mark="…"), str(row.get("version", 1))
    needle = needle if version == "1" else f"{needle} v{version}"
    names = (one_line(str(row.get("model") or stem)), _LLMTEST_TASK, needle)
    length = row.get("context_length", row.get("token_limit"))
    return _trial(names, length, row["depth_percent"], row["score"], 10, path)


def _dataset_scores(match: re.Match[str], content: Mapping[str, Any]) -> list[tuple[object, object]]:
    """Depth and score of each sample in a results file; none of predictions, which have no score."""
    by_depth = [(key.removeprefix("Depth"), score) for key, score in content.items() if _DEPTH.fullmatch(key)]
    if match["depth"] is None and by_depth:
        return list(by_depth)
    if "score" not in content:
        mean = content.get("average_score")
        return [(match["depth"], mean)] if "average_score" in content or "error" in content else []
    # The scores of the samples where the file has them and they make up its score; else that score.
    details, whole = content.get("details"), content["score"]
    items = list(details.values()) if isinstance(details, dict) else details if isinstance(details, list) else []
    scores = [item["score"] for item in items if isinstance(item, dict) and _is_number(item.get("score"))]
    if scores and len(scores) == len(items) and _is_number(whole) and abs(fmean(scores) - whole) < 0.01:
        return [(match["depth"], score) for score in scores]
    return [(match["depth"], whole)]


def _summary_trials(path: Path) -> Iterator[ScoredTrial]:
    """`dataset,version,metric,mode,MODEL...`: each row of a cell. `-` stands for one that never ran."""
    check_run_file(path)
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file, restval="-"))
    named = [(match, row) for row in rows if (match := _DATASET.fullmatch((row.get("dataset") or "").strip()))]
    with_depths = {row["dataset"] for _, row in named if _DEPTH.fullmatch(row.get("metric") or "")}
    for match, row in named:
        metric = _DEPTH.fullmatch(row.get("metric") or "")
        if row["dataset"] in with_depths and not metric:
            continue  # the mean of the rows that have a depth
        for model, score in row.items():
            if model and model not in _ABOUT_ROWS and score.strip() not in ("-", ""):
                yield _opencompass_trial(match, model, metric["depth"] if metric else match["depth"], score, path)


def _opencompass_trial(match: re.Match[str], model: str, depth: object, score: object, path: Path) -> ScoredTrial:
    task, _, needle = (match["name"] or "").partition("_")
    if match["prefix"]:
        task, needle = match["prefix"].lower(), match["name"] or ""
    names = (model, task or "needlebench", needle or "needle")
    return _trial(names, match["length"], depth, score, 100, path)


def _trial(
    names: tuple[str, str, str], length: object, depth: object, score: object, full: int, path: Path
) -> ScoredTrial:
    """Make a trial of raw values; `full`: the full score. No score at all is an error of theirs."""
    tokens = round(_number(length, "length", path))
    percent = None if depth is None else _number(depth, "depth", path)
    value: float | None = None
    outcome: OutcomeName = "error"
    if score is not None:
        value = _number(score, "score", path) / full
        outcome = "found" if value == 1 else "partial" if value else "wrong"
    if tokens <= 0 or not 0 <= (value or 0) <= 1 or not 0 <= (percent or 0) <= 100:
        raise InputError("results file", path, f"length {length}, depth {depth}, score {score} cannot be a cell")
    return ScoredTrial(*names, tokens, percent, sample=0, outcome=outcome, score=value)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and abs(value) < _MOST


def _number(value: object, name: str, path: Path) -> float:
    """A finite number, of a string too."""
    try:
        number = float(value) if isinstance(value, (int, float, str)) else float("nan")
    except (ValueError, OverflowError):
        number = float("nan")
    if not abs(number) < _MOST:
        raise InputError("results file", path, f"has a {name} that is not a number: {value!r}")
    return number
