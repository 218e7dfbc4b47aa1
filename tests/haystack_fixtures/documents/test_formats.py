"""Kinds of files: pages, rows, PDF, Word."""

from __future__ import annotations

import io
import json
import os
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.haystack_fixtures.documents.folder import read_documents
from needlework.haystack_fixtures.documents.formats import read_file
from needlework.haystack_fixtures.documents.html_text import html_text
from needlework.haystack_fixtures.errors import InputError

Folder = Callable[..., Path]
PAGE = """<!doctype html><html><head><title>Tab</title><style>p {color: red}</style></head>
<body><script>var x = "<p>no</p>";</script><h1>Owls</h1><p>They  see
well &amp; <b>fly</b> by night.</p><ul><li>barn owl<li>eagle owl</ul>
<table><tr><td>A</td><td>B</td></tr></table><pre>x = 1
  y = 2</pre><!-- hidden --></body></html>"""


def texts(folder: Path) -> dict[str, str]:
    return {each.name: each.text for each in read_documents(str(folder)).documents}


def test_a_page_is_the_text_that_people_see() -> None:
    assert html_text(PAGE) == ("Owls\n\nThey see well & fly by night.\n\nbarn owl\neagle owl\n\nA B\n\nx = 1\n  y = 2")


def test_a_page_without_ends_of_tags_is_read_as_far_as_it_goes() -> None:
    assert html_text("<noscript>Turn it on<body><p>One<p>Two <i>three") == "One\n\nTwo three"


@given(st.text())
def test_no_text_breaks_the_reader_of_pages(text: str) -> None:
    assert "<script" not in html_text(f"<p>{text}</p>".replace("<script", ""))


@pytest.mark.parametrize(
    "piece", ["<", "<!--", "<![CDATA[", "<a b='", '<a =" ', "<?", "</", "<script", "<style>", "<svg>"]
)
@pytest.mark.parametrize("end", ["", ">", '">'])
def test_a_page_that_is_made_to_take_long_is_read_at_once(piece: str, end: str) -> None:
    begun = time.monotonic()
    html_text(piece * 20_000 + end)
    assert time.monotonic() - begun < 5  # the parser of the standard library takes minutes


def test_markup_that_is_none_is_passed_over() -> None:
    assert html_text("<p>a < b<![foo[ c]><p it's>d</p>e</ f>g<!-->h<a href='x>y'>i") == "a < b\n\nd\n\neghi"
    assert html_text("<script>if (a<b) '<!--'</scripts>x</SCRIPT >seen<style>p") == "seen"


def test_a_page_says_its_encoding(folder: Folder) -> None:
    page = '<meta charset="gbk"><p>猫头鹰</p>'
    assert texts(folder({"a.html": page.encode("gbk"), "b.htm": "\ufeff<p>é</p>"})) == {
        "a.html": "猫头鹰",
        "b.htm": "é",
    }


def test_text_of_windows_is_read(folder: Folder) -> None:
    root = folder({"a.txt": "\ufeffone\r\ntwo".encode(), "b.txt": "drei\r\n".encode("utf-16")})
    assert texts(root) == {"a.txt": "one\ntwo", "b.txt": "drei"}


def test_each_row_is_a_document_named_by_its_id_where_ids_differ(folder: Folder) -> None:
    rows = [{"id": 7, "title": "x", "text": "One."}, {"id": "b", "input": "Two."}, {"id": "c", "content": "Three."}]
    root = folder(
        {
            "ids.jsonl": "\n".join(map(json.dumps, rows)),
            "lines.jsonl": '{"id": 1, "document": "a"}\n\n{"id": 1, "text": "b\u2028c"}\n"d"\n',
            "titles.jsonl": '{"id": null, "title": "T/1", "text": "a"}',
        }
    )

    assert texts(root) == {
        "ids.jsonl#7": "One.",
        "ids.jsonl#b": "Two.",
        "ids.jsonl#c": "Three.",
        "lines.jsonl#1": "a",
        "lines.jsonl#3": "b\u2028c",
        "lines.jsonl#4": "d",
        "titles.jsonl#T/1": "a",
    }


def test_a_row_whose_id_is_no_text_is_named_by_its_line(folder: Folder) -> None:
    root = folder({"a.jsonl": '{"id": "\\ud800", "text": "One."}\n{"id": "b", "text": "Two."}'})
    assert texts(root) == {"a.jsonl#1": "One.", "a.jsonl#2": "Two."}


def test_rows_that_are_no_documents_say_why(folder: Folder) -> None:
    root = folder({"a.jsonl": '{"text": "One."}\n{"text": 5}\n{"text": " "}\nnot json\n{"other": "x"}'})

    found = read_documents(str(root))

    assert [each.name for each in found.documents] == ["a.jsonl#1"]
    assert [name for name, _ in found.left_out] == ["a.jsonl#2", "a.jsonl#3", "a.jsonl#4", "a.jsonl#5"]
    assert found.left_out[0][1] == "no text in a field text, input, content or document"
    assert found.left_out[2][1].startswith("is not JSON (")


def _pdf(text: str) -> bytes:
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
    data, places = b"%PDF-1.4\n", []
    for number, part in enumerate(parts, 1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, part)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"xref\n0 7\n0000000000 65535 f \n%strailer << /Size 7 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF"
    return data + end % (table, len(data))


def test_the_text_of_a_pdf_is_read(folder: Folder) -> None:
    pytest.importorskip("pypdf")
    root = folder({"a.pdf": _pdf("The owl sleeps by day."), "scan.pdf": _pdf(""), "broken.pdf": b"%PDF-1.4 nothing"})

    found = read_documents(str(root))

    assert [(each.name, each.text) for each in found.documents] == [("a.pdf", "The owl sleeps by day.")]
    reasons = dict(found.left_out)
    assert reasons["scan.pdf"] == "it has no text (scanned pages?): run text recognition on it"
    assert reasons["broken.pdf"].startswith("cannot be read as a PDF (")


def test_an_encrypted_pdf_says_so(folder: Folder) -> None:
    pypdf = pytest.importorskip("pypdf")
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(_pdf("Secret.")))
    writer.encrypt("password", algorithm="RC4-128")
    locked = io.BytesIO()
    writer.write(locked)
    root = folder({"a.txt": "Text.", "b.pdf": locked.getvalue()})

    assert dict(read_documents(str(root)).left_out) == {"b.pdf": "it is encrypted: store it without a password"}


def test_the_text_and_tables_of_a_word_file_are_read_in_their_order(folder: Folder) -> None:
    docx = pytest.importorskip("docx")
    document = docx.Document()
    document.add_heading("Owls")
    table = document.add_table(rows=1, cols=2)
    table.rows[0].cells[0].text, table.rows[0].cells[1].text = "barn", "eagle"
    document.add_paragraph("They fly by night.")
    data = io.BytesIO()
    document.save(data)

    root = folder({"a.docx": data.getvalue(), "b.docx": b"PK not a zip"})

    assert texts(root) == {"a.docx": "Owls\nbarn | eagle\nThey fly by night."}
    assert dict(read_documents(str(root)).left_out)["b.docx"].startswith("cannot be read as a Word file (")


@pytest.mark.parametrize(("name", "package"), [("a.pdf", "pypdf"), ("a.docx", "docx")])
def test_a_missing_package_is_named_with_the_extra(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, name: str, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError, match=rf"{name} needs .*{package}: pip install 'needlework\[documents\]'"):
        read_documents(str(folder({name: b"x", "b.txt": "Text."})))


@given(
    st.sampled_from([".txt", ".html", ".json", ".jsonl", ".pdf", ".docx", ""]),
    st.binary(max_size=60) | st.text(max_size=60).map(lambda text: json.dumps(text).encode()),
)
def test_any_bytes_are_documents_or_left_out_with_a_reason(
    tmp_path_factory: pytest.TempPathFactory, ending: str, data: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / f"any{ending}"
    path.write_bytes(data)

    found = read_file(path, path.name)

    assert found.documents or found.left_out
    assert all(text.strip() and text.encode() for _, text in found.documents)
    assert all(reason for _, reason in found.left_out)


def packed(name: str, parts: list[bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as file, file.open(name, "w", force_zip64=True) as part:
        for each in parts:
            part.write(each)
    return made.getvalue()


def test_a_word_file_of_gigabytes_is_not_unpacked(folder: Folder) -> None:
    pytest.importorskip("docx")
    root = folder({"bomb.docx": packed("word/document.xml", [bytes(2**20)] * 300), "a.txt": "a"})
    assert read_documents(str(root)).left_out == (("bomb.docx", "it unpacks to more than 256 MiB: store it as text"),)


def test_a_word_table_of_millions_of_columns_is_left_out(folder: Folder) -> None:
    docx = pytest.importorskip("docx")
    document = docx.Document()
    document.add_table(1, 1).cell(0, 0)._tc.grid_span = 100_000_000
    made = io.BytesIO()
    document.save(made)
    root = folder({"wide.docx": made.getvalue(), "a.txt": "a"})
    assert read_documents(str(root)).left_out == (("wide.docx", "a table of it has more than 1,000 columns"),)


def test_a_file_larger_than_memory_is_not_read(folder: Folder) -> None:
    root = folder({"a.txt": "a", "huge.txt": "b"})
    os.truncate(root / "huge.txt", 2**40)
    assert read_documents(str(root)).left_out == (("huge.txt", "it is larger than 1,024 MiB: split it"),)
