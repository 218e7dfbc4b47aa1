"""Absent twins: rates by hand, what is no rate's business, and coverage."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from needlework.core.record import OutcomeName, Record
from needlework.results.files.json_files import json_text
from needlework.results.report.section import section_lines
from needlework.results.report.tasks import twins_sections
from needlework.results.statistics.absent import AbsentTwins, absent_twins
from needlework.results.statistics.run_report import run_report
from tests.results.clopper_pearson import clopper_pearson

Make = Callable[..., Record]


@pytest.fixture
def twins(make_record: Make) -> Callable[..., list[Record]]:
    """Records of both arms: (outcome with the answer in the text, outcome without it) for each repeat."""

    def build(*pairs: tuple[OutcomeName | None, OutcomeName | None], **fields: Any) -> list[Record]:
        records = []
        for repeat, (present, absent) in enumerate(pairs):
            if present is not None:
                records.append(make_record(repeat=repeat, outcome=present, **fields))
            if absent is not None:
                reference = {"absent": True, "twin": "code"}
                needle = {"needle": "code_absent", "reference": reference} | fields
                records.append(make_record(repeat=repeat, outcome=absent, **needle))
        for record in records:
            record.reference.setdefault("twin", "code")
        return records

    return build


def only(found: tuple[AbsentTwins, ...]) -> AbsentTwins:
    (twins,) = found
    return twins


def test_rates_by_hand(twins: Callable[..., list[Record]]) -> None:
    records = twins(
        ("found", "refused"),  # right in both
        ("found", "wrong"),  # hallucinates
        ("refused", "refused"),  # abstains needlessly
        ("wrong", "distractor"),  # hallucinates
        ("found", "empty"),  # says nothing: neither
    )
    found = only(absent_twins(records))

    assert (found.model, found.task) == ("mock", "niah")
    assert (found.hallucination.value, found.hallucination.n) == (2 / 5, 5)
    assert (found.needless.value, found.needless.n) == (1 / 5, 5)
    assert found.balanced.value == pytest.approx((3 / 5 + 2 / 5) / 2)
    assert (found.discriminates.value, found.discriminates.n) == (1 / 5, 5)
    assert (found.hallucination.low, found.hallucination.high) == pytest.approx(clopper_pearson(2 / 5, 5))
    assert (found.discriminates.low, found.discriminates.high) == pytest.approx(clopper_pearson(1 / 5, 5))


def test_a_scorer_of_the_absent_arm_may_call_an_abstention_found(twins: Callable[..., list[Record]]) -> None:
    found = only(absent_twins(twins(("found", "found"), ("found", "wrong"))))

    assert (found.hallucination.value, found.balanced.value, found.discriminates.value) == (0.5, 0.75, 0.5)


def test_a_model_that_always_abstains_is_at_chance(twins: Callable[..., list[Record]]) -> None:
    found = only(absent_twins(twins(*[("refused", "refused")] * 20)))

    assert (found.hallucination.value, found.needless.value, found.balanced.value) == (0.0, 1.0, 0.5)
    assert found.balanced.low is not None
    assert found.balanced.high is not None
    assert 0.3 < found.balanced.low < 0.5 < found.balanced.high < 0.7


def test_trials_without_a_score_are_counted_beside_the_rates(twins: Callable[..., list[Record]]) -> None:
    found = only(absent_twins(twins(("found", "refused"), ("error", "censored"), (None, "invalid"))))

    assert (found.hallucination.n, found.needless.n, found.discriminates.n) == (1, 1, 1)
    assert (found.present.unscored, found.absent.unscored) == ({"error": 1}, {"censored": 1, "invalid": 1})
    assert twins_sections([found])[0].findings[-1].text == "1 error (present), 1 censored (absent), 1 invalid (absent)"


def test_an_arm_without_scores_has_no_rate(twins: Callable[..., list[Record]]) -> None:
    found = only(absent_twins(twins((None, "refused"), (None, "wrong"))))

    assert (found.hallucination.value, found.hallucination.n) == (0.5, 2)
    assert (found.needless.value, found.balanced.value, found.discriminates.value) == (None, None, None)
    (section,) = twins_sections([found])
    assert [row.term.strip() for row in section.findings] == [
        "hallucination rate",
        "without a score",
    ]


def test_only_tasks_with_an_absent_arm_have_statistics(make_record: Make, twins: Callable[..., list[Record]]) -> None:
    others = [make_record(task="qa", repeat=i) for i in range(3)]

    assert absent_twins(others) == ()
    assert [each.task for each in absent_twins([*others, *twins(("found", "refused"))])] == ["niah"]


def test_they_are_printed_and_written(twins: Callable[..., list[Record]]) -> None:
    records = twins(("found", "refused"), ("found", "wrong"))
    lines = section_lines(twins_sections(absent_twins(records)))

    assert lines[0] == "mock · niah · answers that are not there"
    assert lines[1] == "  hallucination rate: 50.0 % (95 % interval 1.3–98.7), n = 2"
    written = json.loads(json_text(run_report(records[::-1])))["absent_twins"]
    assert written[0]["hallucination"]["value"] == 0.5
    assert written == json.loads(json_text(run_report(records)))["absent_twins"]


@pytest.mark.parametrize(("samples", "together"), [(40, 0.0), (40, 0.5), (25, -0.5)])
def test_balanced_accuracy_is_covered(twins: Callable[..., list[Record]], samples: int, together: float) -> None:
    """Arms right with chances 0.8 and 0.6, alike (or opposed) within a sample."""
    rng = np.random.default_rng(samples)
    cover = np.array([[1.0, together], [together, 1.0]])
    count, times = 0, 400
    for _ in range(times):
        normal = rng.multivariate_normal([0.0, 0.0], cover, size=samples)
        right = normal < [0.841621, 0.253347]  # normal quantiles of 0.8 and 0.6
        records = twins(*[("found" if a else "wrong", "refused" if b else "wrong") for a, b in right])
        rate = only(absent_twins(records)).balanced
        assert rate.low is not None
        assert rate.high is not None
        count += rate.low <= 0.7 <= rate.high

    assert 0.93 <= count / times <= 0.98
