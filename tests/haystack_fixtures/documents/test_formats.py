"""Kinds of files: pages, rows, PDF, office files, books, mails."""

from __future__ import annotations

import io
import json
import os
import sys
import time
import zipfile
from collections.abc import Callable
from email.message import EmailMessage
from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.errors import InputError
from needlework.haystack_fixtures.documents.readers import read_documents, read_file
from needlework.haystack_fixtures.documents.text_files import html_text

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


def _written(save: Callable[[io.BytesIO], object]) -> bytes:
    data = io.BytesIO()
    save(data)
    return data.getvalue()


def test_slides_are_read_with_tables_groups_and_notes(folder: Folder) -> None:
    pptx = pytest.importorskip("pptx")
    made = pptx.Presentation()
    slide = made.slides.add_slide(made.slide_layouts[5])
    slide.shapes.title.text = "Owls"
    inches = pptx.util.Inches
    group = slide.shapes.add_group_shape()
    group.shapes.add_textbox(inches(1), inches(1), inches(1), inches(1)).text_frame.text = "They fly by night."
    table = slide.shapes.add_table(1, 2, inches(1), inches(1), inches(1), inches(1)).table
    table.cell(0, 0).text, table.cell(0, 1).text = "barn", "eagle"
    slide.notes_slide.notes_text_frame.text = "Say hello."
    made.slides.add_slide(made.slide_layouts[5]).shapes.title.text = "The end"

    root = folder({"a.pptx": _written(made.save), "b.pptx": b"PK no slides"})

    assert texts(root) == {"a.pptx": "Owls\nThey fly by night.\nbarn | eagle\nSay hello.\n\nThe end"}
    assert dict(read_documents(str(root)).left_out)["b.pptx"].startswith("cannot be read as a PowerPoint file (")


def test_sheets_are_read_row_by_row(folder: Folder) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.title = "Birds"
    for row in (("owl", 3, None), (None, None, None), ("hawk", None, 1.5)):
        book.active.append(row)
    book.create_sheet("Empty")
    book.create_sheet("Notes")["B3"] = "猫头鹰"

    assert texts(folder({"a.xlsx": _written(book.save)})) == {
        "a.xlsx": "Birds\nowl | 3\nhawk |  | 1.5\n\nNotes\n | 猫头鹰"
    }


def test_rich_text_is_read_without_its_layout(folder: Folder) -> None:
    pytest.importorskip("striprtf")
    rich = rb"{\rtf1\ansi\ansicpg1252{\fonttbl\f0 Arial;}\b Owls\b0\par see caf\'e9 and \u29483?.}"

    assert texts(folder({"a.rtf": rich})) == {"a.rtf": "Owls\nsee café and 猫."}
    assert dict(read_documents(str(folder({"b.rtf": b"plain"}))).left_out)["b.rtf"] == "it is no RTF"


def test_a_mail_is_read_with_its_head_and_without_attachments(folder: Folder) -> None:
    mail = EmailMessage()
    mail["From"], mail["Subject"] = "Ada <ada@example.org>", "Eulen – owls"
    mail.set_content("They fly by night.\n")
    mail.add_alternative("<p>Page.</p>", subtype="html")
    mail.add_attachment(b"\0\1", maintype="application", subtype="zip", filename="a.zip")
    page = EmailMessage()
    page.set_content("<p>Only a <b>page</b>.</p>", subtype="html")

    root = folder({"a.eml": bytes(mail), "b.eml": bytes(page), "c.eml": b"\n\n"})

    assert texts(root) == {
        "a.eml": "From: Ada <ada@example.org>\nSubject: Eulen – owls\n\nThey fly by night.",
        "b.eml": "Only a page.",
    }


def _book(pages: dict[str, str], locked: str = "") -> bytes:
    """An EPUB: its pages are read from the last to the first."""
    made = io.BytesIO()
    container = '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    container += '<rootfile full-path="text/book.opf"/></rootfiles></container>'
    items = "".join(f'<item id="i{at}" href="{name}"/>' for at, name in enumerate(pages))
    order = "".join(f'<itemref idref="i{at}"/>' for at in reversed(range(len(pages))))
    package = (
        f'<package xmlns="http://www.idpf.org/2007/opf"><manifest>{items}</manifest><spine>{order}</spine></package>'
    )
    with zipfile.ZipFile(made, "w") as file:
        file.writestr("mimetype", "application/epub+zip")
        file.writestr("META-INF/container.xml", container)
        file.writestr("text/book.opf", package)
        if locked:
            file.writestr("META-INF/encryption.xml", f'<encryption><CipherReference URI="{locked}"/></encryption>')
        for name, page in pages.items():
            file.writestr(f"text/{unquote(name)}", page)
    return made.getvalue()


def test_the_chapters_of_a_book_are_read_in_their_order(folder: Folder) -> None:
    pages = {"two.xhtml": "<p>They fly.</p>", "ch%20one.xhtml": "<h1>Owls</h1><p>See well.</p>"}
    locked = _book(pages, locked="text/two.xhtml")

    root = folder({"a.epub": _book(pages), "locked.epub": locked, "none.epub": b"PK"})

    assert texts(root) == {"a.epub": "Owls\n\nSee well.\n\nThey fly."}
    reasons = dict(read_documents(str(root)).left_out)
    assert reasons["locked.epub"] == "it is encrypted: store it without protection"
    assert reasons["none.epub"].startswith("cannot be read as a book (")


PACKAGES = {
    "a.pdf": ("pypdf", "pypdf"),
    "a.docx": ("docx", "python-docx"),
    "a.pptx": ("pptx", "python-pptx"),
    "a.xlsx": ("openpyxl", "openpyxl"),
    "a.rtf": ("striprtf", "striprtf"),
}


def test_files_whose_package_is_missing_are_named_in_one_line_and_the_rest_is_used(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, _ in PACKAGES.values():
        monkeypatch.setitem(sys.modules, module, None)

    found = read_documents(str(folder({**dict.fromkeys(PACKAGES, b"x"), "b.txt": "Text."})))

    assert [each.name for each in found.documents] == ["b.txt"]
    assert dict(found.left_out) == {
        name: f"needs {package}: pip install 'needlework[documents]'" for name, (_, package) in PACKAGES.items()
    }
    assert found.missing == (
        "5 files are left out for want of openpyxl, pypdf, python-docx, python-pptx, striprtf"
        " (a.docx, a.pdf, a.pptx and 2 more): pip install 'needlework[documents]'"
    )
    with pytest.raises(InputError, match=r"a.pdf: needs pypdf: pip install 'needlework\[documents\]'"):
        read_documents(str(folder({"a.pdf": b"x"}, "alone")))


def test_old_kinds_of_files_say_what_to_save_them_as_and_come_first(folder: Folder) -> None:
    root = folder({".git": "x", "a.doc": b"x", "b.png": b"x", "c.txt": "Text.", "blank.txt": ""})
    assert read_documents(str(root)).left_out == (
        ("a.doc", ".doc is not a kind that is read: save it as .docx"),
        ("blank.txt", "it is blank"),
        ("b.png", ".png is not a kind that is read"),
        (".git", "hidden"),
    )


@given(
    st.sampled_from(
        [".txt", ".html", ".json", ".jsonl", ".pdf", ".docx", ".pptx", ".xlsx", ".rtf", ".epub", ".eml", ".csv", ""]
    ),
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


def test_small_packed_files_of_endless_text_are_left_out(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    monkeypatch.setattr("needlework.haystack_fixtures.documents.readers.LARGEST_TEXT", 2**20)
    book = openpyxl.Workbook()
    for _ in range(50):
        book.active.append(["x" * 32_000])
    pages = {f"{number}.part": f"<p>{'x' * 2**18}</p>" for number in range(5)}
    root = folder({"a.txt": "a", "long.xlsx": _written(book.save), "big.epub": _book(pages)})
    assert dict(read_documents(str(root)).left_out) == {
        "big.epub": "it unpacks to more than 1 MiB: store it as text",
        "long.xlsx": "its text has more than 1,048,576 characters: split it",
    }


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
