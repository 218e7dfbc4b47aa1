"""Tasks of conversations, from their cells to their prompts: what options do with turns."""

from types import MappingProxyType

import pytest
from msgspec.structs import replace

from needlework.core.errors import InputError
from needlework.core.grid import Cell
from needlework.core.prompts import Needle, Turn
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.haystacks.conversations import Conversation, GrowingConversation, Round
from needlework.haystack_fixtures.tasks.task import Question, Task, no_depths
from needlework.haystack_fixtures.trials.builder import TrialBuilder
from needlework.models.tokenizers.tokenizer import load_tokenizer
from tests.chat_templates import IRREGULAR, REGULAR, templated

QUESTION = "At which berth does the Aurora lie? Reply with the number only."
GIVEN = Conversation(
    (Turn("user", "Some examples."), Turn("user", "And the Aurora?"), Turn("assistant", "At berth 90210.")), target=2
)
GROWING = GrowingConversation(
    lambda n: [Round(f"Where was it on day {day}?", f"On day {day} it lay at berth {day * 7}.") for day in range(n)],
    Round("And the weather?", "Fair."),
)
NEEDLE = Needle("berth", "The Aurora lies at berth 90210.", QUESTION, "90210", ask="What of the Aurora?")


def task(name, context, *needles):
    depths, reference = (50.0,) * len(needles), {"answers": ("90210",)}
    asked = Question(
        needles=needles, depths=depths, question=QUESTION, answer="90210", reference=reference, context=context
    )
    return Task(name, "berths", lambda suite: ("berth",), no_depths, lambda suite, cell, seed: asked)


TASKS = MappingProxyType({each.name: each for each in (task("given", GIVEN), task("growing", GROWING, NEEDLE))})


def build(name, folder, length=600, tokenizer=None, prompt="", **options):
    given = {"task": "niah", "model": ["mock:perfect"], "lengths": str(length), "corpus": "noise"}
    given |= {"prompt": prompt or "conversation", "verify_prompts": "true"}
    settings = resolve_settings(given | options, {}, folder)
    suite = replace(settings.suites[0], task=name, controls=())
    made = TrialBuilder(
        replace(settings, suites=(suite,)), tokenizer or load_tokenizer("o200k_base"), folder, tasks=TASKS
    )
    return made.build(suite, Cell(name, length, None, "berth", 0))


def test_turns_are_sent_as_messages_with_the_question_last(tmp_path):
    for name in TASKS:
        messages = build(name, tmp_path, system_prompt="Be short.").prompt.messages
        assert (messages[0].role, messages[0].content) == ("system", "Be short.")
        assert (messages[-1].role, messages[-1].content) == ("user", QUESTION)
    said = build("given", tmp_path).prompt.messages
    assert [(each.role, each.content) for each in said[:-1]] == [(turn.role, turn.text) for turn in GIVEN.turns]


def test_a_conversation_that_is_too_long_is_skipped_with_the_length_it_needs(tmp_path):
    assert not build("given", tmp_path).skipped
    trial = build("given", tmp_path, length=60)
    needed = int(trial.skipped.removeprefix("its conversation needs a length of "))
    assert not build("given", tmp_path, length=needed).skipped
    assert build("given", tmp_path, length=needed - 1).skipped


@pytest.mark.parametrize("name", TASKS)
def test_what_opens_a_prompt_opens_the_first_turn(name, tmp_path):
    first = build(name, tmp_path).prompt.messages[0].content
    marked = build(name, tmp_path, cache_policy="isolated").prompt.messages[0].content
    assert marked.startswith("[")
    assert marked.endswith(f"]\n{first}")
    twice = build(name, tmp_path, question_position="both").prompt
    assert twice.messages[0].content.endswith(f"{QUESTION}\n\n{first}")
    assert twice.messages[-1].content == QUESTION


@pytest.mark.parametrize("name", TASKS)
def test_the_plain_form_for_base_models(name, tmp_path):
    text = build(name, tmp_path, template="raw").prompt.text
    assert text.startswith("User: ")
    assert text.endswith(f"\n\nUser: {QUESTION}\n\nAssistant:")
    assert build(name, tmp_path, template="raw", language="zh").prompt.text.endswith("\n\n助手：")


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        ({"prompt": "plain"}, "use conversation"),
        ({"question_position": "start"}, "--question-position end or both"),
        ({"canary": "true"}, "leave it out"),
    ],
)
def test_what_has_no_place_in_a_conversation_is_refused(name, options, remedy, tmp_path):
    with pytest.raises(InputError, match=remedy):
        build(name, tmp_path, **options)


def test_templates(tmp_path):
    inner = load_tokenizer("o200k_base")
    strict = templated(inner, REGULAR["brackets, alternating"])
    assert build("given", tmp_path, tokenizer=strict).prompt.flags == ("merged_roles",)
    assert build("growing", tmp_path, tokenizer=strict).prompt.flags == ()
    with pytest.raises(InputError, match="takes no system role"):
        build("growing", tmp_path, tokenizer=strict, system_prompt="Be short.")
    numbers = templated(inner, IRREGULAR["numbers its messages"])
    assert build("given", tmp_path, tokenizer=numbers).prompt.tokens  # what is as it is needs no regular template
    with pytest.raises(InputError, match="--template raw"):
        build("growing", tmp_path, tokenizer=numbers)
    assert build("growing", tmp_path, tokenizer=numbers, template="raw").prompt.slack <= 2
