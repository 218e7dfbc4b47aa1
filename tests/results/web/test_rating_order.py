"""Orders are drawn for each annotator, and stay."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from needlework.results.web.rating_items import RatedAnswer, RatedItem, answer_order, item_order, label


def item(number: int, group: str, models: int = 3) -> RatedItem:
    answers = tuple(RatedAnswer(f"{number}-{model}", f"m{model}", f"text {model}") for model in range(models))
    return RatedItem(f"i{number}", "q", ("r",), answers, None, group)


@given(st.lists(st.sampled_from("abc"), max_size=12), st.text(max_size=5), st.text(max_size=5))
def test_all_items_once_and_groups_together(groups: list[str], seed: str, name: str) -> None:
    items = [item(number, group) for number, group in enumerate(groups)]
    order = item_order(seed, name, items)

    assert sorted(order, key=lambda each: each.id) == sorted(items, key=lambda each: each.id)
    changes = sum(one.group != other.group for one, other in pairwise(order))
    assert changes == max(0, len(set(groups)) - 1)
    assert item_order(seed, name, items[::-1]) == order


def test_each_annotator_has_an_order_of_their_own() -> None:
    items = [item(number, str(number)) for number in range(8)]
    assert item_order("s", "Ann", items) == item_order("s", "ann", items)
    assert len({tuple(each.id for each in item_order("s", name, items)) for name in "abcdef"}) == 6


def test_every_model_comes_at_every_place() -> None:
    places = {
        (at, same[0].model)
        for number in range(60)
        for at, same in enumerate(answer_order("seed", "Ann", item(number, "")))
    }
    assert len(places) == 9


def test_labels() -> None:
    assert [label(at) for at in (0, 8, 25, 26, 27, 701, 702)] == ["A", "I", "Z", "AA", "AB", "ZZ", "AAA"]
