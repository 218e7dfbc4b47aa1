"""The corrected keyword scorers do not take the published rules' shortcuts; the `_compat` ones do."""

from __future__ import annotations

import pytest

from needlework.scoring.registry import scorer_named
from needlework.scoring.scores import Reference

JACK = Reference(("Jack",), statement="The cook is Jack", keyword="Jack", question="Who is the cook?")
CHEESE = Reference(("goat cheese",), statement="The secret ingredient is goat cheese.", keyword="goat cheese")
SUM = Reference(("2*3=6",), statement="They wrote 2*3=6 on the wall.", keyword="2*3=6")
PASTA = Reference(("松露奶酪通心粉",), statement="特色菜肴是松露奶酪通心粉。", keyword="松露奶酪通心粉")
RING = Reference(("The Ring",), statement="The hero carries The Ring.", keyword="The Ring")
GEMS = Reference((), parts=("Gem1", "Gem2", "Gem12"))
HILL = Reference(("James O'Hill",), distractors=("Dan Newton",), keyword="James O'Hill")

HITS = [
    (JACK, "Jack"),
    (JACK, "the cook is JACK."),
    (JACK, "制作佛罗伦萨中排行第一的餐馆的特色菜肴的人叫Jack"),
    (JACK, "It is not Bob but Jack."),
    (CHEESE, "The secret ingredient is goat cheese."),
    (CHEESE, "**Goat cheese**"),
    (SUM, "It says 2*3=6."),
    (PASTA, "特色菜肴是“松露 奶酪 通心粉”。"),
]
MISSES = [
    (JACK, ""),
    (JACK, "Jackson"),
    (JACK, "It is not Jack"),
    (JACK, "J a c k"),
    (JACK, "Words about bread and rivers. The cook is Jack. More words.\nWho is the cook?"),
    (JACK, "Words about bread and rivers. " * 40 + "The cook is Jack. " + "Words about bread and rivers. " * 40),
    (CHEESE, "goatcheese"),
    (SUM, "2*3=65"),
    (PASTA, "特色菜肴不是松露奶酪通心粉。"),
]


@pytest.mark.parametrize(("reference", "answer"), HITS)
@pytest.mark.parametrize("name", ["keyword", "cdme_multi", "needlebench_v1", "needlebench_v2"])
def test_hit(name: str, reference: Reference, answer: str) -> None:
    assert scorer_named(name).judge(answer, reference).value == 1


@pytest.mark.parametrize(("reference", "answer"), MISSES)
@pytest.mark.parametrize("name", ["keyword", "cdme_multi", "needlebench_v1", "needlebench_v2"])
def test_miss_earns_a_fifth_of_the_edit_score_at_most(name: str, reference: Reference, answer: str) -> None:
    score = scorer_named(name).judge(answer, reference)
    assert score.value <= (0 if name == "needlebench_v2" else 0.2)
    assert score.verdict in ("wrong", "empty")


@pytest.mark.parametrize("name", ["cdme_multi_compat", "needlebench_v1_compat", "needlebench_v2_compat"])
@pytest.mark.parametrize("answer", ["Jackson", "It is not Jack"])
def test_published_rules_take_the_shortcut(name: str, answer: str) -> None:
    assert scorer_named(name).judge(answer, JACK).value == 1


def test_published_cdme_multi_never_finds_a_keyword_with_a_space() -> None:
    answer = CHEESE.statement
    assert scorer_named("cdme_multi_compat").judge(answer, CHEESE).value == pytest.approx(0.2)
    assert scorer_named("cdme_multi").judge(answer, CHEESE).value == 1


def test_words_count_whole() -> None:
    assert scorer_named("needlebench_v1_multi_compat").judge("bringing there", RING).value == 1
    assert scorer_named("needlebench_v1_multi").judge("bringing there", RING).value == 0
    half = scorer_named("needlebench_v1_multi").judge("a ring", RING)
    assert (half.value, half.verdict) == (0.5, "partial")


def test_parallel_counts_whole_keywords_whatever_else_is_listed() -> None:
    fixed, published = scorer_named("needlebench_parallel"), scorer_named("needlebench_parallel_compat")
    assert fixed.judge("Gem12 and Gem7, Gem8", GEMS).value == pytest.approx(1 / 3)
    assert published.judge("Gem12 and Gem7, Gem8", GEMS).value == pytest.approx(2 / 3)
    codes = Reference((), parts=("48213", "55601", "10934"))
    assert fixed.judge("48213, 55601, 10934, 11111, 22222", codes).value == 1


def test_boxed_names() -> None:
    fixed, published = scorer_named("needlebench_atc"), scorer_named("needlebench_atc_compat")
    answer = r"so it is \boxed{\text{James~O'Hill}}."
    assert fixed.judge(answer, HILL).verdict == "found"
    assert published.judge(answer, HILL).value == 0
    assert fixed.judge(r"\boxed{Dan Newton}", HILL).verdict == "distractor"
    assert fixed.judge("James O'Hill", HILL).value == 0


def test_edit_distance_scorers_compare_with_the_needle_sentence() -> None:
    assert scorer_named("cdme").judge("The cook\nis Jack", JACK).value == 1
    assert scorer_named("cdme").judge("The cook is Bob", JACK).value == pytest.approx(9 / 13)
    assert scorer_named("cdme_trim").judge("The cook is Jack. The cook is Jack.", JACK).value == 1


def test_exact_scorers() -> None:
    assert scorer_named("exact_match").judge("the Jack!", JACK).value == 1
    assert scorer_named("exact_match").judge("The cook is Jack.", JACK).value == 1
    assert scorer_named("exact_match_compat").judge("Jack", JACK).value == 0
    assert scorer_named("normalized_match").judge("I say it is Jack, yes", JACK).value == 1
    assert scorer_named("normalized_match").judge("Jackson", JACK).value == 0


def test_unknown_scorers_name_the_closest_first() -> None:
    with pytest.raises(ValueError, match="unknown scorer 'matsch': use one of match,"):
        scorer_named("matsch")
