"""Two short requests tell how a server counts, whether it drops messages, and whether it mixes answers up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from needlework.core.prompts import Message, Needle, raw_text
from needlework.models.model import Calibration, ModelError, Request, Response
from needlework.models.served.calibration import Replays, calibrate, layout_of, new_short_requests
from needlework.models.tokenizers.tokenizer import Tokenizer
from tests.haystack_fixtures.models.conftest import make_prompt

NEEDLE = Needle(
    "code", "The gate code for the mill is 4829173.", "What is the gate code for the mill?", "4829173", key="the mill"
)
CONTEXT = "The harbour was quiet. " * 300 + NEEDLE.text + " A gull sat on the rail. " * 300
QUESTION = "What is the gate code for the mill? Answer in a few words."


def trial(
    tokenizer: Tokenizer, template: str = "chat", system: str = "You are helpful.", needle: Needle = NEEDLE
) -> Request:
    messages = (Message("user", f"Read this.\n\n<document>\n{CONTEXT}\n</document>\n\n{QUESTION}"),)
    messages = (Message("system", system), *messages) if system else messages
    chat = template == "chat" and tokenizer.has_chat_template
    text = tokenizer.render_chat(messages) if chat else raw_text(messages, "Answer:")
    start = text.index(CONTEXT)
    prompt = replace(make_prompt(tokenizer, text, messages), context=(start, start + len(CONTEXT)))
    return Request(prompt, "chat" if template == "chat" else "raw", 16, needles=(needle,))


def short(request: Request, tokenizer: Tokenizer) -> tuple[Request, Request]:
    return new_short_requests(request, tokenizer)


def counted(requests: tuple[Request, Request], count: Callable[[Request], int | None]) -> list[Response]:
    return [Response(f"It is {each.answer}.", prompt_tokens=count(each)) for each in requests]


def test_the_short_requests_are_the_trial_with_another_text(smol_tokenizer: Tokenizer) -> None:
    request = trial(smol_tokenizer)
    one, other = short(request, smol_tokenizer)
    for each in (one, other):
        assert each.cell is None
        assert each.prompt.tokens < 300
        assert [message.role for message in each.prompt.messages] == ["system", "user"]
        assert each.prompt.text == smol_tokenizer.render_chat(each.prompt.messages)
        assert each.prompt.text.endswith(request.prompt.text[-40:])
        assert "harbour" not in each.prompt.text
        assert f"The gate code for the mill is {each.answer}." in each.prompt.text
        assert len(each.answer) == 7
    assert len({NEEDLE.answer, one.answer, other.answer}) == 3
    assert all(
        len(longer.content) > len(shorter.content) + 50
        for shorter, longer in zip(one.prompt.messages, other.prompt.messages, strict=True)
    )


def test_of_a_conversation_the_short_requests_have_few_turns(smol_tokenizer: Tokenizer) -> None:
    said = [Message("user" if k % 2 else "assistant", f"Turn {k}. {CONTEXT}") for k in range(1, 201)]
    messages = (Message("system", "You are helpful."), *said, Message("user", QUESTION))
    for template in ("chat", "raw"):
        prompt = replace(make_prompt(smol_tokenizer, "...", messages), conversation=True)
        request = Request(prompt, "chat" if template == "chat" else "raw", 16, needles=(NEEDLE,))
        assert layout_of(request, smol_tokenizer) == (template, "system", "turns", "")
        one, other = short(request, smol_tokenizer)
        assert [len(each.prompt.messages) for each in (one, other)] == [4, 8]
        for each in (one, other):
            assert each.prompt.tokens < 700
            assert each.answer in each.prompt.text
            assert QUESTION in each.prompt.messages[-1].content
            assert "harbour" not in each.prompt.text
        assert one.answer != other.answer
        assert one.prompt.text == smol_tokenizer.render_chat(one.prompt.messages) or template == "raw"


def test_without_a_chat_template_the_prompts_end_stays(mock_tokenizer: Tokenizer) -> None:
    one, _ = short(trial(mock_tokenizer, "raw"), mock_tokenizer)
    assert one.prompt.text.endswith("in a few words.\n\nAnswer:")
    assert one.prompt.text == raw_text(one.prompt.messages, "Answer:")
    assert one.prompt.tokens == len(mock_tokenizer.encode(one.prompt.text).ids)


def test_a_needle_whose_value_is_no_part_of_it(smol_tokenizer: Tokenizer) -> None:
    needle = Needle("owls", "Ada keeps three owls.", "How many owls does Ada keep?", "3")
    one, _ = short(trial(smol_tokenizer, needle=needle), smol_tokenizer)
    assert f"How many owls does Ada keep? {one.answer}." in one.prompt.text


def counts_of(requests: tuple[Request, Request]) -> list[int]:
    return [each.prompt.tokens for each in requests]


@pytest.mark.parametrize("constant", [0, 1, -1, 27, -30])
def test_a_constant_difference_is_the_servers_template(smol_tokenizer: Tokenizer, constant: int) -> None:
    requests = short(trial(smol_tokenizer), smol_tokenizer)
    found = calibrate(counts_of(requests), counted(requests, lambda each: each.prompt.tokens + constant))
    assert found == Calibration("exact", constant)


def test_a_constant_for_each_message_of_a_conversation(smol_tokenizer: Tokenizer) -> None:
    ours, answers = [171, 473], [Response("", prompt_tokens=count) for count in (157, 443)]
    found = calibrate(ours, answers, messages=(3, 7))
    assert found == Calibration("exact", -2, message_tokens=-4)
    assert found.of(200) == Calibration("exact", -2 - 4 * 200)
    assert calibrate(ours, answers, messages=(3, 6)).status == "inconsistent"
    assert calibrate(ours, answers).status == "inconsistent"


def test_a_server_that_drops_the_system_prompt_has_no_constant(smol_tokenizer: Tokenizer) -> None:
    def count(each: Request) -> int:
        return len(smol_tokenizer.encode(smol_tokenizer.render_chat(each.prompt.messages[1:])).ids)

    requests = short(trial(smol_tokenizer), smol_tokenizer)
    found = calibrate(counts_of(requests), counted(requests, count))
    assert found.status == "inconsistent"
    assert "no constant difference" in found.why


def test_a_server_with_another_tokenizer_has_no_constant(smol_tokenizer: Tokenizer, mock_tokenizer: Tokenizer) -> None:
    requests = short(trial(mock_tokenizer, system=""), mock_tokenizer)
    answers = counted(requests, lambda each: len(smol_tokenizer.encode(each.prompt.text).ids))
    assert calibrate(counts_of(requests), answers).status == "inconsistent"


def test_a_server_that_leaves_cached_tokens_out_of_its_count(smol_tokenizer: Tokenizer) -> None:
    requests = short(trial(smol_tokenizer), smol_tokenizer)
    one, other = counted(requests, lambda each: each.prompt.tokens + 3)
    other = replace(other, prompt_tokens=(other.prompt_tokens or 0) - 40, cached_tokens=40)
    assert calibrate(counts_of(requests), [one, other]) == Calibration("exact", 3)


def test_no_counts_and_no_answers(smol_tokenizer: Tokenizer) -> None:
    requests = short(trial(smol_tokenizer), smol_tokenizer)
    assert calibrate(counts_of(requests), counted(requests, lambda each: None)).status == "no_usage"
    failed = Response(error=ModelError("server", "boom"))
    found = calibrate(counts_of(requests), [failed])
    assert (found.status, found.why) == ("failed", "a short request failed: boom")


def test_an_answer_with_the_other_requests_value(smol_tokenizer: Tokenizer) -> None:
    requests = short(trial(smol_tokenizer), smol_tokenizer)
    replays = Replays()
    answers = []
    for each in requests:
        replays.ask(each)
        said = f"It is {requests[0].answer}."  # to both
        answers.append(Response(said, prompt_tokens=each.prompt.tokens, stale=replays.problem(each, said, "")))
    assert calibrate(counts_of(requests), answers).status == "stale"


def test_layouts(smol_tokenizer: Tokenizer, mock_tokenizer: Tokenizer) -> None:
    assert layout_of(trial(smol_tokenizer), smol_tokenizer) == ("chat", "system", "user", "")
    assert layout_of(trial(smol_tokenizer, system=""), smol_tokenizer) == ("chat", "user", "")
    assert layout_of(trial(smol_tokenizer, "raw", ""), smol_tokenizer) == ("raw", "user", "Answer:")
