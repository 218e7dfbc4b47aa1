"""A jsonl file of documents: pairs are edited line by line, and nothing else in the file changes."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.results.web.app import digest_of
from needlework.results.web.jsonl_pages import TextPair, read_line, with_pairs
from tests.results.web.site import opened

REAL = Path(os.environ.get("NEEDLEWORK_LEVAL_DATA", Path(__file__).parents[4] / "shared" / "data" / "leval"))
FIRST = {"input": "A long day.", "instructions": ["What day?"], "outputs": ["long"], "evaluation": "LLM", "n": 1.50}
TEXTS = st.text(st.characters(exclude_categories=()), max_size=12)  # half characters too
PAIRS = st.lists(st.builds(TextPair, TEXTS, TEXTS), max_size=4)


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "data" / "days.jsonl"
    path.parent.mkdir()
    rows = [FIRST, {"text": "Ein Tag\ud800", "id": 7}, {"input": "short", "instructions": ["a"], "outputs": []}]
    path.write_text("".join(f"{json.dumps(row)}\r\n" for row in rows) + "\nno row\n", encoding="utf-8", newline="")
    return path


@pytest.fixture
def ann(source):
    with opened(source) as site:
        yield site


def save(site, line, pairs, status=303, **more):
    fields = {"seen": site.form(f"/jsonl/0/{line}")["seen"]}
    fields |= {"question": [pair[0] for pair in pairs], "answer": [pair[1] for pair in pairs], **more}
    return site.post(f"/jsonl/0/{line}", fields, status)


def test_every_byte_that_nobody_edited_stays_and_of_two_tabs_the_second_is_told(ann, source):
    before, seen = source.read_bytes(), ann.form("/jsonl/0/0")["seen"]
    assert save(ann, 0, [("What day?", "a long one"), ("Why?", "It is\r\nso."), ("", " ")]) == "/jsonl/0/0"
    was, now = before.split(b"\n"), source.with_name("days.cleaned.jsonl").read_bytes().split(b"\n")
    assert source.read_bytes() == before
    assert was[1:] == now[1:]
    changed = {"instructions": ["What day?", "Why?"], "outputs": ["a long one", "It is\nso."]}
    assert now[0] == json.dumps({**FIRST, **changed}).encode() + b"\r"
    assert "4 lines: 1 edited, 1 without questions" in ann.page("/")
    assert "has changed since you opened it" in save(ann, 0, [("b", "2")], 409, seen=seen)
    assert "a long one</textarea>" in ann.page("/jsonl/0/0")
    assert "has changed since" not in ann.page("/jsonl/0/")
    os.utime(source, (2**31, 2**31))
    assert "has changed since" in ann.page("/jsonl/0/")


def test_what_was_saved_is_there_after_a_new_start_and_can_be_saved_again(ann, source):
    assert save(ann, 1, [("Wer?", "Ich")], then="next") == "/jsonl/0/2"
    with opened(source) as again:
        assert "Ich</textarea>" in again.page("/jsonl/0/1")
        save(again, 1, [("Wer?", "Du")])
    line = source.with_name("days.cleaned.jsonl").read_text().splitlines()[1]
    assert json.loads(line) == {"text": "Ein Tag\ud800", "id": 7, "instructions": ["Wer?"], "outputs": ["Du"]}


@pytest.mark.parametrize(
    ("line", "pairs", "problem"),
    [
        (0, [("Who?", "")], "pair 1: 'Who?': has no answer"),
        (0, [("", ""), (" ", "I")], "has no question"),
        (3, [("a", "b")], "is no JSON"),
    ],
)
def test_what_no_run_could_ask_is_refused(ann, source, line, pairs, problem):
    seen = digest_of([raw for raw in source.read_bytes().splitlines(keepends=True) if raw.strip()][line])
    fields = {"question": [pair[0] for pair in pairs], "answer": [pair[1] for pair in pairs]}
    assert problem in ann.post(f"/jsonl/0/{line}", {"seen": seen, **fields}, 400)
    assert not source.with_name("days.cleaned.jsonl").exists()


def test_the_list_filters_and_says_what_is_wrong(ann):
    page = ann.page("/jsonl/0/")
    for text in ("Ein Tag?", "This line is no JSON", "1 pairs · 5 characters"):  # half a character has no place here
        assert text in page
    assert ann.page("/jsonl/0/?show=no+pairs").count('<span class="title">') == 1
    assert ann.page("/jsonl/0/?find=LONG").count('<span class="title">') == 1
    ann.page("/jsonl/0/4", 404)


def test_texts_and_names_are_shown_as_they_are(tmp_path):
    path = tmp_path / "<b>&'.jsonl"
    path.write_text(json.dumps({"input": "<script>alert(1)</script>"}), encoding="utf-8")
    with opened(path) as site:
        for page in ("/", "/jsonl/0/", "/jsonl/0/0", "/jsonl/0/0/document"):
            text = site.client.get(page).text
            assert "<script>alert" not in text
            assert "<b>&" not in text
        assert "&lt;script&gt;" in site.client.get("/jsonl/0/0/document").text


@given(
    st.dictionaries(TEXTS, st.none() | st.integers() | st.floats() | TEXTS, max_size=4),
    PAIRS, PAIRS, st.booleans(),
)  # fmt: skip
def test_an_edited_line_has_the_new_pairs_and_all_else_as_it_was(row, old, new, ascii_only):
    row |= {"instructions": [pair[0] for pair in old], "outputs": [pair[1] for pair in old]}
    raw = json.dumps(row, ensure_ascii=ascii_only).encode("utf-8", "replace") + b"\r\n"
    edited, before = with_pairs(raw, new), read_line(raw)
    after = read_line(edited)
    assert list(after.pairs) == new
    assert (after.others, after.document) == (before.others, before.document)
    assert list(json.loads(edited)) == list(json.loads(raw))
    assert with_pairs(raw, before.pairs) == raw
    assert edited == raw or edited.endswith(b"\r\n")


@pytest.mark.skipif(not REAL.is_dir(), reason="needs L-Eval's data")
def test_levals_lines_get_their_pairs_back_byte_for_byte():
    lines = [line for path in sorted(REAL.rglob("*.jsonl"))[:4] for line in path.read_bytes().splitlines()[:3]]
    assert lines
    for raw in lines:
        pairs = read_line(raw).pairs
        assert with_pairs(with_pairs(raw, [TextPair("a", "b")]), pairs) == raw
