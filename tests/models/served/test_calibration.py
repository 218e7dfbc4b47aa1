"""Two short requests tell how a server counts; answers to other requests are recognised, wrong ones are not."""

from dataclasses import replace

import pytest

from needlework.core.grid import Cell
from needlework.core.prompts import Message, Needle, raw_text
from needlework.models.model import Calibration, ModelError, Request, Response, starts_answer
from needlework.models.served.calibration import (
    Growth,
    Replays,
    are_unique,
    calibrate,
    layout_of,
    new_short_requests,
    tokens_read,
)
from needlework.pipeline.exchange import check_answer
from tests.loopback import good
from tests.models.conftest import chat, make_prompt, make_trial, served_model

NEEDLE = Needle(
    "code", "The gate code for the mill is 4829173.", "What is the gate code for the mill?", "4829173", key="the mill"
)
CONTEXT = "The harbour was quiet. " * 300 + NEEDLE.text + " A gull sat on the rail. " * 300
QUESTION = "What is the gate code for the mill? Answer in a few words."


def trial(tokenizer, kind="chat", system="You are helpful.", needle=NEEDLE):
    return make_trial(tokenizer, needle, CONTEXT, kind, question=QUESTION, system=system)


def test_the_short_requests_are_the_trial_with_another_text(smol_tokenizer):
    request = trial(smol_tokenizer)
    assert layout_of(request, smol_tokenizer) == ("chat", "system", "user", "")
    one, other = new_short_requests(request, smol_tokenizer)
    for short in (one, other):
        assert short.cell is None
        assert short.prompt.tokens < 300
        assert [message.role for message in short.prompt.messages] == ["system", "user"]
        assert short.prompt.text == smol_tokenizer.render_chat(short.prompt.messages)
        assert short.prompt.text.endswith(request.prompt.text[-40:])
        assert "harbour" not in short.prompt.text
        assert f"The gate code for the mill is {short.answer}." in short.prompt.text
        assert len(short.answer) == 7
    assert len({NEEDLE.answer, one.answer, other.answer}) == 3
    pairs = zip(one.prompt.messages, other.prompt.messages, strict=True)
    assert all(len(longer.content) > len(shorter.content) + 50 for shorter, longer in pairs)


def test_of_a_conversation_the_short_requests_have_few_turns(smol_tokenizer):
    turns = [Message("user" if k % 2 else "assistant", f"Turn {k}. {CONTEXT}") for k in range(1, 201)]
    messages = (Message("system", "You are helpful."), *turns, Message("user", QUESTION))
    for template in ("chat", "raw"):
        prompt = replace(make_prompt(smol_tokenizer, "...", messages), conversation=True)
        request = Request(prompt, "chat" if template == "chat" else "raw", 16, needles=(NEEDLE,))
        assert layout_of(request, smol_tokenizer) == (template, "system", "turns", "")
        one, other = new_short_requests(request, smol_tokenizer)
        assert [len(short.prompt.messages) for short in (one, other)] == [4, 8]
        for short in (one, other):
            assert short.prompt.tokens < 700
            assert short.answer in short.prompt.text
            assert QUESTION in short.prompt.messages[-1].content
            assert "harbour" not in short.prompt.text
        assert one.answer != other.answer


def test_a_raw_prompts_end_stays_and_a_value_that_is_no_part_of_a_needle_is_put_behind_its_question(
    smol_tokenizer, mock_tokenizer
):
    request = trial(mock_tokenizer, "raw", system="")
    assert layout_of(request, mock_tokenizer) == ("raw", "user", "Answer:")
    one, _ = new_short_requests(request, mock_tokenizer)
    assert one.prompt.text == raw_text(one.prompt.messages, "Answer:")
    assert one.prompt.text.endswith("in a few words.\n\nAnswer:")
    owls = Needle("owls", "Ada keeps three owls.", "How many owls does Ada keep?", "3")
    one, _ = new_short_requests(trial(smol_tokenizer, needle=owls), smol_tokenizer)
    assert f"How many owls does Ada keep? {one.answer}." in one.prompt.text


def calibrated(request, tokenizer, count, cached=(0, 0)):
    """What is made of a server that counts so, and says how many tokens of each request it had cached."""
    shorts = new_short_requests(request, tokenizer)
    responses = [
        Response(f"It is {short.answer}.", prompt_tokens=count(short), cached_tokens=tokens or None)
        for short, tokens in zip(shorts, cached, strict=True)
    ]
    return calibrate([short.prompt.tokens for short in shorts], responses)


@pytest.mark.parametrize("constant", [0, 1, -1, 27, -30])
def test_a_constant_difference_is_the_servers_template(smol_tokenizer, constant):
    found = calibrated(trial(smol_tokenizer), smol_tokenizer, lambda short: short.prompt.tokens + constant)
    assert found == Calibration("exact", constant)


@pytest.mark.parametrize("cached", [(0, 40), (16, 40)])
def test_a_count_may_leave_out_what_the_server_had_cached(smol_tokenizer, cached):
    left_out = iter(cached)
    count = lambda short: short.prompt.tokens + 3 - next(left_out)  # noqa: E731
    assert calibrated(trial(smol_tokenizer), smol_tokenizer, count, cached) == Calibration("exact", 3)


def test_a_constant_for_each_message_of_a_conversation():
    ours, answers = [171, 473], [Response("", prompt_tokens=count) for count in (157, 443)]
    found = calibrate(ours, answers, messages=(3, 7))
    assert found == Calibration("exact", -2, message_tokens=-4)
    assert found.of(200) == Calibration("exact", -2 - 4 * 200)
    assert calibrate(ours, answers, messages=(3, 6)).status == "inconsistent"
    assert calibrate(ours, answers).status == "inconsistent"


def test_no_constant_no_counts_and_no_answers(smol_tokenizer, mock_tokenizer):
    def without_system(short):
        return len(smol_tokenizer.encode(smol_tokenizer.render_chat(short.prompt.messages[1:])).ids)

    dropped = calibrated(trial(smol_tokenizer), smol_tokenizer, without_system)
    assert dropped.status == "inconsistent"
    assert "no constant difference" in dropped.why
    request = trial(mock_tokenizer, system="")
    by_another = calibrated(request, mock_tokenizer, lambda short: len(smol_tokenizer.encode(short.prompt.text).ids))
    assert by_another.status == "inconsistent"
    assert calibrated(request, mock_tokenizer, lambda _short: None).status == "no_usage"
    failed = calibrate([1, 2], [Response(error=ModelError("server", "boom"))])
    assert (failed.status, failed.why) == ("failed", "a short request failed: boom")


ID = "chatcmpl-5f2c1e0a9b7d4c3e8f6a1b2c3d4e5f60"
OTHER_ID = "chatcmpl-00000000000000000000000000000001"


def asking_for(tokenizer, value, more=""):
    text = f"The gate code for the mill is {value}. {more} What is the gate code for the mill?"
    needle = Needle("code", f"The gate code for the mill is {value}.", "What is it?", value)
    return Request(make_prompt(tokenizer, text), "raw", 16, needles=(needle,))


@pytest.mark.parametrize(
    ("text", "more", "is_replay"),
    [
        ("4829173", "", True),
        ("The code is 4,829,173.", "", True),
        ("The code is ４８２９１７３。", "", True),
        ("It is 4829173 or 12.", "", True),
        ("7302911", "", False),
        ("It is 7302911 and not 4829173.", "", False),
        ("5555555", "", False),
        ("14829173", "", False),
        ("", "", False),
        ("three, in 1921", "", False),  # values that can be guessed are no evidence
        ("4829173", "The gate code for the barn is 4829173.", False),  # a distractor of this very prompt
    ],
)
def test_another_requests_value_proves_a_replay(mock_tokenizer, text, more, is_replay):
    replays = Replays()
    for value in ("4829173", "three", "1921"):
        replays.ask(asking_for(mock_tokenizer, value))
    mine = asking_for(mock_tokenizer, "7302911", more)
    replays.ask(mine)
    assert ("4829173" in replays.problem(mine, text, "")) == is_replay


def test_an_id_that_comes_again_for_another_prompt_proves_it_where_ids_differ(mock_tokenizer):
    assert are_unique(ID, OTHER_ID)
    assert not any(are_unique(*pair) for pair in ((ID, ID), ("chatcmpl-12", "chatcmpl-13"), ("", "")))
    one = asking_for(mock_tokenizer, "4829173")
    other = asking_for(mock_tokenizer, "4829173", "A longer text.")
    replays = Replays()
    for request, id_, differ, is_replay in (
        (one, ID, False, False),
        (other, ID, False, False),  # ids were not seen to differ
        (one, ID, True, False),
        (one, ID, True, False),  # the same prompt asked again
        (other, OTHER_ID, True, False),
        (other, ID, True, True),
        (one, "chatcmpl-123", True, False),  # Ollama has 999 of them
        (other, "chatcmpl-123", True, False),
    ):
        replays.ids_differ = differ
        assert ("its id was given to another" in replays.problem(request, "4829173", id_)) == is_replay


def test_counts_that_stop_growing_are_told():
    growth = Growth(0.01)
    counts = [(1000, 1010, 0), (2000, 2030, 0), (4000, 2048, 0), (8000, 2048, 0), (2010, 2029, 0), (8000, 60, 7950)]
    problems = [growth.problem(ours, Response(prompt_tokens=n, cached_tokens=cached)) for ours, n, cached in counts]
    # The first that was cut has nothing to be compared with; the last but one is hardly longer; then the cache counts.
    assert [bool(problem) for problem in problems] == [False, False, False, True, False, False]
    assert "2048 of one of about 4000" in problems[3]


@pytest.mark.parametrize(("counted", "cached", "read"), [(20, 80, 100), (100, 80, 100), (97, 80, 97), (None, None, 0)])
def test_tokens_of_a_cache_count_where_the_server_left_them_out(counted, cached, read):
    assert tokens_read(100, Response(prompt_tokens=counted, cached_tokens=cached)) == read


PREFIX = "The gate code for the mill is"


@pytest.fixture
def begun(smol_tokenizer):
    """A request with the beginning of its answer."""
    request = chat(smol_tokenizer, f"{NEEDLE.text} The sea was calm.\n{NEEDLE.question}", 8, needles=(NEEDLE,))
    messages = (*request.prompt.messages, Message("assistant", PREFIX))
    return replace(request, prompt=make_prompt(smol_tokenizer, request.prompt.text + PREFIX, messages))


def test_servers_are_told_to_go_on_with_a_started_answer(planted, begun, smol_tokenizer):
    planted.plant(good(), good())
    model = served_model(planted.url, smol_tokenizer)
    model.respond(begun)
    model.respond(chat(smol_tokenizer, NEEDLE.question))
    first, second = (request.body for request in planted.requests)
    assert first["messages"][-1] == {"role": "assistant", "content": PREFIX}
    assert (first["continue_final_message"], first["add_generation_prompt"]) == (True, False)
    assert not {"continue_final_message", "add_generation_prompt"} & second.keys()


@pytest.mark.parametrize("url", ["https://api.openai.com/v1", "azure"])
def test_those_that_cannot_are_not_asked(url, planted, begun, smol_tokenizer, monkeypatch):
    monkeypatch.setenv("NO_SUCH_KEY", "k")
    args = {"azure_api_version": "2026-01-01"} if url == "azure" else {}
    error = served_model(planted.url if url == "azure" else url, smol_tokenizer, **args).respond(begun).error
    assert (error.kind, error.fatal, planted.requests) == ("client", True, [])
    assert error.message.endswith("give --answer-prefix false")


def test_the_short_requests_have_no_started_answer(begun, smol_tokenizer):
    """What closing it adds, in place of going on, is then no constant of the template."""
    assert starts_answer(begun)
    assert not any(map(starts_answer, new_short_requests(begun, smol_tokenizer)))
    cut = replace(begun.prompt, make_messages=lambda _text: begun.prompt.messages[:-1])
    plain = replace(begun, prompt=cut)
    assert layout_of(begun, smol_tokenizer) == layout_of(plain, smol_tokenizer)


def test_a_real_server_goes_on(llama_server, smol, begun, smol_tokenizer):
    served = served_model(llama_server, smol_tokenizer, options={"timeout_s": 60})
    response, local = served.respond(replace(begun, cell=Cell("ruler_vt", 100, None, "hops4"))), smol.respond(begun)
    assert response.error is None
    for text in (response.text, local.text):
        assert text.lstrip().startswith(NEEDLE.answer)
    check = check_answer(begun.prompt.tokens, (), response)
    assert check.invalid == ()
    assert "template_difference" not in check.flags
