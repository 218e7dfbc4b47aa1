"""`needlework export`: a run as logs of inspect_ai."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256
from math import fsum
from pathlib import Path
from typing import Any

from needlework.core.errors import InputError, OneLineParser, refuse
from needlework.core.files import write_whole
from needlework.core.grid import slug
from needlework.core.record import FINAL, UNDECIDED, Record
from needlework.results.files.read_run import Run, read_run
from needlework.results.records.samples import began, grouped
from needlework.results.statistics.panels import tally, trial_of


def main(argv: Sequence[str]) -> int:
    """Run the command; returns the exit code: 0, or 2 after one line about what was wrong."""
    parser = OneLineParser(
        prog="needlework export",
        description="Write a run's trials as logs of inspect_ai: one for each model and task, for `inspect view"
        " --log-dir DIR`.",
    )
    parser.add_argument("run", type=Path, metavar="RUN", help="folder of the run, or its results.json")
    parser.add_argument("--to", required=True, choices=("inspect",), help="whose files")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder to write to [RUN/inspect]")
    options = parser.parse_args(argv)
    try:
        run = read_run(options.run)
        if not run.records:
            raise InputError("RUN", options.run, "holds no trials; there is nothing to export")
        files = inspect_logs(run)
        folder = options.out or run.folder / options.to
        for name, content in files.items():
            write_whole(folder / name, content)
            print(folder / name)
    except InputError as error:
        return refuse("export", error)
    except BrokenPipeError:
        raise  # whoever read our output has seen enough
    except OSError as error:
        return refuse("export", InputError("--out", error.filename or "output", error.strerror or str(error)))
    return 0


# The format is that of `inspect_ai.log.EvalLog`, version 2, as JSON. The records hold no prompts: a sample's input is
# its question, and its metadata says which trial it is.
_STOPS = {"stop": "stop", "length": "max_tokens", "content_filter": "content_filter"}
_METADATA = ("task", "needle", "language", "length", "depth", "repeat", "seed", "outcome")


def inspect_logs(run: Run) -> dict[str, bytes]:
    """Return file name -> content of each log. Names begin with the time, by which `inspect view` knows its logs."""
    groups = grouped(run.records, lambda record: (record.model, record.task_label))
    started = began(run.manifest) or datetime.fromtimestamp(0, UTC)
    stamp = started.isoformat(timespec="seconds")
    logs = {}
    for (model, task), records in sorted(groups.items()):
        id_ = sha256(f"{run.name} {model} {task}".encode()).hexdigest()[:22]
        log = _log(run, model, task, records, id_, stamp)
        # Colons and plus signs are no part of file names everywhere.
        time = stamp.replace(":", "-").replace("+", "-")
        name = f"{time}_{slug(task)}-{slug(model)}_{id_}.json"
        logs[name] = (json.dumps(log, ensure_ascii=False, indent=1, allow_nan=False) + "\n").encode("utf-8", "replace")
    return logs


def _log(run: Run, model: str, task: str, records: Sequence[Record], id_: str, stamp: str) -> dict[str, Any]:
    scorers = sorted({record.scorer for record in records if record.outcome in FINAL})
    ended = run.manifest.get("ended")
    versions = run.manifest.get("versions")
    commit = run.manifest.get("commit")
    usage = {name: sum(_count(record, field) for record in records) for name, field in _USAGE.items()}
    return {
        "version": 2,
        "status": "success" if len(run.records) >= run.planned else "cancelled",
        "eval": {
            "eval_id": id_,
            "run_id": id_,
            "created": stamp,
            "task": task,
            "task_id": id_,
            "task_version": 0,
            "task_args": {},
            "dataset": {
                "name": f"needlework {task}",
                "samples": len(records),
                "sample_ids": [record.id for record in records],
                "shuffled": False,
            },
            "model": model,
            "model_args": {},
            "config": {"epochs": 1},
            "packages": {"needlework": str(versions.get("needlework"))} if isinstance(versions, dict) else {},
            "metadata": {"run": run.name, "commit": commit if isinstance(commit, str) else None},
        },
        "plan": {"name": "plan", "steps": [], "config": {}},
        "results": {
            "total_samples": len(records),
            "completed_samples": sum(record.error is None for record in records),
            "scores": [_score(name, [each for each in records if each.scorer == name]) for name in scorers],
        },
        "stats": {
            "started_at": stamp,
            "completed_at": ended if isinstance(ended, str) else stamp,
            "model_usage": {model: {**usage, "total_tokens": sum(usage.values())}},
        },
        "samples": [_sample(record) for record in records],
    }


def _score(name: str, records: Sequence[Record]) -> dict[str, Any]:
    """The mean with its 95 % interval, clustered by sample; `trials` of which `n` have a score. Where answers are
    undecided: how many, and the mean with all of them as misses (`range_low`), and as hits (`range_high`)."""
    scores = tally(trial_of(record) for record in records)
    values = {"mean": scores.mean, "n": scores.n, "trials": scores.trials}
    if scores.range:
        undecided = sum(scores.counts[outcome] for outcome in UNDECIDED)
        values |= {"undecided": undecided, "range_low": scores.range[0], "range_high": scores.range[1]}
    if scores.interval:
        values |= {"low": scores.interval.low, "high": scores.interval.high}
    metrics = {key: {"name": key, "value": value, "params": {}} for key, value in values.items() if value is not None}
    return {"name": name, "scorer": name, "params": {}, "metrics": metrics}


_USAGE = {"input_tokens": "prompt_tokens", "output_tokens": "completion_tokens"}


def _count(record: Record, name: str) -> int:
    value: int | None = getattr(record.response, name)
    return value or 0


def _sample(record: Record) -> dict[str, Any]:
    response, seconds = record.response, record.timing.latency_s
    usage = {name: _count(record, field) for name, field in _USAGE.items()}
    text = response.text
    reply = {"role": "assistant", "content": text, "source": "generate"}
    sample: dict[str, Any] = {
        "id": record.id,
        "epoch": 1,
        "input": record.question,
        "target": list(record.expected),
        "messages": [{"role": "user", "content": record.question}, reply],
        "output": {
            "model": record.model,
            "choices": [{"message": reply, "stop_reason": _STOPS.get(str(response.finish_reason), "unknown")}],
            "usage": {**usage, "total_tokens": sum(usage.values())},
            "time": seconds,
        },
        "scores": {},
        "metadata": {
            **{name: getattr(record, name) for name in _METADATA},
            "prompt_sha256": record.prompt.sha256,
            "why": record.why,
            "input": "the question alone: `needlework prompt RUN ID` prints the whole prompt",
        },
        "store": {},
        "events": [],
        "model_usage": {},
        "attachments": {},
    }
    if record.score is not None:
        score = {"value": fsum([record.score]), "answer": record.read_as, "explanation": record.why}
        sample["scores"] = {record.scorer: {**score, "metadata": {"outcome": record.outcome}}}
    if record.error:
        message = f"{record.error.kind}: {record.error.message}"
        sample["error"] = {"message": message, "traceback": "", "traceback_ansi": ""}
    return sample
