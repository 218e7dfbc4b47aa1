"""Corpora from the user's own files and folders."""

import json
from pathlib import Path

import pytest

from needlework.core.errors import InputError
from needlework.haystack_fixtures.corpora.corpus_named import load_corpus
from needlework.haystack_fixtures.corpora.files import CDME_FILES


def load(path, field="text", files=(), language="en"):
    return load_corpus(
        str(path), language=language, seed=0, min_chars=10**9, text_field=field, file_list=files, cache_dir=Path()
    )


def complaint(path, field="text", files=()):
    with pytest.raises(InputError) as caught:
        load(path, field, files)
    line = str(caught.value)
    assert "\n" not in line
    return line


def rows(*texts):
    return "\n".join(json.dumps({"text": text}) for text in texts)


def test_a_folder_is_read_recursively_in_order_of_relative_paths(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "one.TXT").write_text("two")
    (tmp_path / "a.md").write_text("one")
    (tmp_path / "c.jsonl").write_text(rows("three", "four") + "\n\n")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\0")
    (tmp_path / ".hidden.txt").write_text("not this")
    corpus = load(tmp_path, language="de")
    assert corpus.documents == ("one", "two", "three", "four")
    assert (corpus.name, corpus.language, corpus.chars) == (tmp_path.name, "de", 15)


def test_empty_files_are_skipped_and_an_empty_corpus_is_refused(tmp_path):
    assert "holds no text: it needs txt, md or jsonl files" in complaint(tmp_path)
    (tmp_path / "a.txt").write_text(" \n")
    assert "holds no text" in complaint(tmp_path)
    (tmp_path / "b.txt").write_text("text")
    assert load(tmp_path).documents == ("text",)


@pytest.mark.parametrize(("text", "encoding"), [("三国", "gb18030"), ("Über", "latin1")])
def test_a_file_that_is_not_utf8_is_named(tmp_path, text, encoding):
    (tmp_path / "old.txt").write_bytes(text.encode(encoding))
    line = complaint(tmp_path)
    assert "old.txt" in line
    assert "byte 0 is not UTF-8" in line
    assert f"-f {encoding}" in line


def test_other_kinds_of_files_are_refused_by_name(tmp_path):
    (tmp_path / "a.pdf").write_text("x")
    assert "not a txt, md or jsonl file" in complaint(tmp_path / "a.pdf")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('["text"]', "not a JSON object but list"),
        ('{"title": "x", "body": "y"}', "no field 'text': name one of its fields with --text-field (body, title)"),
        ("{}", "no field 'text': name one of its fields with --text-field (none)"),
        ('{"text": null}', "field 'text' is NoneType, not text"),
        ('{"text": "\\ud800"}', "half of a surrogate pair"),
        ('{"text": "\\u0000"}', "NUL"),
    ],
)
def test_a_bad_line_is_named_with_file_and_number(line, problem, tmp_path):
    (tmp_path / "a.jsonl").write_text(rows("fine") + "\n\n" + line)
    message = complaint(tmp_path)
    assert "a.jsonl:3" in message
    assert problem in message


def test_a_file_list_takes_files_in_its_own_order(tmp_path):
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.txt").write_text(name)
    assert load(tmp_path, files=("c.txt", "a.txt", "c.txt")).documents == ("c", "a")


def test_every_absent_file_of_a_file_list_is_named(tmp_path):
    (tmp_path / "a.txt").write_text("a")
    assert complaint(tmp_path, files=("x.txt", "a.txt", "y.txt")).endswith("these files are absent: x.txt, y.txt")
    assert "needs a folder" in complaint(tmp_path / "a.txt", files=("a.txt",))


def test_cdme_wants_every_domain_file_and_names_the_absent_ones(tmp_path):
    for name in CDME_FILES[:4]:
        (tmp_path / name).write_text(rows(name))
    assert complaint(f"cdme:{tmp_path}").endswith("these files are absent: zh_movie.jsonl, zh_tech.jsonl")
    for name in CDME_FILES:
        (tmp_path / name).write_text(rows(name))
    (tmp_path / "zh_all.jsonl").write_text(rows("not a domain"))
    corpus = load(f"cdme:{tmp_path}", language="zh")
    assert corpus.documents == CDME_FILES
    assert load(f"cdme:{tmp_path}", files=("zh_game.jsonl",)).documents == ("zh_game.jsonl",)
    assert "no such folder" in complaint(f"cdme:{tmp_path}/absent")
    assert "no such folder" in complaint(f"cdme:{'x' * 5000}")
    assert "name the folder" in complaint("cdme:")
