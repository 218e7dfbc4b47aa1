"""Scoring: ours against OpenCompass's own evaluator, CPU seconds, one thread."""

import contextlib
import io
import random
from types import SimpleNamespace
from typing import Any

import pytest

from needlework.scoring.published.opencompass import edit_score
from needlework.scoring.registry import scorer_named
from needlework.scoring.scores import Reference
from perf.arms import cpu_seconds
from perf.peers.published import label, published

PAIRS = 300
REPEATS = 50
ANSWERS = 20_000


def pairs() -> tuple[list[str], list[str]]:
    """Predictions and references of 50 to 500 characters, mean about 240 without white space."""
    rng = random.Random(0)
    words = ["".join(rng.choices("abcdefghijklmnop", k=rng.randint(2, 8))) for _ in range(500)]
    texts = [" ".join(rng.choices(words, k=rng.randint(10, 86))) for _ in range(2 * PAIRS)]
    return texts[:PAIRS], texts[PAIRS:]


def evaluator() -> Any:
    """NeedleBench v1's S-RT evaluator: CDME's edit distance unless the keyword stands in the answer."""
    stubs: dict[str, dict[str, Any]] = {
        "tiktoken": {},
        "datasets": {},
        "opencompass.datasets.base": {"BaseDataset": object},
        "opencompass.openicl": {"BaseEvaluator": object},
        "opencompass.registry": {
            name: SimpleNamespace(register_module=lambda *_: lambda made: made)
            for name in ("LOAD_DATASET", "TEXT_POSTPROCESSORS")
        },
        "opencompass.utils": {},
    }
    return published("opencompass", "datasets/needlebench/origin.py", stubs).NeedleBenchOriginEvaluator()


def test_edit_distance_against_opencompass(perf_row):
    predictions, references = pairs()
    theirs = evaluator()
    gold = [f"{reference}*no such keyword" for reference in references]
    results: dict[str, Any] = {}

    def published_score() -> None:
        with contextlib.redirect_stdout(io.StringIO()):  # it prints every answer
            results["theirs"] = theirs.score(predictions, gold)["details"]

    def ours() -> None:
        for _ in range(REPEATS):
            results["ours"] = [edit_score(*pair).score for pair in zip(predictions, references, strict=True)]

    taken = cpu_seconds({"theirs": published_score, "ours": ours}, rounds=3)
    for detail, score in zip(results["theirs"], results["ours"], strict=True):
        assert detail["score"] == pytest.approx(0.2 * score, abs=1e-9)
    named = {"peer": taken["theirs"], "peer_name": label("opencompass"), "unit": "CPU s", "target": 400}
    what = f"edit distance of {PAIRS:,} pairs"
    perf_row(what=what, ours=taken["ours"] / REPEATS, note="every score equal", **named)


@pytest.mark.parametrize("name", ["match", "keyword"])
def test_scorer(perf_row, name):
    rng = random.Random(0)
    judge = scorer_named(name).judge
    values = [str(rng.randrange(10**6, 10**7)) for _ in range(ANSWERS)]
    answers = [f"The archive code for the harbour office is {value}." for value in values]
    references = [
        Reference((value,), statement=answer, keyword=value, question="What is the archive code?")
        for value, answer in zip(values, answers, strict=True)
    ]

    def score() -> None:
        assert sum(judge(answer, reference).value for answer, reference in zip(answers, references, strict=True))

    taken = cpu_seconds({"score": score}, rounds=3)["score"]
    perf_row(what=f"one answer by {name}", ours=1e6 * taken / ANSWERS, unit="CPU µs")
