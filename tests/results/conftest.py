"""Records and panels for the tests of the reports."""

import pytest

from needlework.core.record import SCORED, record_of
from needlework.results.statistics.panels import ScoredTrial, panels_of

DEFAULT_SCORES = {"found": 1.0, "partial": 0.5}


@pytest.fixture(scope="session")
def make_record():
    """Build a record; every field can be given."""

    def build(**fields):
        outcome = fields.get("outcome", "found")
        at = {"length": 1000, "depth": 50.0, "repeat": 0, "task": "niah", "needle": "code", "model": "mock"} | fields
        record = {
            "schema": 1,
            "key": f"k{at['length']}-{at['depth']}-{at['repeat']}",
            "id": f"{at['task']}-len{at['length']}-depth{at['depth']}-{at['needle']}-r{at['repeat']}",
            "nodeid": "benchmarks/test_niah.py::test_niah",
            **{name: at[name] for name in ("model", "task", "needle")},
            "language": "en",
            **{name: at[name] for name in ("length", "depth", "repeat")},
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
        return record_of(record | fields)

    return build


@pytest.fixture(scope="session")
def small_panel():
    """3 lengths x 2 depths: scores, one censored-only, one invalid, one error and one cell that never ran."""
    rows = [
        (500, 0.0, 0, "found", 1.0),
        (500, 0.0, 1, "wrong", 0.0),
        (500, 100.0, 0, "found", 1.0),
        (4000, 0.0, 0, "censored", None),
        (4000, 100.0, 0, "invalid", None),
        (16000, 0.0, 0, "error", None),
    ]
    return panels_of(ScoredTrial("mock", "niah", "code", *row) for row in rows)[0]
