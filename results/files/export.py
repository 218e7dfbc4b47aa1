"""`needlework export`: a run for inspect_ai, Every Eval Ever, or the Hugging Face Hub."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from math import fsum
from pathlib import Path
from typing import Any
from uuid import UUID

import yaml

from needlework.core.errors import InputError, OneLineParser, run_command
from needlework.core.files import write_whole
from needlework.core.grid import slug
from needlework.core.record import FINAL, UNDECIDED, Record
from needlework.models.specs import runs_here
from needlework.results.files.read_run import Run, read_run
from needlework.results.records.samples import as_asked, began, grouped
from needlework.results.statistics.panels import Tally, tally, trial_of
from needlework.results.style import length_label


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
    benchmark = "hugging-face: the benchmark on the Hub of tasks that have none there"
    parser.add_argument("--dataset", metavar="ORG/NAME", help=benchmark)
    options = parser.parse_args(argv)

    def export() -> None:
        run = read_run(options.run)
        if not run.records:
            raise InputError("RUN", options.run, "holds no trials; there is nothing to export")
        if options.dataset and options.to != "hugging-face":
            raise InputError("--dataset", options.dataset, f"is for --to hugging-face; leave it out for {options.to}")
        for name, content in _WRITERS[options.to](run, options.dataset).items():
            path = (options.out or run.folder / options.to) / name
            write_whole(path, content)
            print(path)

    return run_command("export", export)


# The format is that of `inspect_ai.log.EvalLog`, version 2, as JSON. The records hold no prompts: a sample's input is
# its question, and its metadata says which trial it is.
_STOPS = {"stop": "stop", "length": "max_tokens", "content_filter": "content_filter"}
_METADATA = ("task", "needle", "language", "length", "depth", "repeat", "seed", "outcome")


def inspect_logs(run: Run) -> dict[str, bytes]:
    """Return file name -> content of each log. Names begin with the time, as `inspect view` expects."""
    groups = grouped(run.records, lambda record: (record.model, record.task_label))
    stamp = _time_of(run).isoformat(timespec="seconds")
    logs = {}
    for (model, task), records in sorted(groups.items()):
        log_id = sha256(f"{run.name} {model} {task}".encode()).hexdigest()[:22]
        # Colons and plus signs are no part of file names everywhere.
        name = f"{stamp.replace(':', '-').replace('+', '-')}_{slug(task)}-{slug(model)}_{log_id}.json"
        logs[name] = _json(_log(run, model, task, records, log_id, stamp))
    return logs


def _log(run: Run, model: str, task: str, records: Sequence[Record], log_id: str, stamp: str) -> dict[str, Any]:
    scorers = sorted({record.scorer for record in records if record.outcome in FINAL})
    ended, commit = (run.manifest.get(name) for name in ("ended", "commit"))
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
            "packages": {_LIBRARY: _version(run)},
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
    tokens_in = sum(record.response.prompt_tokens or record.prompt.tokens for record in records)
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


# Every Eval Ever: evaleval/every_eval_ever, `eval.schema.json` and `instance_level_eval.schema.json`, version 0.3.0; it
# has no field for a length, so each length is a result of its own that says so in its details. Hugging Face:
# huggingface/hub-docs, `docs/hub/eval-results.md`.
_SCHEMA = "0.3.0"
_LIBRARY = "needlework"
# Where the data sets that we ask about have their leaderboards on the Hub, and the task there.
_HUB_BENCHMARKS = {
    "openai_mrcr": "openai/mrcr",
    "graphwalks": "openai/graphwalks",
    "longbench_v2": "zai-org/LongBench-v2",
    "aa_lcr": "ArtificialAnalysis/AA-LCR",
}


def every_eval_ever(run: Run) -> dict[str, bytes]:
    """File name -> content: for each model its results by task and length, and a line for each trial.

    Trials without a score are in the results' details, and have no line.
    """
    files = {}
    for model, records in _by_model(run):
        digest = sha256(f"{run.name} {model} {_time_of(run).isoformat()}".encode()).hexdigest()
        developer, _, model_name = _model_id(model).rpartition("/")
        # The path that the schema asks for, from the root of their repository.
        folder = f"data/{_LIBRARY}/{slug(developer)}/{slug(model_name)}"
        name = f"{folder}/{UUID(digest[:32], version=4)}"
        evaluation_id = f"{_LIBRARY}/{_model_id(model)}/{_epoch(run)}"
        lines = [_instance(record, evaluation_id) for record in records if record.score is not None]
        samples = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines).encode("utf-8", "replace")
        content = {
            "schema_version": _SCHEMA,
            "evaluation_id": evaluation_id,
            "evaluation_timestamp": _time_of(run).isoformat(timespec="seconds"),
            "retrieved_timestamp": _epoch(run),
            "source_metadata": {
                "source_name": f"needlework run {run.name}",
                "source_type": "evaluation_run",
                "source_organization_name": "unknown",
                "evaluator_relationship": "other",
            },
            "eval_library": {"name": _LIBRARY, "version": _version(run)},
            "model_info": {
                "name": model,
                "id": _model_id(model),
                "additional_details": {
                    "deployment_type": "self_deployed" if runs_here(model) else "unknown",
                    "model_availability": "open_weights" if runs_here(model) else "unknown",
                },
            },
            "evaluation_results": _results(records),
            "detailed_evaluation_results": {
                "format": "jsonl",
                "file_path": f"{name}_samples.jsonl",
                "hash_algorithm": "sha256",
                "checksum": sha256(samples).hexdigest(),
                "total_rows": len(lines),
            },
        }
        files[f"{name}.json"] = _json(content)
        files[f"{name}_samples.jsonl"] = samples
    return files


def _results(records: Sequence[Record]) -> list[dict[str, Any]]:
    """The score of each task over all its lengths, and at each of them."""
    results = []
    for task, of_task in _by_task(records):
        by_length = grouped(of_task, lambda record: record.length)
        groups = [("all", of_task), *((str(length), by_length[length]) for length in sorted(by_length))]
        results += [
            _result(task, length, group)
            for length, group in (groups if len(by_length) > 1 else groups[1:])
            if any(record.score is not None for record in group)
        ]
    return results


def _result(task: str, length: str, records: Sequence[Record]) -> dict[str, Any]:
    scores = tally(map(trial_of, records))
    certainty: dict[str, Any] = {"num_samples": scores.samples}
    if scores.interval:
        certainty["confidence_interval"] = {
            "lower": scores.interval.low,
            "upper": scores.interval.high,
            "confidence_level": 0.95,
            "method": "exact bound on the mean of samples (Gaffke)",
        }
    name = task if length == "all" else f"{task} at {length_label(int(length))} tokens"
    scorers = sorted({record.scorer for record in records if record.score is not None})
    hub = _HUB_BENCHMARKS.get(task)
    source = {"source_type": "hf_dataset", "hf_repo": hub} if hub else {"source_type": "other"}
    return {
        "evaluation_result_id": f"{task}/{length}",
        "evaluation_name": name,
        "source_data": {"dataset_name": hub or f"needlework {task}", **source},
        "metric_config": {
            "metric_id": f"needlework.{'+'.join(scorers)}",
            "metric_unit": "proportion",
            "lower_is_better": False,
            "score_type": "continuous",
            "min_score": 0,
            "max_score": 1,
            "additional_details": {"length_tokens": length, "scorer": ", ".join(scorers)},
        },
        "score_details": {
            "score": scores.mean,
            "details": {"trials": str(scores.trials), "without_score": str(scores.trials - scores.n)},
            "uncertainty": certainty,
        },
    }


def _instance(record: Record, evaluation_id: str) -> dict[str, Any]:
    """The line of one trial. Its input is the question: `needlework prompt` prints the whole prompt."""
    response, timing = record.response, record.timing
    output = {"raw": [response.text], "reasoning_trace": [response.reasoning] if response.reasoning else None}
    question = json.dumps([record.question, record.prompt.sha256, record.expected], ensure_ascii=False)
    return {
        "schema_version": _SCHEMA,
        "evaluation_id": evaluation_id,
        "model_id": _model_id(record.model),
        "evaluation_name": record.task_label,
        "evaluation_result_id": f"{record.task_label}/{record.length}",
        "sample_id": record.id,
        "sample_hash": sha256(question.encode("utf-8", "surrogatepass")).hexdigest(),
        "interaction_type": "single_turn",
        "input": {"raw": record.question, "reference": list(record.expected)},
        "output": output,
        "answer_attribution": [
            {
                "turn_idx": 0,
                "source": "output.raw",
                "extracted_value": record.read_as or record.answer,
                "extraction_method": record.scorer,
                "is_terminal": True,
            }
        ],
        "evaluation": {"score": record.score, "is_correct": record.score == 1},
        "token_usage": {
            **_usage([record]),
            "input_tokens_cache_read": timing.cached_tokens,
            "reasoning_tokens": response.reasoning_tokens,
        },
        "performance": {
            "latency_ms": None if timing.latency_s is None else 1000 * timing.latency_s,
            "time_to_first_token_ms": None if timing.ttft_s is None else 1000 * timing.ttft_s,
        },
        "metadata": {
            "length_tokens": str(record.length),
            "depth_percent": "all" if record.depth is None else f"{record.depth:g}",
            "needle": record.needle,
            "language": record.language,
            "repeat": str(record.repeat),
            "outcome": record.outcome,
            "prompt_sha256": record.prompt.sha256,
        },
    }


def hugging_face(run: Run, dataset: str | None = None) -> dict[str, bytes]:
    """File name -> content of each model's `.eval_results/needlework.yaml`. Scores in percent.

    `dataset`: the benchmark on the Hub of tasks that have none of their own. Raises `InputError` without any.
    """
    files = {}
    tasks = set[str]()
    for model, records in _by_model(run):
        rows = []
        for task, of_task in _by_task(records):
            tasks.add(task)
            scores, benchmark = tally(map(trial_of, of_task)), _HUB_BENCHMARKS.get(task, dataset)
            if benchmark and scores.mean is not None:
                rows.append(_hub_row(run, benchmark, task, scores, [record.length for record in of_task]))
        if rows:
            text = yaml.safe_dump(rows, sort_keys=False, allow_unicode=True)
            files[f"{slug(model)}/.eval_results/needlework.yaml"] = text.encode("utf-8", "replace")
    if not files:
        remedy = "have no benchmark on the Hub, or no score: name the one that they belong to, --dataset ORG/NAME"
        raise InputError("RUN", ", ".join(sorted(tasks)), remedy)
    return files


def _hub_row(run: Run, benchmark: str, task: str, scores: Tally, lengths: Sequence[int]) -> dict[str, Any]:
    shortest, longest = length_label(min(lengths)), length_label(max(lengths))
    notes = [f"{_LIBRARY} {_version(run)}", f"{shortest} to {longest} tokens" if shortest != longest else longest]
    notes.append(f"n {scores.n} of {scores.trials} trials")
    if scores.interval and scores.mean is not None:
        notes.append(f"95 % interval {100 * scores.interval.low:.1f} to {100 * scores.interval.high:.1f}")
    return {
        "dataset": {"id": benchmark, "task_id": "default" if task in _HUB_BENCHMARKS else task},
        "value": round(100 * (scores.mean or 0.0), 2),
        "date": _time_of(run).isoformat(timespec="seconds"),
        "evaluation_framework": _LIBRARY,
        "notes": "; ".join(notes),
    }


def _by_model(run: Run) -> list[tuple[str, list[Record]]]:
    return sorted(grouped(as_asked(run.records), lambda record: record.model).items())


def _by_task(records: Sequence[Record]) -> list[tuple[str, list[Record]]]:
    return sorted(grouped(records, lambda record: record.task_label).items())


def _json(content: Mapping[str, Any]) -> bytes:
    return f"{json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False)}\n".encode("utf-8", "replace")


def _model_id(model: str) -> str:
    """`openai:ORG/NAME` as `ORG/NAME`: the model without the way that it is asked in."""
    kind, colon, name = model.partition(":")
    return name.rpartition("/")[2] if kind == "gguf" else name if colon else kind


def _time_of(run: Run) -> datetime:
    """The time when the run began; the beginning of 1970 if its manifest does not say."""
    return began(run.manifest) or datetime.fromtimestamp(0, UTC)


def _epoch(run: Run) -> str:
    return str(int(_time_of(run).timestamp()))


def _version(run: Run) -> str:
    versions = run.manifest.get("versions")
    return str(versions.get(_LIBRARY, "unknown")) if isinstance(versions, Mapping) else "unknown"


_WRITERS: dict[str, Callable[[Run, str | None], dict[str, bytes]]] = {
    "inspect": lambda run, _dataset: inspect_logs(run),
    "every-eval-ever": lambda run, _dataset: every_eval_ever(run),
    "hugging-face": hugging_face,
}
