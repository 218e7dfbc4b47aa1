"""Records as gates read them."""

from pathlib import Path

from needlework.core.grid import Cell
from needlework.core.record import SCORED
from needlework.results.gates.decide import gate_lines, judge_gate
from needlework.results.gates.gate import Baseline, parse_gate
from tests.results.builders import new_record


def record(score=1.0, *, outcome=None, **more):
    """One trial; without a score it is an error by default."""
    outcome = outcome or ("error" if score is None else "found" if score == 1 else "wrong" if score == 0 else "partial")
    fields = {"model": "m", "length": 1000, "depth": 50.0, "repeat": 0, "task": "niah", "needle": "code", **more}
    name = Cell(*(fields[name] for name in ("task", "length", "depth", "needle", "repeat"))).id
    score = score if outcome in SCORED else None
    return new_record(**({"id": name, "outcome": outcome, "score": score, "prompt": {"sha256": "same"}} | fields))


def trials(hits, misses=0, **more):
    """Hits and misses, each its own sample: repeats 0, 1, 2, ..."""
    scores = [1.0] * hits + [0.0] * misses
    return [record(score, repeat=repeat, **more) for repeat, score in enumerate(scores)]


def in_samples(scores, samples):
    return [record(score, repeat=i % samples, depth=i / 2) for i, score in enumerate(scores)]


def baseline(records, **manifest):
    index = {(("", r.task, r.needle), r.length, r.depth, r.repeat, r.seed): r for r in records}
    return Baseline(Path("before"), index, by_model=False, manifest=manifest)


def judged(text, records, before=None, look=1):
    """The one verdict of a gate."""
    (verdict,) = judge_gate(parse_gate(text), records, None if before is None else baseline(before), look)
    return verdict


def lines(*verdicts, further=0, trial_s=None):
    return [line for line, _ in gate_lines(verdicts, further, trial_s)]
