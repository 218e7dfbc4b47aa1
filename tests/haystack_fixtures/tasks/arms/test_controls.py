"""Controls: the same question without what it asks for, and with nothing else."""

from dataclasses import replace

from needlework.core.prompts import Needle
from needlework.haystack_fixtures.haystacks.listing import Listing
from needlework.haystack_fixtures.tasks.arms import absent, focused
from needlework.haystack_fixtures.tasks.task import Prose, Question

FACTS = tuple(Needle(f"n{number}", f"Fact {number} is {number}77.", "", f"{number}77") for number in range(4))
ASKED = Question(
    needles=FACTS,
    depths=(70.0, 10.0, 40.0, 10.0),
    question="What is fact 1?",
    answer="177",
    reference={"answers": ("177",), "parts": (), "chance": 0.25, "floor": 0.1, "question": "What is fact 1?"},
    needed=(0, 1, 3),
    distractors=("Fact 9 is unknown.",),
)


def test_absent_leaves_out_what_is_needed_and_nothing_else():
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


def test_a_list_that_is_the_answer_gives_way_and_others_stay():
    rest = Listing(lambda n: ["a\n"] * n)
    counted = Listing(lambda n: ["a\n"] * n, resolve=lambda n: (str(n), {}))
    assert absent(replace(ASKED, context=rest), "en", "x").context is rest
    assert absent(replace(ASKED, needles=(), depths=(), needed=(), context=counted), "en", "x").context == Prose()


def test_focused_shows_what_is_needed_in_the_order_of_the_document():
    alone = focused(ASKED, "fact")
    assert isinstance(alone.context, Listing)
    assert alone.context.units(3) == ("Fact 1 is 177.\n", "Fact 3 is 377.\n", "Fact 0 is 077.\n")
    assert (alone.context.fewest, alone.context.most, alone.context.fill) == (3, 3, False)
    assert (alone.needles, alone.distractors) == ((), ())
    assert (alone.question, alone.answer) == (ASKED.question, ASKED.answer)
    assert (alone.reference["control"], alone.reference["twin"]) == ("focused", "fact")
    assert alone.reference["chance"] == 0.25
