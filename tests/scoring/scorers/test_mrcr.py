"""`mrcr` says which piece of a conversation an answer gives, and how much of the wanted one."""

from __future__ import annotations

import time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from needlework.scoring.published.data_sets import card_ratio
from needlework.scoring.scorers.values import mrcr_score
from needlework.scoring.scores import Reference

STRING = "aB3dE5fG7h"
WANTED = (
    "The ferry leaves the northern harbour before the bell.\nNobody counts the lanterns that burn along the quay, "
    "and the keeper folds his coat over the broken chair. He waits until the tide has turned; then he writes the "
    "number of the boat into a book that no clerk has ever opened."
)
SECOND = (
    "A lantern is a patient thing, said the old woman, and she hung it on the hook above the door. Rain came from "
    "the hills for seven days. On the eighth morning the hook was bare, but the wall behind it was still warm."
)
ANOTHER = "Dear Ines, the apples of this year are small and hard, and we shall press them in the week after the market."
REFERENCE = Reference(
    (STRING + WANTED,),
    given=(STRING,),
    distractors=(SECOND, ANOTHER),
    kinds={SECOND: "#2"},
)


@pytest.mark.parametrize(
    "answer",
    [
        STRING + WANTED,
        f"\n {STRING} {WANTED}\n",
        f"**{STRING}**\n\n{WANTED}",
        f"```\n{STRING}{WANTED}\n```",
        f'"{STRING}{WANTED}"',
        STRING + WANTED.replace(" ", "\u00a0"),
        STRING + WANTED.replace("folds", "fold"),
    ],
)
def test_the_wanted_piece_is_found(answer: str) -> None:
    score = mrcr_score(answer, REFERENCE)
    assert score.verdict == "found"
    assert score.value > 0.98
    assert score.details["given"] == "wanted"


@pytest.mark.parametrize(
    ("answer", "verdict", "given", "string"),
    [
        (WANTED, "wrong", "wanted", "missing"),
        (f"Here it is: {STRING}{WANTED}", "wrong", "wanted", "later"),
        (STRING + SECOND, "distractor", "#2", "first"),
        (STRING + ANOTHER, "distractor", "other", "first"),
        (STRING + WANTED + SECOND + ANOTHER + SECOND[::-1], "wrong", "none", "first"),
        (STRING, "wrong", "none", "first"),
        ("I cannot answer that.", "refused", "none", "missing"),
    ],
)
def test_anything_else_earns_nothing_and_says_why(answer: str, verdict: str, given: str, string: str) -> None:
    score = mrcr_score(answer, REFERENCE)
    assert (score.value, score.verdict) == (0, verdict)
    assert (score.details["given"], score.details["string"]) == (given, string)


def test_half_a_piece_is_worth_its_likeness() -> None:
    score = mrcr_score(STRING + WANTED[: len(WANTED) // 2], REFERENCE)
    assert score.verdict == "partial"
    assert score.value == pytest.approx(2 / 3, abs=0.02)


def test_equal_pieces_count_as_the_wanted_one() -> None:
    """Some conversations hold the same reply twice."""
    twice = Reference((STRING + WANTED,), given=(STRING,), distractors=(WANTED, WANTED + " "), kinds={WANTED: "#2"})
    assert mrcr_score(STRING + WANTED, twice).value == 1


def test_what_autojunk_costs_the_published_ratio_is_not_lost_here() -> None:
    few_letters = " ".join("abcdefgh"[number % 8] * (number % 3 + 1) for number in range(150))
    answer, right = f"{STRING}x{few_letters}", STRING + few_letters
    assert card_ratio(answer, right, STRING) == 0
    assert mrcr_score(answer, Reference((right,), given=(STRING,))).value > 0.99


def test_chinese_pieces_are_told_apart() -> None:
    wanted, other = (
        "渡船在钟响之前离开北方的港口，没有人数码头上的灯。",
        "北方的灯塔在冬天之前已经没有人，港口的钟也不再响。",
    )
    reference = Reference((STRING + wanted,), given=(STRING,), distractors=(other,), kinds={other: "#2"})
    assert mrcr_score(STRING + wanted, reference).value == 1
    assert mrcr_score(STRING + other, reference).details["given"] == "#2"


def test_many_long_pieces_take_little_time() -> None:
    pieces = tuple(f"{number} " + SECOND * 20 + str(number) * 9 for number in range(60))
    start = time.process_time()
    mrcr_score(STRING + pieces[0], Reference((STRING + WANTED * 20,), given=(STRING,), distractors=pieces))
    assert time.process_time() - start < 1


_PIECES = st.lists(st.text(st.sampled_from("abcde \n。桥灯"), min_size=1), min_size=1, max_size=5)


@given(_PIECES, st.data())
def test_any_piece_is_known_by_its_own_words(pieces: list[str], data: st.DataObject) -> None:
    """A copy of the wanted piece is worth 1, one of another piece nothing, unless they are the same words."""
    wanted = data.draw(st.sampled_from(pieces))
    others = tuple(text for text in pieces if text != wanted)
    reference = Reference((STRING + wanted,), given=(STRING,), distractors=others)
    assume(wanted.strip())
    assert mrcr_score(STRING + wanted, reference).value == 1
    for other in others:
        if " ".join(other.split()) != " ".join(wanted.split()):
            assert mrcr_score(STRING + other, reference).value < 1


def test_what_begins_otherwise_is_settled_wherever_it_is_cut_off() -> None:
    assert mrcr_score("Let me think about which riddle it could have been", REFERENCE).settled
    assert mrcr_score(STRING + SECOND, REFERENCE).settled
    assert not mrcr_score("**", REFERENCE).settled
    assert not mrcr_score(STRING[:-2], REFERENCE).settled
    assert not mrcr_score(STRING + WANTED[:20], REFERENCE).settled
