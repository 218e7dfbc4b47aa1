"""Conversations: exact prompts of whole rounds, with every tokenizer and every kind of chat template."""

from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from needlework.core.draws import draws, pick
from needlework.core.errors import InputError
from needlework.core.prompts import Message, Turn
from needlework.haystack_fixtures.haystacks.builder import near_enough, verify_prompt
from needlework.haystack_fixtures.haystacks.conversations import (
    Conversation,
    GrowingConversation,
    OuterMessages,
    Round,
    build_conversation,
    build_given,
    joints_of,
    list_of_rounds,
)
from needlework.haystack_fixtures.haystacks.listing import ListSources
from needlework.models.tokenizers.tokenizer import load_tokenizer
from tests.chat_templates import IRREGULAR, REGULAR, templated

PROSE = "The ferry left before dawn, and nobody waved. 那天晚上下了很大的雨，谁也没有出门。Was it late? " * 20
WORDS = ("oar", "lantern", "incomprehensible", "茶馆", "🚢", "e\u0301te\u0301", "3.14159", "a\n\nb", "- c")
WANTED = Round("Write a riddle about owls.", "What sees at night, and is paid 4711?\n\nAn owl.")
QUESTION = Message("user", "Say the riddle about owls again.")


def rounds(n, seed=0):
    """Rounds of one to thirty words."""
    made = []
    for number in range(n):
        rng = draws("round", seed, number)
        words = " ".join(pick(rng, WORDS) for _ in range(1 + int(rng.random() ** 2 * 30)))
        made.append(Round(f"Number {number}?", f"{number}: {words}."))
    return made


def outer(tokenizer, system=""):
    before = (Message("system", system),) if system else ()
    return OuterMessages(before, "", (QUESTION,), (), tokenizer.render_chat)


def build(tokenizer, stage, budget, depth=50.0, seed=0, needles=1):
    conversation = GrowingConversation(partial(rounds, seed=seed), Round("And now?", "A note."))
    stage, joints = joints_of(stage)
    prompt = build_conversation(
        stage,
        joints,
        conversation,
        ListSources(list_of_rounds(conversation, joints), tokenizer),
        PROSE,
        [(f"wanted{k}", Round(f"{WANTED.ask} ({k})", f"{WANTED.reply} {k}!")) for k in range(needles)],
        [depth] * needles,
        budget=budget,
        encode=tokenizer.encode,
    )
    verify_prompt(tokenizer, prompt)
    return prompt


@pytest.mark.parametrize("name", REGULAR)
@settings(max_examples=8)
@given(
    st.integers(0, 50), st.integers(400, 1200), st.floats(0, 100), st.integers(0, 3), st.sampled_from(("", "Short."))
)
def test_every_template_shows_the_messages_as_they_are(name, seed, budget, depth, needles, system):
    system = "" if "alternating" in name else system
    tokenizer = templated(load_tokenizer("o200k_base"), REGULAR[name])
    prompt = build(tokenizer, outer(tokenizer, system=system), budget, depth, seed, needles)
    assert near_enough(prompt.tokens, budget)
    assert tokenizer.render_chat(prompt.messages) == prompt.text
    turns = [message for message in prompt.messages if message.role != "system"]
    assert [turn.role for turn in turns] == ["user", "assistant"] * (len(turns) // 2) + ["user"]
    assert turns[-1] == QUESTION
    others = [turn.content for turn in turns if WANTED.reply not in turn.content and WANTED.ask not in turn.content]
    expected = [text for each in rounds(len(others) // 2, seed) for text in (each.ask, each.reply)]
    assert others[:-3] == expected[: len(others) - 3]
    for placed in prompt.placed:
        assert prompt.text[placed.start : placed.end] == f"{WANTED.reply} {placed.name[-1]}!"


def test_the_wanted_turn_stands_at_its_depth():
    tokenizer = templated(load_tokenizer("o200k_base"), REGULAR["chatml"])
    for depth in (0, 10, 25, 50, 75, 90, 100):
        [placed] = build(tokenizer, outer(tokenizer), 6000, depth).placed
        assert placed.requested == depth
        assert abs(placed.depth - depth) < 2
        assert depth not in (0, 100) or placed.depth == depth


def test_neighbours_of_one_role_are_merged_only_where_the_template_refuses_them():
    inner = load_tokenizer("o200k_base")
    turns = (Turn("user", "Some examples."), Turn("user", "Hello?"), Turn("assistant", "Hello."))
    for name, source in REGULAR.items():
        tokenizer = templated(inner, source)
        prompt = build_given(tokenizer, Conversation(turns, target=2), outer(tokenizer), budget=500)
        verify_prompt(tokenizer, prompt)
        merged = "alternating" in name
        assert prompt.flags == (("merged_roles",) if merged else ())
        assert len(prompt.messages) == 4 - merged
        assert tokenizer.render_chat(prompt.messages) == prompt.text
        [placed] = prompt.placed
        assert prompt.text[placed.start : placed.end] == "Hello."
        assert placed.depth == 100
        assert prompt.text[slice(*prompt.context)].startswith("Some examples.")


@pytest.mark.parametrize("name", IRREGULAR)
def test_templates_that_do_not_treat_turns_alike_are_refused(name):
    tokenizer = templated(load_tokenizer("o200k_base"), IRREGULAR[name])
    with pytest.raises(InputError, match="--template raw"):
        build(tokenizer, outer(tokenizer), 800)


def test_a_template_that_changes_a_turn_is_refused():
    source = REGULAR["chatml"].replace("message['content'] +", "message['content'] | replace('lantern', 'lamp') +")
    tokenizer = templated(load_tokenizer("o200k_base"), source)
    with pytest.raises(InputError, match="--template raw"):
        build(tokenizer, outer(tokenizer), 800)
    lantern = Conversation((Turn("user", "A lantern?"), Turn("assistant", "No.")))
    with pytest.raises(InputError, match="changes the text of turn 0"):
        build_given(tokenizer, lantern, outer(tokenizer), budget=800)
