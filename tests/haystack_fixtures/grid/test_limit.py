from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.errors import InputError
from needlework.core.grid import Cell, first_trials, limit_note
from needlework.haystack_fixtures.configuration.resolve import resolve_settings

PANELS = [
    tuple(
        Cell("niah", length, depth, needle, repeat)
        for length in (1000, 2000)
        for repeat in (0, 1)
        for depth in (0.0, 50.0)
    )
    for needle in ("a", "b")
]
ALL = {cell for panel in PANELS for cell in panel}


def test_the_shortest_lengths_first_then_repeats_then_needles_and_depths() -> None:
    found = first_trials(PANELS, ALL, 5, rows=False)
    first = {cell for cell in ALL if cell.length == 1000 and cell.repeat == 0}
    assert found == first | {Cell("niah", 1000, 0.0, "a", 1)}


def test_rows_of_a_data_set_come_in_its_order() -> None:
    assert first_trials(PANELS, ALL, 8, rows=True) == set(PANELS[0])


def test_a_share_is_of_what_was_selected_and_at_least_one() -> None:
    assert len(first_trials(PANELS, ALL, 0.25, rows=False)) == 4
    assert len(first_trials(PANELS, ALL, 0.001, rows=False)) == 1


@given(st.sets(st.sampled_from(sorted(ALL, key=str))), st.integers(1, 20), st.booleans())
def test_a_larger_limit_keeps_what_a_smaller_one_has(wanted: set[Cell], limit: int, rows: bool) -> None:
    few, more = (first_trials(PANELS, wanted, each, rows=rows) for each in (limit, limit + 1))
    assert few <= more <= wanted
    assert len(few) == min(limit, len(wanted))


@pytest.mark.parametrize("value", ["0", "-1", "1.5", "x", "nan"])
def test_a_limit_that_is_none_is_one_line(tmp_path: object, value: str) -> None:
    with pytest.raises(InputError, match="give a number of trials, such as 10, or a share"):
        resolve_settings({"limit": value}, {}, tmp_path)  # type: ignore[arg-type]


def test_a_limit_is_told_as_a_part_of_the_grid() -> None:
    assert limit_note(10.0) == (
        "--limit 10: the first 10 trials of each task and language, the shortest first: a part of the grid"
    )
