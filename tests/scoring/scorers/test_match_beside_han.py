"""Values beside Han, kana and Hangul: spaces, numerals and dashes make no other value; times beside dates."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.scoring.folding import fold
from needlework.scoring.match.match import match_score
from needlework.scoring.scores import Reference

_TABLE = """
3只 | 3 只 · 三只 · 有 3 只猫头鹰。 · 有三只猫头鹰。 | found
3只 | 十三只 · 三十只 · 13 只 · 第三只 · 三四只 · 两到三只 · 2 到 3 只 · 三只半 · 不是三只。 | wrong
三只 | 3 只 | found
三只 | 十三只 · 13 只 | wrong
2024年3月5日 | 2024 年 3 月 5 日 · 二〇二四年三月五日 · 2024-03-05 · 会议在 2024 年 3 月 5 号。 | found
2024年3月5日 | 2024 年 3 月 15 日 · 二〇二四年三月十五日 · 二〇二四年十三月五日 | wrong
B座12楼 | B 座 12 楼 · 在 B 座十二楼。 | found
B座12楼 | AB 座 12 楼 · B 座 112 楼 · B 座 2 楼 · B 座-12 楼 | wrong
K-77绿 | K-77 绿 · 密码是K77绿 · K 77 绿 | found
K-77绿 | K-771 绿 · AK-77 绿 · K-77 | wrong
15公里 | 十五公里 · 15 公里 · 15 km · 十五千米 | found
15公里 | 五公里 · 一百一十五公里 · 十五英里 · 十五公里半 | wrong
3万人 | 三万人 · 30000 人 | found
3마리 | 3 마리 | found
"""
_EDGE = r"(?<=[\u3040-\u9fff\uac00-\ud7a3]){0}(?=[0-9A-Za-z])|(?<=[0-9A-Za-z]){0}(?=[\u3040-\u9fff\uac00-\ud7a3])"


OWLS = Reference(("3只",), question="老王的仓库里有几只猫头鹰？", statement="老王的仓库里有3只猫头鹰。")


def rows() -> Iterator[tuple[str, str, str]]:
    """Value, answer and verdict of each answer of the table."""
    for line in _TABLE.strip().splitlines():
        value, answers, verdict = line.split(" | ")
        yield from ((value, answer, verdict) for answer in answers.split(" · "))


@pytest.mark.parametrize(("value", "answer", "verdict"), list(rows()))
def test_spaces_numerals_and_units_beside_han(value: str, answer: str, verdict: str) -> None:
    assert match_score(answer, Reference((value,))).verdict == verdict


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("老王的仓库里有 3 只猫头鹰。", "found"),
        ("老王的仓库里有三只猫头鹰。", "found"),
        ("不是四只，而是三只。", "found"),
        ("不是 3 只。", "wrong"),
        ("不是三只，是四只。", "wrong"),
        ("三只，不对，四只。", "wrong"),
        ("是 2 只或 3 只。", "unclear"),
        ("3 只还是 4 只？", "wrong"),
        ("两只或三只", "wrong"),
        ("三只或四只", "wrong"),
        ("3 只到 4 只", "wrong"),
        ("从 2 只到 3 只", "wrong"),
        ("仓库里有 3 只猫头鹰。", "found"),
        ("文中没有提到有几只。", "refused"),
    ],
)
def test_denials_corrections_and_alternatives_are_read_with_numerals_too(answer: str, verdict: str) -> None:
    assert match_score(answer, OWLS).verdict == verdict


@pytest.mark.parametrize("answer", ["15公里或16公里", "16公里还是15公里", "15 公里到 16 公里"])
def test_one_of_two_distances_is_no_answer(answer: str) -> None:
    asked = Reference(("15公里",), question="从学校到车站有多远？", statement="从学校到车站有15公里。")
    assert match_score(answer, asked).verdict == "wrong"


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("三只", "found"),
        ("三", "found"),
        ("一共有三只。", "found"),
        ("十三只", "wrong"),
        ("文中提到三个人，共有 5 只。", "unclear"),
    ],
)
def test_a_numeral_is_a_bare_number_beside_the_measure_word_of_the_needle(answer: str, verdict: str) -> None:
    assert match_score(answer, replace(OWLS, answers=("3",))).verdict == verdict


@pytest.mark.parametrize("answer", ["K77绿，或一般称为绿码。", "晚上 9 点 K77绿"])
def test_a_numeral_in_a_word_is_no_other_value(answer: str) -> None:
    assert match_score(answer, Reference(("K-77绿",))).verdict == "found"


@pytest.mark.parametrize(
    ("name", "answer", "verdict"),
    [
        ("三里屯", "晚上9点三里屯见", "found"),
        ("三亚", "去三亚半岛。", "found"),
        ("百度", "是百度公司", "found"),
        ("百度", "温度是几百度", "wrong"),
    ],
)
def test_a_name_that_begins_with_a_numeral_is_a_name(name: str, answer: str, verdict: str) -> None:
    assert match_score(answer, Reference((name,))).verdict == verdict


def test_a_key_of_latin_letters_and_han_is_one_key_however_it_is_spaced() -> None:
    for question in ("Alpha项目的代码是什么？", "Alpha 项目的代码是什么？"):
        reference = Reference(("4712",), question=question)
        assert match_score("Alpha 项目的代码是 4712。", reference).verdict == "found"
        assert match_score("Beta 项目的代码是 4712。", reference).value == 0
        assert match_score("Beta项目的代码是4712。", reference).value == 0


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
