"""Pages, their script not run: what they say, their trials, their size; no text of others becomes markup."""

import json
import re
from base64 import b64encode
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import to_builtins
from msgspec.structs import replace

from needlework.core.record import record_of
from needlework.results.html.comparison import comparison_html
from needlework.results.html.report import html_text
from needlework.results.statistics.comparison.comparison import compare_runs
from needlework.results.statistics.run_report import run_report
from needlework.results.style import COLORS, between
from tests.results.builders import changed, new_record
from tests.results.html.pages import EVIL, Page, grid, hostile, one_of_each, texts_in


def text_of(records, **options):
    return html_text(run_report(records), title="x", **options)


def test_one_file_that_needs_nothing_else():
    text = html_text(run_report(one_of_each(), notes=["drop 3 % <b>"]), title="Nightly <run>")
    page = Page(text)
    attributes = [attributes for _, attributes in page.elements]

    assert text.startswith("<!doctype html>\n")
    assert not {"link", "img", "iframe", "object", "base"} & set(page.tags())
    assert not any({"src", "style"} & each.keys() or any(name.startswith("on") for name in each) for each in attributes)
    assert all(str(each["href"]).startswith("#") for each in attributes if "href" in each)
    assert "url(" not in text
    assert {"Nightly <run>", "drop 3 % <b>"} <= set(page.inside("bdi"))
    ids = [each["id"] for each in attributes if "id" in each]
    assert len(ids) == len(set(ids))
    assert {each["aria-labelledby"] for each in attributes if "aria-labelledby" in each} <= set(ids)
    [policy] = [each["content"] for each in attributes if "http-equiv" in each]
    script, style = (
        b64encode(sha256(part.encode()).digest()).decode()
        for part in (page.inside("script")[-1], *page.inside("style"))
    )
    assert policy == (
        f"default-src 'none'; script-src 'sha256-{script}'; style-src 'sha256-{style}'; "
        "base-uri 'none'; form-action 'none'"
    )


@pytest.mark.parametrize("colors", ["viridis", "red-yellow-green"])
def test_colours_are_those_of_the_pictures(colors):
    style = Page(text_of([new_record()], colors=colors)).inside("style")[0]

    for value in (0, 37, 100):
        assert f".c{value}{{background-color:#{bytes(between(COLORS[colors], value / 100)).hex()};" in style


@pytest.mark.parametrize("limit", [3_000_000, 63_000])
def test_equal_records_give_equal_bytes_in_any_order(limit):
    records = [*grid(6, 5), *one_of_each()]
    first, second = (text_of(each, limit_bytes=limit) for each in (records, records[::-1]))
    assert first == second
    assert ("Shortened." in second) == (limit < 100_000)


def test_every_fact_of_a_trial_is_in_the_details():
    """A tokenizer's marks between special tokens are left out around needles, other controls are shown."""
    needle = {"name": "n", "requested": 50.0, "depth": 49.9, "tokens_before": 7, "tokens": 3, "text": "It is 4711."}
    around = {"before": "x" * 300 + "\x1b", "after": "\ufdd0<|im_end|>"}
    response = {"text": "full text", "reasoning": "thoughts", "finish_reason": "length", "prompt_tokens": 979}
    prompt = {"tokens": 980, "slack": 2, "sha256": "a" * 64}
    record = new_record(
        id="niah-r0", outcome="wrong", why="no match", answer="final", response=response, details={"flags": ["odd"]},
        prompt=prompt | {"template": "chat", "needles": [needle | around]},
    )  # fmt: skip
    error = new_record(outcome="error", repeat=1, response={}, error={"kind": "timeout", "message": "120 s"})
    page = Page(text_of([record, error]))
    wrong, failed = page.trials()

    assert (wrong["id"], wrong["outcome"], wrong["score"], wrong["why"]) == ("niah-r0", "wrong", 0.0, "no match")
    assert (wrong["answer"], wrong["expected"], wrong["question"]) == ("final", ["4711"], "What is the code?")
    assert (wrong["response"], wrong["scorer"]) == (response, "match version 1")
    shown = {"before": "x" * 159 + "⟨U+001B⟩", "after": "<|im_end|>"}
    assert wrong["prompt"] == prompt | {"needles": [needle | shown]}
    assert (json.loads(wrong["facts"]), json.loads(wrong["details"])) == ({"template": "chat"}, {"flags": ["odd"]})
    assert json.loads(wrong["reference"]) == {"answers": ["4711"]}
    assert (wrong["timing"]["latency_s"], wrong["timing"]["attempts"]) == (0.25, 1)
    assert failed["error"] == {"kind": "timeout", "message": "120 s"}
    assert not {"score", "response"} & set(failed)
    assert page.data()["stats"][0] == [1, 0, None, None, [0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1]]

    needed = ("model", "task", "needle", "length", "depth", "repeat", "outcome", "score")  # of older files
    bare: Any = {name: value for name, value in to_builtins(new_record()).items() if name in needed}
    assert Page(text_of([record_of(bare)])).trials()[0]["outcome"] == "found"


def test_a_megabyte_of_text_is_cut_with_a_mark():
    response = {"text": "begin " + "<" * 1_000_000 + " end"}
    text = text_of([new_record(outcome="wrong", response=response)])
    head, left_out, tail = Page(text).trials()[0]["response"]["text"]

    assert len(text) < 100_000
    assert (head[:9], tail[-7:]) == ("begin <<<", "<<< end")
    assert len(head) + left_out + len(tail) == len(response["text"])


def test_what_was_found_is_left_out_first_scattered_and_the_page_says_so():
    records = grid(30, 12)
    for number, record in enumerate(records):  # texts that cannot be packed
        words = range(5 if record.score else 16)
        record.response.text = " ".join(sha256(f"{number} {i}".encode()).hexdigest() for i in words)
    limit = 180_000
    text = text_of(records, limit_bytes=limit)
    page = Page(text)
    rows = page.details()
    kept = {(row[1], row[2]) for row in rows}

    assert limit * 0.9 < len(text.encode()) < limit
    assert 0 < len(rows) < len(records)
    assert f"details of {len(records) - len(rows)} of 360 trials, those that were found first" in text
    wrong = {
        (round(record.length / 1000) - 1, round(record.depth * 11 / 100)) for record in records if not record.score
    }
    assert wrong <= kept
    columns, depths = (set(numbers) for numbers in zip(*(kept - wrong), strict=True))
    assert len(columns) > 20  # from everywhere
    assert len(depths) == 12
    assert any(isinstance(trial["response"]["text"], list) for trial in page.trials())

    none = Page(text_of(records[:25], limit_bytes=1))
    assert none.trials() == []
    assert len(none.inside("td")) > 30
    assert "details of 25 of 25 trials" in " ".join(none.inside("div"))


def test_nothing_that_a_model_says_becomes_markup():
    first, second = compare_runs({EVIL: [hostile(EVIL)], f"{EVIL} again": [hostile(EVIL)]})
    compared_twice = comparison_html((first, replace(second, parts=(EVIL,), label=EVIL)), title=EVIL)
    for text in (compared_twice, html_text(run_report([hostile(EVIL)], notes=[EVIL]), title=EVIL)):
        page = Page(text)
        assert page.tags().count("script") == 3
        assert "img" not in page.tags()
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\ud800-\udfff]", text)
        assert "default-src &#39;none&#39;" in text
        assert "http" not in text.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")
    assert all("<img src=x" in side["response"]["text"] for side in Page(compared_twice).pairs()[0])
    [trial] = page.trials()
    said = trial["response"]["text"]
    assert said.startswith("<img src=x onerror=alert(1)></script><!--<script>⟨U+0000⟩⟨U+001B⟩[31m")
    assert "⟨U+202E⟩" in said
    assert trial["prompt"]["needles"][0]["before"] == said
    assert text.encode()


@given(text=st.text(st.characters(codec=None), max_size=40))
def test_any_text_in_any_field_changes_texts_only(text):
    def shown(text):
        return Page(html_text(run_report([hostile(text)], notes=[text or "y"]), title=text))

    page = shown(text and f"{text}~")  # no name of ours, such as a task's, which has sections of its own

    assert page.tags() == shown("x").tags()
    assert len(page.trials()) == 1
    assert not any(re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", each) for each in texts_in(page.details()))


def page_of(first, second, parts=(), **options):
    old, new = compare_runs({"old": first, "new": second})
    return Page(comparison_html((old, replace(new, parts=parts)), title="new − old", **options))


def test_trials_that_both_judge_alike_are_left_out_first():
    first = grid(30, 12)
    second = [changed(record, response={"text": f"{i} " * 40}) for i, record in enumerate(first)]
    for record in second[100:110]:
        record.outcome, record.score = ("found", 1.0) if record.outcome == "wrong" else ("wrong", 0.0)
    page = page_of(first, second, limit_bytes=140_000)

    assert 10 < len(page.pairs()) < 360
    assert sum(a["score"] != b["score"] for a, b in page.pairs()) == 10
    assert "Left out: details of " in " ".join(page.inside("div"))
