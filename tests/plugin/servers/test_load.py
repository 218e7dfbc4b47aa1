"""Many requests in flight: at a server that fails every fifth, one that dies, and loads side by side (`--load`)."""

import json
from collections import Counter

import pytest

from tests.loopback import Said, honest, kept_port, loopback
from tests.plugin.conftest import ROOT, output_of, start, wait_until
from tests.storm_server import FAULTS, storm_server

CONCURRENCY, RETRIES, DEPTHS = 64, 4, 10
TRANSIENT = {"rate_limit", "server", "timeout", "protocol"}


def begin(folder, url, *args):
    return start(
        ROOT, "benchmarks/test_niah.py", "-q", "--model=openai:gpt-4", "--template=raw", f"--base-url={url}",
        "--corpus=pydoc", "--lengths=400", f"--results-dir={folder}", "--run-name=r", f"--concurrency={CONCURRENCY}",
        f"--retries={RETRIES}", *args,
    )  # fmt: skip


def journal(folder):
    return [json.loads(line) for line in (folder / "r" / "journal.jsonl").read_text(encoding="utf-8").split("\n")[:-1]]


@pytest.mark.slow
@pytest.mark.parametrize(("workers", "repeats"), [(0, 200), (2, 200)])
def test_a_storm_loses_no_cell_and_asks_none_twice(workers, repeats, tmp_path):
    grid = (f"--depths=0:100:{DEPTHS}", f"--repeats={repeats}", "--timeout=10", f"-n{workers}")
    with storm_server(latency_s=0.2, failing=0.2) as storm:
        process = begin(tmp_path, storm.url, *grid)
        output = output_of(process, 600)
        seen = storm.seen()
    assert process.returncode in (0, 1), output

    records = journal(tmp_path)
    assert len({record["id"] for record in records}) == len(records) == DEPTHS * repeats
    scored = [record for record in records if record["outcome"] == "found"]
    failed = [record for record in records if record["outcome"] == "error"]
    assert len(scored) + len(failed) == len(records)
    assert len(failed) <= 0.02 * len(records)
    assert all(record["error"]["kind"] in TRANSIENT for record in failed)
    assert all(record["timing"]["attempts"] > RETRIES for record in failed), "given up too early"

    # What the server saw. Some cells have the same prompt: at 400 tokens two depths can mean one place.
    trials = Counter(record["prompt"]["sha256"] for record in records)
    attempts = Counter()
    for record in records:
        attempts[record["prompt"]["sha256"]] += record["timing"]["attempts"]
    answers = Counter(record["prompt"]["sha256"] for record in scored)
    assert {key: seen["answered"].get(key, 0) for key in trials} == {key: answers[key] for key in trials}
    # A kept connection that is closed before a byte came costs no attempt.
    free = [seen["asked"][key] - attempts[key] for key in trials]
    assert min(free) >= 0
    assert sum(free) <= seen["faults"]["dropped before"]
    assert seen["most_in_flight"] <= CONCURRENCY
    assert workers or seen["most_in_flight"] > CONCURRENCY / 2, "a worker knows only the cells that it has been given"
    assert set(seen["faults"]) == {"", *FAULTS}, "every fault was met"


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 2])
def test_a_server_that_dies_during_the_run_is_told_at_once_and_waited_for(workers, tmp_path):
    grid = ("--depths=0:100:10", "--repeats=20", f"-n{workers}", "--concurrency=4")
    lines = []
    with storm_server(latency_s=0.1, port=kept_port()) as storm:
        process = begin(tmp_path, storm.url, *grid)
        wait_until(lambda: (tmp_path / "r" / "journal.jsonl").exists() and len(journal(tmp_path)) > 4, process)
    while not any(f"{storm.url} does not answer any more" in line for line in lines):
        lines.append(process.stdout.readline())
        assert process.poll() is None
    with storm_server(port=storm.port):
        output = "".join(lines) + output_of(process)
    assert process.returncode == 0
    assert output.count("does not answer any more") == output.count("answers again: the run goes on") == 1
    assert "200 scored" in output


@pytest.mark.slow
def test_a_server_that_loses_needles_above_four_requests_is_shown_worse_there(project):
    project.asks("niah")

    def say(asked):
        """Where several are in flight, wait a while for the fifth: a busy machine takes its time."""
        with server.changed:
            several = asked.is_trial and server.in_flight > 1
            crowded = several and server.changed.wait_for(lambda: server.in_flight > 4, 1)
        return Said("I do not see any code.") if crowded else honest(asked)

    with loopback(say) as server:
        options = (f"--base-url={server.url}", "--tokenizer=tiktoken:cl100k_base", "--repeats=12", "--gate=not worse")
        result = project.run("--load=1,4,16", *options, model="openai:gpt-4", process=True)

    assert result.ret == 1, "the gate fails"
    rows = [r"  1 .* the first ", r"  4 .* no difference shown ", r"  16 .* worse "]
    result.stdout.re_match_lines(["Under load", *rows])
    content = project.json("comparison/comparison.json")["configurations"]
    assert [(each["configuration"], each["verdict"]) for each in content] == [
        ("load 1", None), ("load 4", "no difference shown"), ("load 16", "worse"),
    ]  # fmt: skip
    assert "Under load" in project.file("comparison/report.html")
    assert "Worse with 16 in flight" in project.file("comparison/load.svg")
    assert project.json("load_16/manifest.json")["options"]["concurrency"] == 16
