"""Without the package that carries a language's default text, generated text stands in, and is said to."""

from pathlib import Path

import pytest

from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.corpora import corpus_named
from needlework.haystack_fixtures.corpora.corpus_named import stand_ins, with_text_at_hand
from needlework.results.records.manifest import recipe_of


@pytest.fixture
def without_essays(monkeypatch):
    monkeypatch.setattr(corpus_named, "missing_package", lambda name: "pip install it" if name == "essays" else None)


def settings(**options):
    return resolve_settings(options, {}, Path())


def test_a_text_that_is_installed_stays_as_it_was_asked_for(monkeypatch):
    monkeypatch.setattr(corpus_named, "missing_package", lambda name: None)
    asked = settings(language="en,zh")

    assert with_text_at_hand(asked) == asked
    assert stand_ins(asked) == []


@pytest.mark.usefixtures("without_essays")
def test_each_missing_text_is_told_once_and_is_another_recipe():
    asked = settings(language="en,zh")

    found = with_text_at_hand(asked)

    assert {(suite.language, suite.corpus) for suite in found.suites} == {("en", "generated"), ("zh", "default")}
    assert recipe_of(found) != recipe_of(asked)
    assert stand_ins(asked) == [
        "corpus default (en): essays is not installed, so the text is generated; for the usual text: pip install it"
    ]


@pytest.mark.usefixtures("without_essays")
@pytest.mark.parametrize("corpus", ["essays", "noise", "generated"])
def test_a_text_that_is_asked_for_by_name_is_never_replaced(corpus):
    asked = settings(corpus=corpus)

    assert with_text_at_hand(asked) == asked
    assert stand_ins(asked) == []
