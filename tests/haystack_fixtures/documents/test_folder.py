"""A folder of documents: what is read, in which order, and what is left out with its reason."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from needlework.core.errors import InputError
from needlework.haystack_fixtures.documents.readers import read_documents

Folder = Callable[..., Path]


def texts(folder: Path) -> dict[str, str]:
    return {each.name: each.text for each in read_documents(str(folder)).documents}


def left_out(folder: Path) -> dict[str, str]:
    return dict(read_documents(str(folder)).left_out)


def test_all_below_a_folder_is_read_sorted_by_name(folder: Folder) -> None:
    root = folder({"b.txt": "Bees.", "a/z.md": "# Zebras\n", "a/b/c.txt": "Cats.", "A.txt": "Apes."})

    found = read_documents(str(root))

    assert [each.name for each in found.documents] == ["A.txt", "a/b/c.txt", "a/z.md", "b.txt"]
    assert found.documents[2].text == "# Zebras"
    assert found.left_out == ()


def test_odd_names_stay_as_they_are(folder: Folder) -> None:
    names = [" leading.txt", "two\nlines.txt", "中文 文档.txt", "a'b\"c.txt", "ends. .txt"]
    assert set(texts(folder(dict.fromkeys(names, "text")))) == set(names)


def test_a_file_that_is_one_json_string_is_the_text_of_it(folder: Folder) -> None:
    inside = 'Title: "One"\n\nTwo — 三'
    root = folder({"a.txt": json.dumps(inside), "b.json": json.dumps(inside), "c": json.dumps(inside)})

    assert texts(root) == {"a.txt": inside, "b.json": inside, "c": inside}


@pytest.mark.parametrize("text", ['"Yes," he said, "of course."', '"not closed', '"', '["a", "b"]', '"line\nbreak"'])
def test_a_text_that_only_looks_like_json_is_a_text(folder: Folder, text: str) -> None:
    assert texts(folder({"a.txt": text})) == {"a.txt": text}


def test_whatever_is_no_document_is_listed_with_a_reason(folder: Folder) -> None:
    root = folder(
        {
            "good.txt": "Good.",
            "blank.txt": " \n\t\n",
            "binary.txt": b"PK\0\x01",
            "latin.txt": "Caf\xe9".encode("latin-1"),
            "image.png": b"\x89PNG",
            "noending": "text",
            "table.json": '{"text": "a"}',
            "empty.jsonl": "\n",
            "nul.json": '"a\\u0000b"',
            "half.json": '"\\ud800"',
            ".hidden.txt": "secret",
            ".git/config": "secret",
        }
    )

    assert texts(root) == {"good.txt": "Good."}
    assert left_out(root) == {
        "blank.txt": "it is blank",
        "binary.txt": "it is binary, not text",
        "latin.txt": "it is not UTF-8 text: save it as UTF-8",
        "image.png": ".png is not a kind that is read",
        "noending": "a name without an ending is not a kind that is read",
        "table.json": "JSON, but not one string: write one document a row as .jsonl",
        "empty.jsonl": "it is blank",
        "nul.json": "it holds NUL characters, which no model can be sent",
        "half.json": "it holds half of a surrogate pair: write the text in UTF-8 again",
        ".hidden.txt": "hidden",
        ".git": "hidden",
    }


def test_links_are_not_followed_out_of_the_folder_or_round_in_it(folder: Folder) -> None:
    outside = folder({"secret.txt": "Secret."}, "outside")
    root = folder({"a.txt": "Text."})
    (root / "loop").symlink_to(root)
    (root / "away").symlink_to(outside)
    (root / "secret.txt").symlink_to(outside / "secret.txt")
    (root / "again.txt").symlink_to(root / "a.txt")

    assert texts(root) == {"a.txt": "Text."}
    assert set(left_out(root)) == {"loop", "away", "secret.txt", "again.txt"}


def test_what_may_not_be_read_is_left_out(folder: Folder) -> None:
    root = folder({"a.txt": "Text.", "b.txt": "Locked.", "c/d.txt": "Locked too."})
    (root / "b.txt").chmod(0)
    (root / "c").chmod(0)
    try:
        if os.access(root / "b.txt", os.R_OK):
            pytest.skip("this user may read everything")
        assert left_out(root) == {
            "b.txt": "cannot be read (Permission denied)",
            "c/": "cannot be read (Permission denied)",
        }
    finally:
        (root / "c").chmod(0o700)


def test_a_pipe_is_not_waited_for(folder: Folder) -> None:
    root = folder({"a.txt": "Text."})
    os.mkfifo(root / "pipe.txt")

    assert left_out(root) == {"pipe.txt": "not a plain file"}


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "has no document (it is empty)"),
        ({"a.txt": " ", "b.png": b"x"}, "a.txt: it is blank; b.png: .png is not a kind"),
        ({f"{at}.txt": "" for at in range(9)}, "; and 6 more"),
    ],
)
def test_a_folder_without_a_document_is_one_clear_error(
    folder: Folder, files: dict[str, str | bytes], said: str
) -> None:
    with pytest.raises(InputError) as caught:
        read_documents(str(folder(files)))

    assert str(caught.value).startswith("--documents: ")
    assert said in str(caught.value)


@pytest.mark.parametrize("name", ["absent", "a\0b", "a.txt", "~nobody-of-this-name"])
def test_what_is_no_folder_is_refused(folder: Folder, name: str) -> None:
    root = folder({"a.txt": "Text."})
    with pytest.raises(InputError, match="DIR: "):
        read_documents(name if name.startswith("~") else f"{root}/{name}", "DIR")


def test_documents_are_remembered_until_a_file_changes(folder: Folder) -> None:
    root = folder({"a.txt": "One."})
    first = read_documents(str(root))
    assert read_documents(str(root)) is first

    (root / "a.txt").write_text("Another.")

    assert read_documents(str(root)).documents[0].text == "Another."
    assert read_documents(str(root)).sha256 != first.sha256


def test_the_hash_is_of_names_and_texts(folder: Folder) -> None:
    same = [read_documents(str(folder({"a.txt": "One."}, name))).sha256 for name in ("x", "y")]
    assert same[0] == same[1]
    assert read_documents(str(folder({"b.txt": "One."}, "z"))).sha256 != same[0]


def test_a_document_is_found_by_its_file_name_where_that_is_one(folder: Folder) -> None:
    found = read_documents(str(folder({"a/ odd\nname.txt": "1", "a/x.txt": "2", "b/x.txt": "3", "y.txt": "4"})))

    assert [each.name for each in map(found.named, ["y.txt", "a/x.txt"]) if each] == ["y.txt", "a/x.txt"]
    odd = found.named("odd name.txt")
    assert odd is not None
    assert odd.text == "1"
    assert found.named("x.txt") is None
    assert found.named("absent.txt") is None
