"""100,000 answers a scorer."""

from __future__ import annotations

import random
import time

import pytest

from scoring.edit_distance import edit_scores
from scoring.registry import scorer_named
from scoring.scores import Reference

pytestmark = pytest.mark.benchmark(timer=time.process_time, min_rounds=1, max_time=1)
PAIRS = 100_000


@pytest.mark.parametrize("name", ["match", "keyword"])
def test_scorer(benchmark, name):
    rng = random.Random(0)
    judge = scorer_named(name).judge
    values = [str(rng.randrange(10**6, 10**7)) for _ in range(PAIRS)]
    answers = [f"The archive code for the harbour office is {value}." for value in values]
    references = [Reference((value,), keyword=value, question="What is the archive code?") for value in values]

    def score():
        return sum(judge(answer, reference).value for answer, reference in zip(answers, references, strict=True))

    assert benchmark.pedantic(score, rounds=1) == PAIRS


def test_edit_distance_in_a_batch(benchmark):
    rng = random.Random(0)
    words = tuple("abcdefghijklmnop")
    texts = [" ".join(rng.choices(words, k=45)) for _ in range(PAIRS + 1)]

    assert len(benchmark.pedantic(lambda: edit_scores(texts[1:], texts[:-1]), rounds=1)) == PAIRS
