"""Corpora from Hugging Face data sets, through the real library, without a network."""

import json
import os
import subprocess
import sys

import pytest

from needlework.core.errors import InputError
from needlework.haystack_fixtures.corpora.files import load_hub

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
    train = [
        {"text": "Once\r\nupon a time", "n": 1},
        {"text": "", "n": 2},
        {"text": None, "n": 3},
        {"text": "The end", "n": 4},
    ]
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


def test_a_local_folder_gives_its_train_split_without_the_empty_rows(folder, answers):
    name, licence, source, *documents = answers[f"hf:{folder}", "text"]
    assert (name, licence) == ("tales", "not stated")
    assert source.endswith("tales, split train")
    assert documents == ["Once\nupon a time", "The end"]


@pytest.mark.parametrize(("split", "documents"), [("test", ["Another"]), ("train[:25%]", ["Once\nupon a time"])])
def test_a_split_may_be_named(split, documents, folder, answers):
    assert answers[f"hf:{folder}:{split}", "text"][3:] == documents


@pytest.mark.parametrize(
    ("spec", "field", "problem"),
    [
        ("hf:{folder}", "body", "no column 'body': name one of its columns (text, n)"),
        ("hf:{folder}", "n", "column 'n', row 0 is int, not text"),
        ("hf:{folder}:train[1:3]", "text", "holds no text"),
        ("hf:{folder}:absent", "text", 'Unknown split "absent"'),
        ("hf:nobody/nothing", "text", "check the id, the split and the network"),
        ("hf:", "text", "name a data set or a folder: hf:ID_OR_PATH[:split]"),
    ],
)
def test_what_cannot_be_loaded_is_told_in_one_line(spec, field, problem, folder, answers):
    line = answers[spec.format(folder=folder), field]
    assert problem in line
    assert "\n" not in line


def test_without_the_library_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(InputError, match=r"pip install 'needlework\[hub\]'"):
        load_hub("any/thing", language="en", text_field="text")
