"""Times of a run: facts of a record, the pace of a session, latencies in pytest-benchmark's output."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from needlework.core.grid import Cell
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.models.model import Response
from needlework.pipeline.exchange import Exchange
from needlework.pytest_plugin.latency import benchmark_asked, latency_groups
from needlework.results.run.finish import sending_notes
from needlework.results.run.record_builder import answer_recall, make_record
from needlework.results.run.session import SessionPace, pace_of
from needlework.results.style import duration
from needlework.scoring.recording import ScoringResult
from tests.results.new_record import new_record

DOCUMENT = "The ferry ran on Thursdays only. The pear tree stood behind the mill."


@pytest.mark.parametrize(
    ("completion_tokens", "ttft_s", "tokens_per_s"),
    [(11, 0.5, 10.0), (2, 1.0, 2.0), (1, 0.5, None), (None, 0.5, None), (11, None, None), (11, 1.5, None)],
)
def test_the_speed_is_that_of_the_tokens_after_the_first(completion_tokens, ttft_s, tokens_per_s):
    response = Response("x", completion_tokens=completion_tokens, ttft_s=ttft_s, latency_s=1.5)
    exchange = Exchange(Cell("niah", 400, 50.0, "code", 0), SimpleNamespace(language="en"), "m", "k", response)
    record = make_record(exchange, ScoringResult(None), nodeid="", worker="main", recipe="r")

    assert record.timing.tokens_per_s == tokens_per_s


@pytest.mark.parametrize(
    ("answer", "context", "recall"),
    [
        ("The ferry ran on Thursdays.", "The ferry ran on Thursdays only.", 1.0),
        ("The ferry ran on Thursdays.", "The ferry was late.", 0.3333),
        ("The ferry ran on Thursdays.", "Nothing.", 0.0),
        ("The ferry, said Hale", "The ferry.", 1.0),  # the documents do not have Hale either
        ("Nobody knows", DOCUMENT, None),
        ("", DOCUMENT, None),
        ("渡船只在星期四开", "渡船只在星期四开。", 1.0),
    ],
)
def test_retrieved_words_are_those_of_the_answer_that_the_documents_have(answer, context, recall):
    assert answer_recall(answer, [DOCUMENT, "渡船只在星期四开。"], context) == recall


def record(tokens=1000, outcome="found", **timing):
    return new_record(outcome=outcome, prompt={"tokens": tokens}, timing=timing)


def test_the_pace_is_that_of_the_answers_of_this_session():
    assert pace_of([record(), record(3000), record(replayed=True), record(outcome="error")], 2.0) == SessionPace(
        2, 4000, 2.0
    )
    assert pace_of([record(replayed=True)], 2.0) is None


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.234, "0.23 s"), (4, "4 s"), (59, "59 s"), (90, "2 min"), (3601, "1 h 0 min"), (12_000, "3 h 20 min")],
)
def test_durations(seconds, words):
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("model", "concurrency", "slots", "note"),
    [
        ("openai:m", 8, None, "up to 8 requests at once"), ("openai:m", 1, None, ""),
        ("openai:m", 8, "4", "works on 4 at once"), ("openai:m", 8, "8", "up to 8"), ("openai:m", 8, "many", "up to 8"),
        ("smollm2", 8, None, "a time is one prompt's share"), ("mock:perfect", 8, None, ""),
    ],
)  # fmt: skip
def test_a_note_says_what_a_time_has_in_it(model, concurrency, slots, note):
    settings = resolve_settings({"model": [model], "concurrency": str(concurrency)}, {}, Path())
    notes = list(sending_notes(settings, {"models": {model: {"server total_slots": slots}}}))

    assert note in notes[0] if note else notes == []


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


@pytest.mark.slow
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
