"""Answers that belong to another request are recognised; answers that are merely wrong are not."""

from __future__ import annotations

import threading

import pytest

from needlework.core.prompts import Needle
from needlework.models.model import Request
from needlework.models.served.calibration import Replays, are_unique
from needlework.models.tokenizers.tokenizer import Tokenizer
from tests.haystack_fixtures.models.conftest import make_prompt

ID = "chatcmpl-5f2c1e0a9b7d4c3e8f6a1b2c3d4e5f60"
OTHER_ID = "chatcmpl-00000000000000000000000000000001"


def trial(tokenizer: Tokenizer, value: str, more: str = "") -> Request:
    text = f"The gate code for the mill is {value}. {more} What is the gate code for the mill?"
    needle = Needle("code", f"The gate code for the mill is {value}.", "What is it?", value)
    return Request(make_prompt(tokenizer, text), "raw", 16, needles=(needle,))


@pytest.fixture
def replays(mock_tokenizer: Tokenizer) -> Replays:
    found = Replays()
    found.ask(trial(mock_tokenizer, "4829173"))
    return found


@pytest.mark.parametrize(
    "text", ["4829173", "The code is 4,829,173.", "The code is ４８２９１７３。", "It is 4829173 or 12."]
)
def test_another_requests_value_proves_it(replays: Replays, mock_tokenizer: Tokenizer, text: str) -> None:
    mine = trial(mock_tokenizer, "7302911")
    replays.ask(mine)
    assert "4829173" in replays.problem(mine, text, "")


@pytest.mark.parametrize(
    ("text", "more"),
    [
        ("7302911", ""),
        ("It is 7302911 and not 4829173.", ""),
        ("5555555", ""),
        ("14829173", ""),
        ("The document does not say.", ""),
        ("", ""),
        ("4829173", "The gate code for the barn is 4829173."),  # a distractor of this very prompt
    ],
)
def test_a_right_or_wrong_answer_does_not(replays: Replays, mock_tokenizer: Tokenizer, text: str, more: str) -> None:
    mine = trial(mock_tokenizer, "7302911", more)
    replays.ask(mine)
    assert replays.problem(mine, text, "") == ""


def test_guessable_values_are_no_evidence(mock_tokenizer: Tokenizer) -> None:
    replays = Replays()
    replays.ask(trial(mock_tokenizer, "three"))
    replays.ask(trial(mock_tokenizer, "1921"))
    assert replays.problem(trial(mock_tokenizer, "seven"), "three, in 1921", "") == ""


def test_an_id_that_comes_again_for_another_prompt(mock_tokenizer: Tokenizer) -> None:
    one, other = trial(mock_tokenizer, "4829173"), trial(mock_tokenizer, "4829173", "A longer text.")
    replays = Replays()
    replays.ids_differ = True
    assert replays.problem(one, "4829173", ID) == ""
    assert replays.problem(one, "4829173", ID) == ""  # the same prompt asked again
    assert replays.problem(other, "4829173", OTHER_ID) == ""
    assert "id" in replays.problem(other, "4829173", ID)


def test_ids_that_were_not_seen_to_differ_are_no_evidence(mock_tokenizer: Tokenizer) -> None:
    one, other = trial(mock_tokenizer, "4829173"), trial(mock_tokenizer, "4829173", "A longer text.")
    replays = Replays()
    assert replays.problem(one, "4829173", ID) == ""
    assert replays.problem(other, "4829173", ID) == ""
    replays.ids_differ = True
    assert replays.problem(one, "4829173", "chatcmpl-123") == ""  # Ollama has 999 of them
    assert replays.problem(other, "4829173", "chatcmpl-123") == ""


def test_which_ids_show_that_answers_have_their_own() -> None:
    assert are_unique(ID, OTHER_ID)
    assert are_unique("gen-1755700000-AbCdEfGhIjKlMnOpQrSt", "gen-1755700001-UvWxYzAbCdEfGhIjKlMn")
    assert not are_unique(ID, ID)
    assert not are_unique("chatcmpl-12", "chatcmpl-13")
    assert not are_unique("", "")


def test_many_threads(mock_tokenizer: Tokenizer) -> None:
    replays, trials = Replays(), [trial(mock_tokenizer, str(1_000_000 + i)) for i in range(40)]
    problems: list[str] = []

    def ask(index: int) -> None:
        replays.ask(trials[index])
        problems.append(replays.problem(trials[index], str(1_000_000 + index), f"{ID}{index}"))

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == [""] * 40
    assert replays.problem(trials[0], "1000039", "") != ""
