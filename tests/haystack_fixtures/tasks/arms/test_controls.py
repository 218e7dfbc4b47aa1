"""Controls: the same question without what it asks for, and with nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.prompts import Needle
from needlework.haystack_fixtures.haystacks.listing import Listing
from needlework.haystack_fixtures.tasks.arms import (
    CONTROLS,
    NOT_FOUND,
    absent,
    control_label,
    focused,
    may_abstain,
    split_label,
)
from needlework.haystack_fixtures.tasks.task import Prose, Question
from tests.haystack_fixtures.tasks.built import context, judged, trials


def statement(number: int, **fields: object) -> Needle:
    return Needle(f"n{number}", f"Fact {number} is {number}77.", "", f"{number}77", **fields)  # type: ignore[arg-type]


FACTS = tuple(statement(number) for number in range(4))
ASKED = Question(
    needles=FACTS,
    depths=(70.0, 10.0, 40.0, 10.0),
    question="What is fact 1?",
    answer="177",
    reference={"answers": ("177",), "parts": (), "chance": 0.25, "floor": 0.1, "question": "What is fact 1?"},
    needed=(0, 1, 3),
    distractors=("Fact 9 is unknown.",),
)


@given(st.from_regex(r"[a-z0-9_]{1,12}", fullmatch=True), st.sampled_from(CONTROLS))
def test_labels_of_controls_tell_what_they_are_of(label: str, control: str) -> None:
    if split_label(label, CONTROLS)[1]:
        return
    assert split_label(control_label(label, control), CONTROLS) == (label, control)
    assert split_label(label, CONTROLS) == (label, "")
    assert split_label(control_label(label, control), ()) == (control_label(label, control), "")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_both_arms_may_abstain_with_the_phrase_that_is_right(language: str) -> None:
    asked = may_abstain(ASKED, language)
    assert asked.question.startswith(ASKED.question)
    assert NOT_FOUND[language] in asked.question
    assert asked.reference["question"] == asked.question
    assert absent(asked, language, "fact").answer == NOT_FOUND[language]


def test_absent_leaves_out_what_is_needed_and_nothing_else() -> None:
    twin = absent(ASKED, "en", "fact")
    assert twin.needles == (FACTS[2],)
    assert twin.depths == (40.0,)
    assert twin.all_distractors == ASKED.all_distractors
    assert twin.rests_on == ()
    assert twin.question == ASKED.question
    assert twin.reference["answers"] == ("NOT FOUND",)
    assert (twin.reference["absent"], twin.reference["control"], twin.reference["twin"]) == (True, "absent", "fact")
    # Any constant phrase that abstains is right there.
    assert (twin.reference["chance"], twin.reference["floor"]) == (0.0, 1.0)


def test_absent_leaves_out_everything_where_everything_is_needed() -> None:
    needle = statement(5, distractors=("Fact 6 is 5.",))
    twin = absent(Question(needles=(needle,), depths=(50.0,), question="?", answer="577", reference={}), "en", "fact")
    assert twin.needles == ()
    assert twin.all_distractors == ("Fact 6 is 5.",)  # they would be told from the needle by its absence


def test_a_list_that_is_the_answer_gives_way_and_others_stay() -> None:
    rest = Listing(lambda n: ["a\n"] * n)
    counted = Listing(lambda n: ["a\n"] * n, resolve=lambda n: (str(n), {}))
    assert (
        absent(
            Question(needles=FACTS, depths=(0.0,) * 4, question="?", answer="1", reference={}, context=rest), "en", "x"
        ).context
        is rest
    )
    assert (
        absent(
            Question(needles=(), depths=(), question="?", answer="1", reference={}, context=counted), "en", "x"
        ).context
        == Prose()
    )


def test_focused_shows_what_is_needed_in_the_order_of_the_document() -> None:
    alone = focused(ASKED, "fact")
    assert isinstance(alone.context, Listing)
    assert alone.context.units(3) == ("Fact 1 is 177.\n", "Fact 3 is 377.\n", "Fact 0 is 077.\n")
    assert (alone.context.fewest, alone.context.most, alone.context.fill) == (3, 3, False)
    assert (alone.needles, alone.distractors) == ((), ())
    assert (alone.question, alone.answer) == (ASKED.question, ASKED.answer)
    assert (alone.reference["control"], alone.reference["twin"]) == ("focused", "fact")
    assert alone.reference["chance"] == 0.25


def test_focused_keeps_what_stands_around_a_list_and_takes_the_shortest_that_is_an_answer() -> None:
    table = Listing(lambda n: ["a\n"] * n, opening="{", closing="}")
    alone = focused(
        Question(needles=FACTS[:1], depths=(0.0,), question="?", answer="1", reference={}, context=table), "x"
    ).context
    assert alone is not None
    assert (alone.opening, list(alone.units(1)), alone.closing) == ("{", ["Fact 0 is 077.\n"], "}")
    counted = Listing(lambda n: ["a\n"] * n, resolve=lambda n: (str(n), {}), fewest=3, opening="[")
    shortest = focused(
        Question(needles=(), depths=(), question="?", answer="1", reference={}, context=counted), "x"
    ).context
    assert shortest is not None
    assert (shortest.fewest, shortest.most, shortest.fill, shortest.opening) == (3, 3, False, "[")


@pytest.mark.parametrize("task", ["niah", "multi_needle", "parallel"])
def test_the_arms_of_built_prompts(task: str) -> None:
    options = {"preset": "families", "lengths": "1k", "language": "en", "needle_set": "codes", "repeats": "2"}
    arms: dict[str, int] = {}
    for trial in trials(task, **options):
        control = trial.asked.reference.get("control", "")
        arms[control] = arms.get(control, 0) + 1
        wanted = trial.asked.reference.get("parts") or trial.asked.reference["answers"]
        if control == "absent":
            full = next(other for other in trials(task, **options) if other.cell.repeat == trial.cell.repeat)
            assert full.asked.question == trial.asked.question
            assert not any(needle.answer in trial.prompt.text for needle in full.asked.needles)
            assert judged(trial, "NOT FOUND").for_asserting == 1
            assert judged(trial, full.asked.answer).for_asserting == 0
            continue
        assert all(context(trial).count(value) == 1 for value in wanted)
        assert judged(trial, "NOT FOUND").for_asserting.verdict == "refused"
        if control == "focused":
            assert context(trial).count("\n") == len(context(trial).splitlines()) == len(wanted)
    assert set(arms) == {"", *CONTROLS}
    assert arms["absent"] == arms["focused"] == 2
