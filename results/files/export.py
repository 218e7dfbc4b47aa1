"""`needlework export`: a run for inspect_ai, Every Eval Ever, or the Hugging Face Hub."""

import json
from collections.abc import Callable, Sequence
from hashlib import sha256
from math import fsum
from pathlib import Path
from typing import Any

from needlework.core.errors import InputError, OneLineParser, run_command
from needlework.core.files import write_whole
from needlework.core.grid import slug
from needlework.core.record import FINAL, UNDECIDED, Record
from needlework.results.files.read_run import Run, read_run
from needlework.results.files.shared_results import every_eval_ever, hugging_face, time_of
from needlework.results.records.samples import grouped
from needlework.results.statistics.panels import tally, trial_of


def main(argv: Sequence[str]) -> int:
    """Run the command; returns the exit code: 0, or 2 after one line about what was wrong."""
    parser = OneLineParser(
        prog="needlework export",
        description="Write a run in the form of others. inspect: logs of inspect_ai, one for each model and task, for"
        " `inspect view --log-dir DIR`. every-eval-ever: results and trials of each model, schema 0.3.0. hugging-face:"
        " .eval_results/needlework.yaml for each model's repository on the Hub.",
    )
    parser.add_argument("run", type=Path, metavar="RUN", help="folder of the run, or its results.json")
    parser.add_argument("--to", required=True, choices=_WRITERS, help="whose files")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder to write to [in RUN, named as --to]")
    parser.add_argument(
        "--dataset", metavar="ORG/NAME", help="hugging-face: the benchmark on the Hub of tasks that have none there"
    )
    options = parser.parse_args(argv)

    def export() -> int:
        run = read_run(options.run)
        if not run.records:
            raise InputError("RUN", options.run, "holds no trials; there is nothing to export")
        if options.dataset and options.to != "hugging-face":
            raise InputError("--dataset", options.dataset, f"is for --to hugging-face; leave it out for {options.to}")
        for name, content in _WRITERS[options.to](run, options.dataset).items():
            path = (options.out or run.folder / options.to) / name
            write_whole(path, content)
            print(path)
        return 0

    return run_command("export", export)


# The format is that of `inspect_ai.log.EvalLog`, version 2, as JSON. The records hold no prompts: a sample's input is
# its question, and its metadata says which trial it is.
_STOPS = {"stop": "stop", "length": "max_tokens", "content_filter": "content_filter"}
_METADATA = ("task", "needle", "language", "length", "depth", "repeat", "seed", "outcome")


def inspect_logs(run: Run) -> dict[str, bytes]:
    """Return file name -> content of each log. Names begin with the time, as `inspect view` expects."""
    groups = grouped(run.records, lambda record: (record.model, record.task_label))
    stamp = time_of(run).isoformat(timespec="seconds")
    logs = {}
    for (model, task), records in sorted(groups.items()):
        log_id = sha256(f"{run.name} {model} {task}".encode()).hexdigest()[:22]
        text = json.dumps(_log(run, model, task, records, log_id, stamp), ensure_ascii=False, indent=1, allow_nan=False)
        # Colons and plus signs are no part of file names everywhere.
        time = stamp.replace(":", "-").replace("+", "-")
        logs[f"{time}_{slug(task)}-{slug(model)}_{log_id}.json"] = f"{text}\n".encode("utf-8", "replace")
    return logs


def _log(run: Run, model: str, task: str, records: Sequence[Record], log_id: str, stamp: str) -> dict[str, Any]:
    scorers = sorted({record.scorer for record in records if record.outcome in FINAL})
    ended, versions, commit = (run.manifest.get(name) for name in ("ended", "versions", "commit"))
    ids = [record.id for record in records]
    return {
        "version": 2,
        "status": "success" if len(run.records) >= run.planned else "cancelled",
        "eval": {
            **dict.fromkeys(("eval_id", "run_id", "task_id"), log_id),
            "created": stamp,
            "task": task,
            "task_version": 0,
            "task_args": {},
            "dataset": {"name": f"needlework {task}", "samples": len(ids), "sample_ids": ids, "shuffled": False},
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
            "model_usage": {model: _usage(records)},
        },
        "samples": [_sample(record) for record in records],
    }


def _usage(records: Sequence[Record]) -> dict[str, int]:
    tokens_in = sum(record.response.prompt_tokens or 0 for record in records)
    tokens_out = sum(record.response.completion_tokens or 0 for record in records)
    return {"input_tokens": tokens_in, "output_tokens": tokens_out, "total_tokens": tokens_in + tokens_out}


def _score(name: str, records: Sequence[Record]) -> dict[str, Any]:
    """The mean with its 95 % interval, clustered by sample; `n` of `trials` have a score.
    Of undecided answers: their number, and the mean with all as misses (`range_low`), and as hits (`range_high`)."""
    scores = tally(trial_of(record) for record in records)
    values = {"mean": scores.mean, "n": scores.n, "trials": scores.trials}
    if scores.range:
        undecided = sum(scores.counts[outcome] for outcome in UNDECIDED)
        values |= {"undecided": undecided, "range_low": scores.range[0], "range_high": scores.range[1]}
    if scores.interval:
        values |= {"low": scores.interval.low, "high": scores.interval.high}
    metrics = {key: {"name": key, "value": value, "params": {}} for key, value in values.items() if value is not None}
    return {"name": name, "scorer": name, "params": {}, "metrics": metrics}


def _sample(record: Record) -> dict[str, Any]:
    response = record.response
    reply = {"role": "assistant", "content": response.text, "source": "generate"}
    sample: dict[str, Any] = {
        "id": record.id,
        "epoch": 1,
        "input": record.question,
        "target": list(record.expected),
        "messages": [{"role": "user", "content": record.question}, reply],
        "output": {
            "model": record.model,
            "choices": [{"message": reply, "stop_reason": _STOPS.get(str(response.finish_reason), "unknown")}],
            "usage": _usage([record]),
            "time": record.timing.latency_s,
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


_WRITERS: dict[str, Callable[[Run, str | None], dict[str, bytes]]] = {
    "inspect": lambda run, _dataset: inspect_logs(run),
    "every-eval-ever": lambda run, _dataset: every_eval_ever(run),
    "hugging-face": hugging_face,
}
