"""One record of a made-up trial: every field can be given."""

from needlework.core.record import SCORED, record_of

DEFAULT_SCORES = {"found": 1.0, "partial": 0.5}


def new_record(**fields):
    """A trial at 1000 tokens and 50 %, with what its outcome scores if nothing else is given."""
    outcome = fields.get("outcome", "found")
    at = {"length": 1000, "depth": 50.0, "repeat": 0, "task": "niah", "needle": "code", "model": "mock"} | fields
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
