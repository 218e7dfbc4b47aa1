"""`match` on answers as models write them, against the labels of a careful reader; and the table of docs/match.md."""

import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.scoring.folding import fold, read_han
from needlework.scoring.match.match import match_score
from needlework.scoring.registry import scorer_named
from needlework.scoring.scores import Reference
from tests.scoring.material import LABELS, SETS, judged, labelled

ROOT = Path(__file__).parents[3]
ASKED = "What is the code for Bergen?"
BERGEN = Reference(("4712",), statement="The code for Bergen is 4712.", question=ASKED, distractors=("3906",))


@pytest.mark.parametrize(("name", "kind", "right", "false_hits", "unclear"), SETS)
def test_answers_are_judged_as_a_careful_reader_labels_them(name, kind, right, false_hits, unclear):
    count = Counter(
        (label, LABELS.get(match_score(answer, reference).verdict, "-"))
        for label, reference, answer in labelled(name, kind=kind)
    )
    agreed = sum(n for (label, verdict), n in count.items() if label == verdict or (label, verdict) == ("?", "-"))
    wrong = sum(n for (label, verdict), n in count.items() if label in "-?" and verdict in "+~")
    assert agreed >= right * count.total()
    assert wrong <= false_hits
    assert sum(n for (_, verdict), n in count.items() if verdict == "?") <= unclear * count.total()


def test_verdicts_are_those_of_the_file():
    rows = [
        (verdict, scorer_named(scorer).judge(answer, reference), answer)
        for scorer, verdict, reference, answer in judged()
    ]
    assert len(rows) > 800
    assert [(verdict, score.verdict, answer) for verdict, score, answer in rows if score.verdict != verdict] == []
    assert all(score.value == (verdict == "found") and (score.why or verdict == "empty") for verdict, score, _ in rows)


def rows():
    for line in (ROOT / "docs/match.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if len(cells) == 2 and cells[0].startswith("`"):
            yield from ((answer, cells[1]) for answer in re.findall(r"`([^`]+)`", cells[0]))


def test_the_table_of_the_docs_is_what_the_scorer_says():
    assert len(list(rows())) > 50
    assert [(answer, verdict) for answer, verdict in rows() if match_score(answer, BERGEN).verdict != verdict] == []


@pytest.mark.parametrize("key", ["the old mill", "the wrong turnip", "the previous tenant", "the false beacon"])
def test_a_word_of_the_key_says_nothing_of_the_value(key):
    reference = Reference(("4712",), question=f"What is the code for {key}? Reply with the code only.")
    for answer in ("The code for {} is 4712.", "{}: 4712", "4712 is the code for {}.", "{}'s code is 4712."):
        assert match_score(answer.format(key), reference).verdict == "found"


COPY = "People wander along the river and talk about the weather and the price of bread. " * 20
ZH_COPY = "江上的渔夫每天清晨划船出去，傍晚才带着几条鱼回来。" * 15


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("4712. " + COPY, "found"),
        (COPY + "The code for Bergen, which you asked for, is 4712.", "found"),
        (COPY + BERGEN.statement, "wrong"),
        (COPY + BERGEN.statement + COPY, "wrong"),
        (ZH_COPY + BERGEN.statement + ZH_COPY, "wrong"),
        (BERGEN.question + "\n" + COPY + BERGEN.statement + " " + COPY, "wrong"),
        (COPY + BERGEN.statement + " " + COPY + "\n\n" + BERGEN.question, "wrong"),
    ],
)
def test_a_value_in_a_long_copy_of_the_text_is_no_answer(answer, verdict):
    assert match_score(answer, BERGEN).verdict == verdict


BARE = (
    "{}", "**Answer:** {}", "Sure! {}", "{}\n", "> {}", "According to the text: {}", "Final answer: {}",
    "The code is {}.",
    "{}. Don't forget this important information.", "{}\n\nQuestion: What is the code for Oslo?\nAnswer: 3906",
    "{}\n\nI'm sorry, but there is no further information.", "The pass code you told me to remember is {}.",
    "Der Code für Bergen lautet {}.", "Le code est {}.", "El código es {}.", "Код — {}.", "代码是{}。",
    "コードは{}です。", "Q1\n{}", "Doc3 {}", "p.3 {}",
)  # fmt: skip
DENIALS = (
    "It is not {}.", "The code isn't {}.", "{} is wrong.", "Es ist nicht {}.", "{} ist falsch.", "Ce n'est pas {}.",
    "No es {}.", "Это не {}.", "{}ではありません。", "不是{}。", "{}不对。", "Non è {}.",
    "It was {}, now it is {other}.",
    "{}, no wait, {other}.", "I first thought {}, but it is {other}.", "{} was replaced by {other}.",
    "The code for Oslo is {}.", "It changed from {} to {other}.",
)  # fmt: skip
CONCLUSIONS = ("So the answer is {}.", "Final answer: {}", "\\boxed{{{}}}", "Hence the code is **{}**.")


@given(st.integers(1000, 9_999_999), st.sampled_from(BARE))
def test_a_value_that_is_plainly_stated_is_found(n, frame):
    assert match_score(frame.format(n), Reference((str(n),), question=ASKED)).verdict == "found"


@given(st.integers(1000, 9_999_999), st.sampled_from(DENIALS), st.integers(1, 9))
def test_a_value_that_is_denied_corrected_replaced_or_anothers_is_never_a_hit(n, frame, more):
    answer = frame.format(n, other=n - more if str(n).endswith("9") else n + more)
    assert match_score(answer, Reference((str(n),), question=ASKED)).value == 0, answer


@given(st.integers(1000, 9_000_000), st.sampled_from(CONCLUSIONS), st.booleans())
def test_a_conclusion_refutes_and_rescues(n, conclusion, known):
    other = n + 1 if n % 10 < 9 else n - 1
    reference = Reference((str(n),), question=ASKED, distractors=(str(other),) * known)
    text = "The text names the code {}. "
    assert match_score(text.format(other) + conclusion.format(n), reference).verdict == "found"
    assert match_score(text.format(n) + conclusion.format(other), reference).value == 0


@given(
    st.from_regex(r"[A-Z]{1,3}[0-9]{3,6}|[0-9]{4,9}", fullmatch=True),
    st.sampled_from([str.lower, str.upper, str.title]),
)
def test_a_code_alone_is_found_in_any_case_and_script(code, spell):
    wide = code.translate({char: char + 0xFEE0 for char in range(0x21, 0x7F)})
    for answer in (spell(code), f" {spell(code)}.\n", wide, f"**{code}**", code.translate(str.maketrans(ARABIC))):
        assert match_score(answer, Reference((code,), question=ASKED)).verdict == "found"


ARABIC = {str(digit): chr(0x660 + digit) for digit in range(10)}
REFUSALS = ("The text does not say it.", "I'm sorry, I cannot help.", "Das steht nicht im Text.", "文中没有提到。")


@given(st.sampled_from(REFUSALS), st.text(max_size=40))
def test_a_refusal_is_no_hit_whatever_the_value(refusal, value):
    if any(map(str.isalnum, value)) and fold(value) not in fold(refusal):
        assert match_score(refusal, Reference((value,), question=ASKED)).value == 0


@given(st.text(max_size=200), st.text(max_size=40))
def test_no_text_and_no_reference_makes_it_raise(answer, question):
    for reference in (BERGEN, Reference(("Inés Fuertes",), question=question), Reference((), parts=("4712", "x y"))):
        assert 0 <= match_score(answer, reference).value <= 1


@given(st.text(max_size=80))
def test_folding_twice_is_folding_once(text):
    assert fold(fold(fold(text))) == fold(fold(text))


DIGITS = "零一二三四五六七八九"


def said(number):
    """A number below a million million as a Chinese reader says it."""
    for size, sign in ((10**8, "亿"), (10**4, "万"), (1000, "千"), (100, "百"), (10, "十")):
        if number >= size:
            rest = number % size
            return said(number // size) + sign + ("零" if 0 < rest < size // 10 else "") + (said(rest) if rest else "")
    return DIGITS[number]


@given(st.integers(0, 10**12 - 1))
def test_every_chinese_number_is_read_as_it_is_said(number):
    assert read_han(said(number)) == str(number)
    assert read_han(said(number).removeprefix("一") if 10 <= number < 20 else said(number)) == str(number)


def test_other_spellings_are_read_and_what_may_say_several_numbers_is_not():
    numbers = {"两": "2", "两千零三": "2003", "二〇二四": "2024", "一億": "100000000", "两万二百": "20200"}
    numbers |= dict.fromkeys(("", "三四", "一百五", "三万五", "百", "万", "十十", "三十百", "廿三", "个"))
    assert {run: read_han(run) for run in numbers} == numbers


_EDGE = r"(?<=[\u3040-\u9fff\uac00-\ud7a3]){0}(?=[0-9A-Za-z])|(?<=[0-9A-Za-z]){0}(?=[\u3040-\u9fff\uac00-\ud7a3])"
HAN_FRAMES = (
    "{}", "答案是{}。", "不是{}。", "密码not {}。", "有{}，不对，有{other}。", "{}或{other}", "B区{}号", "{}입니다",
    "は{}です。", "code是{}", "从{other}改为{}", "以前是{}，现在是{other}", "Alpha项目的是{}",
)  # fmt: skip
HAN_VALUES = ("3只", "2024年3月5日", "B座12楼", "K-77绿", "15公里", "4712", "A7", "绿K77", "3마리", "OpenAI公司")


def spaced(text, spaces):
    """The text with a space, or none, wherever Han, kana or Hangul meets a digit or Latin letter."""
    text = re.sub(_EDGE.format(" "), "", text)
    put = iter([*spaces, *[False] * len(text)])
    return re.sub(_EDGE.format(""), lambda _: " " if next(put) else "", text)


@given(
    st.sampled_from(HAN_FRAMES),
    st.sampled_from(HAN_VALUES),
    st.sampled_from(HAN_VALUES),
    st.lists(st.booleans(), max_size=12),
)
def test_a_space_beside_han_changes_no_verdict(frame, value, other, spaces):
    answer = frame.format(value, other=other)
    references = Reference((value,), question="Alpha项目的密码是多少？"), Reference((spaced(value, spaces[::-1]),))
    plain, again = (match_score(spaced(answer, each), references[0]) for each in ([], spaces))
    assert (plain.verdict, plain.value) == (again.verdict, again.value)
    assert match_score(spaced(answer, spaces), references[1]) == match_score(answer, Reference((value,)))


@given(st.text("39a7kz只绿座三〇あ마 .,-*_'\n是不", max_size=30), st.lists(st.booleans(), max_size=30))
def test_a_space_beside_han_makes_no_other_text(text, spaces):
    assert fold(spaced(text, spaces)) == fold(text)


@given(st.integers(1, 9999), st.sampled_from("0123456789"), st.booleans(), st.sampled_from("只楼人年匹"))
def test_a_number_with_another_digit_beside_it_is_never_found(number, digit, before, word):
    more = f"{digit}{number}" if before else f"{number}{digit}"
    assert match_score(f"The number is {more}.", Reference((str(number),))).value == 0
    for frame in ("{}", "一共有{}。", "是{}吗"):
        for answer in (frame.format(f"{more}{word}"), frame.format(f"{more} {word}")):
            assert match_score(answer, Reference((f"{number}{word}",))).value == 0, answer


@given(st.integers(1, 9), st.sampled_from("一二三四五六七八九十百千万"), st.booleans(), st.sampled_from(["只", "公里"]))
def test_a_numeral_with_another_numeral_beside_it_is_never_found(number, numeral, before, word):
    answer = f"有{numeral}{DIGITS[number]}{word}" if before else f"有{DIGITS[number]}{numeral}{word}"
    for value in (f"{number}{word}", f"{DIGITS[number]}{word}"):
        assert match_score(answer, Reference((value,))).value == 0, (value, answer)


def test_dates_and_times_are_read_once():
    assert fold("5 March 2024 at 7:05 pm") == "2024-03-05 19:05"
    assert fold("March 052024") == "2024-03-05"  # no space before the year
    assert fold("7:05 pm march 2024") == "19:05 march 2024"  # minutes are no day of the month
