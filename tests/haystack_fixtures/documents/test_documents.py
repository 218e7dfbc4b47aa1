"""Documents of the user: folders and what is left out of them; copies; questions of files, and sentences with a gap."""

import io
import json
import os
import re
import sys
import unicodedata
import zipfile
from pathlib import Path

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.errors import InputError
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.documents.near_copies import NEARLY, SHINGLE, twins, unspaced_pairs, word_runs
from needlework.haystack_fixtures.documents.questions import GAP, gap_rows, question_file, read_question_set, read_rows
from needlework.haystack_fixtures.documents.readers import (
    DocumentSet,
    OwnDocument,
    UnusableError,
    read_documents,
    read_file,
)
from needlework.haystack_fixtures.tasks.catalogue import grid


@pytest.fixture
def folder(tmp_path):
    """Write files into a folder: name = text, or bytes."""

    def build(files, name="documents"):
        root = tmp_path / name
        root.mkdir(exist_ok=True)
        for path, content in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(content.encode() if isinstance(content, str) else content)
        return root

    return build


INSIDE = 'Title: "One"\n\nTwo — 三'
ROWS = [{"id": 7, "title": "x", "text": "One."}, {"id": "b", "input": "Two."}, {"id": "c", "content": "Three."}]
PAGE = """<!doctype html><html><head><title>Tab</title><style>p {color: red}</style></head>
<body><script>var x = "<p>no</p>";</script><h1>Owls</h1><p>They  see
well &amp; <b>fly</b> by night.</p><ul><li>barn owl<li>eagle owl</ul>
<table><tr><td>A</td><td>B</td></tr></table><pre>x = 1
  y = 2</pre><!-- hidden --></body></html>"""
READ = {
    "utf-8 with a mark, line ends of Windows": ({"a.txt": "\ufeffone\r\ntwo"}, {"a.txt": "one\ntwo"}),
    "utf-16": ({"b.csv": "drei\r\n".encode("utf-16")}, {"b.csv": "drei"}),
    "one JSON string": (
        {"a.txt": json.dumps(INSIDE), "b.json": json.dumps(INSIDE), "c": json.dumps(INSIDE)},
        {"a.txt": INSIDE, "b.json": INSIDE, "c": INSIDE},
    ),
    "like JSON": ({"a.txt": '"Yes," he said, "of course."', "b.md": '"', "c.md": '["a"]'}, None),
    "a page": (
        {"a.html": PAGE},
        {"a.html": "Owls\n\nThey see well & fly by night.\n\nbarn owl\neagle owl\n\nA B\n\nx = 1\n  y = 2"},
    ),
    "encodings of pages": (
        {"a.html": '<meta charset="gbk"><p>猫头鹰'.encode("gbk"), "b.htm": "\ufeff<p>é</p>", "c.htm": "<p>é"},
        {"a.html": "猫头鹰", "b.htm": "é", "c.htm": "é"},
    ),
    "rows by id": (
        {"a.jsonl": "\n".join(map(json.dumps, ROWS))},
        {"a.jsonl#7": "One.", "a.jsonl#b": "Two.", "a.jsonl#c": "Three."},
    ),
    "rows by line": (
        {"a.jsonl": '{"id": 1, "document": "a"}\n\n{"id": 1, "text": "b\u2028c"}\n"d"\n'},
        {"a.jsonl#1": "a", "a.jsonl#3": "b\u2028c", "a.jsonl#4": "d"},
    ),
    "rows by title": ({"a.jsonl": '{"id": null, "title": "T/1", "text": "a"}'}, {"a.jsonl#T/1": "a"}),
    "odd names": (dict.fromkeys([" leading.txt", "two\nlines.txt", "中文 文档.txt", "a'b\"c.txt"], "text"), None),
    "folders": ({"b.txt": "Bees.", "a/z.md": "# Zebras", "a/b/c.txt": "Cats.", "A.txt": "Apes."}, None),
}
LEFT_OUT = {
    "blank.txt": (" \n\t\n", "it is blank"),
    "binary.txt": (b"PK\0\x01", "it is binary, not text"),
    "latin.txt": (b"Caf\xe9", "it is not UTF-8 text: save it as UTF-8"),
    "table.json": ('{"text": "a"}', "JSON, but not one string: write one document a row as .jsonl"),
    "empty.jsonl": ("\n", "it is blank"),
    "nul.json": ('"a\\u0000b"', "it holds NUL characters, which no model can be sent"),
    "half.json": ('"\\ud800"', "it holds half of a surrogate pair: write the text in UTF-8 again"),
    "old.doc": ("x", ".doc is not a kind that is read: save it as PDF or text"),
    "image.png": (b"\x89PNG", ".png is not a kind that is read"),
    "noending": ("text", "a name without an ending is not a kind that is read"),
    ".hidden.txt": ("secret", "hidden"),
    ".git/config": ("secret", "hidden"),
}


def texts(folder):
    return {document.name: document.text for document in read_documents(str(folder)).documents}


def left_out(folder):
    return dict(read_documents(str(folder)).left_out)


@pytest.mark.parametrize("kind", READ)
def test_documents_are_read_sorted_by_name(folder, kind):
    files, expected = READ[kind]
    if any(name.endswith((".html", ".htm")) for name in files):
        pytest.importorskip("lxml")
    found = texts(folder(files))
    assert list(found) == sorted(found)
    assert found == (expected or files)


def test_whatever_is_no_document_is_listed_with_a_reason_and_what_is_missed_comes_first(folder):
    root = folder({"good.txt": "Good."} | {name: content for name, (content, _) in LEFT_OUT.items()})
    found = read_documents(str(root))
    assert texts(root) == {"good.txt": "Good."}
    assert dict(found.left_out) == {name.removesuffix("/config"): reason for name, (_, reason) in LEFT_OUT.items()}
    assert {name for name, _ in found.missed} == {*LEFT_OUT} - {"image.png", "noending", ".hidden.txt", ".git/config"}
    assert found.left_out[: len(found.missed)] == found.missed


def test_rows_that_are_no_documents_say_why(folder):
    found = read_documents(str(folder({"a.jsonl": '{"text": "One."}\n{"text": 5}\n{"text": " "}\nnot json'})))
    assert [document.name for document in found.documents] == ["a.jsonl#1"]
    assert [name for name, _ in found.left_out] == ["a.jsonl#2", "a.jsonl#3", "a.jsonl#4"]
    assert found.left_out[0][1] == "no text in a field text, input, content or document"
    assert found.left_out[2][1].startswith("is not JSON (")


def _pdf(text):
    """One page with a line of text, as small as a PDF can be."""
    stream = f"BT /F1 12 Tf 20 100 Td ({text}) Tj ET".encode()
    parts = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents 4 0 R /Resources 6 0 R >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Font << /F1 5 0 R >> >>",
    ]
    objects = b"".join(b"%d 0 obj\n%s\nendobj\n" % row for row in enumerate(parts, 1))
    return b"%PDF-1.4\n" + objects + b"trailer << /Size 7 /Root 1 0 R >>\nstartxref\n0\n%%EOF"


def _saved(save):
    data = io.BytesIO()
    save(data)
    return data.getvalue()


def test_the_text_of_a_pdf_is_read(folder):
    pypdf = pytest.importorskip("pypdf")
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(_pdf("Secret.")))
    writer.encrypt("password", algorithm="RC4-128")
    files = {"a.pdf": _pdf("The owl sleeps by day."), "scan.pdf": _pdf(""), "broken.pdf": b"%PDF-1.4 nothing"}
    root = folder(files | {"locked.pdf": _saved(writer.write)})
    assert texts(root) == {"a.pdf": "The owl sleeps by day."}
    reasons = left_out(root)
    assert reasons["scan.pdf"] == "it has no text (scanned pages?): run text recognition on it"
    assert reasons["locked.pdf"] == "it is encrypted: store it without a password"
    assert reasons["broken.pdf"].startswith("cannot be read as pdf (")


def test_the_text_and_tables_of_a_word_file_are_read_in_their_order(folder):
    docx = pytest.importorskip("docx")
    document = docx.Document()
    document.add_heading("Owls")
    table = document.add_table(rows=1, cols=2)
    table.rows[0].cells[0].text, table.rows[0].cells[1].text = "barn", "eagle"
    document.add_table(1, 1).cell(0, 0)._tc.grid_span = 100_000_000
    document.add_paragraph("They fly by night.")
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as file, file.open("word/document.xml", "w") as part:
        for _ in range(300):
            part.write(bytes(2**20))
    root = folder({"a.docx": _saved(document.save), "b.docx": b"PK not a zip", "bomb.docx": bomb.getvalue()})
    assert texts(root) == {"a.docx": "Owls\nbarn | eagle\n\nThey fly by night."}
    assert left_out(root)["b.docx"].startswith("cannot be read as docx (")
    assert left_out(root)["bomb.docx"] == "it unpacks to more than 256 MiB: store it as text"


def test_files_whose_package_is_missing_are_named_and_the_rest_is_used(folder, monkeypatch):
    packages = {"a.pdf": "pypdf", "b.docx": "docx", "c.html": "lxml"}
    for module in packages.values():
        monkeypatch.setitem(sys.modules, module, None)
    root = folder({**dict.fromkeys(packages, b"x"), "d.txt": "Text."})
    assert texts(root) == {"d.txt": "Text."}
    assert left_out(root) == {
        name: f"needs {'python-docx' if module == 'docx' else module}: pip install 'needlework[documents]'"
        for name, module in packages.items()
    }


@given(
    st.sampled_from([".txt", ".html", ".json", ".jsonl", ".pdf", ".docx", ".csv", ""]),
    st.binary(max_size=60) | st.text(max_size=60).map(lambda text: json.dumps(text).encode()),
)
def test_any_bytes_are_documents_or_left_out_with_a_reason(tmp_path_factory, ending, data):
    path = tmp_path_factory.getbasetemp() / f"any{ending}"
    path.write_bytes(data)
    found = read_file(path, path.name).values()
    assert found
    assert all(str(text) if isinstance(text, UnusableError) else text.strip() and text.encode() for text in found)


def test_links_pipes_and_files_that_may_not_or_cannot_be_read_are_left_out(folder):
    outside = folder({"secret.txt": "Secret."}, "outside")
    root = folder({"a.txt": "Text.", "b.txt": "Locked.", "c/d.txt": "Locked too.", "huge.txt": "b"})
    for name, target in {"loop": root, "away": outside, "again.txt": root / "a.txt"}.items():
        (root / name).symlink_to(target)
    os.mkfifo(root / "pipe.txt")
    os.truncate(root / "huge.txt", 2**40)
    (root / "b.txt").chmod(0)
    (root / "c").chmod(0)
    try:
        reasons = left_out(root)
        locked = {"b.txt", "c/"} - ({"b.txt", "c/"} if os.access(root / "b.txt", os.R_OK) else set())
    finally:
        (root / "c").chmod(0o700)
    assert {name for name, reason in reasons.items() if reason.startswith("a link")} == {"loop", "away", "again.txt"}
    assert reasons["pipe.txt"] == "not a plain file"
    assert reasons["huge.txt"] == "it is larger than 1,024 MiB: split it"
    assert {name for name, reason in reasons.items() if "Permission denied" in reason} == locked


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({}, "has no document (it is empty)"),
        ({"a.txt": " ", "b.png": b"x"}, "a.txt: it is blank; b.png: .png is not a kind"),
        ({f"{at}.txt": "" for at in range(9)}, "; and 6 more"),
    ],
)
def test_a_folder_without_a_document_is_one_clear_error(folder, files, words):
    with pytest.raises(InputError, match=rf"\A--documents: .*{re.escape(words)}"):
        read_documents(str(folder(files)))


@pytest.mark.parametrize("name", ["absent", "a\0b", "a.txt", "~nobody-of-this-name"])
def test_what_is_no_folder_is_refused(folder, name):
    root = folder({"a.txt": "Text."})
    with pytest.raises(InputError, match="DIR: "):
        read_documents(name if name.startswith("~") else f"{root}/{name}", "DIR")


def test_a_document_is_found_by_its_file_name_where_that_is_one(folder):
    found = read_documents(str(folder({"a/ odd\nname.txt": "1", "a/x.txt": "2", "b/x.txt": "3", "y.txt": "4"})))
    names = {"y.txt": "4", "a/x.txt": "2", "odd name.txt": "1", "x.txt": None, "absent.txt": None}
    assert {name: getattr(found.named(name), "text", None) for name in names} == names


OWLS = "猫头鹰在夜里飞行，白天睡觉。它们的眼睛很大，能在黑暗中看见老鼠。" * 3


@pytest.mark.parametrize(
    ("one", "twin", "other"),
    [
        ("The owl sleeps, by day.", "the OWL  sleeps by day", "The owl sleeps by night."),
        (OWLS, OWLS.replace("。", "；"), "完全不同的一段文字，讲的是火车和车站。"),
        *((short, short, "No, not at all.") for short in ("Yes.", "...", "猫")),
    ],
)
def test_equal_texts_are_twins_whatever_case_spaces_and_punctuation(one, twin, other):
    texts = {"a": one, "b": twin, "c": other}
    assert twins([OwnDocument(name, text) for name, text in texts.items()]) == (("a", "b"),)


@given(st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=14), min_size=2, max_size=8))
def test_the_pairs_are_those_that_comparing_all_with_all_finds(texts):
    def shingles(words):
        return {tuple(words[at : at + SHINGLE]) for at in range(max(1, len(words) - SHINGLE + 1))}

    sets = [shingles(words) for words in texts]
    group = list(range(len(texts)))
    for one, first in enumerate(sets):
        for other, second in enumerate(sets[:one]):
            if len(first & second) >= NEARLY * len(first | second):
                group = [group[other] if each == group[one] else each for each in group]
    wanted = {tuple(str(at) for at, each in enumerate(group) if each == root) for root in group}
    found = twins([OwnDocument(str(at), " ".join(words)) for at, words in enumerate(texts)])
    assert set(found) == {names for names in wanted if len(names) > 1}


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("The ferry_boat's ＡＢＣ, 1,234!", ["the", "ferry", "boat", "s", "abc", "1", "234"]),
        ("cafe\u0301 Straße हिन्दी", ["café", "strasse", "हिन्दी"]),
        ("用GPT模型，カタカナ2号", ["用", "gpt", "模型", "カタカナ", "2", "号"]),
        ("… _", []),
    ],
)
def test_the_words_of_a_text(text, runs):
    assert word_runs(text) == runs
    assert [unspaced_pairs(run) for run in ("梨树在", "梨", "pear")] == [["梨树", "树在"], [], []]


@given(st.text(st.sampled_from("aZ1_é\u0301猫の,. \n٣") | st.characters()))
def test_every_letter_and_digit_is_in_a_run_and_none_is_of_two_kinds(text):
    runs = word_runs(text)
    folded = unicodedata.normalize("NFKC", text).casefold()
    assert "".join(runs) == "".join(char for char in folded if char != "_" and regex.match(r"\w", char))
    assert all(bool(unspaced_pairs(char * 2)) == bool(unspaced_pairs(run * 2)) for run in runs for char in run)


ROW = {"question": "What do owls eat?", "answer": "mice", "answer_doc": "owls.txt"}


@pytest.fixture
def write(tmp_path):
    """Write a file of questions, an object or a text as it is."""

    def build(content):
        path = tmp_path / "questions.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return str(path)

    return build


def test_the_published_format_is_read_and_a_row_may_have_more(write):
    more = {"answer": ["mice", " "], "aliases": ["rodents", 2, "mice"], "supporting_docs": ["b.txt"], "topic": "x"}
    found = read_question_set(write({"0": ROW, "7": {**ROW, **more}}))
    plain, rich = found.questions
    assert (plain.key, plain.answers, plain.document) == ("0", ("mice",), "owls.txt")
    assert (rich.key, rich.answers, rich.supporting) == ("7", ("mice", "rodents", "2"), ("b.txt",))
    assert rich.extra == {"topic": "x"}
    assert len(found.sha256) == 64


def test_rejected_rows_are_not_asked_and_a_person_has_the_last_word(write):
    def row(status, decision=None):
        return {**ROW, "status": status, **({"decision": {"status": decision, "by": "ann"}} if decision else {})}

    decided = {"c": row("reject", "accept"), "d": row("accept", "reject"), "e": {"question": "", "status": "reject"}}
    found = read_question_set(write({"a": row("accept"), "b": row("reject"), **decided}))
    assert [each.key for each in found.questions] == ["a", "c"]
    assert (found.reviewed, read_question_set(write(decided)).reviewed) == (False, True)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("not json", "is not JSON"),
        ("[]", "is JSON of another layout"),
        ('{"data": []}', "is JSON of another layout"),
        ('{"0": {}, "0": {}}', "the key '0' stands there twice"),
        ("{}", "has no question that may be asked"),
        ({"3": {**ROW, "question": " "}}, "row '3' has no question"),
        ({"3": {**ROW, "answer": True}}, "row '3' has no answer"),
        ({"3": {**ROW, "answer_doc": None}}, "row '3' has no answer_doc"),
        ({"3": {**ROW, "status": "rejct"}}, "row '3' has the status 'rejct': use accept, review, reject"),
        ({"3": {**ROW, "status": "accept", "decision": {"status": "Reject"}}}, "row '3' has the status 'Reject': use"),
    ],
)
def test_what_cannot_be_asked_is_named_in_one_line(write, content, said):
    with pytest.raises(InputError, match=rf"\A--questions: .*{re.escape(said)}"):
        read_question_set(write(content))


@pytest.mark.parametrize("path", ["absent.json", "a\0b", ".", "a" * 300, "/dev/zero"])
def test_a_file_that_cannot_be_read_is_refused(path):
    with pytest.raises(InputError, match=r"--questions: .*(cannot be read|is not a file|is no path)"):
        read_question_set(path)


def test_rows_are_written_as_they_were_read(write, tmp_path):
    rows = {"0": {**ROW, "question": "猫头鹰吃什么？", "more": [1, {"x": None}]}, "1": {**ROW, "answer": "\ud800"}}
    (tmp_path / "again.json").write_bytes(question_file(rows))
    assert read_rows(str(tmp_path / "again.json"))[0] == rows


OWL = "The barn owl of Kells was bought in the spring of 1921 by Ada Byrne, who lived beside the mill."
BAT = "Nobody in the village knew that the bat had flown over from Castle Ward in a single stormy night."
FOX = "张飞大怒，手持丈八蛇矛，立马于《长坂桥》之上，大喝三声，曹军无人敢近，尽皆后退而去。"


def documents(**texts):
    found = tuple(OwnDocument(f"{name}.txt", text) for name, text in sorted(texts.items()))
    return DocumentSet(found, str(hash(tuple(texts.items()))), ())


def test_a_sentence_of_two_documents_is_not_asked_about():
    rows = gap_rows(documents(owl=f"{OWL} {BAT}", bat=f"{BAT}\n\nIt is told to this day, in many houses."), (), None)
    assert [row["answer_doc"] for row in rows.values()] == ["owl.txt"]
    assert rows["0"]["answer"] == "1921"
    # Headings are no part of a sentence.
    broken = f"Step 1: Look\n{BAT[:-1]}\nor on the\nday after it was seen in 1921."
    assert gap_rows(documents(owl=broken), (), None) == {}


def test_of_twins_the_first_is_asked_about_and_where_no_sentence_will_do_it_is_told(folder):
    given = {"preset": "own-documents", "documents": str(folder({"owl.txt": "Too short."}, "short"))}
    with pytest.raises(InputError, match=r"--documents: .*no sentence to make a question of"):
        grid(resolve_settings(given, {}, Path()))
    text = " ".join((OWL, BAT))
    found = read_documents(str(folder({"a.txt": text, "b.txt": text.upper(), "c.txt": FOX})))
    assert {row["answer_doc"] for row in gap_rows(found, twins(found.documents), None).values()} <= {"a.txt", "c.txt"}


@given(st.lists(st.sampled_from((OWL, BAT, FOX, "A note.")), min_size=1, max_size=8), st.integers(0, 3))
def test_the_answer_stands_in_the_sentence_of_its_document_and_not_in_the_question(texts, seed):
    found = documents(**{f"d{at}": f"{text} {at}" for at, text in enumerate(texts)})
    rows = gap_rows(found, (), None, seed=seed)
    assert rows == gap_rows(found, (), None, seed=seed)
    for row in rows.values():
        text = next(each.text for each in found.documents if each.name == row["answer_doc"])
        assert row["answer"] in text
        assert row["question"].count(GAP) == 2
        assert row["answer"] not in row["question"]
