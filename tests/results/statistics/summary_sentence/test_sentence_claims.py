"""Whatever a run holds, its sentence claims nothing that the intervals deny."""

import random
import re

from hypothesis import given
from hypothesis import strategies as st

from needlework.results.statistics.panels import OUTCOMES, asked_of, summarise
from needlework.results.statistics.run_report import run_report
from needlework.results.statistics.summary_sentence import headline_of
from needlework.results.statistics.tasks import run_statistics
from needlework.results.style import length_labels, percent1

LENGTHS, DEPTHS = (500, 1000, 2000), (0.0, 50.0, 100.0)
# A share of right answers for each length, and now and then an outcome of any kind.
RUNS = st.tuples(
    st.lists(st.floats(0, 1), min_size=3, max_size=3),
    st.integers(1, 30),
    st.floats(0, 0.4),
    st.integers(0, 2**32),
    st.integers(1, 3),
)


def drawn(make_record, run):
    shares, samples, odd, seed, lengths = run
    chance = random.Random(seed)
    records = []
    for length, share in list(zip(LENGTHS, shares, strict=True))[:lengths]:
        for repeat in range(samples):
            outcome = "found" if chance.random() < share else "wrong"
            outcome = chance.choice(OUTCOMES) if chance.random() < odd else outcome
            records.append(make_record(length=length, depth=DEPTHS[repeat % 3], repeat=repeat, outcome=outcome))
    return records


@given(run=RUNS)
def test_what_is_called_sure_is_what_the_intervals_say(make_record, run):
    records = drawn(make_record, run)
    told = headline_of(run_report(records)).sentence
    (panel,) = summarise(records)
    (statistics,) = run_statistics(asked_of(records))
    rule, overall = statistics.absolute, panel.overall

    assert told.endswith(".")
    assert "\n" not in told
    label = {None: "none"} | dict(zip(panel.lengths, length_labels(panel.lengths), strict=True))
    if held := re.search(r"holds RULER's 85.6 % (?:up to (\w+) tokens|at no length by its scores) \((.*?)\)", told):
        assert rule is not None
        assert not rule.few
        assert (held[1] or "none") == label[rule.point]
        sure = held[2]
        ends = re.fullmatch(r"95 % sure: (\S+) to (\S+)", sure)
        if ends:
            assert (ends[1], ends[2]) == (label[rule.conservative], label[rule.optimistic])
        elif least := re.fullmatch(r"95 % sure: (\S+) or more", sure):
            assert least[1] == label[rule.conservative]
        elif most := re.fullmatch(r"95 % sure: at most (\S+)", sure):
            assert most[1] == label[rule.optimistic]
        elif sure == "95 % sure":
            assert rule.conservative == rule.point == rule.optimistic
    elif "holds RULER's 85.6 % at every length" in told:
        assert rule is not None
        assert rule.conservative == panel.lengths[-1] or not panel.columns[-1].n
        assert ("at every length with a score" in told) == (rule.conservative != panel.lengths[-1])
    elif "does not hold" in told:
        assert rule is not None
        assert rule.optimistic is None
    if score := re.search(r"scores (\S+) % \(95 % sure: (\S+) to (\S+)\)", told):
        assert overall.range is None
        assert overall.interval is not None
        assert score.groups() == tuple(
            map(percent1, (overall.mean or 0.0, overall.interval.low, overall.interval.high))
        )
    if overall.range is not None and overall.n:
        assert f"scores between {percent1(overall.range[0])} and {percent1(overall.range[1])} %" in told
    if "weakest" in told:
        depth, ends_ = statistics.depth, statistics.depth.extremes
        assert min(depth.p_adjusted or 1.0, ends_.p_adjusted if ends_ else 1.0) <= 0.05


@given(run=RUNS)
def test_the_order_of_the_records_does_not_matter(make_record, run):
    records = drawn(make_record, run)
    assert headline_of(run_report(records)) == headline_of(run_report(records[::-1]))
