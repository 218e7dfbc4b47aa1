"""Values beside Han, kana and Hangul: spaces, numerals and dashes make no other value; times beside dates."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.scoring.match.match import match_score
from needlework.scoring.match.normalize import fold
from needlework.scoring.scores import Reference

DOCS = Path(__file__).parents[3] / "docs/match.md"
_EDGE = r"(?<=[\u3040-\u9fff\uac00-\ud7a3]){0}(?=[0-9A-Za-z])|(?<=[0-9A-Za-z]){0}(?=[\u3040-\u9fff\uac00-\ud7a3])"


OWLS = Reference(("3只",), question="老王的仓库里有几只猫头鹰？", statement="老王的仓库里有3只猫头鹰。")


@pytest.mark.parametrize("answer", ["K77绿，或一般称为绿码。", "晚上 9 点 K77绿"])
def test_a_numeral_in_a_word_is_no_other_value(answer: str) -> None:
    assert match_score(answer, Reference(("K-77绿",))).verdict == "found"


LAUNCH = Reference(
    ("3:30 pm on 5 March 2024",),
    question="When was the launch?",
    statement="The launch was at 3:30 pm on 5 March 2024.",
)


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("5 March 2024, 3:30 pm", "found"),
        ("March 5, 2024 at 3:30 PM", "found"),
        ("The launch was on 5 March 2024 at 3.30pm.", "found"),
        ("2024-03-05 15:30", "found"),
        ("5 March 2024 (3:30 p.m.)", "found"),
        ("5 March 2024, 3:30 am", "wrong"),
        ("5 March 2024, 13:30 pm", "wrong"),
        ("5 March 2024, 3:30:15 pm", "wrong"),
        ("5 March 2024, 3:30", "wrong"),
        ("5 March 2024", "wrong"),
        ("15 March 2024, 3:30 pm", "wrong"),
        ("It was not 5 March 2024, 3:30 pm.", "wrong"),
        ("5 March 2024, 3:30 pm or 4:30 pm", "wrong"),
    ],
)
def test_a_time_of_day_stands_before_a_date_or_behind_it(answer: str, verdict: str) -> None:
    assert match_score(answer, LAUNCH).verdict == verdict


FRAMES = (
    "{}", "答案是{}。", "不是{}。", "密码not {}。", "有{}，不对，有{other}。", "{}或{other}", "B区{}号", "{}입니다",
    "は{}です。", "code是{}", "从{other}改为{}", "以前是{}，现在是{other}", "Alpha项目的是{}",
)  # fmt: skip
VALUES = ("3只", "2024年3月5日", "B座12楼", "K-77绿", "15公里", "4712", "A7", "绿K77", "3마리", "OpenAI公司")


def spaced(text: str, spaces: list[bool]) -> str:
    """The text with a space, or none, wherever Han, kana or Hangul meets a digit or Latin letter."""
    text = re.sub(_EDGE.format(" "), "", text)
    put = iter([*spaces, *[False] * len(text)])
    return re.sub(_EDGE.format(""), lambda _: " " if next(put) else "", text)


@given(st.sampled_from(FRAMES), st.sampled_from(VALUES), st.sampled_from(VALUES), st.lists(st.booleans(), max_size=12))
def test_a_space_beside_han_changes_no_verdict(frame: str, value: str, other: str, spaces: list[bool]) -> None:
    answer = frame.format(value, other=other)
    references = Reference((value,), question="Alpha项目的密码是多少？"), Reference((spaced(value, spaces[::-1]),))
    plain, again = (match_score(spaced(answer, each), references[0]) for each in ([], spaces))
    assert (plain.verdict, plain.value) == (again.verdict, again.value)
    assert match_score(spaced(answer, spaces), references[1]) == match_score(answer, Reference((value,)))


@given(st.text("39a7kz只绿座三〇あ마 .,-*_'\n是不", max_size=30), st.lists(st.booleans(), max_size=30))
def test_a_space_beside_han_makes_no_other_text(text: str, spaces: list[bool]) -> None:
    assert fold(spaced(text, spaces)) == fold(text)


@given(st.integers(1, 9999), st.sampled_from("0123456789"), st.booleans(), st.sampled_from("只楼人年匹"), st.booleans())
def test_a_number_with_another_digit_beside_it_is_never_found(
    number: int, digit: str, before: bool, word: str, space: bool
) -> None:
    more = f"{digit}{number}" if before else f"{number}{digit}"
    for frame in ("{}", "一共有{}。", "是{}吗"):
        answer = frame.format(f"{more}{' ' * space}{word}")
        assert match_score(answer, Reference((f"{number}{word}",))).value == 0, answer


NUMERALS = "一二三四五六七八九十百千万"


@given(st.integers(1, 9), st.sampled_from(NUMERALS), st.booleans(), st.sampled_from(["只", "公里", "楼"]))
def test_a_numeral_with_another_numeral_beside_it_is_never_found(
    number: int, numeral: str, before: bool, word: str
) -> None:
    said = NUMERALS[number - 1]
    answer = f"有{numeral}{said}{word}" if before else f"有{said}{numeral}{word}"
    for value in (f"{number}{word}", f"{said}{word}"):
        assert match_score(answer, Reference((value,))).value == 0, (value, answer)


@pytest.mark.parametrize(
    ("value", "answer", "verdict"),
    [
        ("3只", "三只", "found"), ("3只", "有 3 只猫头鹰。", "found"), ("3只", "十三只", "wrong"),
        ("3只", "第三只", "wrong"),
        ("3只", "两到三只", "wrong"), ("3只", "三只半", "wrong"), ("3只", "不是三只。", "wrong"),
        ("三只", "3 只", "found"),
        ("2024年3月5日", "二〇二四年三月五日", "found"), ("2024年3月5日", "2024-03-05", "found"),
        ("2024年3月5日", "二〇二四年三月十五日", "wrong"), ("B座12楼", "在 B 座十二楼。", "found"),
        ("B座12楼", "B 座 112 楼", "wrong"), ("K-77绿", "密码是K77绿", "found"), ("K-77绿", "AK-77 绿", "wrong"),
        ("15公里", "十五公里", "found"), ("15公里", "15 km", "found"), ("15公里", "十五千米", "found"),
        ("15公里", "十五英里", "wrong"), ("3万人", "30000 人", "found"), ("3마리", "3 마리", "found"),
    ],
)  # fmt: skip
def test_numerals_units_and_codes_beside_han(value: str, answer: str, verdict: str) -> None:
    assert match_score(answer, Reference((value,), question="是多少？", language="zh")).verdict == verdict
