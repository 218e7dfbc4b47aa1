"""`match` on answers as models write them, against the labels of a careful reader; and the table of docs/match.md."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.scoring.folding import fold
from needlework.scoring.match.match import match_score
from needlework.scoring.scores import Reference
from tests.scoring.labelled import LABELS, labelled

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("name", "kind", "right", "false_hits", "unclear"),
    [
        ("answers.txt", "", 0.975, 0, 0.025),
        ("more_answers.txt", "", 0.925, 1, 0.07),
        ("first_sight.txt", "realistic", 0.96, 0, 0.04),
        ("first_sight.txt", "hard", 0.7, 1, 0.3),
        ("fresh_answers.txt", "realistic", 0.97, 0, 0.03),
        ("fresh_answers.txt", "hard", 0.98, 0, 0.02),
        ("unseen_answers.txt", "realistic", 0.97, 0, 0.03),
        ("unseen_answers.txt", "hard", 0.87, 0, 0.13),
    ],
)
def test_answers_are_judged_as_a_careful_reader_labels_them(
    name: str, kind: str, right: float, false_hits: int, unclear: float
) -> None:
    count = Counter(
        (label, LABELS.get(match_score(answer, reference).verdict, "-"))
        for label, reference, answer in labelled(name, kind=kind)
    )
    agreed = sum(n for (label, verdict), n in count.items() if label == verdict or (label, verdict) == ("?", "-"))
    wrong = sum(n for (label, verdict), n in count.items() if label in "-?" and verdict in "+~")
    assert agreed >= right * count.total()
    assert wrong <= false_hits
    assert sum(n for (_, verdict), n in count.items() if verdict == "?") <= unclear * count.total()


BERGEN = Reference(
    ("4712",), statement="The code for Bergen is 4712.", question="What is the code for Bergen?", distractors=("3906",)
)


def rows() -> Iterator[tuple[str, str]]:
    for line in (ROOT / "docs/match.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if len(cells) == 2 and cells[0].startswith("`"):
            yield from ((answer, cells[1]) for answer in re.findall(r"`([^`]+)`", cells[0]))


@pytest.mark.parametrize(("answer", "verdict"), list(rows()))
def test_the_table_of_the_docs_is_what_the_scorer_says(answer: str, verdict: str) -> None:
    assert match_score(answer, BERGEN).verdict == verdict


@pytest.mark.parametrize("key", ["the old mill", "the wrong turnip", "the previous tenant", "the false beacon"])
@pytest.mark.parametrize(
    "answer", ["The code for {} is 4712.", "{}: 4712", "4712 is the code for {}.", "{}'s code is 4712."]
)
def test_a_word_of_the_key_says_nothing_of_the_value(key: str, answer: str) -> None:
    reference = Reference(("4712",), question=f"What is the code for {key}? Reply with the code only.")
    assert match_score(answer.format(key), reference).verdict == "found"


def test_a_quotation_of_several_needles_gives_each_of_their_values() -> None:
    text = "Ada keeps owls. Eve keeps newts."
    reference = Reference((), parts=("owls", "newts"), statement=text, question="What is kept?")
    assert match_score(text, reference).verdict == "found"


def test_the_table_of_the_docs_is_there() -> None:
    assert len(list(rows())) > 50


BARE = (
    "{}", "**Answer:** {}", "Sure! {}", "{}\n", "> {}", "According to the text: {}", "Final answer: {}",
    "The code is {}.",
    "{}. Don't forget this important information.", "{}\n\nQuestion: What is the code for Oslo?\nAnswer: 3906",
    "{}\n\nI'm sorry, but there is no further information.", "The pass code you told me to remember is {}.",
    "Der Code für Bergen lautet {}.", "Le code est {}.", "El código es {}.", "Код — {}.", "代码是{}。",
    "コードは{}です。",
)  # fmt: skip


@given(st.integers(1000, 9_999_999), st.sampled_from(BARE))
def test_a_value_that_is_plainly_stated_is_found(n: int, frame: str) -> None:
    reference = Reference((str(n),), question="What is the code for Bergen?")
    assert match_score(frame.format(n), reference).verdict == "found"


@given(st.integers(1000, 9_000_000), st.sampled_from(["So the answer is {}.", "Final answer: {}", "\\boxed{{{}}}"]))
def test_a_conclusion_refutes_and_rescues(n: int, conclusion: str) -> None:
    reference = Reference((str(n),), question="What is the code for Bergen?")
    text, other = "The text names the code {}. ", n + 1 if n % 10 < 9 else n - 1
    assert match_score(text.format(other) + conclusion.format(n), reference).verdict == "found"
    assert match_score(text.format(n) + conclusion.format(other), reference).value == 0


@given(
    st.from_regex(r"[A-Z]{1,3}[0-9]{3,6}|[0-9]{4,9}", fullmatch=True),
    st.sampled_from([str.lower, str.upper, str.title]),
)
def test_a_code_alone_is_found_in_any_case_and_script(code: str, spell: Callable[[str], str]) -> None:
    wide = code.translate({char: char + 0xFEE0 for char in range(0x21, 0x7F)})
    for answer in (spell(code), f" {spell(code)}.\n", wide, f"**{code}**", code.translate(str.maketrans(ARABIC))):
        assert match_score(answer, Reference((code,), question="What is the code for Bergen?")).verdict == "found"


ARABIC = {str(digit): chr(0x660 + digit) for digit in range(10)}
REFUSALS = ("The text does not say it.", "I'm sorry, I cannot help.", "Das steht nicht im Text.", "文中没有提到。")


@given(st.sampled_from(REFUSALS), st.text(max_size=40))
def test_a_refusal_is_no_hit_whatever_the_value(refusal: str, value: str) -> None:
    if any(map(str.isalnum, value)) and fold(value) not in fold(refusal):
        assert match_score(refusal, Reference((value,), question="What is the code for Bergen?")).value == 0


@given(st.text(max_size=80))
def test_folding_twice_is_folding_once(text: str) -> None:
    assert fold(fold(fold(text))) == fold(fold(text))


FRAMES = (
    "{}",
    "**Answer:** {}",
    "Sure! {}",
    "{}\n",
    "> {}",
    "Here is what I found:\n{}",
    "{} Let me know if you need anything else.",
    "According to the text: {}",
)


# Not read alike yet: owners of a value that stand behind the colon of a frame.
UNREAD = {
    "Oslos Code ist 4712.",
    "silver kettle: 5938264",
    "银水壶：5938264",
    "For the tin drum it's 5938264, but nothing is said about the copper lantern.",
    "Pewter jug → 5938264. Copper lantern → not given.",
    "The tin bucket: 5938264. The copper lantern: unknown.",
}
FRAMED = [
    each
    for each in (*labelled("answers.txt"), *labelled("more_answers.txt"))
    if "\n" not in each[2] and each[0] != "?" and each[2] not in UNREAD
]


@given(st.sampled_from(FRAMED), st.sampled_from(FRAMES))
def test_a_neutral_frame_changes_no_verdict(case: tuple[str, Reference, str], frame: str) -> None:
    _, reference, answer = case
    plain, framed = (match_score(text, reference) for text in (answer, frame.format(answer)))
    assert (plain.verdict == "unclear", plain.value) == (framed.verdict == "unclear", framed.value)


DENIALS = (
    "It is not {}.",
    "The code isn't {}.",
    "{} is wrong.",
    "Es ist nicht {}.",
    "{} ist falsch.",
    "Ce n'est pas {}.",
    "No es {}.",
    "Это не {}.",
    "{}ではありません。",
    "不是{}。",
    "{}不对。",
    "Non è {}.",
    "It was {}, now it is {other}.",
    "{}, no wait, {other}.",
    "I first thought {}, but it is {other}.",
    "{} was replaced by {other}.",
    "The code for Oslo is {}.",
)


@given(st.integers(1000, 9_999_999), st.sampled_from(DENIALS), st.integers(1, 9))
def test_a_value_that_is_denied_corrected_replaced_or_anothers_is_never_a_hit(n: int, frame: str, more: int) -> None:
    reference = Reference((str(n),), question="What is the code for Bergen?")
    answer = frame.format(n, other=n - more if str(n).endswith("9") else n + more)
    assert match_score(answer, reference).value == 0, answer


@given(st.text(max_size=200), st.text(max_size=40))
def test_no_text_and_no_reference_makes_it_raise(answer: str, question: str) -> None:
    for reference in (BERGEN, Reference(("Inés Fuertes",), question=question), Reference((), parts=("4712", "x y"))):
        assert 0 <= match_score(answer, reference).value <= 1


@pytest.mark.parametrize(
    "piece",
    [
        "4712 ",
        "no wait, ",
        "4-7-1-2 ",
        "4712 is the ",
        "the code for ",
        "is not, ",
        "{",
        "*_`",
        "a-",
        "é",
        "不是4712",
        "三只 ",
        "十公里",
        "4,712,",
    ],
)
def test_a_long_answer_takes_no_longer_than_its_length(piece: str) -> None:
    """Four times as long an answer takes four times as long; twice that is let pass, as others may use the core."""

    def taken(chars: int) -> float:
        answer = piece * (chars // len(piece))
        tries = []
        for _ in range(4):
            start = time.process_time()
            match_score(answer, BERGEN)
            tries.append(time.process_time() - start)
        return min(tries)

    assert taken(100_000) < 8 * taken(25_000)


@pytest.mark.parametrize("value", ["v2!", "v2", "m3", "L2", "K9"])
def test_a_short_name_of_a_letter_and_a_digit_is_no_number_with_a_unit(value: str) -> None:
    statement = f"The pass code of the red house is {value}."
    wanted = Reference(answers=(value,), question="What is the pass code of the red house?", statement=statement)
    for answer in (value, f"The pass code is {value}.", f"The answer is **{value}**", statement):
        assert match_score(answer, wanted).verdict == "found", answer
    for answer in (f"Not {value}, but b3.", f"The answer is not {value}.", "It is 2 V.", "The pass code is q7."):
        assert match_score(answer, wanted).verdict == "wrong", answer
    if value[-1].isdigit():
        assert match_score(f"The pass code is {value}.5", wanted).verdict == "wrong"
        assert match_score(f"The pass code is {value}0.", wanted).verdict == "wrong"
