"""A folder of documents: what is read, in which order, and what is left out with its reason."""

import io
import json
import os
import re
import sys
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.errors import InputError
from needlework.haystack_fixtures.documents.readers import read_documents, read_file

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
    found = read_file(path, path.name)
    assert found.documents or found.left_out
    assert all(text.strip() and text.encode() for _, text in found.documents)
    assert all(reason for _, reason in found.left_out)


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


def test_documents_are_remembered_until_a_file_changes_and_hashed_by_names_and_texts(folder):
    root = folder({"a.txt": "One."})
    first = read_documents(str(root))
    assert read_documents(str(root)) is first
    assert read_documents(str(folder({"a.txt": "One."}, "y"))).sha256 == first.sha256
    assert read_documents(str(folder({"b.txt": "One."}, "z"))).sha256 != first.sha256
    (root / "a.txt").write_text("Another.")
    assert read_documents(str(root)).sha256 != first.sha256


def test_a_document_is_found_by_its_file_name_where_that_is_one(folder):
    found = read_documents(str(folder({"a/ odd\nname.txt": "1", "a/x.txt": "2", "b/x.txt": "3", "y.txt": "4"})))
    names = {"y.txt": "4", "a/x.txt": "2", "odd name.txt": "1", "x.txt": None, "absent.txt": None}
    assert {name: getattr(found.named(name), "text", None) for name in names} == names
