"""What identifies a trial for resuming: each field alone changes the key, or stands here with the reason why not.

A field that the key forgets would give a resumed run the answers to other prompts. A new field fails these tests until
it has its place in one of the tables.
"""

from dataclasses import replace

import pytest
from msgspec import structs

from needlework.core.grid import Cell
from needlework.core.prompts import Needle, Turn
from needlework.core.settings import FamilyValues, Suite
from needlework.haystack_fixtures.configuration.option_table import FAMILY_OPTIONS
from needlework.haystack_fixtures.configuration.resolve import recipe_fields, resolve_settings
from needlework.haystack_fixtures.haystacks.conversations import Conversation
from needlework.haystack_fixtures.tasks.task import Question
from needlework.haystack_fixtures.trials.builder import trial_key

RETRIEVES = FamilyValues({"retriever": ("bm25",)})
CELL = Cell("niah", 4000, 50.0, "code", 0)
NEEDLE = Needle("code", "The code is 4829.", "What is the code?", "4829", distractors=("The key is 11.",))
ASKED = Question(
    needles=(NEEDLE,),
    depths=(50.0,),
    question="What is the code?",
    answer="4829",
    reference={"answers": ["4829"]},
    distractors=("A door is open.",),
)

ANOTHER_SUITE = {
    "task": "parallel", "language": "zh", "needle_set": "italy", "corpus": "pydoc", "text_field": "body",
    "file_list": ("a.jsonl",), "scorer": "cdme", "prompt": "cdme", "template": "raw", "system_prompt": "Be brief.",
    "question_position": "both", "answer_budget": 7, "thinking_budget": 7, "length_buffer": 7, "guide": True,
    "diff": 25.0, "keyword": "4829", "tokenizer_model": "gpt-4", "answer_prefix": True,
    "length_means": "context", "repeats_per_file": 2,
}  # fmt: skip
NOT_OF_THE_SUITE = {
    "lengths": "an axis: the cell has it",
    "depths": "an axis: what is asked has them",
    "spread": "an axis: the cell has it",
    "window": "an axis: the cell has it",
    "repeats": "an axis: the cell has it",
    "controls": "the cell's needle names its control",
    "variants": "the cell's needle names it",
    "judge_by_default": "it says who scores, and changes no prompt",
    "family": "option by option, in the next two tables",
}
ANOTHER_OWN = {
    "questions": "q.jsonl", "leval_subset": "all", "leval_truncation": "compat", "leval_length_hint": False,
    "no_truncate": True, "chunk_size": "77", "chunk_overlap": "7", "retrieve": 7, "embedder": "hash:7",
    "data_cut": "compat", "data_window": 7,
}  # fmt: skip
NOT_OF_ITS_OWN = {
    "retriever": "the cell's needle names it, and the material what it does",
    "documents": "the material has their hashes, wherever they lie",
    "leval_data": "the material has its hash, wherever it lies",
    "data": "the corpus has its hash, wherever it lies",
    "data_where": "the cell's needle names the row",
    "data_limit": "the cell's needle names the row",
    "vote": "it makes repeats",
    "questions_model": "the questions that it writes are the cells' own",
    "questions_model_base_url": "where the writer is reached",
    "questions_model_api_key_env": "a secret's name",
    "embedder_base_url": "the material has the embedder's identity",
    "embedder_api_key_env": "a secret's name",
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
DRAWN = "drawn from seed, cell, suite and material, by the task's version"
NOT_OF_WHAT_IS_ASKED = dict.fromkeys(
    ("context", "search", "follow_up", "joint", "abstains", "verbatim", "avoid"),
    DRAWN,
) | dict.fromkeys(("answer", "reference", "needed"), "no part of the prompt")


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    folder = tmp_path_factory.mktemp("root")
    (found,) = resolve_settings({"model": ["mock:perfect"], "task": "niah"}, {}, folder).suites
    return structs.replace(found, family=RETRIEVES)


def key(suite, cell=CELL, asked=ASKED):
    return trial_key(recipe_fields(suite), cell, asked)


CHANGES = {
    "suite": (ANOTHER_SUITE, lambda suite, changes: key(structs.replace(suite, **changes))),
    "family": (
        ANOTHER_OWN,
        lambda suite, changes: key(structs.replace(suite, family=FamilyValues({**RETRIEVES, **changes}))),
    ),
    "cell": (ANOTHER_CELL, lambda suite, changes: key(suite, replace(CELL, **changes))),
    "question": (ANOTHER_ASKED, lambda suite, changes: key(suite, asked=replace(ASKED, **changes))),
    "needle": (
        ANOTHER_NEEDLE,
        lambda suite, changes: key(suite, asked=replace(ASKED, needles=(replace(NEEDLE, **changes),))),
    ),
}


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in CHANGES for name in CHANGES[kind][0]])
def test_another_value_is_another_trial(suite, kind, name):
    values, key_of = CHANGES[kind]
    assert key_of(suite, {name: values[name]}) != key(suite)


@pytest.mark.parametrize("name", NOT_OF_ITS_OWN)
def test_other_options_of_a_familys_own_are_the_same_trial(suite, name):
    assert CHANGES["family"][1](suite, {name: "other"}) == key(suite)


def test_other_turns_that_are_given_are_another_trial(suite):
    one, other = (replace(ASKED, context=Conversation((Turn("user", text),))) for text in ("Hello.", "Hello!"))
    assert len({key(suite, asked=asked) for asked in (ASKED, one, other)}) == 3


def test_distractors_of_the_trial_are_not_taken_for_a_needles(suite):
    moved = replace(ASKED, needles=(replace(NEEDLE, distractors=()),), distractors=NEEDLE.distractors)
    assert key(suite, asked=moved) != key(suite, asked=replace(ASKED, distractors=()))


@pytest.mark.parametrize(
    ("names", "changes", "reasons"),
    [
        (Suite.__struct_fields__, ANOTHER_SUITE, NOT_OF_THE_SUITE),
        (FAMILY_OPTIONS, ANOTHER_OWN, NOT_OF_ITS_OWN),
        (Cell.__dataclass_fields__, ANOTHER_CELL, NOT_OF_THE_CELL),
        (Needle.__dataclass_fields__, ANOTHER_NEEDLE, NOT_OF_THE_NEEDLE),
        (Question.__dataclass_fields__, ANOTHER_ASKED, NOT_OF_WHAT_IS_ASKED),
    ],
    ids=("suite", "options of families", "cell", "needle", "question"),
)
def test_every_field_has_its_place_in_one_of_the_tables(names, changes, reasons):
    assert set(names) == changes.keys() | reasons.keys()
    assert not changes.keys() & reasons.keys()
