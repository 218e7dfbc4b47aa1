"""Result files of other systems as panels: LLMTest_NeedleInAHaystack, and OpenCompass (NeedleBench, CDME).

Facts of the formats: LLMTest writes one JSON file a cell (`model`, `context_length`, `depth_percent`, `version`,
`needle`, `model_response`, `score` 1..10, values sometimes strings) and its published GPT-4 results are lists of
`{token_limit, depth_percent, score}`. OpenCompass names the cell in the data set, `Length1000Depth0_origin_en_4k`,
which is a file `results/MODEL/DATASET.json` with a score of 0..100, or a row of the summary CSV. Its `parallel` data
sets hold every depth in one file, as `Depth0: score`.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from needlework.core.errors import InputError
from needlework.core.record import OutcomeName
from needlework.results.records.run_folder import check_run_file, read_run_json
from needlework.results.statistics.panels import Panel, ScoredTrial, panels_of
from needlework.results.style import fit, one_line

LLMTEST, OPENCOMPASS = "LLMTest_NeedleInAHaystack", "OpenCompass"
_DATASET = re.compile(
    r"(?:(?P<prefix>[^/]+)_)?Length(?P<length>\d+)(?:Depth(?P<depth>\d+(?:\.\d+)?))?(?:_(?P<name>[^/]+))?"
)
_DEPTH = re.compile(r"Depth(?P<depth>\d+(?:\.\d+)?)")
_MOST = 10**12  # no length, depth or score is above it; no NaN is below
_ABOUT_ROWS = ("dataset", "version", "metric", "mode")


def foreign_panels(path: Path) -> tuple[Panel, ...]:
    """Read a file or folder of one of the systems. Raises `InputError` where it is of neither."""
    trials = _in_folder(path) if path.is_dir() else _in_file(path)
    if not trials:
        raise InputError(
            "results", path, f"holds no results of Needlework, {LLMTEST} or {OPENCOMPASS}; give a file that they wrote"
        )
    return tuple(
        panel
        for system in (LLMTEST, OPENCOMPASS)
        for panel in panels_of(_numbered(trial for name, trial in trials if name == system), system)
    )


_SystemTrials = list[tuple[str, ScoredTrial]]


def _in_folder(folder: Path) -> _SystemTrials:
    """Every JSON file below; only without any, the CSV files: OpenCompass writes the same scores to both."""
    trials: _SystemTrials = []
    for ending in ("json", "csv"):
        for path in sorted(folder.rglob(f"*.{ending}")):
            trials += _in_file(path)
        if trials:
            break
    return trials


def _in_file(path: Path) -> _SystemTrials:
    try:
        if path.suffix.lower() == ".csv":
            return [(OPENCOMPASS, trial) for trial in _summary_rows(path)]
        return _in_json(read_run_json(path), path)
    except (UnicodeDecodeError, json.JSONDecodeError, csv.Error, RecursionError) as error:
        raise InputError("results file", path, f"cannot be read ({error})") from None


def _in_json(content: object, path: Path) -> _SystemTrials:
    if isinstance(content, list) and content and all(_is_llmtest(item) for item in content):
        return [(LLMTEST, _llmtest_trial(item, path)) for item in content]
    if not isinstance(content, dict):
        return []
    if _is_llmtest(content):
        return [(LLMTEST, _llmtest_trial(content, path))]
    match = _DATASET.fullmatch(path.stem)
    return [(OPENCOMPASS, trial) for trial in _dataset_file(match, content, path)] if match else []


# LLMTest_NeedleInAHaystack


def _is_llmtest(item: object) -> bool:
    return (
        isinstance(item, dict)
        and {"depth_percent", "score"} <= item.keys()
        and bool({"context_length", "token_limit"} & item.keys())
    )


def _llmtest_trial(item: Mapping[str, Any], path: Path) -> ScoredTrial:
    """One cell: scores 1..10 become 0.1..1, as the judge's tenths."""
    needle = fit(one_line(str(item.get("needle") or "needle")), 40, mark="…")
    version = str(item.get("version", 1))
    return _trial(
        model=one_line(str(item.get("model") or _stem(path))),
        task="needle-in-a-haystack",
        needle=needle if version == "1" else f"{needle} v{version}",
        length=item["context_length"] if "context_length" in item else item["token_limit"],
        depth=item["depth_percent"],
        score=item["score"],
        full=10,
        path=path,
    )


def _stem(path: Path) -> str:
    """The file's name for a model that it does not name. `x_2.json` beside `x.json` is a repeat of the same model."""
    first = re.sub(r"_\d+$", "", path.stem)
    return first if path.with_name(first + path.suffix).is_file() else path.stem


# OpenCompass


def _dataset_file(match: re.Match[str], content: Mapping[str, Any], path: Path) -> list[ScoredTrial]:
    """One results file. Predictions have the same names and no score: they give nothing."""
    model = path.parent.name
    by_depth = {key: value for key, value in content.items() if _DEPTH.fullmatch(key)}
    if match["depth"] is None and by_depth:
        return [_cell(match, model, key.removeprefix("Depth"), score, path) for key, score in by_depth.items()]
    if "score" in content:
        return [_cell(match, model, match["depth"], score, path) for score in _sample_scores(content)]
    if "average_score" in content:
        return [_cell(match, model, match["depth"], content["average_score"], path)]
    return [_cell(match, model, match["depth"], None, path)] if "error" in content else []


def _sample_scores(content: Mapping[str, Any]) -> list[object]:
    """The scores of the samples where the file has them and they make up its score; else that score."""
    details = content.get("details")
    items = list(details.values()) if isinstance(details, dict) else details if isinstance(details, list) else []
    scores = [item["score"] for item in items if isinstance(item, dict) and _is_number(item.get("score"))]
    whole = content["score"]
    if scores and len(scores) == len(items) and _is_number(whole) and abs(sum(scores) / len(scores) - whole) < 0.01:
        return scores
    return [whole]


def _summary_rows(path: Path) -> list[ScoredTrial]:
    """`dataset,version,metric,mode,MODEL...`: each row whose data set is a cell. `-` stands for one that never ran."""
    check_run_file(path)
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file, restval="-"))
    if not rows or "dataset" not in rows[0]:
        return []
    models = [name for name in rows[0] if name and name not in _ABOUT_ROWS]
    cell_rows = [(match, row) for row in rows if (match := _DATASET.fullmatch(row["dataset"].strip()))]
    with_depths = {row["dataset"] for _, row in cell_rows if _DEPTH.fullmatch(row.get("metric") or "")}
    trials = []
    for match, row in cell_rows:
        metric = _DEPTH.fullmatch(row.get("metric") or "")
        if row["dataset"] in with_depths and not metric:
            continue  # the mean of the rows that have a depth
        depth = metric["depth"] if metric else match["depth"]
        trials += [
            _cell(match, model, depth, row[model], path) for model in models if row[model].strip() not in ("-", "")
        ]
    return trials


def _cell(match: re.Match[str], model: str, depth: object, score: object, path: Path) -> ScoredTrial:
    task, _, needle = (match["name"] or "").partition("_")
    if match["prefix"]:
        task = match["prefix"].lower()
        needle = match["name"] or ""
    return _trial(model, task or "needlebench", needle or "needle", match["length"], depth, score, 100, path)


# Both


def _trial(
    model: str, task: str, needle: str, length: object, depth: object, score: object, full: float, path: Path
) -> ScoredTrial:
    """Make a trial of raw values; `full` is the system's full score. No score at all is an error of theirs."""
    tokens = round(_number(length, "length", path))
    percent = None if depth is None else _number(depth, "depth", path)
    if score is None:
        return ScoredTrial(model, task, needle, tokens, percent, sample=0, outcome="error", score=None)
    value = _number(score, "score", path) / full
    if tokens <= 0 or not 0 <= value <= 1 or (percent is not None and not 0 <= percent <= 100):
        raise InputError("results file", path, f"length {length}, depth {depth}, score {score} cannot be a cell")
    outcome: OutcomeName = "found" if value == 1 else "partial" if value else "wrong"
    return ScoredTrial(model, task, needle, tokens, percent, sample=0, outcome=outcome, score=value)


def _number(value: object, name: str, path: Path) -> float:
    """A finite number, of a string too."""
    try:
        number = float(value) if isinstance(value, (int, float, str)) else float("nan")
    except (ValueError, OverflowError):
        number = float("nan")
    if not abs(number) < _MOST:
        raise InputError("results file", path, f"has a {name} that is not a number: {value!r}")
    return number


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < _MOST


def _numbered(trials: Iterable[ScoredTrial]) -> list[ScoredTrial]:
    """Give each further trial of a cell the next sample number; the systems have none."""
    seen: Counter[tuple[object, ...]] = Counter()
    numbered = []
    for trial in trials:
        at = (trial.model, trial.task, trial.needle, trial.length, trial.depth)
        numbered.append(trial._replace(sample=seen[at]))
        seen[at] += 1
    return numbered
