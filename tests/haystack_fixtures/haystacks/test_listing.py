"""Contexts that are lists: exact prompts of whole units, as many as fit, with every tokenizer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.draws import draws, pick
from needlework.core.errors import InputError
from needlework.haystack_fixtures.haystacks.builder import verify_prompt
from needlework.haystack_fixtures.haystacks.listing import Listing, ListSources, build_listing
from tests.haystack_fixtures.haystacks.outer import outer

PROSE = (
    "The ferry left before dawn, and nobody waved. Egon mended an oar. "
    "那天晚上下了很大的雨，谁也没有出门。Was it late? "
    "An extraordinarily incomprehensible circumlocution followed. "
) * 20
KEY = ("key", "owl = 4711\n")
HEAD, TAIL = "Read the list.\n<list>\n", "\n</list>\nWhat is the value of owl?"
WORDS = ("oar", "lantern", "incomprehensible", "茶馆", "🚢", "e\u0301te\u0301", "x" * 30, "3.14159", "a b c")


def uneven(n, seed=0):
    """Units of one to twelve words: some are many times longer than others."""
    units = []
    for number in range(n):
        rng = draws("unit", seed, number)
        units.append(f"{number}: {' '.join(pick(rng, WORDS) for _ in range(1 + int(rng.random() ** 3 * 12)))}\n")
    return units


def steps(n):
    """A list that does not grow: every unit says how many there are."""
    return [f"{number} of {n} or {n * n}\n" for number in range(1, n + 1)]


class Bench:
    """A tokenizer and a listing."""

    def __init__(self, tokenizer, units=uneven, **fields):
        self.tokenizer, self.listing = tokenizer, Listing(units, **fields)

    def build(self, budget, needles=(), depths=(), unique=(), reserved=0):
        sources = ListSources(self.listing, self.tokenizer)
        return build_listing(
            outer(self.tokenizer, HEAD, TAIL, budget, reserved), self.listing, sources, PROSE, needles, depths, unique
        )

    def tokens(self, text):
        return len(self.tokenizer.encode(text).ids) + len(self.tokenizer.bos)


def check(made, prompt, n, budget, needles=()):
    """Everything that a prompt of a list promises; returns the prose that fills it."""
    listing = made.listing
    verify_prompt(made.tokenizer, prompt, needles)
    assert prompt.tokens == made.tokens(prompt.text) == budget - prompt.slack
    list_text = prompt.text[slice(*prompt.context)]
    for _, text in needles:
        assert list_text.count(text) == 1
        list_text = list_text.replace(text, "")
    assert list_text == "".join(listing.units(n))  # whole units, nothing else
    begin, end = prompt.context
    assert prompt.text[:begin] == HEAD + listing.opening
    behind = prompt.text[end:]
    assert behind.startswith(listing.closing)
    assert behind.endswith(TAIL)
    assert prompt.messages[0].content == prompt.text
    return behind.removeprefix(listing.closing).removesuffix(TAIL)


@given(data=st.data())
def test_any_budget_depth_and_list(tokenizer, data):
    seed, budget = data.draw(st.integers(0, 50)), data.draw(st.integers(330, 2500))
    needles = data.draw(st.sampled_from([[], [KEY], [KEY, ("fox", "fox = 815\n")]]))
    depths = [data.draw(st.sampled_from([0.0, 13.7, 50.0, 99.0, 100.0])) for _ in needles]
    grows = data.draw(st.booleans())
    made = Bench(
        tokenizer,
        (lambda n: uneven(n, seed)) if grows else steps,
        growing=grows,
        opening=data.draw(st.sampled_from(["", "{\n"])),
        closing=data.draw(st.sampled_from(["", "}"])),
    )
    prompt, n = made.build(budget, needles, depths)
    check(made, prompt, n, budget, needles)
    assert 0 <= prompt.slack <= max(2, budget // 2000)
    one_more = HEAD + made.listing.opening + "".join(made.listing.units(n + 1)) + "".join(text for _, text in needles)
    # A seam more or less may be where the needles are: they are elsewhere here.
    assert made.tokens(one_more + made.listing.closing + TAIL) > budget - 3 * len(needles)


def test_too_little_room_names_the_least_length_and_that_works(tokenizer):
    for fewest, fill in ((1, True), (7, True), (7, False)):
        made = Bench(tokenizer, fewest=fewest, fill=fill)
        with pytest.raises(InputError, match="use at least") as caught:
            made.build(20, [KEY], [50], reserved=100)
        least = int(str(caught.value).rsplit(" ", 1)[1]) - 100
        prompt, n = made.build(least, [KEY], [50])
        assert n >= fewest
        check(made, prompt, n, least, [KEY])
        for more in range(1, 12):
            made.build(least + more, [KEY], [50])
        with pytest.raises(InputError, match=f"use at least {least}"):
            made.build(least - 1, [KEY], [50])


def test_what_must_be_unique_is_looked_for_in_the_list(tokenizers):
    made = Bench(tokenizers["cl100k"])
    made.build(500, [KEY], [50], unique=("owl", "4711"))
    with pytest.raises(InputError, match="already"):
        made.build(500, [KEY], [50], unique=("owl", "lantern"))
    with pytest.raises(InputError, match="already"):
        made.build(500, [("copy", made.listing.units(3)[2])], [50])
