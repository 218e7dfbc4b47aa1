"""The picture of a series: names that can be told apart, all of them inside, and misses beside the scores."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.image import imread

from needlework.core.record import Record
from needlework.results.pictures.models import labels_of, write_history
from needlework.results.statistics.leaderboard.boards import BoardSeries, ModelRun, series_of
from needlework.results.statistics.leaderboard.entries import entries_of
from needlework.results.statistics.panels import asked_of

Make = Callable[..., Record]


@pytest.fixture
def series(make_record: Make) -> Callable[..., BoardSeries]:
    """A series of runs by their places and names; the first of them has a trial that failed."""

    def build(*runs: tuple[str, str]) -> BoardSeries:
        made = []
        for at, (place, name) in enumerate(runs):
            records = [make_record(repeat=each, outcome="found" if at or each else "error") for each in range(4)]
            entries = {entry.task: entry for entry in entries_of(asked_of(records), {})}
            made.append((place, ModelRun(name, name, "mock", "", entries)))
        (found,) = series_of(made, by_model=True)
        return found

    return build


def test_runs_of_one_minute_have_their_names_and_what_failed_is_beside_the_score(
    series: Callable[..., BoardSeries], tmp_path: Path
) -> None:
    found = series(("2026-01-01 12:00", "before"), ("2026-01-01 12:00", "after"), ("2026-01-02 12:00", "later"))
    assert found.names == ("before", "after", "later")

    drawn = write_history(found, tmp_path / "x", title="t", below="b")[1].read_text(encoding="utf-8")
    assert all(f">{name}<" in drawn for name in found.names)
    assert "circles: misses counted" in drawn
    assert "12:00" not in drawn


@pytest.mark.parametrize("count", [2, 9, 30])
def test_no_name_is_cut_off_at_an_edge(series: Callable[..., BoardSeries], tmp_path: Path, count: int) -> None:
    found = series(*((f"2026-01-{at + 1:02} 12:00", f"run{at}") for at in range(count)))
    image = imread(write_history(found, tmp_path / "x", title="t", below="b")[0])

    for edge in (image[:, :4], image[:, -4:], image[-4:]):
        assert (edge[..., :3] == 1).all()


def test_long_names_are_cut_where_they_are_alike() -> None:
    assert labels_of(["quantised-model-a", "quantised-model-b"]) == ["…antised-model-a", "…antised-model-b"]
    assert labels_of(["a-quantised-model", "b-quantised-model"]) == ["a-quantised-mod…", "b-quantised-mod…"]
    middles = [f"a-quantised-model-{name}-of-a-long-evening" for name in "ab"]
    assert labels_of(middles) == ["a-quantised…#1", "a-quantised…#2"]
    assert labels_of(["2026-01-01 12:00", "b"]) == ["2026-01-01 12:00", "b"]


@given(names=st.lists(st.text("ab-", min_size=1, max_size=24), max_size=6, unique=True))
def test_names_that_differ_have_labels_that_differ(names: list[str]) -> None:
    assert len(set(labels_of(names))) == len(names)
