"""What holds for every generated task; what functions of users' own tasks do wrong is one line."""

import json
import re
from dataclasses import replace
from hashlib import sha256
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from needlework.core.errors import InputError
from needlework.core.grid import Cell
from needlework.core.prompts import Needle
from needlework.core.settings import Suite
from needlework.haystack_fixtures.haystacks.conversations import GrowingConversation
from needlework.haystack_fixtures.haystacks.listing import Listing
from needlework.haystack_fixtures.tasks.arms import NOT_FOUND
from needlework.haystack_fixtures.tasks.catalogue import RULER_TASKS, TASKS, ask, task_named, with_tasks
from needlework.haystack_fixtures.tasks.task import Prose, Question, Task, no_depths
from needlework.scoring.recording import as_reference
from tests.haystack_fixtures.tasks.built import context, judged, mock_value, plain_trials, settings_of, trials

# Whether the values that a task asks for stand in the text once; `None`: its text is a list.
PROSE = {
    "multikey": True,
    "multivalue": True,
    "multiquery": True,
    "chain": False,
    "chain_last": True,
    "superseded": True,
    "association": False,
    "semantic": True,
    "state_where": False,
    "state_closed": False,
}
GROWING = ("distinct", "numbers", "common_words", "icl", "key_value", "code_chain", "graph_bfs", "graph_parents")
LISTS = (*GROWING, "count", "copy")
RULER = tuple(task.name for task in RULER_TASKS)
NO_NEEDLES = ("ruler_cwe", "ruler_fwe", "ruler_qa_1", "ruler_qa_2")  # lists and documents
MEMORY = ("memory", "memory_number", "memory_choice")  # conversations
LOGS = ("agent_log", "agent_log_count")
NEEDLES_ALONE = ("niah", "multi_needle", "parallel")
OPTIONS = {task: {"preset": "families", "needle_set": "codes"} for task in NEEDLES_ALONE} | {
    "copy": {"answer_budget": "300"},
    "mrcr": {"answer_budget": "400", "lengths": "4k"},
}
seeds, languages = st.integers(0, 10_000), st.sampled_from(("en", "zh"))
varied = settings(max_examples=2)


def found(task, control="", **options):
    trials_of_task = {trial.cell.id: trial for trial in plain_trials(task, control, **OPTIONS.get(task, {}) | options)}
    assert trials_of_task
    return trials_of_task


@pytest.mark.parametrize("task", PROSE)
@varied
@given(seed=seeds, language=languages)
def test_a_trial_is_the_same_at_every_depth_and_length(task, seed, language):
    options = {"seed": str(seed), "language": language}
    every, same = found(task, lengths="1k,1500", depths="0,40,100", **options), {}
    for trial in every.values():
        asked = trial.asked
        texts = [needle.text for needle in asked.needles] + list(asked.all_distractors)
        told = texts, asked.question, asked.answer, asked.reference["answers"]
        assert same.setdefault(trial.cell.needle, told) == told
        assert all(trial.prompt.text.count(text) == 1 for text in texts)
    alone = found(task, lengths="1500", depths="40", **options)
    assert all(trial.prompt.text == every[cell].prompt.text for cell, trial in alone.items())


@pytest.mark.parametrize("task", GROWING)
@varied
@given(seed=seeds, language=languages)
def test_a_shorter_list_begins_a_longer_one(task, seed, language):
    options = {"seed": str(seed), "language": language, "lengths": "1500,2500"}
    pairs = {}
    for trial in found(task, **options).values():
        pairs.setdefault(trial.cell.needle, []).append(trial)
    for short, long in (each for each in pairs.values() if len(each) == 2):
        assert (short.asked.question, short.asked.needles) == (long.asked.question, long.asked.needles)
        placed = {needle.text for needle in short.asked.needles}
        rest = [[line for line in context(trial).splitlines() if line not in placed] for trial in (short, long)]
        shared = len(rest[0]) - (task == "key_value")  # the line that closes the object
        assert rest[1][:shared] == rest[0][:shared]


@pytest.mark.parametrize("task", [*NEEDLES_ALONE, *PROSE, *LISTS, *RULER, *MEMORY, *LOGS, "mrcr"])
@varied
@given(seed=seeds, language=languages)
def test_answers_are_scored_right_and_controls_lack_or_show_alone_what_they_rest_on(task, seed, language):
    options = {"seed": str(seed), "language": language}
    trials_of_task = found(task, **options).values()
    twins = {trial.cell.needle: trial.asked for trial in trials_of_task}
    for trial in trials_of_task:
        check_scores(task, trial, language)
    if task in PROSE:
        for trial in trials_of_task:
            check_values(trial, once=PROSE[task])
    if task in NEEDLES_ALONE or TASKS[task].absent:
        for trial in found(task, "absent", **options).values():
            check_absent(task, trial, twins[trial.asked.reference["twin"]], language)
    if task in (*NEEDLES_ALONE, *PROSE, *RULER, *LOGS, "code_chain", "key_value", "graph_bfs"):
        for trial in found(task, "focused", **options).values():
            check_focused(task, trial, twins[trial.asked.reference["twin"]])


def check_scores(task, trial, language):
    """The right answer scores 1 and others 0."""
    reference = trial.asked.reference
    assert mock_value(trial, "perfect") == judged(trial, trial.asked.answer).for_asserting == 1
    empty_is_right = task.startswith("graph") and not reference["parts"]
    for behaviour in ("wrong", "empty", "echo", "ramble", "refuse"):
        value = mock_value(trial, behaviour)
        alike = task == "mrcr" and value < 1  # another piece may have most of the same words
        by_chance = behaviour == "ramble" and reference["chance"] > 0  # its "one" may be the right number
        assert value == 0 or by_chance or (behaviour == "wrong" and (empty_is_right or alike)), behaviour
    assert 0 <= reference["floor"] <= 1
    assert 0 <= reference["chance"] < 1
    assert as_reference(reference).question == trial.asked.question
    if task in (*NEEDLES_ALONE, *RULER, *PROSE):
        assert judged(trial, NOT_FOUND[language]).for_asserting.verdict == "refused"
        assert judged(trial, "").for_asserting.verdict == "empty"


def check_values(trial, once):
    """No value is part of another, and each stands once in the text where it should."""
    reference = trial.asked.reference
    values = [*reference["answers"], *reference.get("parts", ()), *reference.get("distractors", ())]
    assert not any(one in other for at, one in enumerate(values) for other in values[:at] + values[at + 1 :])
    if once:
        assert all(len(re.findall(rf"(?<!\d){re.escape(value)}(?!\d)", context(trial))) == 1 for value in values)


def check_absent(task, trial, asked, language):
    """The absent twin lacks what the answer rests on."""
    assert not any(asked.needles[number].text in trial.prompt.text for number in asked.rests_on)
    values = (*asked.reference["answers"], *asked.reference.get("parts", ())) if task in RULER else ()
    assert not any(value in context(trial) for value in values)
    assert trial.asked.question == asked.question
    assert trial.asked.answer == NOT_FOUND[language]
    assert mock_value(trial, "perfect") == mock_value(trial, "refuse") == 1
    assert judged(trial, asked.answer).for_asserting == 0


def check_focused(task, trial, asked):
    """The focused twin has nothing else."""
    needed = sorted(line for number in asked.rests_on for line in asked.needles[number].text.splitlines())
    shown = [line for line in context(trial).splitlines() if line not in ("{", '"": ""', "}")]
    assert task in NO_NEEDLES or sorted(shown) == needed
    assert trial.asked.answer == asked.answer
    assert mock_value(trial, "perfect") == 1


@pytest.mark.parametrize("task", ["icl", "key_value", "code_chain", "copy", "memory", "agent_log", "mrcr"])
def test_every_tokenizer_gives_exact_prompts(tokenizer, task):
    options = {"lengths": "8k" if task == "mrcr" else "4k", "language": "zh", "depths": "50", "controls": "none"}
    assert list(trials(task, tokenizer, **OPTIONS.get(task, {}) | {"answer_budget": "2k"} | options))


# Of every label at eight repeats: needles, question, answer, reference, distractors, and the units of a list.
DRAWN = {
    ("en", "families"): "443e20093d4e4be5a63e",
    ("zh", "families"): "d94700d2119b074ad2ed",
    ("en", "memory and logs"): "870bb3063b6cafaebce9",
    ("zh", "memory and logs"): "70d31df1b6e9557ac92c",
}
NEEDLES = ("mrcr", "niah", "multi_needle", "parallel", "needlebench_reasoning", "needlebench_atc")
OTHER_EACH_TIME = ("niah", "superseded", "multikey", "mrcr", "memory", "agent_log")
OF_FAMILIES = {"preset": "families", "controls": "none", "corpus": "noise", "lengths": "2k,8k", "depths": "50"}


@pytest.mark.parametrize(("language", "group"), DRAWN)
def test_what_a_seed_draws_stays_what_it_was(language, group):
    drawn, asked = [], []
    for name in (*PROSE, *LISTS, *NEEDLES, *RULER) if group == "families" else (*MEMORY, *LOGS):
        (suite,) = settings_of(name, language=language, answer_budget="300", **OF_FAMILIES).suites
        for label in TASKS[name].labels(suite):
            for repeat in range(8):
                question = ask(TASKS[name], suite, Cell(name, 8000, 50.0, label, repeat), 0)
                units = []
                if isinstance(listing := question.context, Listing):
                    count = min(max(40, listing.fewest), listing.most or 1000)
                    units = [*listing.units(count), *(listing.resolve(count) if listing.resolve else ())]
                if isinstance(conversation := question.context, GrowingConversation) and group != "families":
                    units = [[each.ask, each.reply] for each in conversation.rounds(40)]
                plain = replace(question, context=Prose(), reference={})
                content = [label, repeat, repr(plain), question.reference, units]
                drawn.append(json.dumps(content, sort_keys=True, ensure_ascii=False))
                if name in OTHER_EACH_TIME:
                    seeds = [ask(TASKS[name], suite, Cell(name, 8000, 50.0, label, repeat), seed) for seed in (0, 1)]
                    asked += [(name, label, each.question, each.answer) for each in seeds]
    assert len(set(asked)) == len(asked), "a repeat or seed asks something else"
    assert sha256("\n".join(drawn).encode()).hexdigest()[:20] == DRAWN[language, group]


CELL = Cell("berths", 500, 50.0, "berth")
SUITE = cast("Suite", None)  # these functions do not look at it
NEEDLE = Needle("berth", "The Aurora lies at berth 7.", "Where?", "7", key="Aurora")
ASKED = Question(needles=(NEEDLE,), depths=(50.0,), question="Where?", answer="7", reference={"answers": ("7",)})
BERTHS = Task("berths", "the berth of a ship", lambda _suite: ("berth",), no_depths, lambda *_: ASKED)


def ask_guarded(task):
    return with_tasks([task])["berths"].ask(SUITE, CELL, 0)


def test_what_a_task_raises_is_told_with_its_name_and_line():
    def broken(*_):
        raise KeyError("Borealis")

    with pytest.raises(
        InputError, match=r"task berths, its `ask`: 'test_contract.py:\d+': raised KeyError: 'Borealis'"
    ):
        ask_guarded(replace(BERTHS, ask=broken))


@pytest.mark.parametrize(
    ("function", "returned", "told"),
    [
        ("ask", None, "returns no Question|returns no a Question"),
        ("ask", replace(ASKED, depths=()), "1 needles and 0 depths: give every needle one"),
        *(("ask", replace(ASKED, depths=(depth,)), "each is a percent") for depth in (None, 150.0)),
        *(("labels", returned, "needle labels") for returned in ("berth", (1,))),
        *(("depths", returned, "depths in percent") for returned in ((), (-1.0,), None)),
    ],
)
def test_what_a_function_of_a_wrong_kind_returns_is_told(function, returned, told):
    task = with_tasks([replace(BERTHS, **{function: lambda *_: returned})])["berths"]
    with pytest.raises(InputError, match=told):
        task.ask(SUITE, CELL, 0) if function == "ask" else getattr(task, function)(SUITE)


def test_a_hook_may_give_one_task_or_several_or_none():
    assert ask_guarded(BERTHS) == ASKED
    other = replace(BERTHS, name="quays")
    assert {"berths", "quays"} < set(with_tasks([BERTHS, None, [other]]))
    assert with_tasks([None]) == TASKS
    with pytest.raises(InputError, match="task: 'niahh': did you mean niah"):
        task_named("niahh")


@pytest.mark.parametrize("given", ["berths", 7, [None]])
def test_what_is_no_task_is_refused(given):
    with pytest.raises(InputError, match="is no Task"):
        with_tasks([given])
