"""Trials from their cells: turns of conversations, what a length means, and what identifies a trial for resuming."""

import tempfile
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from needlework.core.errors import InputError
from needlework.core.grid import Cell
from needlework.core.prompts import Message, Needle
from needlework.core.settings import Suite
from needlework.haystack_fixtures.configuration.resolve import recipe_fields, resolve_settings
from needlework.haystack_fixtures.haystacks.conversations import Conversation, GrowingConversation, Round
from needlework.haystack_fixtures.tasks.catalogue import TASKS, grid
from needlework.haystack_fixtures.tasks.task import Question, Task, no_depths
from needlework.haystack_fixtures.trials.builder import TrialBuilder, trial_key
from needlework.models.tokenizers.tokenizer import load_tokenizer
from needlework.pipeline.preparation import fill_window

QUESTION = "At which berth does the Aurora lie? Reply with the number only."
GIVEN = Conversation(
    (Message("user", "Some examples."), Message("user", "And the Aurora?"), Message("assistant", "At berth 90210.")),
    target=2,
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


TURNS = MappingProxyType({each.name: each for each in (task("given", GIVEN), task("growing", GROWING, NEEDLE))})


def build(name, folder, length=600, tokenizer=None, prompt="", **options):
    given = {"task": "niah", "model": ["mock:perfect"], "lengths": str(length), "corpus": "noise"}
    given |= {"prompt": prompt or "conversation", "verify_prompts": "true"}
    settings = resolve_settings(given | options, {}, folder)
    suite = structs.replace(settings.suites[0], task=name, controls=())
    made = TrialBuilder(
        structs.replace(settings, suites=(suite,)), tokenizer or load_tokenizer("o200k_base"), folder, tasks=TURNS
    )
    return made.build(suite, Cell(name, length, None, "berth", 0))


def test_turns_are_sent_as_messages_with_the_question_last(tmp_path):
    for name in TURNS:
        messages = build(name, tmp_path, system_prompt="Be short.").prompt.messages
        assert (messages[0].role, messages[0].content) == ("system", "Be short.")
        assert (messages[-1].role, messages[-1].content) == ("user", QUESTION)
    said = build("given", tmp_path).prompt.messages
    assert said[:-1] == GIVEN.turns


def test_a_conversation_that_is_too_long_is_skipped_with_the_length_it_needs(tmp_path):
    assert not build("given", tmp_path).skipped
    trial = build("given", tmp_path, length=60)
    needed = int(trial.skipped.removeprefix("its conversation needs a length of "))
    assert not build("given", tmp_path, length=needed).skipped
    assert build("given", tmp_path, length=needed - 1).skipped


@pytest.mark.parametrize("name", TURNS)
def test_what_opens_a_prompt_opens_the_first_turn(name, tmp_path):
    first = build(name, tmp_path).prompt.messages[0].content
    marked = build(name, tmp_path, cache_policy="isolated").prompt.messages[0].content
    assert marked.startswith("[")
    assert marked.endswith(f"]\n{first}")
    twice = build(name, tmp_path, question_position="both").prompt
    assert twice.messages[0].content.endswith(f"{QUESTION}\n\n{first}")
    assert twice.messages[-1].content == QUESTION


@pytest.mark.parametrize("name", TURNS)
def test_the_plain_form_for_base_models(name, tmp_path):
    text = build(name, tmp_path, template="raw").prompt.text
    assert text.startswith("User: ")
    assert text.endswith(f"\n\nUser: {QUESTION}\n\nAssistant:")
    assert build(name, tmp_path, template="raw", language="zh").prompt.text.endswith("\n\n助手：")


@pytest.mark.parametrize("name", TURNS)
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


MODEL = {"spec": "mock:perfect", "args": [], "base_url": None}


@cache
def tokenizer(name):
    return load_tokenizer(name)


def run_settings(**options):
    given = {"corpus": "noise", "depths": "50", "verify_prompts": "true", "model": ["mock:perfect"]} | options
    return resolve_settings(given, {}, Path(tempfile.gettempdir()))


def built(counted="tiktoken:cl100k_base", **options):
    """The trials of a run_settings with these options, verified, and their keys."""
    found = run_settings(**options)
    builder = TrialBuilder(found, tokenizer(counted), Path(tempfile.gettempdir()))
    cells = [(series.suite, cell) for series in grid(found) for cell in series.cells]
    return [builder.build(*each) for each in cells], [builder.key(*each, MODEL) for each in cells]


def context_in_place(trial, counted):
    """Tokens of the prompt that have a part of its context, counted on the whole prompt encoded anew."""
    text, (begin, end) = trial.prompt.text, trial.prompt.context
    starts = [*tokenizer(counted).encode(text).starts.tolist(), len(text)]
    return sum(start < end and following > begin for start, following in pairwise(starts))


@settings(max_examples=6, deadline=None)
@given(
    length=st.integers(500, 2500),
    depth=st.sampled_from(("0", "37", "100")),
    buffer=st.integers(0, 150),
    language=st.sampled_from(("en", "zh")),
    counted=st.sampled_from(("tiktoken:cl100k_base", "o200k_base")),
    task=st.sampled_from(("niah", "multi_needle")),
)
def test_both_lengths_are_exact(tmp_path_factory, length, depth, buffer, language, counted, task):
    file = tmp_path_factory.mktemp("presets") / "mine.toml"
    file.write_text(f'[mine]\n[[mine.suite]]\ntask = "{task}"\nlength_buffer = {buffer}\n', encoding="utf-8")
    asked = {"preset": str(file), "lengths": str(length), "depths": depth, "language": language, "corpus": "generated"}
    (alone,), _ = built(counted, **asked, length_means="context")
    (total,), _ = built(counted, **asked)
    room = length - buffer
    assert context_in_place(alone, counted) == alone.prompt.context_tokens
    assert 0 <= room - alone.prompt.context_tokens == alone.prompt.slack <= max(2, room // 2000)
    assert total.prompt.tokens + total.suite.answer_tokens + total.prompt.slack == room
    assert 0 <= total.prompt.slack <= max(2, room // 2000)
    for trial in (alone, total):
        for needle in trial.asked.needles:
            assert trial.prompt.text.count(needle.text) == 1
        wanted = [needle.requested for needle in trial.prompt.placed]
        assert [needle.depth for needle in trial.prompt.placed] == pytest.approx(wanted, abs=12)


@pytest.mark.parametrize(
    ("preset", "task"), [("families", "copy"), ("mrcr-offline", "mrcr"), ("needlebench-v2-atc", "needlebench_atc")]
)
def test_what_has_no_context_to_fill_refuses(preset, task):
    with pytest.raises(InputError, match=f"--length-means: 'context': {task} asks about .*its lengths are total"):
        built(preset=preset, task=task, language="en", length_means="context")


def test_a_window_holds_prompt_and_answer():
    with pytest.raises(InputError, match="--lengths: 'window': is what prompt and answer have together"):
        fill_window(
            run_settings(task="niah", lengths="1k,window", length_means="context"), TASKS, Path(tempfile.gettempdir())
        )


CELL = Cell("niah", 4000, 50.0, "code", 0)
CODE = Needle("code", "The code is 4829.", "What is the code?", "4829", distractors=("The key is 11.",))
ASKED = Question(
    needles=(CODE,),
    depths=(50.0,),
    question="What is the code?",
    answer="4829",
    reference={"answers": ["4829"]},
    distractors=("A door is open.",),
)

# A field that the key forgets would give a resumed run the answers to other prompts: a new one fails these tests until
# it has its place in one of the tables.
ANOTHER_SUITE = {
    "task": "parallel", "language": "zh", "needle_set": "italy", "corpus": "pydoc", "text_field": "body",
    "file_list": ("a.jsonl",), "scorer": "cdme", "prompt": "cdme", "template": "raw", "system_prompt": "Be brief.",
    "question_position": "both", "answer_budget": 7, "thinking_budget": 7, "length_buffer": 7, "guide": True,
    "diff": 25.0, "keyword": "4829", "tokenizer_model": "gpt-4", "answer_prefix": True,
    "length_means": "context", "repeats_per_file": 2, "questions": "q.jsonl", "leval_subset": "all",
    "leval_truncation": "compat", "leval_length_hint": False, "no_truncate": True, "chunk_size": "77",
    "chunk_overlap": "7", "retrieve": 7, "embedder": "hash:7", "data_cut": "compat", "data_window": 7,
}  # fmt: skip
AXES = ("lengths", "depths", "spread", "window", "repeats")
NOT_OF_THE_SUITE = {
    **dict.fromkeys(AXES, "an axis: the cell has it"),
    **dict.fromkeys(("controls", "variants"), "the cell's needle names it"),
    **dict.fromkeys(("data_where", "data_limit"), "the cell's needle names the row"),
    **dict.fromkeys(("documents", "leval_data", "data"), "the material has their hashes, wherever they lie"),
    "embedder_api_key_env": "a secret's name",
    "judge_by_default": "it says who scores, and changes no prompt",
    "retriever": "the cell's needle names it, and the material what it does",
    "vote": "it makes repeats",
    "embedder_base_url": "the material has the embedder's identity",
}
ANOTHER_CELL = {"task": "parallel", "length": 8000, "depth": 60.0, "needle": "city", "repeat": 1}
NOT_OF_THE_CELL = {"model": "the recipe has the model, and what can change its answers"}
ANOTHER_NEEDLE = {"text": "The code is 11.", "distractors": ("The key is 12.",), "ask": "Well?"}
NOT_OF_THE_NEEDLE = dict.fromkeys(
    ("name", "question", "answer", "keyword", "key", "accepted", "distractor_answers", "reply"),
    "the model sees its text alone; a stored answer is scored by today's reference",
)
ANOTHER_ASKED = {
    "needles": (), "depths": (60.0,), "question": "Which code?", "distractors": ("A door is shut.",),
    "introduction": "Examples:\n", "answer_prefix": "The code is", "material": "sha256 of another text",
}  # fmt: skip
NOT_OF_WHAT_IS_ASKED = {
    **dict.fromkeys(("answer", "reference", "needed"), "no part of the prompt"),
    **dict.fromkeys(
        ("context", "search", "follow_up", "joint", "abstains", "verbatim", "avoid"),
        "drawn from seed, cell, suite and material, by the task's version",
    ),
}


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    folder = tmp_path_factory.mktemp("root")
    (found,) = resolve_settings({"model": ["mock:perfect"], "task": "niah"}, {}, folder).suites
    return structs.replace(found, retriever=("bm25",))


def key(suite, cell=CELL, asked=ASKED):
    return trial_key(recipe_fields(suite), cell, asked)


CHANGES = {
    "suite": (ANOTHER_SUITE, lambda suite, changes: key(structs.replace(suite, **changes))),
    "cell": (ANOTHER_CELL, lambda suite, changes: key(suite, replace(CELL, **changes))),
    "question": (ANOTHER_ASKED, lambda suite, changes: key(suite, asked=replace(ASKED, **changes))),
    "needle": (
        ANOTHER_NEEDLE,
        lambda suite, changes: key(suite, asked=replace(ASKED, needles=(replace(CODE, **changes),))),
    ),
}


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in CHANGES for name in CHANGES[kind][0]])
def test_another_value_is_another_trial(suite, kind, name):
    values, key_of = CHANGES[kind]
    assert key_of(suite, {name: values[name]}) != key(suite)


@pytest.mark.parametrize("name", NOT_OF_THE_SUITE)
def test_other_options_that_change_no_answer_are_the_same_trial(suite, name):
    assert key(structs.replace(suite, **{name: "other"})) == key(suite)


def test_other_turns_that_are_given_are_another_trial(suite):
    one, other = (replace(ASKED, context=Conversation((Message("user", text),))) for text in ("Hello.", "Hello!"))
    assert len({key(suite, asked=asked) for asked in (ASKED, one, other)}) == 3


def test_distractors_of_the_trial_are_not_taken_for_a_needles(suite):
    moved = replace(ASKED, needles=(replace(CODE, distractors=()),), distractors=CODE.distractors)
    assert key(suite, asked=moved) != key(suite, asked=replace(ASKED, distractors=()))


@pytest.mark.parametrize(
    ("names", "changes", "reasons"),
    [
        (Suite.__struct_fields__, ANOTHER_SUITE, NOT_OF_THE_SUITE),
        (Cell.__dataclass_fields__, ANOTHER_CELL, NOT_OF_THE_CELL),
        (Needle.__dataclass_fields__, ANOTHER_NEEDLE, NOT_OF_THE_NEEDLE),
        (Question.__dataclass_fields__, ANOTHER_ASKED, NOT_OF_WHAT_IS_ASKED),
    ],
    ids=("suite", "cell", "needle", "question"),
)
def test_every_field_has_its_place_in_one_of_the_tables(names, changes, reasons):
    assert set(names) == changes.keys() | reasons.keys()
    assert not changes.keys() & reasons.keys()
