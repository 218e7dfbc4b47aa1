"""NeedleBench's rows: weights and means by hand, what is missing, and how long a chain is held."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import sqrt
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.record import Record
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.tasks.catalogue import grid
from needlework.results.report.section import section_lines
from needlework.results.report.suites import needlebench_sections
from needlework.results.statistics.intervals import Counts, exact_ends
from needlework.results.statistics.suites.needlebench import (
    NeedleBench,
    NeedleBenchDesign,
    NeedleBenchPart,
    NeedleBenchRow,
    design_of,
    needlebench,
)
from tests.results.changed import changed

Make = Callable[..., Record]
TASKS = {"niah": "S-RT", "parallel": "M-RT", "needlebench_reasoning": "M-RS"}


@pytest.fixture
def run(make_record: Make, tmp_path: Path) -> Callable[..., tuple[NeedleBenchDesign, list[Record]]]:
    """The design of a run, and records of all its trials with the score that `score` tells by task and needle."""

    def build(
        score: Callable[[str, str], float] = lambda *_: 1.0, **options: str
    ) -> tuple[NeedleBenchDesign, list[Record]]:
        given = {"preset": "needlebench-v2-4k", "lengths": "1k,2k", "depths": "0,50", "repeats": "2"} | options
        found = resolve_settings(given | {"model": ["mock"]}, {}, tmp_path)
        design = design_of(found)
        assert design is not None
        records = []
        for series in grid(found):
            for cell in series.cells:
                value = score(cell.task, cell.needle)
                at = {name: getattr(cell, name) for name in ("task", "needle", "length", "depth", "repeat")}
                outcome = {1.0: "found", 0.0: "wrong"}.get(value, "partial")
                records.append(make_record(**at, outcome=outcome, score=value))
        return design, records

    return build


def rows_of(found: tuple[NeedleBench, ...]) -> Mapping[str, NeedleBenchRow]:
    (only,) = found
    return {row.name: row for row in only.rows}


@pytest.mark.parametrize(("preset", "overall"), [("needlebench-v1-4k", 0.55), ("needlebench-v2-4k", 0.5)])
def test_weights_by_hand(run, preset, overall):
    """Published code says 15 and 16.7 here: its S-RT row is made of the M-RT data."""
    scores = {"niah": 1.0, "parallel": 0.0, "needlebench_reasoning": 0.5}
    design, records = run(lambda task, _: scores[task], preset=preset)
    rows = rows_of(needlebench(records, design))

    assert rows["Overall"].score.value == pytest.approx(overall)
    assert [rows[name].score.value for name in ("S-RT", "S-RT-EN", "S-RT-ZH")] == [1, 1, 1]
    assert [rows[name].score.value for name in ("M-RT", "M-RT-EN", "M-RT-ZH")] == [0, 0, 0]
    assert rows["M-RS"].score.value == 0.5
    assert rows["Overall"].n == len(records)


def test_every_row_is_there_in_the_published_order(run):
    needles = [f"{count}-Needle-{language}" for language in ("EN", "ZH") for count in (2, 3, 4, 5)]
    kinds = [f"{kind}{end}" for kind in ("S-RT", "M-RT", "M-RS") for end in ("", "-EN", "-ZH")]

    assert list(rows_of(needlebench(*reversed(run())))) == ["Overall", *kinds, *needles]


def test_languages_and_numbers_of_needles_count_alike(run):
    scores = {"2needle": 1.0, "3needle": 0.5, "4needle": 0.5, "5needle": 0.0, "2needle_zh": 1.0}
    design, records = run(lambda _, needle: scores.get(needle, 0.0))
    rows = rows_of(needlebench(records, design))

    assert rows["M-RS-EN"].score.value == 0.5
    assert rows["M-RS-ZH"].score.value == 0.25
    assert rows["M-RS"].score.value == 0.375
    assert rows["3-Needle-EN"].score.value == 0.5


def test_intervals_are_those_of_the_parts_put_together(run):
    design, records = run(lambda _, needle: float(not needle.endswith("_zh")))
    rows = rows_of(needlebench(records, design))
    low, one = exact_ends(Counts((4.0, 4.0), (4, 4), whole=True))  # two samples, each in four cells
    zero, high = 1 - one, 1 - low

    assert (rows["S-RT-EN"].score.low, rows["S-RT-EN"].score.high) == pytest.approx((low, one))
    assert rows["S-RT"].score.value == 0.5
    assert rows["S-RT"].score.low == pytest.approx(0.5 - sqrt((1 - low) ** 2 + zero**2) / 2)
    assert rows["S-RT"].score.high == pytest.approx(0.5 + high / 2)


def test_a_part_that_was_not_asked_is_missing_from_what_it_belongs_to(run):
    design, records = run(language="en", task="niah,needlebench_reasoning")
    rows = rows_of(needlebench(records, design))

    assert rows["S-RT-EN"].score.value == rows["M-RS-EN"].score.value == 1
    assert (rows["S-RT"].score.value, rows["S-RT"].missing) == (None, ("S-RT-ZH",))
    assert rows["M-RT"].missing == ("M-RT-EN", "M-RT-ZH")
    assert rows["Overall"].score.value is None
    assert {"S-RT-ZH", "M-RT-EN", "M-RT-ZH", "5-Needle-ZH"} <= set(rows["Overall"].missing)
    assert "missing: S-RT-ZH" in "\n".join(section_lines(needlebench_sections(needlebench(records, design))))


def test_a_run_that_was_stopped_has_no_number_yet(run):
    design, records = run()
    rows = rows_of(needlebench([r for r in records if (r.needle, r.repeat) != ("code", 1)], design))

    assert rows["S-RT-EN"].missing == ("S-RT-EN: 4 of 8 trials not run",)
    assert rows["S-RT-ZH"].score.value == 1
    assert rows["Overall"].score.value is None


def test_a_cell_without_a_score_is_named_and_a_trial_without_one_is_counted(run, make_record):
    design, records = run()

    def censored(record: Record, *places: tuple[int, float, int]) -> Record:
        hit = record.needle == "code" and (record.length, record.depth, record.repeat) in places
        return changed(record, outcome="censored", score=None) if hit else record

    some = rows_of(needlebench([censored(r, (2000, 50.0, 0)) for r in records], design))
    assert (some["S-RT-EN"].score.value, some["S-RT-EN"].n, some["S-RT-EN"].unscored) == (1, 7, {"censored": 1})
    assert some["Overall"].unscored == {"censored": 1}

    blank = rows_of(needlebench([censored(r, (2000, 50.0, 0), (2000, 50.0, 1)) for r in records], design))
    assert blank["S-RT-EN"].missing == ("S-RT-EN: 1 of 4 cells without a score (at lengths 2000)",)
    assert blank["Overall"].score.value is None


def test_controls_are_no_part_of_it(run, make_record):
    design, records = run(controls="absent,focused")
    own = [record for record in records if not record.needle.endswith(("_absent", "_focused"))]
    rest = [
        changed(record, outcome="wrong", score=0.0, reference={"control": "absent"})
        for record in records
        if record not in own
    ]

    assert rest
    assert rows_of(needlebench([*own, *rest], design))["Overall"].score.value == 1
    assert rows_of(needlebench([*own, *rest], design))["Overall"].n == len(own)


def test_models_have_their_own_rows_and_the_order_of_records_does_not_matter(run):
    design, records = run()
    both = [*records, *(changed(record, model="other", outcome="wrong", score=0.0) for record in records)]
    found = needlebench(both, design)

    assert [each.model for each in found] == ["mock", "other"]
    assert [each.rows[0].score.value for each in found] == [1, 0]
    assert needlebench(both[::-1], design) == found


def test_another_preset_has_no_such_rows(run, tmp_path):
    _, records = run()

    assert design_of(resolve_settings({}, {}, tmp_path)) is None
    assert needlebench(records, None) == ()
    assert needlebench_sections(()) == []


def test_what_is_not_as_published_is_told(run, tmp_path):
    design, records = run(scorer="match")
    assert design.changed == ("lengths", "depths", "repeats", "scorer")
    assert "(not as published: lengths, depths, repeats, scorer)" in (
        needlebench_sections(needlebench(records, design))[0].title
    )

    published = design_of(resolve_settings({"preset": "needlebench-v2-4k"}, {}, tmp_path))
    assert published is not None
    assert published.changed == ()
    assert sum(len(part.trials) for part in published.parts) == 4 * 11 * 100 + 4 * 50


CHAINS = (2, 4, 8, 16, 32, 64, 128, 256, 512)


def traced(run, scores: Mapping[int, float], without: tuple[int, ...] = ()) -> NeedleBench:
    design, records = run(
        lambda _, needle: scores[int(needle.removeprefix("n"))],
        preset="needlebench-v2-atc",
        lengths="32k",
        repeats="4",
        language="en",
    )
    (found,) = needlebench([r for r in records if r.needle not in {f"n{count}" for count in without}], design)
    return found


@pytest.mark.parametrize(
    ("scores", "needles", "dropped"),
    [
        (dict.fromkeys(CHAINS, 1.0), 512, None),
        (dict.fromkeys(CHAINS, 0.0), 0, 2),
        (dict.fromkeys(CHAINS, 0.6), 512, None),
        ({count: float(count <= 16) for count in CHAINS}, 16, 32),
        # Published code: 512, for the recovery at 64 forgets the drop at 32.
        ({count: 0.25 if count == 32 else 0.75 for count in CHAINS}, 16, 32),
    ],
)
def test_the_longest_chain_ends_at_the_first_drop(run, scores, needles, dropped):
    found = traced(run, scores)
    english = next(reach for reach in found.reaches if "EN" in reach.name)

    assert (english.needles, english.dropped) == (needles, dropped)


def test_a_chain_is_undetermined_only_where_what_is_missing_matters(run):
    scores = {count: float(count <= 16) for count in CHAINS}

    assert traced(run, scores, without=(64,)).reaches[0].needles == 16
    before = traced(run, scores, without=(8,)).reaches[0]
    assert (before.needles, before.missing) == (None, ("ATC-8-EN: 4 of 4 trials not run",))
    assert traced(run, scores).reaches[1].missing == ("ATC-2-ZH",)


def test_trace_rows_by_hand(run):
    found = traced(run, {count: float(count <= 16) for count in CHAINS})
    rows = {row.name: row for row in found.rows}

    assert "Overall" not in rows
    assert rows["ATC-EN"].score.value == pytest.approx(4 / 9)
    assert rows["ATC-EN by needles"].score.value == pytest.approx((2 + 4 + 8 + 16) / 1022)
    assert rows["ATC-16-EN"].score.value == 1
    texts = {row.term.strip(): row.text for row in needlebench_sections([found])[0].findings}
    assert texts["ATC-EN max needles"] == "16 (below 60 % at 32)"
    assert texts["ATC-ZH max needles"] == "undetermined, missing: ATC-2-ZH"


@given(scores=st.dictionaries(st.sampled_from(CHAINS), st.sampled_from([0.0, 0.5, 0.59, 0.6, 1.0])))
def test_more_score_never_shortens_the_longest_chain(make_record, scores):
    parts = [
        NeedleBenchPart("ATC", "EN", n, "needlebench_atc", f"n{n}", frozenset({(32_000, None, 0)})) for n in CHAINS
    ]
    design = NeedleBenchDesign("needlebench-v2-atc", "v2", tuple(parts), ())

    def longest(gain: float) -> int:
        marks = {n: min(1.0, scores.get(n, 1.0) + gain) for n in CHAINS}
        records = [make_record(task="needlebench_atc", needle=f"n{n}", length=32_000, depth=None, outcome="partial",
                               score=mark) for n, mark in marks.items()]  # fmt: skip
        return needlebench(records, design)[0].reaches[0].needles or 0

    assert longest(0.0) <= longest(0.2)
