"""What a click on a cell has to show."""

from __future__ import annotations

import json

from needlework.results.html.report import html_text
from needlework.results.statistics.run_report import run_report
from tests.results.html.pages import MakeRecord, Page


def test_every_fact_of_a_trial_is_in_the_details(make_record: MakeRecord) -> None:
    record = make_record(
        id="niah-len1000-depth50-code-r0",
        outcome="wrong",
        why="no match",
        answer="final",
        response={"text": "full text", "reasoning": "thoughts", "finish_reason": "length", "prompt_tokens": 979},
        details={"flags": ["odd"]},
        reference={"answers": ["4711"]},
        prompt={
            "tokens": 980,
            "slack": 2,
            "sha256": "a" * 64,
            "template": "chat",
            "needles": [{"name": "n", "requested": 50.0, "depth": 49.9, "tokens_before": 7, "tokens": 3}],
        },
    )
    error = make_record(outcome="error", repeat=1, response={}, error={"kind": "timeout", "message": "120 s"})
    page = Page(html_text(run_report([record, error]), title="x"))
    wrong, failed = page.trials()

    assert wrong["outcome"] == "wrong"
    assert (wrong["answer"], wrong["expected"], wrong["question"]) == ("final", ["4711"], "What is the code?")
    assert (wrong["why"], wrong["scorer"], wrong["score"]) == ("no match", "match version 1", 0.0)
    response = {"text": "full text", "reasoning": "thoughts", "finish_reason": "length", "prompt_tokens": 979}
    assert wrong["response"] == response
    needles = [{"name": "n", "requested": 50.0, "depth": 49.9, "tokens_before": 7, "tokens": 3}]
    assert wrong["prompt"] == {"tokens": 980, "slack": 2, "sha256": "a" * 64, "needles": needles}
    assert json.loads(wrong["facts"]) == {"template": "chat"}
    assert json.loads(wrong["details"]) == {"flags": ["odd"]}
    assert (wrong["timing"]["latency_s"], wrong["timing"]["attempts"]) == (0.25, 1)
    assert wrong["id"] == "niah-len1000-depth50-code-r0"
    assert failed["error"] == {"kind": "timeout", "message": "120 s"}
    assert not {"score", "response"} & set(failed)
    assert page.data()["stats"][0] == [1, 0, None, None, [0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1]]


def test_the_text_around_needles_is_in_the_details(make_record: MakeRecord) -> None:
    """A tokenizer's marks between special tokens are left out, other controls are shown."""
    needle = {
        "name": "n",
        "depth": 50.0,
        "before": "x" * 300 + "\x1b",
        "text": "The code is 4711.",
        "after": "\ufdd0<|im_end|>",
    }
    distractor = {"name": "d", "depth": 10.0}
    [trial] = Page(html_text(run_report([make_record(prompt={"needles": [needle, distractor]})]), title="x")).trials()

    placed, other = trial["prompt"]["needles"]
    assert (placed["name"], placed["text"], other["name"]) == ("n", "The code is 4711.", "d")
    assert (placed["before"], placed["after"]) == ("x" * 159 + "⟨U+001B⟩", "<|im_end|>")
