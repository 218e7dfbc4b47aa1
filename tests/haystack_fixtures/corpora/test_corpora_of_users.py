"""Corpora from the user's own files and folders, and from Hugging Face data sets without a network."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from needlework.core.errors import InputError
from needlework.haystack_fixtures.corpora.corpus_named import load_corpus
from needlework.haystack_fixtures.corpora.files import CDME_FILES, load_hub


def load(path, field="text", files=(), language="en"):
    return load_corpus(
        str(path), language=language, seed=0, min_chars=10**9, text_field=field, file_list=files, cache_dir=Path()
    )


def complaint(path, field="text", files=()):
    with pytest.raises(InputError) as caught:
        load(path, field, files)
    return str(caught.value)


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


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('["text"]', "it is no object"),
        (
            '{"title": "x", "text": null}',
            "no text in a field 'text': name one of its fields with --text-field (text, title)",
        ),
        ('{"text": "\\ud800"}', "half of a surrogate pair"),
        ('{"text": "\\u0000"}', "NUL"),
    ],
)
def test_a_bad_line_is_named_with_file_and_number(line, problem, tmp_path):
    (tmp_path / "a.jsonl").write_text(rows("fine") + "\n\n" + line)
    message = complaint(tmp_path)
    assert "a.jsonl:3" in message
    assert problem in message


def test_a_file_list_takes_files_in_its_own_order_and_names_every_absent_one(tmp_path):
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.txt").write_text(name)
    assert load(tmp_path, files=("c.txt", "a.txt", "c.txt")).documents == ("c", "a")
    assert complaint(tmp_path, files=("x.txt", "a.txt", "y.txt")).endswith("these files are absent: x.txt, y.txt")
    assert "needs a folder" in complaint(tmp_path / "a.txt", files=("a.txt",))
    (tmp_path / "a.pdf").write_text("x")
    assert "not a txt, md or jsonl file" in complaint(tmp_path / "a.pdf")


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


# The library reads its settings when it is imported, so it runs in a process of its own. One, for speed.
SCRIPT = """
import json, sys
from pathlib import Path
from types import SimpleNamespace
from needlework.haystack_fixtures.corpora.corpus_named import load_corpus
from needlework.core.errors import InputError
answers = []
for spec, field in json.loads(sys.argv[1]):
    try:
        corpus = load_corpus(spec, language="en", seed=0, min_chars=0, text_field=field, cache_dir=Path())
        answers.append([corpus.name, corpus.licence, corpus.source, *corpus.documents])
    except InputError as error:
        answers.append(str(error))
print(json.dumps(answers))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A data set as people keep them: a folder with one jsonl file for each split."""
    folder = tmp_path_factory.mktemp("hub") / "tales"
    folder.mkdir()
    train = [{"text": text, "n": n} for n, text in enumerate(("Once\r\nupon a time", "", None, "The end"))]
    (folder / "train.jsonl").write_text("\n".join(map(json.dumps, train)))
    (folder / "test.jsonl").write_text(json.dumps({"text": "Another", "n": 5}))
    return folder


@pytest.fixture(scope="module")
def answers(folder):
    asked = [
        (f"hf:{folder}", "text"),
        (f"hf:{folder}:test", "text"),
        (f"hf:{folder}:train[:25%]", "text"),
        (f"hf:{folder}:train[1:3]", "text"),
        (f"hf:{folder}", "body"),
        (f"hf:{folder}", "n"),
        (f"hf:{folder}:absent", "text"),
        ("hf:nobody/nothing", "text"),
        ("hf:", "text"),
    ]
    settings = {"HF_HOME": str(folder.parent / "cache"), "HF_DATASETS_OFFLINE": "1", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(asked)],
        env=os.environ | settings,
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(zip(asked, json.loads(done.stdout.splitlines()[-1]), strict=True))


def test_a_local_folder_gives_its_train_split_without_the_empty_rows_or_the_split_that_is_named(folder, answers):
    name, licence, source, *documents = answers[f"hf:{folder}", "text"]
    assert (name, licence) == ("tales", "not stated")
    assert source.endswith("tales, split train")
    assert documents == ["Once\nupon a time", "The end"]
    assert answers[f"hf:{folder}:test", "text"][3:] == ["Another"]
    assert answers[f"hf:{folder}:train[:25%]", "text"][3:] == ["Once\nupon a time"]


@pytest.mark.parametrize(
    ("spec", "field", "problem"),
    [
        ("hf:{folder}", "body", "no column 'body': name one of its columns (text, n)"),
        ("hf:{folder}", "n", "column 'n', row 0 is no text"),
        ("hf:{folder}:train[1:3]", "text", "holds no text"),
        ("hf:{folder}:absent", "text", 'Unknown split "absent"'),
        ("hf:nobody/nothing", "text", "check the id, the split and the network"),
        ("hf:", "text", "name a data set or a folder: hf:ID_OR_PATH[:split]"),
    ],
)
def test_what_cannot_be_loaded_is_told_in_one_line(spec, field, problem, folder, answers):
    line = answers[spec.format(folder=folder), field]
    assert problem in line


def test_without_the_library_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(InputError, match=r"pip install 'needlework\[hub\]'"):
        load_hub("any/thing", language="en", text_field="text")
