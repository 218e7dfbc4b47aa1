"""Made-up records and runs, and what commands print of them."""

import json

from msgspec import to_builtins
from scipy import stats

import needlework
from needlework.core.record import SCORED, record_of
from needlework.results.files.json_files import write_json
from needlework.results.statistics.run_report import run_report

DEFAULT_SCORES = {"found": 1.0, "partial": 0.5}


def new_record(**fields):
    """A trial at 1000 tokens and 50 %, with what its outcome scores if nothing else is given."""
    outcome = fields.get("outcome", "found")
    at = {"length": 1000, "depth": 50.0, "repeat": 0, "task": "niah", "needle": "code", "model": "mock"} | fields
    at["task"], _, test = at["task"].partition("@")
    at |= {"test": test} if test else {}
    record = {
        "schema": 1,
        "key": f"{at['task']}-{at['needle']}-{at['length']}-{at['depth']}-{at['repeat']}",
        "id": f"{at['task']}-len{at['length']}-depth{at['depth']}-{at['needle']}-r{at['repeat']}",
        "nodeid": "benchmarks/test_niah.py::test_niah",
        "language": "en",
        "seed": 0,
        "outcome": outcome,
        "score": DEFAULT_SCORES.get(outcome, 0.0) if outcome in SCORED else None,
        "scorer": "match",
        "scorer_version": 1,
        "why": "",
        "question": "What is the code?",
        "expected": ["4711"],
        "reference": {"answers": ["4711"]},
        "answer": "4711",
        "prompt": {"tokens": 980, "needles": [{"depth": 49.9}]},
        "response": {"finish_reason": "stop", "prompt_tokens": 980, "completion_tokens": 5},
        "details": {"recipe": "r"},
        "error": None,
        "timing": {"latency_s": 0.25, "ttft_s": 0.05, "tokens_per_s": 20.0, "cached_tokens": 3, "attempts": 1},
    }
    return record_of(record | at)


def changed(record, **fields):
    """The record with other values; nested ones are given as JSON has them."""
    return record_of(to_builtins(record) | fields)


ANSWERS = {"found": "Oruro", "wrong": "Potosi", "refused": "NOT FOUND", "empty": ""}


def asked(question, outcome="found", *, task="doc_position", arm="", length=8000, depth=50.0, rule="", **fields):
    """One trial of a question. `arm`: the label's suffix (`bm25`, `focused`, `absent`, `near`). `rule`: the offline
    rule's verdict, of a judged trial."""
    absent = arm in ("absent", "near")
    reference = {"answers": ["Oruro"], "question": "What is the dish called?", "document": "dish.txt"}
    reference |= {"absent": True, "arm": arm} if absent else {"arm": "present"}
    reference |= {"control": arm} if arm == "focused" else {}
    record = {
        "nodeid": "benchmarks/test_documents.py::test_documents",
        "task": task,
        "needle": f"q{question}_{arm}" if arm else f"q{question}",
        "length": length,
        "depth": None if absent or arm == "focused" else depth,
        "outcome": outcome,
        "scorer": "judge_documents" if rule else "documents",
        "question": "What is the dish called?",
        "expected": ["Oruro"],
        "reference": reference,
        "answer": "",
        "prompt": {"tokens": length - 64, "context_tokens": 800 if arm == "focused" else length - 200, "needles": []},
        "response": {
            "text": ANSWERS.get(outcome, ""),
            "finish_reason": "stop",
            "prompt_tokens": length - 64,
            "completion_tokens": 4,
        },
        "details": {"recipe": "r", "flags": [], **({"score": {"rule": rule}} if rule else {})},
        "timing": {},
    }
    return new_record(**(record | fields))


def write_run(folder, records, *, planned=None, manifest=None):
    write_json(folder / "results.json", run_report(list(records), planned=planned))
    if manifest is not None:
        (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return folder


def write_rows(path, rows):
    """Write JSON lines; a row that is text stays as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def grid_of(lengths=(1000,), depths=(50.0,), repeats=1, outcome="found", **fields):
    """A record of each length, depth and repeat; `outcome` may be a function of the three."""
    return [
        new_record(
            **{"length": length, "depth": depth, "repeat": repeat}
            | {"outcome": outcome(length, depth, repeat) if callable(outcome) else outcome}
            | fields
        )
        for length in lengths
        for depth in depths
        for repeat in range(repeats)
    ]


def records_of(outcome, **fields):
    """Records of 12 samples at 1000 and 4000 tokens; `outcome` says what became of each (length, repeat)."""
    records = grid_of((1000, 4000), repeats=12, outcome=lambda length, _, repeat: outcome(length, repeat), **fields)
    for record in records:
        if record.outcome in ("error", "skipped"):
            record.scorer, record.scorer_version = "", 0
    return records


def run_of(folder, right=12, *, failed=0, day=0, planned=None, manifest=None, **fields):
    """Write a run of `records_of`: the first `right` samples are right, the first `failed` trials errors.

    `day`: on which it began; `planned`, `manifest` as of `write_run`.
    """

    def outcome(length, repeat):
        is_error = repeat + 12 * (length > 1000) < failed
        return "error" if is_error else "found" if repeat < right else "wrong"

    manifest = {"started": f"2026-01-{day:02}T00:00:00+00:00"} if day else manifest
    return write_run(folder, records_of(outcome, **fields), planned=planned, manifest=manifest)


def exit_code(*words):
    """What a command ends with, complaints of its options too."""
    try:
        return needlework.main([str(word) for word in words])
    except SystemExit as ended:
        return int(str(ended.code))


def output(capsys, *words, code=0):
    """What a command prints that ends with this code."""
    assert exit_code(*words) == code
    return capsys.readouterr().out


def refusal(capsys, *words):
    """The line with which a command refuses: the only one, and nothing is printed before it."""
    assert exit_code(*words) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    return printed.err


def clopper_pearson(mean, n):
    found = stats.binomtest(round(mean * n), n).proportion_ci(method="exact")
    return float(found.low), float(found.high)
