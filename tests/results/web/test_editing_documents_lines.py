"""Pairs are written into a line, and nothing else in it changes."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.results.web.row_editing import RowPair, read_line, with_pairs
from needlework.results.web.row_pages import clean, keyed

ROOT = Path(__file__).parents[3]
REAL = Path(os.environ.get("NEEDLEWORK_LEVAL_DATA", ROOT.parent / "shared" / "data" / "leval"))
texts = st.text(st.characters(exclude_categories=()), max_size=12)  # half characters too
pairs = st.lists(st.builds(RowPair, texts, texts), max_size=4)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts, lambda v: st.lists(v, max_size=3)
)


@st.composite
def lines(draw):
    """A line of a file as any writer may have written it."""
    row = draw(st.dictionaries(texts, values, max_size=4))
    for key in draw(st.sets(st.sampled_from(["instructions", "outputs"]))):
        row[key] = draw(st.lists(texts, max_size=4))
    row = {key: row[key] for key in draw(st.permutations(sorted(row)))}
    separators = draw(st.sampled_from([None, (",", ":"), (" , ", " : "), (",\t", ":")]))
    written = json.dumps(row, ensure_ascii=draw(st.booleans()), separators=separators)
    return (draw(st.sampled_from(["", " "])) + written).encode("utf-8", "replace") + draw(
        st.sampled_from([b"", b"\r\n"])
    )


def key_of(raw):
    return next(key for key, _ in keyed([raw]))


@given(lines(), pairs)
def test_an_edited_line_has_the_new_pairs_and_all_else_as_it_was_written(raw, new):
    edited = with_pairs(raw, new)
    read, before = read_line(edited), read_line(raw)
    assert list(read.pairs) == new
    assert read.counts == (len(new), len(new)) or edited == raw
    assert (read.others, read.document, read.document_key) == (before.others, before.document, before.document_key)
    keys = list(json.loads(raw))
    assert [key for key in json.loads(edited) if key in keys] == keys


@given(lines())
def test_a_line_that_gets_its_own_pairs_back_stays_as_it_is(raw):
    assert with_pairs(raw, read_line(raw).pairs) == raw


@given(lines(), pairs)
def test_editing_and_taking_it_back_changes_no_value(raw, new):
    back = with_pairs(with_pairs(raw, new), read_line(raw).pairs)
    assert read_line(back).pairs == read_line(raw).pairs
    assert read_line(back).others == read_line(raw).others


@given(st.lists(lines() | st.binary(max_size=20).map(lambda b: b.replace(b"\n", b"")), max_size=5), st.booleans())
def test_the_export_of_a_file_that_nobody_edited_is_the_file(rows, ends):
    content = b"\n".join(rows) + (b"\n" if ends else b"")
    exported = clean(content.splitlines(keepends=True), {})
    assert exported.content == content
    assert (exported.edited, exported.dropped) == (0, 0)


@given(st.lists(lines(), min_size=1, max_size=4), st.data())
def test_an_edit_changes_its_own_row_alone(rows, data):
    rows = [row.rstrip(b"\r\n") + b"\n" for row in rows]
    keys = [key for key, _ in keyed(rows)]
    at = data.draw(st.integers(0, len(rows) - 1))
    new = data.draw(pairs)
    exported = clean(rows, {keys[at]: new})
    out = exported.content.split(b"\n")
    assert [each for n, each in enumerate(out[:-1]) if n != at] == [row[:-1] for n, row in enumerate(rows) if n != at]
    if tuple(new) != read_line(rows[at]).pairs:
        full = [pair for pair in new if not pair.blank]
        assert list(read_line(out[at]).pairs) == full or full == []
        assert exported.dropped == len(new) - len(full)


def test_what_was_not_edited_in_a_line_keeps_its_escapes_and_numbers():
    raw = b'{"id": 1.50,"n":1E9 , "instructions": ["caf\\u00e9?", "Who?"], "outputs": ["\\u4e2d", "x"], "n": NaN}\r\n'
    edited = with_pairs(raw, [RowPair("Who?", "Ann"), RowPair("café?", "中")])
    assert edited == (
        b'{"id": 1.50,"n":1E9 , "instructions": ["Who?","caf\\u00e9?"], "outputs": ["Ann","\\u4e2d"], "n": NaN}\r\n'
    )


def test_new_texts_are_written_as_the_line_writes_them():
    chinese = '{"text":"长文","instructions":[],"outputs":[]}\n'.encode()
    new = with_pairs(chinese, [RowPair("谁？\u2028", "甲\ud800")])
    assert new.decode() == '{"text":"长文","instructions":["谁？\\u2028"],"outputs":["甲\\ud800"]}\n'
    ascii_alone = b'{"text": "long"}'
    assert with_pairs(ascii_alone, [RowPair("谁", "b")]) == (
        b'{"text": "long", "instructions": ["\\u8c01"], "outputs": ["b"]}'
    )
    assert with_pairs(b"{ }\n", [RowPair("a", "b")]) == b'{ "instructions": ["a"], "outputs": ["b"]}\n'
    assert with_pairs(b"\xef\xbb\xbf" + ascii_alone, [RowPair("a", "b")]).startswith(b'\xef\xbb\xbf{"text": "long", "i')


def test_a_row_whose_outputs_are_missing_shows_blanks():
    line = read_line(b'{"input": "d", "instructions": ["a", "b"], "outputs": ["1"], "gpt_outputs": [1, 2]}')
    assert line.pairs == (RowPair("a", "1"), RowPair("b", ""))
    assert (line.counts, line.parallel, line.problem) == ((2, 1), ("gpt_outputs",), "")


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        ("[1]", "is no JSON object"),
        ('{"a": 1} {"b": 2}', "is more than one JSON value"),
        ("{oops", "is no JSON ("),
        ("\xff", "is no JSON ("),
        ('{"instructions": "one"}', "has instructions or outputs that are no lists of texts"),
        ('{"outputs": ["a", 2]}', "has instructions or outputs that are no lists of texts"),
    ],
)
def test_a_line_that_cannot_be_edited_says_why(raw, problem):
    said = raw.encode("latin-1")
    assert read_line(said).problem.startswith(problem)
    assert clean([said], {key_of(said): [RowPair("a", "b")]}).content == said


def test_a_line_that_is_nested_without_end_is_no_json():
    assert read_line(b"[" * 100_000).problem.startswith("is no JSON (")


def test_the_export_counts_what_it_did():
    rows = [
        b'{"input": "d", "instructions": ["a"], "outputs": ["b"], "evaluation": "LLM"}\n',
        b'{"input": "d", "instructions": ["a"], "outputs": []}\n',
        b"\n",
        b"nothing\n",
    ]
    new = [RowPair(" ", "\n"), RowPair("a", ""), RowPair("", "c")]
    exported = clean(rows, {key_of(rows[0]): new})
    assert exported.counts == {"rows": 3, "edited": 1, "dropped": 1, "uneven": 1, "unread": 1}
    assert exported.content.split(b"\n")[0] == (
        b'{"input": "d", "instructions": ["a", ""], "outputs": ["", "c"], "evaluation": "LLM"}'
    )


@pytest.mark.skipif(not REAL.is_dir(), reason=f"L-Eval's data is not at {REAL} (NEEDLEWORK_LEVAL_DATA)")
def test_an_edit_in_l_evals_files_adds_what_was_typed_and_nothing_else():
    for path in sorted(REAL.rglob("*.jsonl")):
        lines = path.read_bytes().splitlines(keepends=True)
        assert clean(lines, {}).content == path.read_bytes()
        for raw in lines[:3]:
            first, *others = read_line(raw).pairs
            edited = with_pairs(raw, [first._replace(output=f"{first.output} x"), *others])
            assert len(edited) == len(raw) + 2
            was, now = json.loads(raw), json.loads(edited)
            assert {**now, "outputs": 0} == {**was, "outputs": 0}


def test_equal_rows_have_keys_of_their_own():
    keys = [key for key, _ in keyed([b'{"a": 1}\n', b'{"a": 1}', b"  \n", b'\xef\xbb\xbf{"a": 1}\r\n'])]
    assert [key.partition(".")[2] for key in keys] == ["0", "1", "", "2"]
