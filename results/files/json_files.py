"""`results.json`, `summary.json` and the JSON of comparisons."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from needlework.core.errors import InputError
from needlework.core.files import write_whole
from needlework.core.grid import depth_label
from needlework.core.record import SCHEMA as RECORD_SCHEMA
from needlework.core.record import UNSCORED, Record, encode_record, record_of
from needlework.results.records.run_folder import read_run_json
from needlework.results.records.samples import object_of, windows_of
from needlework.results.statistics.comparison.comparison import ComparedRun, GroupDifference, Losses
from needlework.results.statistics.documents import retrieval_object
from needlework.results.statistics.effective_length import EffectiveLength
from needlework.results.statistics.intervals import METHOD
from needlework.results.statistics.paired import Difference
from needlework.results.statistics.panels import Panel, Share, Tally
from needlework.results.statistics.run_facts import RunFacts
from needlework.results.statistics.run_report import RunReport
from needlework.results.statistics.summary_sentence import headline_of
from needlework.results.statistics.tasks import statistics_object, tasks_object

SUMMARY = "summary.json"
SUMMARY_SCHEMA = "needlework-summary-1"
_EXPECTED = "give a run's folder, or its results.json"


def write_json(path: Path, report: RunReport) -> None:
    """Write `results.json` atomically: schema, summary, statistics, and the records, one a line."""
    write_whole(path, results_bytes(report))


def json_bytes(value: object) -> bytes:
    """Return JSON in UTF-8, one key a line; NaN and infinities become null."""
    try:
        return msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n"
    except UnicodeEncodeError:  # half a surrogate pair, which some model sent; its JSON escape can be encoded
        text = json.dumps(msgspec.to_builtins(value))
        return json.dumps(json.loads(text, parse_constant=lambda _: None), indent=1).encode() + b"\n"


def results_bytes(report: RunReport) -> bytes:
    parts: dict[str, object] = {
        "schema": RECORD_SCHEMA,
        "run": run_object(report.facts),
        "models": models_object(report.facts, report.models),
        "planned": report.planned,
        "recorded": len(report.records),
        "notes": report.notes,
        "gates": report.gates,
        "adaptive": [statement.as_object() for statement in report.adaptive],
        "summary": [panel_object(panel) for panel in report.panels],
        "statistics": statistics_object(report.statistics),
        "absent_twins": report.twins,
        "tasks": tasks_object(report.tasks),
        "macro": report.macros,
        "retrieval": retrieval_object(report.retrieval),
        "ruler": report.ruler,
        "needlebench": report.suites,
        **fields_of(report, "documents", "field", "leval", "latency", "cost", "stability"),
    }
    head = json_bytes(parts).removesuffix(b"\n}\n")  # no more: the last part may end with braces of its own
    return b"".join([head, b',\n"records": [\n', b",\n".join(map(encode_record, report.records)), b"\n]\n}\n"])


def parsed(path: Path) -> Any:
    """Return what a JSON file holds. Raises `InputError` where it cannot be read, or is none."""
    try:
        return read_run_json(path)
    except UnicodeDecodeError:
        raise InputError("results file", path, f"is binary, not JSON: {_EXPECTED}") from None
    except (ValueError, RecursionError) as error:
        reason = f"not JSON ({error})" if path.stat().st_size else "empty"
        raise InputError("results file", path, f"is {reason}: {_EXPECTED}") from None
    except OSError as error:
        raise InputError("results file", path, f"cannot be read ({error.strerror})") from None


def records_in(content: object, path: Path) -> list[Record]:
    """Return the records of a parsed `results.json`; `path` is for messages. Raises `InputError` where it is none."""
    if not isinstance(content, dict) or not isinstance(content.get("records"), list):
        raise InputError("results file", path, f"has no list of records: {_EXPECTED}")
    schema = content.get("schema")
    if not isinstance(schema, int) or schema > RECORD_SCHEMA:
        remedy = f"has schema {schema!r}, this version reads {RECORD_SCHEMA}; update Needlework"
        raise InputError("results file", path, remedy)
    records = []
    for number, fields in enumerate(content["records"], start=1):
        try:
            records.append(record_of(fields))
        except ValueError as error:
            raise InputError("results file", path, f"record {number} is damaged: {error}") from None
    return records


def fields_of(thing: object, *names: str) -> dict[str, Any]:
    """Some fields of an object, in this order."""
    return {name: getattr(thing, name) for name in names}


def panel_object(panel: Panel) -> dict[str, Any]:
    """Return a panel as JSON objects. Cells that never ran are left out; outcome counts of zero are too."""
    return {
        **fields_of(panel, "model", "task", "needle", "source"),
        "overall": _tally_object(panel.overall) | {name: panel.overall.counts[name] for name in UNSCORED},
        "lengths": panel.lengths,
        "depths": [depth_label(depth) for depth in panel.depths],
        "columns": [{"length": at, **_tally_object(column)} for at, column in _columns(panel)],
        "rows": [{"depth": at, **_tally_object(row)} for at, row in _rows(panel)],
        "cells": [
            {"length": length, "depth": depth, **_tally_object(cell)} for (length, depth), cell in panel.cells.items()
        ],
    }


def _columns(panel: Panel) -> Iterator[tuple[int, Tally]]:
    return zip(panel.lengths, panel.columns, strict=True)


def _rows(panel: Panel) -> Iterator[tuple[float | None, Tally]]:
    return zip(panel.depths, panel.rows, strict=True)


def _tally_object(tally: Tally) -> dict[str, Any]:
    return {
        **fields_of(tally, "range", "n", "trials", "mean"),
        **fields_of(tally.share, "low", "high"),
        "interval": tally.interval and METHOD,
        "clusters": tally.samples,
        "outcomes": {name: count for name, count in tally.counts.items() if count},
    }


def summary_object(report: RunReport) -> dict[str, Any]:
    """Return a run as a JSON object: scores 0..1, lengths tokens, depths percent, times ISO 8601 UTC."""
    headline = headline_of(report)
    verdicts = {row.verdict for row in report.gates}
    panels = [
        {
            **fields_of(panel, "model", "task", "needle"),
            **score_object(panel.overall),
            "lengths": [{"length": at, **score_object(column)} for at, column in _columns(panel)],
            "depths": [{"depth": at, **score_object(row)} for at, row in _rows(panel)],
            "area": share_object(statistics.trend.area),
            "effective_length": [length_object(rule) for rule in (statistics.absolute, statistics.relative) if rule],
        }
        for panel, statistics in zip(report.panels, report.statistics, strict=True)
    ]
    return {
        "schema": SUMMARY_SCHEMA,
        "run": run_object(report.facts),
        "models": models_object(report.facts, report.models),
        "sentence": headline.sentence,
        "rests_on": headline.rests,
        "planned": report.planned,
        "recorded": len(report.records),
        "outcomes": Counter(record.outcome for record in report.records),
        "flags": Counter(flag for record in report.records for flag in record.details.flags),
        "faults": headline.faults,
        "notes": report.notes,
        "tasks": [{**fields_of(row, "model", "task", "family"), **score_object(row.overall)} for row in report.tasks],
        "panels": panels,
        "macro": [
            {**fields_of(macro, "model", "families", "tasks", "missing"), **share_object(macro.score)}
            for macro in report.macros
        ],
        "adaptive": [statement.as_object() for statement in report.adaptive],
        "cost": report.cost,
        "gates": report.gates,
        # What a run with several gates comes to: the first of these that any has.
        "verdict": next((state for state in ("fail", "inconclusive", "pass") if state in verdicts), None),
    }


def share_object(share: Share) -> dict[str, float | None]:
    """A share with its interval, 0..1."""
    return {"score": share.value, "low": share.low, "high": share.high}


def score_object(scores: Tally) -> dict[str, Any]:
    """A score with its interval. `range`: its ends where undecided answers are all misses, and all hits."""
    return share_object(scores.share) | fields_of(scores, "range", "n", "trials", "samples")


def length_object(length: EffectiveLength) -> dict[str, Any]:
    """The effective length: `low` to `high` tokens hold it (95 %), `point` by scores alone; 0: none.

    `undecided`: answers that are neither hits nor misses; with all of them as misses it is `point`, with all as hits
    `point_most`. Both ends hold whatever they are. `caveat`: why they leave it open, null where they do not.
    """
    return {
        **fields_of(length, "rule", "threshold", "status"),
        "low": length.conservative or 0,
        "point": length.point or 0,
        "point_most": length.point_most or 0,
        "high": length.optimistic or 0,
        "or_more": length.optimistic is not None and length.optimistic == length.longest_tested,
        **fields_of(length, "longest_tested", "undecided"),
        "caveat": length.caveat or None,
        "words": length.answer,
    }


def run_object(facts: RunFacts | None) -> dict[str, Any]:
    """The run's name, commit, times and command; `null` for all but the name without a manifest."""
    manifest = facts.manifest if facts else {}
    options = object_of(manifest.get("options"))
    return {
        "name": facts.name if facts else None,
        **{name: manifest.get(name) for name in ("started", "ended", "commit")},
        "command": list(facts.command) if facts else [],
        **{name: options.get(name) for name in ("preset", "seed")},
        "judges": list(options.get("judge") or ()),
        "judge_prompt_sha256": options.get("judge_prompt_sha256"),
        "versions": dict(manifest.get("versions") or {}),
    }


def models_object(facts: RunFacts | None, names: Sequence[str]) -> list[dict[str, Any]]:
    """The facts of each model and its server. `window`: tokens, `null` if unknown."""
    models = object_of((facts.manifest if facts else {}).get("models"))
    windows = windows_of({"models": models})
    return [{"name": name, "window": windows.get(name), "facts": object_of(models.get(name))} for name in names]


COMPARISON = "comparison.json"
SCHEMA = "needlework-comparison-1"


def comparison_object(
    runs: Sequence[ComparedRun], facts: Mapping[str, Mapping[str, Any]] | None = None
) -> list[dict[str, Any]]:
    """One object for each run, in their order. `facts`: more on each. Scores and differences in 0..1."""
    return [
        {
            "configuration": run.name,
            **(facts or {}).get(run.name, {}),
            **_scores(run.scores),
            "compared_with": run.base or None,
            "difference": _difference(run.pair.whole if run.pair else None),
            "verdict": run.verdict,
            "worse_from": run.worse_from,
            "not_compared": run.why or None,
            "different_prompts": len(run.pair.reworded) if run.pair else 0,
            "losses": [_losses(loss, run.base, run.name) for loss in (run.pair.whole.losses if run.pair else ())],
            "lengths": [
                {"length": length, **_scores(scores), "difference": _difference(differences.get(length))}
                for length, scores in run.lengths.items()
            ],
            "tasks": [
                {"model": model or None, "task": task, "needle": needle, "difference": _difference(row.whole)}
                for row in (run.pair.tasks if run.pair else ())
                for model, task, needle in [row.family]
            ],
        }
        for run in runs
        for differences in [run.pair.lengths if run.pair else {}]
    ]


def _scores(scores: Tally) -> dict[str, Any]:
    share = {name: value for name, value in score_object(scores).items() if name not in ("n", "trials", "samples")}
    return {"trials": scores.trials, "scored": scores.n, **share}


def _difference(test: GroupDifference | None) -> dict[str, Any] | None:
    if test is None:
        return None
    return {
        "pairs": test.n,
        **_ends(test.difference),
        "losses_as_misses": _ends(test.counted),
        **fields_of(test, "p", "p_adjusted", "verdict"),
    }


def _ends(difference: Difference | None) -> dict[str, float | None]:
    return {name: getattr(difference, name, None) for name in ("mean", "low", "high")}


def _losses(loss: Losses, first: str, other: str) -> dict[str, Any]:
    return {
        "configuration": (first, other)[loss.side],
        "lost": loss.lost,
        "of": loss.of,
        "outcomes": dict(loss.outcomes),
        "lengths": {str(length): {"lost": lost, "of": of} for length, (lost, of) in loss.by_length.items()},
    }
