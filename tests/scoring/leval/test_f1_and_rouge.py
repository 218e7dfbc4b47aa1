"""F1 and ROUGE, in English as published and in Chinese."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.scoring.leval import overlap
from needlework.scoring.leval.overlap import (
    F1,
    ROUGE,
    MissingPackageError,
    by_line,
    geometric_mean,
    of_itself,
    rouge,
)
from needlework.scoring.scores import Reference

_TEXT = st.text(st.sampled_from("abc ABC.,\n'é1"), max_size=60)


def test_rouge_lsum_takes_sentences_one_by_one():
    if by_line("") is None:
        pytest.skip("no Punkt model: pip install --no-deps llama-index-core==0.14.25")
    assert by_line("Mr. Smith went. He came back.") == "Mr. Smith went.\nHe came back."
    scores = rouge("He came back. She went.", "She went. He came back.")
    assert scores["rougeLsum"] == pytest.approx(1)
    assert scores["rougeL"] < 1


@given(_TEXT)
def test_a_text_beside_itself(text):
    told = rouge(text, text)
    own = of_itself(text)
    assert {name: pytest.approx(own[name]) for name in told} == told


def test_the_geometric_mean_is_the_cube_root_of_the_product():
    assert geometric_mean({"rouge1": 0.8, "rouge2": 0.1, "rougeL": 0.1}) == pytest.approx(0.2)


@pytest.mark.parametrize(("scorer", "package"), [(ROUGE, "rouge_score"), (F1, "jieba")])
def test_a_missing_package_is_named_with_its_remedy(scorer, package, monkeypatch):
    caches = (overlap.rouge, overlap._scorer, overlap._segmenter)
    for each in caches:
        each.cache_clear()
    for name in [package, *(name for name in sys.modules if name.startswith(f"{package}."))]:
        monkeypatch.setitem(sys.modules, name, None)
    try:
        with pytest.raises(MissingPackageError, match=r"pip install 'needlework\[leval\]'"):
            scorer.judge("上海 says so", Reference(("上海",)))
    finally:
        monkeypatch.undo()
        for each in caches:
            each.cache_clear()
