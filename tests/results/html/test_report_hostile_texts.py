"""Nothing that a model or a user writes becomes part of the page's markup."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.results.html.report import html_text
from needlework.results.statistics.run_report import run_report
from tests.results.html.pages import EVIL, MakeRecord, Page, texts_in


def test_nothing_that_a_model_says_becomes_markup(make_record: MakeRecord) -> None:
    fields = dict.fromkeys(("model", "task", "needle", "why", "question", "answer", "scorer", "id", "key"), EVIL)
    hostile = make_record(
        **fields,
        expected=[EVIL],
        response={"text": EVIL, "reasoning": EVIL},
        error={"kind": EVIL, "message": EVIL},
        details={"score": {EVIL: [EVIL]}},
        prompt={"needles": [{"depth": 50.0, "name": EVIL, "before": EVIL, "text": EVIL, "after": EVIL}]},
    )
    text = html_text(run_report([hostile], notes=[EVIL]), title=EVIL)
    page, plain = Page(text), Page(html_text(run_report([make_record()], notes=["y"]), title="x"))

    assert page.tags().count("script") == plain.tags().count("script") == 3
    assert "img" not in page.tags()
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\ud800-\udfff]", text)
    [trial] = page.trials()
    assert trial["response"]["text"].startswith("<img src=x onerror=alert(1)></script><!--<script>⟨U+0000⟩⟨U+001B⟩[31m")
    assert "⟨U+202E⟩" in trial["response"]["text"]
    assert trial["prompt"]["needles"][0]["before"] == trial["response"]["text"]
    assert text.encode()


@pytest.fixture(scope="module")
def structure(make_record: MakeRecord) -> Sequence[str]:
    return Page(html_text(run_report([make_record(timing={})], notes=["y"]), title="x")).tags()


ANY = st.text(st.characters(codec=None), max_size=40)


@given(texts=st.lists(ANY, min_size=12, max_size=12))
def test_any_text_in_any_field_changes_texts_only(
    make_record: MakeRecord, structure: Sequence[str], texts: list[str]
) -> None:
    names = ("model", "task", "needle", "why", "question", "answer", "scorer", "id", "nodeid", "key")
    needle = {"depth": 50.0, "name": texts[5], "before": texts[6], "text": texts[7], "after": texts[8]}
    record = make_record(
        **dict(zip(names, texts, strict=False)),
        expected=texts[:2],
        response={"text": texts[10], "finish_reason": texts[3]},
        prompt={"sha256": texts[4], "needles": [needle], "note": texts[6]},
        timing={"worker": texts[7]},
        details={"score": {texts[8]: texts[9]}},
    )
    text = html_text(run_report([record], notes=[texts[0] or "y"]), title=texts[11])
    page = Page(text)

    assert text.encode()
    assert page.tags() == structure
    assert len(page.trials()) == 1
    assert not any(re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", each) for each in texts_in(page.details()))
