"""Questions about documents and jsonl files of documents: edited on pages, and nothing else in the file changes."""

import json
import os
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.errors import InputError
from needlework.haystack_fixtures.documents.questions import question_of, read_question_set
from needlework.results.web.app import digest_of
from needlework.results.web.jsonl_pages import TextPair, read_line, with_pairs
from needlework.results.web.question_pages import ReviewedPair, pair_of, with_pair
from tests.results.web.site import QUESTIONS, Site, opened, write_questions


@pytest.fixture
def ann(tmp_path):
    path, documents = write_questions(tmp_path)
    with opened(path, documents=documents) as site:
        yield site


def decide(site, key, status, code=303, **more):
    row = QUESTIONS.get(key, {})
    pair = pair_of(row)
    fields = {
        **site.form(f"/questions/0/pair?key={key}"), "status": status, "question": pair.question,
        "answer": "".join(pair.answers[:1]), "aliases": "\n".join(pair.answers[1:]), "document": pair.document,
    }  # fmt: skip
    return site.post("/questions/0/decide", {**fields, **more}, code)


def reviewed(tmp_path):
    rows: dict[str, Any] = json.loads((tmp_path / "q.reviewed.json").read_text("utf-8"))
    return rows


def test_a_decision_is_in_the_file_at_once_and_the_next_undecided_comes(ann, tmp_path):
    before = (tmp_path / "q.checked.json").read_bytes()
    assert decide(ann, "0", "accept") == "/questions/0/pair?key=1"
    rows = reviewed(tmp_path)
    assert (rows["0"]["status"], rows["0"]["decision"]["by"]) == ("accept", "Ann")
    assert {**rows["0"], "status": "review", "decision": 0} == {**QUESTIONS["0"], "decision": 0}
    assert (rows["1"], rows["3"]) == (QUESTIONS["1"], QUESTIONS["3"])
    assert (tmp_path / "q.checked.json").read_bytes() == before
    assert "3 questions, 1 decided" in ann.page("/")
    assert ann.page("/questions/0/?show=undecided").count('<span class="title">') == 2
    assert ann.page("/questions/0/?find=LETTER").count('<span class="title">') == 1
    assert "cannot be asked: there is no document 'lost.txt'" in ann.page("/questions/0/")
    assert "pytest benchmarks --preset own-documents --documents" in ann.page("/questions/0/")
    assert "say why" in decide(ann, "3", "reject", 400)
    decide(ann, "3", "reject", reason="no such document")
    decide(ann, "1", "accept", question="Who had a cat?\r\n", aliases="Voss\r\nMara", supporting="letters.txt")
    row = reviewed(tmp_path)["1"]
    assert (row["question"], row["answer"], row["aliases"]) == ("Who had a cat?", "Mara Voss", ["Voss", "Mara"])
    assert row["supporting_docs"] == ["letters.txt"]
    assert row["decision"]["edited"] == ["answers", "question", "supporting"]
    assert ">edited<" in ann.page("/questions/0/?show=edited")
    asked = read_question_set(str(tmp_path / "q.reviewed.json"))
    assert ([question.key for question in asked.questions], asked.reviewed) == (["0", "1"], True)
    assert "no such document" in ann.page("/questions/0/pair?key=3")


def test_a_question_is_added(ann, tmp_path):
    about = {"question": "What was built in 1874, too?", "answer": "The mill", "document": "mills.txt"}
    assert decide(ann, "", "accept", **about) == "/questions/0/"
    (key,) = reviewed(tmp_path).keys() - QUESTIONS.keys()
    assert question_of(key, reviewed(tmp_path)[key]).answers == ("The mill",)
    assert "What was built in 1874, too?" in ann.page("/questions/0/?show=added")
    decide(ann, key, "accept", question="What else was built?", answer="The mill", document="mills.txt")
    assert ">added<" in ann.page("/questions/0/?find=what+else")


@pytest.mark.parametrize(
    ("key", "changed", "problem"),
    [
        ("0", {"question": " "}, "it has no question"),
        ("0", {"answer": ""}, "it has no answer"),
        ("3", {}, "there is no document 'lost.txt'"),
        ("0", {"status": "maybe"}, "status"),
    ],
)
def test_what_a_run_cannot_ask_is_not_accepted(ann, tmp_path, key, changed, problem):
    status = changed.pop("status", "accept")
    assert problem in decide(ann, key, status, 400, **changed)
    assert not (tmp_path / "q.reviewed.json").exists()


def test_a_decision_of_somebody_else_is_not_written_over_and_can_be_taken_back(ann, tmp_path):
    bob = Site(ann.address, "Bob")
    form = {name: text for name, text in ann.form("/questions/0/pair?key=0").items() if name != "key"}
    decide(bob, "0", "accept", question="When?")
    assert "has changed since you opened it" in decide(ann, "0", "accept", 409, **form)
    assert reviewed(tmp_path)["0"]["decision"]["by"] == "Bob"
    decide(ann, "0", "undecided")
    assert reviewed(tmp_path) == QUESTIONS


def test_decisions_count_until_the_file_says_something_else(ann, tmp_path):
    decide(ann, "0", "accept", question="When?")
    decide(ann, "1", "accept")
    changed = {**QUESTIONS, "0": {**QUESTIONS["0"], "support": 0.1}, "1": {**QUESTIONS["1"], "answer": "Mara"}}
    (tmp_path / "q.checked.json").write_text(json.dumps(changed))
    assert "3 questions, 1 decided" in ann.page("/questions/0/")
    assert "When?" in ann.page("/questions/0/?show=edited")
    with opened(tmp_path / "q.reviewed.json") as again:  # the reviewed file can be named itself
        assert "2 decided" in again.page("/")


def test_the_document_stands_beside_with_what_to_mark_and_others_that_might_answer(ann):
    page = ann.page("/questions/0/document?key=1")
    assert "Its keeper, Mara Voss, kept a grey cat." in page
    assert '<data value="Mara Voss"></data><data value="Voss"></data>' in page
    assert "there is no document 'lost.txt'" in ann.page("/questions/0/document?key=3", 404)
    others = ann.page("/questions/0/pair?key=0")
    for text in ("copy of the answer document", "has the answer too", "harbour.txt"):
        assert text in others
    assert "letters" in ann.page("/questions/0/document?key=0&name=letters.txt")
    ann.page("/questions/0/pair?key=9", 404)


def test_a_broken_reviewed_file_is_told_and_not_written_over(ann, tmp_path):
    form = ann.form("/questions/0/pair?key=0")
    (tmp_path / "q.reviewed.json").write_text('{"half')
    assert "is not JSON" in ann.page("/questions/0/", 400)
    assert "is not JSON" in ann.page("/")
    fields = {**form, "status": "accept", "question": "q", "answer": "a", "document": "mills.txt"}
    assert "is not JSON" in ann.post("/questions/0/decide", fields, 400)
    assert (tmp_path / "q.reviewed.json").read_text() == '{"half'


def test_files_with_nothing_in_them_are_refused(tmp_path):
    (tmp_path / "m.pred.jsonl").write_text("\n")
    with pytest.raises(InputError, match="there is nothing to show"), opened(tmp_path):
        pass


TEXTS = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=12).map(str.strip).filter(bool)
ANSWERS = st.lists(TEXTS, min_size=1, max_size=4, unique=True)
ROWS = st.fixed_dictionaries(
    {"question": TEXTS, "answer": TEXTS | ANSWERS | st.integers(), "answer_doc": TEXTS},
    optional={
        "aliases": st.lists(TEXTS, max_size=3),
        "supporting_docs": st.lists(TEXTS, max_size=3),
        "anything": st.dictionaries(st.text(max_size=3), st.none() | st.floats(allow_nan=False), max_size=2),
    },
)
PAIRS = st.builds(
    ReviewedPair,
    question=TEXTS,
    answers=ANSWERS.map(tuple),
    document=TEXTS,
    supporting=st.lists(TEXTS, max_size=3, unique=True).map(tuple),
)


@given(ROWS, PAIRS)
def test_an_edited_row_says_the_new_pair_and_keeps_every_other_field(row, pair):
    def others(row):
        of_the_pair = {"question", "answer", "aliases", "answer_doc", "supporting_docs"}
        return {name: value for name, value in row.items() if name not in of_the_pair}

    edited, before, asked = with_pair(row, pair), pair_of(row), question_of("0", row)
    assert pair_of(edited) == pair
    assert others(edited) == others(row)
    assert with_pair(row, before) == row
    assert (asked.question, asked.answers, asked.document) == (before.question, before.answers, row["answer_doc"])


FIRST = {"input": "A long day.", "instructions": ["What day?"], "outputs": ["long"], "evaluation": "LLM", "n": 1.50}
LINE_TEXTS = st.text(st.characters(exclude_categories=()), max_size=12)  # half characters too
LINE_PAIRS = st.lists(st.builds(TextPair, LINE_TEXTS, LINE_TEXTS), max_size=4)


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "data" / "days.jsonl"
    path.parent.mkdir()
    rows = [FIRST, {"text": "Ein Tag\ud800", "id": 7}, {"input": "short", "instructions": ["a"], "outputs": []}]
    path.write_text("".join(f"{json.dumps(row)}\r\n" for row in rows) + "\nno row\n", encoding="utf-8", newline="")
    return path


@pytest.fixture
def jsonl_site(source):
    with opened(source) as site:
        yield site


def save(site, line, pairs, status=303, **more):
    fields = {"seen": site.form(f"/jsonl/0/{line}")["seen"]}
    fields |= {"question": [pair[0] for pair in pairs], "answer": [pair[1] for pair in pairs], **more}
    return site.post(f"/jsonl/0/{line}", fields, status)


def test_every_byte_that_nobody_edited_stays_and_of_two_tabs_the_second_is_told(jsonl_site, source):
    before, cleaned = source.read_bytes(), source.with_name("days.cleaned.jsonl")
    seen = jsonl_site.form("/jsonl/0/0")["seen"]
    assert save(jsonl_site, 0, [("What day?", "a long one"), ("Why?", "It is\r\nso."), ("", " ")]) == "/jsonl/0/0"
    was, now = before.split(b"\n"), cleaned.read_bytes().split(b"\n")
    assert source.read_bytes() == before
    assert was[1:] == now[1:]
    changed = {"instructions": ["What day?", "Why?"], "outputs": ["a long one", "It is\nso."]}
    assert now[0] == json.dumps({**FIRST, **changed}).encode() + b"\r"
    assert "4 lines: 1 edited, 1 without questions" in jsonl_site.page("/")
    assert "has changed since you opened it" in save(jsonl_site, 0, [("b", "2")], 409, seen=seen)

    assert save(jsonl_site, 1, [("Wer?", "Ich")], then="next") == "/jsonl/0/2"
    with opened(source) as again:
        assert "Ich</textarea>" in again.page("/jsonl/0/1")
        save(again, 1, [("Wer?", "Du")])
        line = json.loads(cleaned.read_text().splitlines()[1])
        assert line == {"text": "Ein Tag\ud800", "id": 7, "instructions": ["Wer?"], "outputs": ["Du"]}
        assert "a long one</textarea>" in again.page("/jsonl/0/0")
        assert "has changed since" not in again.page("/jsonl/0/")
        os.utime(source, (2**31, 2**31))
        assert "has changed since" in again.page("/jsonl/0/")


@pytest.mark.parametrize(
    ("line", "pairs", "problem"),
    [
        (0, [("Who?", "")], "pair 1: 'Who?': has no answer"),
        (0, [("", ""), (" ", "I")], "has no question"),
        (3, [("a", "b")], "is no JSON"),
    ],
)
def test_what_no_run_could_ask_is_refused(jsonl_site, source, line, pairs, problem):
    seen = digest_of([raw for raw in source.read_bytes().splitlines(keepends=True) if raw.strip()][line])
    fields = {"question": [pair[0] for pair in pairs], "answer": [pair[1] for pair in pairs]}
    assert problem in jsonl_site.post(f"/jsonl/0/{line}", {"seen": seen, **fields}, 400)
    assert not source.with_name("days.cleaned.jsonl").exists()


def test_the_list_filters_and_says_what_is_wrong(jsonl_site):
    page = jsonl_site.page("/jsonl/0/")
    for text in ("Ein Tag?", "This line is no JSON", "1 pairs · 5 characters"):  # half a character has no place here
        assert text in page
    assert jsonl_site.page("/jsonl/0/?show=no+pairs").count('<span class="title">') == 1
    assert jsonl_site.page("/jsonl/0/?find=LONG").count('<span class="title">') == 1
    jsonl_site.page("/jsonl/0/4", 404)


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
    st.dictionaries(LINE_TEXTS, st.none() | st.integers() | st.floats() | LINE_TEXTS, max_size=4),
    LINE_PAIRS, LINE_PAIRS, st.booleans(),
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
