"""Latencies in pytest-benchmark's output, with and without xdist."""

import json

import pytest

from needlework.pytest_plugin.latency import benchmark_asked, latency_groups

CONFTEST = """
import pytest
from needlework.core.record import Record, Timing
from needlework.pytest_plugin.latency import publish_latencies

RECORDS = [
    Record(
        id=f"niah-len{length}-r{i}", model="mock", task="niah", needle="code", length=length, depth=50.0, repeat=i,
        outcome="found", score=1.0, timing=Timing(latency_s=length / 1000 + SLOW * i, cached_tokens=7),
    )
    for length in (1000, 4000) for i in range(3)
]

@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session):
    publish_latencies(session.config, RECORDS)
    return (yield)
"""


def write_tests(pytester, slow=0.01):
    pytester.makeconftest(CONFTEST.replace("SLOW", str(slow)))
    pytester.makepyfile("import pytest\n@pytest.mark.parametrize('i', range(4))\ndef test_cell(i): pass")


def test_benchmark_json_has_one_entry_for_each_group_with_and_without_xdist(pytester):
    """The second run, under xdist, is slower: it has its own JSON, and fails the comparison with the first."""
    write_tests(pytester)
    alone = pytester.runpytest_subprocess("--benchmark-json=alone.json", "--benchmark-save=base")
    write_tests(pytester, slow=5.0)
    compare = ("--benchmark-json=xdist.json", "--benchmark-compare", "--benchmark-compare-fail=mean:20%")
    slower = pytester.runpytest_subprocess("-n", "2", *compare)

    assert alone.ret == 0
    alone.stdout.fnmatch_lines(["*latency?niah-len4000?*"])
    entries = entries_of(pytester, "alone.json")
    assert [entry["name"] for entry in entries] == ["latency[niah-len1000]", "latency[niah-len4000]"]
    assert entries[0]["stats"]["data"] == pytest.approx([1.0, 1.01, 1.02])
    assert entries[1]["stats"]["mean"] == pytest.approx(4.01)
    assert entries[0]["params"] == {"model": "mock", "task": "niah", "length": 1000}
    assert entries[0]["extra_info"] == {"model": "mock", "cached_prompt_tokens": 21}

    assert slower.ret == 1
    assert "Performance has regressed" in slower.stdout.str() + slower.stderr.str()
    assert entries_of(pytester, "xdist.json")[0]["stats"]["data"] == pytest.approx([1.0, 6.0, 11.0])


def entries_of(pytester, name):
    return json.loads((pytester.path / name).read_text())["benchmarks"]


def test_answers_make_groups_of_latency_first_token_and_further_tokens(make_record):
    timings = [("found", 2.0), ("found", 1.0), ("error", 60.0), ("skipped", None), ("censored", None), ("found", 0.0)]
    records = [make_record(repeat=9 - i, outcome=name, timing={"latency_s": s}) for i, (name, s) in enumerate(timings)]
    (group,) = latency_groups(records)
    streamed = make_record(timing={"latency_s": 2.0, "ttft_s": 0.5, "tokens_per_s": 50.0})

    assert (group.name, group.seconds) == ("latency[niah-len1000]", (1.0, 2.0))
    assert {each.group: each.seconds for each in latency_groups([streamed])} == {
        "latency": (2.0,), "first token": (0.5,), "time per token": (0.02,),
    }  # fmt: skip


@pytest.mark.parametrize("options", [(), ("--benchmark-skip",), ("--benchmark-disable",)])
def test_what_switches_measuring_off_does(pytester, options):
    assert not benchmark_asked(pytester.parseconfigure(*options))
