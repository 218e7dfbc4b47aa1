"""Mock models do what their names say, also as judges; what a judge is shown of a text."""

from types import SimpleNamespace

import pytest

from needlework.core.errors import InputError
from needlework.core.grid import Cell
from needlework.core.prompts import Message, Needle
from needlework.models.judge import CommandJudge, open_judge
from needlework.models.judge import ask as ask_judge
from needlework.models.mock import MockModel, chance_at, judge_reply, parse_behaviour, parse_curve, wrong_answer
from needlework.models.served.connection import ServerOptions
from needlework.models.tokenizers.tokenizer import load_tokenizer
from needlework.scoring.judges.judges import judged as scorer
from needlework.scoring.judges.judges import pair_messages, read_choice
from needlework.scoring.scores import Reference
from tests.models.conftest import raw

CODE = Needle("code", "The code of the red house is 48151.", "What is the code of the red house?", "48151")
RIVAL = Needle("code", CODE.text, CODE.question, "48151", distractor_answers=("48152",))
CHINESE = Needle("code_zh", "红房子的密码是48151。", "红房子的密码是多少？", "48151")


def cell(depth=0.0, repeat=0):
    return Cell("niah", 1000, depth, "code", repeat)


@pytest.fixture
def say(mock_tokenizer):
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


CURVE = parse_curve("", "4k:1, 16k:0.8, 1M:0")


@pytest.mark.parametrize(("length", "chance"), [(1_000, 1), (4_000, 1), (8_000, 0.9), (16_000, 0.8), (2_000_000, 0)])
def test_the_chance_lies_on_a_line_over_doublings(length, chance):
    assert chance_at(CURVE, length) == pytest.approx(chance)


@pytest.mark.parametrize("text", ["4k", "4k:2", "4k:x", ":0.5", "4k:0.5,", "-1:0.5"])
def test_what_is_no_curve_is_refused(text):
    with pytest.raises(InputError, match="--model mock:curve"):
        parse_behaviour(f"curve={text}")


CODE_REFERENCE = Reference(
    answers=("48151",), statement="The code of the red house is 48151.", question="What is the code of the red house?"
)


def ask(share=None):
    return lambda system, user: judge_reply((Message("system", system), Message("user", user)), share)


@pytest.mark.parametrize("style", ["evalscope", "llmtest", "documents"])
def test_what_has_the_words_of_the_answer_is_right_in_every_form(style):
    judge = scorer(ask(), style)
    assert judge.judge("It is 48151.", CODE_REFERENCE).value == 1.0
    assert judge.judge("It is 59262, the code of the red house.", CODE_REFERENCE).verdict == "wrong"
    if style == "evalscope":  # what an answer says of itself is no heading
        assert judge.judge("[Reference]\nsoup\n[Answer]\nsoup", CODE_REFERENCE).verdict == "wrong"
    if style == "documents":
        absent = Reference(answers=("NOT FOUND",), question="Who?", absent=True)
        assert [judge.judge(answer, absent).value for answer in ("NOT FOUND", "Ada Vane")] == [1.0, 0.0]


def test_the_one_with_more_of_it_is_better():
    pairs = [("48151", "no idea", "A"), ("no idea", "48151", "B"), ("no idea", "soup", "tie")]
    for first, second, better in pairs:
        assert (
            read_choice(ask()(*pair_messages(CODE_REFERENCE.question, CODE_REFERENCE.statement, first, second)))
            == better
        )


def test_in_a_prompt_of_ones_own_it_draws_or_says_that_it_cannot_tell():
    prompt = "Is {answer} right for {question}? GRADE: C or I."
    draws = [scorer(ask(0.8), "prompt", prompt).judge(f"{n}", CODE_REFERENCE).value for n in range(200)]
    assert 0.7 < sum(draws) / 200 < 0.9
    with pytest.raises(ValueError, match="no verdict in the reply: 'mock:judge knows the prompts of needlework alone"):
        scorer(ask(), "prompt", prompt).judge("48151", CODE_REFERENCE)


def test_a_judge_that_is_not_there_is_to_be_mended_at_its_own_address(tmp_path, monkeypatch):
    monkeypatch.setattr("needlework.models.served.limiter.NEVER_HEARD_S", 0.5)
    connection = ServerOptions("http://127.0.0.1:1/v1", retries=0, timeout_s=2)
    judge = open_judge("openai:j", connection, None, tmp_path)

    with pytest.raises(RuntimeError, match=r"the judge did not answer: .*--judge-base-url"):
        ask_judge(judge, "", "Is it right?")


TEXT = "A harbour light was seen again. " * 200


def judge(window, reply_budget):
    model = SimpleNamespace(window=window, tokenizer=load_tokenizer("tiktoken:cl100k_base"))
    return CommandJudge("openai:m", {}, 1, reply_budget, model, print)


@pytest.mark.parametrize("reply_budget", [100, 400])
def test_a_text_is_cut_to_leave_room_for_the_words_around_and_the_reply(reply_budget):
    asked = judge(1000, reply_budget)
    part = asked.shortened(TEXT, "Ask about this text.")

    tokens = asked.model.tokenizer.encode(part).count
    assert TEXT.startswith(part)
    assert 0.8 * (1000 - reply_budget) < tokens + 5 <= 1000 - reply_budget
    for window in (None, 100_000):
        assert judge(window, reply_budget).shortened(TEXT, "Ask about this text.") == TEXT
    with pytest.raises(InputError, match=f"its window of {reply_budget + 20} tokens has no room for a document"):
        judge(reply_budget + 20, reply_budget).shortened(TEXT, "Ask about this text. " * 10)
