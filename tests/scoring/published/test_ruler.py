"""RULER's rules as published, pair by pair, and the strict rule that stands beside them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.scoring.published.ruler import any_found, postprocessed, share_found, strict_score
from needlework.scoring.registry import scorer_named
from needlework.scoring.scores import Reference
from tests.parity.cases import cases

NUMBERS = Reference((), parts=("1111111", "2222222", "3333333", "4444444"))
WORDS = Reference((), parts=("apple", "bread", "coat", "door"))
NAMES = Reference((), parts=("ABCDE", "FGHIJ", "KLMNO", "PQRST", "UVWXY"))
CODES = Reference((), parts=("yjnkjr", "mjtbnp", "tgvbzd"), distractors=("qkujmv", "faoguq"))
CHINESE = Reference((), parts=("烟囱", "蜡烛", "兔子"), language="zh")
NUMBER = Reference(("1234567",), distractors=("7654321",))
TOWN = Reference(("Denver Broncos", "Denver"))


def test_every_published_pair():
    """RULER's scale is percent to 2 decimals; lm-eval's port has 0..1, and a share where RULER takes any reference."""
    pairs = cases("ruler/scorer_pairs")
    assert len(pairs) == 20
    for pair in pairs:
        said, references = postprocessed(pair["pred"]), pair["refs"]
        assert said == pair["pred_postprocessed"]
        assert round(share_found(said, references) * 100, 2) == pair["string_match_all"], pair
        assert round(any_found(said, references) * 100, 2) == pair["string_match_part"], pair
        assert share_found(said, references) == pair["lm_eval_string_match_all"] == pair["lm_eval_string_match_part"]
        for name, told in (("ruler_all", "string_match_all"), ("ruler_part", "string_match_part")):
            score = scorer_named(name).judge(pair["pred"], Reference((), parts=tuple(references)))
            assert round(score.value * 100, 2) == pair[told], pair


def test_control_characters_become_line_ends():
    assert postprocessed(" \x01a\x07b\t \x1f") == "a\nb"


# Answer, reference, RULER's score, the strict one, the verdict of RULER's.
TABLE = [
    ("1111111, 2222222, 3333333, and 4444444.", NUMBERS, 1, 1, "found"),
    ("The numbers are:\n- **1111111**\n- **2222222**\n- **3333333**\n- **4444444**", NUMBERS, 1, 1, "found"),
    ("1111111 and 2222222, 3333333.", NUMBERS, 3 / 4, 6 / 7, "partial"),
    ("1111111 2222222 3333333 4444444 5555555 6666666", NUMBERS, 1, 8 / 10, "found"),
    ("1,111,111; 2,222,222; 3,333,333; 4,444,444", NUMBERS, 0, 1, "wrong"),
    ("91111111, 2222222", NUMBERS, 2 / 4, None, "partial"),
    ("I cannot find them in the text.", NUMBERS, 0, 0, "refused"),
    ("1. apple\n2. bread\n3. coat\n4. door", WORDS, 1, 1, "found"),
    ("1. apple 2. bread 3. coat 4. door", WORDS, 1, 1, "found"),
    ("Sure, here they are: **apple**, bread, coat and door. I hope this helps!", WORDS, 1, 1, "found"),
    ("The words that come up most often are apple, bread, coat, and door.", WORDS, 1, 1, "found"),
    ("apple, bread, coat, house", WORDS, 3 / 4, 6 / 8, "partial"),
    ("apple bread coat door window", WORDS, 1, 8 / 9, "found"),
    ("pineapple, breadth, coats, doors", WORDS, 1, 0, "found"),
    ("", WORDS, 0, 0, "empty"),
    ("NOT FOUND", WORDS, 0, 0, "refused"),
    ("ABCDE FGHIJ KLMNO PQRST UVWXY", NAMES, 1, 1, "found"),
    ("VAR ABCDE, VAR FGHIJ, VAR KLMNO, VAR PQRST, VAR UVWXY", NAMES, 1, 1, "found"),
    ("ABCDE, FGHIJ, KLMNO, PQRST, UVWXY, ZZZZZ", NAMES, 1, 10 / 11, "found"),
    ("ABCDEFGHIJKLMNO", NAMES, 3 / 5, 0, "partial"),
    ("yjnkjr, mjtbnp, tgvbzd", CODES, 1, 1, "found"),
    ("yjnkjr, mjtbnp, qkujmv", CODES, 2 / 3, 4 / 6, "partial"),
    ("qkujmv, faoguq", CODES, 0, 0, "distractor"),
    ("烟囱、蜡烛、兔子", CHINESE, 1, 1, "found"),
    ("出现次数最多的词是：烟囱、蜡烛和兔子。", CHINESE, 1, 1, "found"),
    ("烟囱、蜡烛、老虎", CHINESE, 2 / 3, 4 / 6, "partial"),
    ("没有提到", CHINESE, 0, 0, "refused"),
    ("The number is 1234567.", NUMBER, 1, 1, "found"),
    ("912345678", NUMBER, 1, 0, "found"),
    ("It is 1,234,567", NUMBER, 0, 1, "wrong"),
    ("7654321", NUMBER, 0, 0, "distractor"),
    ("It is not 1234567.", NUMBER, 1, 0, "found"),
]


@pytest.mark.parametrize(("answer", "reference", "published", "strict", "verdict"), TABLE)
def test_answers_of_real_models(answer, reference, published, strict, verdict):
    score = scorer_named("ruler_all").judge(answer, reference)
    assert score.value == pytest.approx(published)
    assert score.verdict == verdict
    if strict is not None:
        assert score.details["strict"] == pytest.approx(strict, abs=5e-5)
        assert scorer_named("ruler_strict").judge(answer, reference).value == pytest.approx(strict)


def test_any_spelling_of_an_answer_will_do():
    score = scorer_named("ruler_part").judge("The team from Denver won.", TOWN)
    assert (score.value, score.verdict, score.details["strict"]) == (1, "found", 1)
    assert scorer_named("ruler_all").judge("The team from Denver won.", TOWN).value == 0.5


@given(st.permutations(WORDS.parts), st.sampled_from([", ", "\n", "; ", " and ", "\n- "]))
def test_order_and_separators_do_not_matter(order, joint):
    assert strict_score(joint.join(order), WORDS).value == 1


@given(st.lists(st.sampled_from([*WORDS.parts, "house", "tree", "lamp", "river"]), unique=True, max_size=8))
def test_the_strict_score_is_f1(given_words):
    right = len(set(given_words) & set(WORDS.parts))
    score = strict_score(", ".join(given_words), WORDS)
    assert score.value == pytest.approx(2 * right / (len(given_words) + 4))


@given(st.text(max_size=200))
def test_scores_are_shares_and_strict_ones_no_more_than_1(answer):
    for reference in (NUMBERS, WORDS, NUMBER):
        for name in ("ruler_all", "ruler_part", "ruler_strict"):
            score = scorer_named(name).judge(answer, reference)
            assert 0 <= score.value <= 1
            assert (score.value == 1) == (score.verdict == "found")
