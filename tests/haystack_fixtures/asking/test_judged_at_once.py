"""How many answers may be with a run's judges at once."""

from pathlib import Path

import pytest

from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.pipeline.model_pool import judged_at_once

SERVED = ["openai:a", "anthropic:b"]


@pytest.mark.parametrize(
    ("judges", "concurrency", "workers", "most"),
    [
        (SERVED, 8, 1, 8),
        (SERVED, 8, 3, 2),
        (SERVED, 2, 4, 1),
        (["mock:judge"], 8, 1, 8),
        (["smollm2"], 8, 1, 1),
        (["openai:a", "smollm2"], 8, 1, 1),
        ([], 8, 1, 0),
    ],
)
def test_as_many_as_concurrency_says_for_all_workers_and_one_where_a_judge_is_computed_here(
    judges, concurrency, workers, most
):
    given = {"model": ["mock:perfect"], "judge": judges, "concurrency": [str(concurrency)]}
    assert judged_at_once(resolve_settings(given, {}, Path()), workers) == most
