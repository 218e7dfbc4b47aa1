"""`--top-up`: which further trials are asked, and when it ends."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import to_builtins

from needlework.core.errors import InputError
from needlework.core.grid import Cell, parse_id
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.tasks.catalogue import grid
from needlework.results.gates.gate import parse_gate
from needlework.results.gates.gatekeeper import Gatekeeper, Want, check_gates, next_round
from tests.results.gates.gate_records import record

A, B = Cell("niah", 400, 0.0, "code", 1), Cell("niah", 400, 50.0, "code", 1)
C = Cell("niah", 600, 0.0, "code", 1)
ORDER = {replace(cell, repeat=0): place for place, cell in enumerate((A, B, C))}
GRID = {"lengths": "400,600", "depths": "0,50", "model": ["mock:perfect"]}


def ids(cells):
    return [f"len{cell.length}-depth{cell.depth:g}-r{cell.repeat}" for cell in cells]


def test_a_group_gets_whole_repeats_of_its_cells():
    assert ids(next_round([Want([A, B], 3)], set(), ORDER, 100)) == [
        "len400-depth0-r1", "len400-depth50-r1", "len400-depth0-r2", "len400-depth50-r2",
    ]  # fmt: skip


def test_one_repeat_of_every_group_comes_before_the_next_and_the_budget_ends_it():
    wants = [Want([A, B], 4), Want([C], 3)]

    assert ids(next_round(wants, set(), ORDER, 5)) == [
        "len400-depth0-r1", "len400-depth50-r1", "len600-depth0-r1", "len400-depth0-r2", "len400-depth50-r2",
    ]  # fmt: skip


def test_what_was_asked_is_not_asked_again_and_cells_of_two_groups_once():
    asked = {A, replace(A, repeat=2)}

    assert ids(next_round([Want([A], 2)], asked, ORDER, 9)) == ["len400-depth0-r3", "len400-depth0-r4"]
    assert ids(next_round([Want([A], 1), Want([A, C], 2)], set(), ORDER, 9)) == ["len400-depth0-r1", "len600-depth0-r1"]


def test_a_baseline_bounds_what_may_be_asked():
    want = Want([A, B], 50, is_allowed=lambda cell: cell.depth == 0, repeats=4)

    assert ids(next_round([want], set(), ORDER, 99)) == ["len400-depth0-r1", "len400-depth0-r2", "len400-depth0-r3"]


# -- a run -------------------------------------------------------------------------------------------------------


class Run:
    """A run of two lengths and two depths, one repeat, whose cells are answered by `score`."""

    def __init__(self, score, *gates, folder=Path("nowhere"), **options):
        written = GRID | {"gate": list(gates)} | options
        self.settings = resolve_settings(written, {}, Path())
        self.keeper = Gatekeeper(self.settings, grid(self.settings), [parse_gate(gate) for gate in gates], folder)
        self.score, self.records, self.rounds = score, [], []

    def answer(self, cells):
        self.records += [
            record(
                self.score(cell), length=cell.length, depth=cell.depth, repeat=cell.repeat, model="mock:perfect",
            )
            for cell in cells
        ]  # fmt: skip

    def go(self):
        self.answer(Cell("niah", length, depth, "code") for length in (400, 600) for depth in (0.0, 50.0))
        while cells := self.keeper.further(self.records, {}):
            self.rounds.append(len(cells))
            self.answer(cells)
        return [(verdict.group, verdict.state, verdict.n) for verdict in self.keeper.verdicts(self.records, "", {})]


def test_undecided_gates_are_topped_up_until_they_are_decided():
    run = Run(lambda cell: 1.0, "score >= 0.9", top_up="500")

    assert run.go() == [("all", "pass", 168)]
    assert run.rounds == [164], "at a second look 42 needles decide, each asked in four cells"


def test_only_undecided_groups_are_asked_for():
    run = Run(lambda cell: 0.0 if cell.length == 600 else 1.0, "score >= 0.9 per length", top_up="500")

    assert run.go() == [("length 400", "pass", 84), ("length 600", "fail", 6)]
    assert {each.length for each in run.records if each.repeat > 2} == {400}


def test_no_more_than_was_allowed_and_the_last_trials_are_looked_at_too():
    run = Run(lambda cell: 1.0, "score >= 0.9 per length", top_up="7")

    assert run.go() == [("length 400", "inconclusive", 6), ("length 600", "inconclusive", 5)]
    assert run.rounds == [7]


def test_a_run_that_turns_out_worse_fails():
    run = Run(lambda cell: 1.0 if cell.repeat == 0 else float(cell.repeat % 2), "score >= 0.9", top_up="500")
    ((_, state, _),) = run.go()

    assert state == "fail"
    assert len(run.records) == 168  # one further round


def test_without_top_up_nothing_is_asked():
    run = Run(lambda cell: 1.0, "score >= 0.9")

    assert run.go() == [("all", "inconclusive", 4)]
    assert run.rounds == []


def test_a_gate_without_cells_asks_for_nothing():
    run = Run(lambda cell: 1.0, "score >= 0.9 [length=9k]", top_up="50")

    assert run.go() == [("no cell in scope", "fail", 0)]


def test_a_lost_worker_counts_against_the_look():
    run = Run(lambda cell: None if cell.depth == 50 and cell.repeat == 0 else 1.0, "score >= 0.9", top_up="400")
    ((_, state, n),) = run.go()

    assert state == "pass"
    assert n > 44, "two errors want more hits than none"


def test_drops_are_topped_up_as_far_as_the_baseline_goes(tmp_path):
    before = Run(lambda cell: 1.0, "score >= 0.9", top_up="20")
    before.go()
    run = Run(lambda cell: 1.0, "drop <= 0.02", top_up="500", baseline=baseline_of(tmp_path, *before.records))

    assert run.go() == [("all", "inconclusive", 24)]
    assert {parse_id(each.id) for each in run.records} == {parse_id(each.id) for each in before.records}


# -- baselines that cannot be used -------------------------------------------------------------------------------


def baseline_of(tmp_path, *records):
    (tmp_path / "results.json").write_text(json.dumps({"schema": 1, "records": to_builtins(records)}))
    return str(tmp_path)


def refused(match, path, **options):
    with pytest.raises(InputError, match=match) as caught:
        Run(lambda cell: 1.0, "drop <= 0.02", baseline=path, **options)
    assert str(caught.value).startswith("--baseline")
    assert "\n" not in str(caught.value)


def test_a_baseline_that_shares_no_trial_is_refused_before_the_run(tmp_path):
    refused("length 9000 / 400, 600", baseline_of(tmp_path, record(length=9000)))


def test_a_baseline_that_is_none_is_refused(tmp_path):
    refused("has no results.json", str(tmp_path / "nowhere"))
    (tmp_path / "results.json").write_text("[]")
    refused("results.json': has no list of records", str(tmp_path))


def test_a_run_is_not_its_own_baseline(tmp_path):
    refused("this very run", baseline_of(tmp_path, record(length=400)), folder=tmp_path)


def test_another_prompt_under_the_same_name_is_refused(tmp_path):
    run = Run(lambda cell: 1.0, "drop <= 0.02", baseline=baseline_of(tmp_path, record(length=400)))

    run.keeper.check(record(length=400), {})
    with pytest.raises(InputError, match="its prompt of niah-len400-depth50-code-r0 is another one"):
        run.keeper.check(record(length=400, prompt={"sha256": "other"}), {})


@pytest.mark.parametrize(
    ("options", "said"),
    [({"gate": ["drop <= 0.02"]}, "give --baseline RUN"), ({"baseline": "x"}, "--baseline: 'x': is compared by a gate"),
     ({"top_up": "5"}, "--top-up: '5'")],
)  # fmt: skip
def test_options_that_need_each_other_say_so(options, said):
    settings = resolve_settings(GRID | options, {}, Path())

    with pytest.raises(InputError, match=said):
        check_gates(settings, [parse_gate(text) for text in settings.gate])
