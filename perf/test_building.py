"""What a cell costs before a model sees it: `pytest perf`. CPU time, one thread."""

from __future__ import annotations

import time

import pytest

from haystack_fixtures.cache import default_cache_dir
from haystack_fixtures.corpora.load import load_corpus
from haystack_fixtures.haystacks.source import open_source
from haystack_fixtures.models.load import resolve_tokenizer
from haystack_fixtures.settings import resolve_settings
from haystack_fixtures.tasks.load import grid
from haystack_fixtures.trials import TrialBuilder

pytestmark = pytest.mark.benchmark(timer=time.process_time, min_rounds=3)


@pytest.mark.parametrize("tokenizer", ["tiktoken:cl100k_base", "smollm2"])
def test_standard_grid_with_a_warm_cache(benchmark, tokenizer, tmp_path):
    """88 cells, 1k to 128k tokens x 11 depths: exact prompts."""
    given = {"lengths": "1k:128k", "length_spacing": "doubling", "depths": "0:100:11", "model": ["mock:perfect"]}
    settings = resolve_settings(given, {}, tmp_path)
    counts = resolve_tokenizer("mock:perfect", {}, tokenizer, default_cache_dir())
    (series,) = grid(settings)

    def build():
        builder = TrialBuilder(settings, counts, default_cache_dir())
        return [builder.build(series.suite, cell).prompt.slack for cell in series.cells]

    slack = benchmark(build)
    benchmark.extra_info["cells"] = len(slack)
    benchmark.extra_info["cells with no token to spare"] = slack.count(0)


def test_source_of_a_million_tokens_with_a_warm_cache(benchmark):
    cache = default_cache_dir()
    corpus = load_corpus("generated", language="en", seed=0, min_chars=6_000_000, cache_dir=cache)
    counts = resolve_tokenizer("mock:perfect", {}, None, cache)

    def open_it():
        return open_source(corpus, counts, seed=0, repeat=0, min_tokens=1_000_000, cache_dir=cache)

    assert len(benchmark(open_it).encoded.ids) >= 1_000_000
