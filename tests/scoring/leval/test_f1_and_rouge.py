"""F1 and ROUGE, in English as published and in Chinese."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.scoring.leval import overlap as rouge_module
from needlework.scoring.leval import overlap as words_module
from needlework.scoring.leval.overlap import (
    F1,
    F1_COMPAT,
    ROUGE,
    ROUGE_COMPAT,
    MissingPackageError,
    by_line,
    geometric_mean,
    of_itself,
    rouge,
)
from needlework.scoring.scores import Reference

_TEXT = st.text(st.sampled_from("abc ABC.,\n'é1"), max_size=60)


@pytest.mark.parametrize(
    ("answer", "gold", "value"),
    [
        ("The cat sat.", "a cat sat", 1.0),
        ("cat", "cat sat", 2 / 3),
        ("cat cat cat", "cat", 0.5),
        ("well-known", "well known", 0.0),
        ("", "cat", 0.0),
        ("the", "a", 0.0),
    ],
)
def test_f1(answer: str, gold: str, value: float) -> None:
    for scorer in (F1, F1_COMPAT):
        assert scorer.judge(answer, Reference((gold,))).value == pytest.approx(value)


def test_the_best_of_several_references_counts() -> None:
    assert F1.judge("cat", Reference(("dog", "cat"))) == 1


@pytest.mark.parametrize(
    ("answer", "gold", "expected"),
    [
        ("the cat sat", "the cat sat", (1.0, 1.0, 1.0)),
        ("sat cat the", "the cat sat", (1.0, 0.0, 1 / 3)),
        ("the cat", "the cat sat", (0.8, 2 / 3, 0.8)),
        ("running", "runs", (0.0, 0.0, 0.0)),  # no stemming
        ("", "the cat", (0.0, 0.0, 0.0)),
    ],
)
def test_rouge(answer: str, gold: str, expected: tuple[float, float, float]) -> None:
    for scorer in (ROUGE, ROUGE_COMPAT):
        score = scorer.judge(answer, Reference((gold,)))
        assert tuple(score.details[name] for name in ("rouge1", "rouge2", "rougeL")) == pytest.approx(expected)
        assert score.value == pytest.approx(expected[2])


def test_rouge_lsum_takes_sentences_one_by_one() -> None:
    if by_line("") is None:
        pytest.skip("no Punkt model: pip install --no-deps llama-index-core==0.14.25")
    assert by_line("Mr. Smith went. He came back.") == "Mr. Smith went.\nHe came back."
    scores = rouge("He came back. She went.", "She went. He came back.")
    assert scores["rougeLsum"] == pytest.approx(1)
    assert scores["rougeL"] < 1


@given(_TEXT)
def test_a_text_beside_itself(text: str) -> None:
    told = rouge(text, text)
    own = of_itself(text)
    assert {name: pytest.approx(own[name]) for name in told} == told


def test_the_geometric_mean_is_the_cube_root_of_the_product() -> None:
    assert geometric_mean({"rouge1": 0.8, "rouge2": 0.1, "rougeL": 0.1}) == pytest.approx(0.2)


def test_chinese_is_cut_into_words_by_the_strict_rule_only() -> None:
    answer, reference = "公司的总部在上海。", Reference(("总部位于上海",), language="zh")
    assert 0.3 < F1.judge(answer, reference).value < 1
    assert 0.3 < ROUGE.judge(answer, reference).value < 1
    assert F1_COMPAT.judge(answer, reference) == 0
    assert ROUGE_COMPAT.judge(answer, reference) == 0


def test_chinese_punctuation_is_no_word() -> None:
    assert F1.judge("上海，北京。", Reference(("北京、上海",))) == 1


@pytest.mark.parametrize(("scorer", "package"), [(ROUGE, "rouge_score"), (F1, "jieba")])
def test_a_missing_package_is_named_with_its_remedy(scorer: Any, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    caches = (rouge_module.rouge, rouge_module._scorer, words_module._segmenter)
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
