"""Mock models do what their names say."""

import subprocess
import sys

import pytest

from needlework.core.errors import InputError
from needlework.core.grid import Cell
from needlework.core.prompts import Needle
from needlework.models.mock import MockModel, answer_sentence, wrong_answer

CODE = Needle("code", "The code of the red house is 48151.", "What is the code of the red house?", "48151")
RIVAL = Needle("code", CODE.text, CODE.question, "48151", distractor_answers=("48152",))
CHINESE = Needle("code_zh", "红房子的密码是48151。", "红房子的密码是多少？", "48151")


def cell(depth=0.0, repeat=0):
    return Cell("niah", 1000, depth, "code", repeat)


@pytest.fixture
def say(mock_tokenizer, raw):
    def ask(behaviour, *needles, at=None, answer=None, budget=32):
        known = needles or (CODE,)
        reference = known[0].answer if answer is None else answer
        request = raw(
            mock_tokenizer, f"filler\n{known[0].question}", budget, cell=at or cell(), needles=known, answer=reference
        )
        return MockModel(behaviour, {}, mock_tokenizer).respond(request)

    return ask


def test_perfect_answers_in_the_language_of_the_question(say):
    response = say("perfect")
    assert (response.text, response.finish_reason, response.error) == ("The answer is 48151.", "stop", None)
    assert (response.prompt_tokens or 0) > 5
    assert response.completion_tokens
    assert say("perfect", CHINESE).text == "答案是48151。"
    whole = Needle("sf", "x", "What is best?", "Eat a sandwich.")
    assert say("perfect", whole).text == "Eat a sandwich."
    others = (CODE, Needle("b", "x", "And the blue one?", "777"), Needle("c", "x", "And the green one?", "999"))
    assert say("perfect", *others).text == "The answers are 48151, 777 and 999."
    assert say("perfect", *others, answer="48151, 777, 999").text == "The answer is 48151, 777, 999."


def test_middle_forgets_only_the_middle(say):
    right = {depth: "48151" in say("middle", at=cell(depth)).text for depth in (0, 30, 30.1, 50, 69.9, 70, 100)}
    assert right == {0: True, 30: True, 30.1: False, 50: False, 69.9: False, 70: True, 100: True}
    assert "48151" in say("middle", at=cell(None)).text


def test_wrong_answers_are_plausible_and_wrong(say):
    text = say("wrong").text
    assert "48151" not in text
    assert sum(char.isdigit() for char in text) == 5
    assert wrong_answer("48151", {"59262"}, "en") not in ("48151", "59262")
    assert wrong_answer("Lisbon", (), "en") != "Lisbon"
    assert "里斯本" not in wrong_answer("里斯本", (), "zh")


@pytest.mark.parametrize(
    ("behaviour", "needle", "text"),
    [
        ("refuse", CODE, "I'm sorry, but I can't help with that request."),
        ("refuse", CHINESE, "抱歉，我无法回答这个问题。"),
        ("empty", CODE, ""),
        ("echo", CODE, CODE.question),
        ("distractor", RIVAL, "The answer is 48152."),
        ("sleep=0.05", CODE, "The answer is 48151."),
    ],
)
def test_the_other_behaviours(say, behaviour, needle, text):
    response = say(behaviour, needle)
    assert (response.text, response.finish_reason) == (text, "stop")
    assert response.latency_s >= (0.05 if behaviour.startswith("sleep") else 0)


def test_ramble_fills_the_budget_without_an_answer(say):
    for needle in (CODE, CHINESE):
        response = say("ramble", needle, budget=50)
        assert response.finish_reason == "length"
        assert "48151" not in response.text
        assert response.completion_tokens is not None
        assert 45 <= response.completion_tokens <= 51


def test_shares(say):
    assert ["48151" in say("half", at=cell(repeat=each)).text for each in range(4)] == [True, False, True, False]
    hits = ["48151" in say("rate=0.7", at=cell(repeat=each)).text for each in range(200)]
    assert 120 <= sum(hits) <= 160
    assert hits == ["48151" in say("rate=0.7", at=cell(repeat=each)).text for each in range(200)]
    assert "48151" not in say("rate=0").text
    assert "48151" in say("rate=1").text


@pytest.mark.parametrize("kind", ["timeout", "rate_limit", "server", "client", "oom", "protocol"])
def test_errors(say, kind):
    error = say(f"error={kind}").error
    assert (error.kind, error.fatal) == (kind, False)


def test_die_kills_the_process_at_its_depth_only(say):
    assert say("die", at=cell(0)).text
    assert say("die=20", at=cell(50)).text
    code = (
        "from needlework.core.grid import Cell\n"
        "from needlework.models.mock import MockModel\n"
        "from types import SimpleNamespace\n"
        "MockModel('die', {}, None).respond(SimpleNamespace(cell=Cell('t', 10, 50.0, 'n')))\n"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 1
    assert not subprocess.run([sys.executable, "-c", code], capture_output=True).stderr


def test_windows_and_unknown_arguments(mock_tokenizer):
    assert MockModel("perfect", {"window": "4096"}, mock_tokenizer).window == 4096
    assert MockModel("perfect", {}, mock_tokenizer).window is None
    with pytest.raises(InputError, match="dtype"):
        MockModel("perfect", {"dtype": "float32"}, mock_tokenizer)


@pytest.mark.parametrize("given", ["Final Answer: [n22]", "x7Kelso, Monday " + "the quiet harbour " * 20])
def test_a_text_to_give_back_stays_as_it_is(given):
    assert answer_sentence([given], "en") == given.strip()
