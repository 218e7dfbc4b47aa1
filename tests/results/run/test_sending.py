"""What a time of a request has in it is told by how requests were sent."""

from __future__ import annotations

from pathlib import Path

import pytest

from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.results.run.finish import sending_notes


def told(model, concurrency=8, **facts):
    settings = resolve_settings({"model": [model], "concurrency": str(concurrency)}, {}, Path())
    return list(sending_notes(settings, {"models": {model: facts}}))


def test_a_queue_is_told_unless_requests_go_one_by_one():
    (line,) = told("openai:m")
    assert "up to 8 requests at once" in line
    assert told("openai:m", 1) == []


@pytest.mark.parametrize(("slots", "said"), [("4", "works on 4 at once"), ("8", "up to 8"), ("many", "up to 8")])
def test_a_server_that_tells_its_slots_was_asked_no_more(slots, said):
    assert said in told("openai:m", **{"server total_slots": slots})[0]


def test_models_on_this_machine_work_on_prompts_together_and_mocks_say_nothing():
    assert "share" in told("smollm2")[0]
    assert told("mock:perfect") == []
