"""Every planted fault, classified by real runs of the harness against a real server; the server and the bench alone."""

import json
import re
import subprocess
import sys
import urllib.request
from dataclasses import replace

import pytest

from tests.faults.bench import complaints, pool, start, summary
from tests.faults.catalogue import CATALOGUE
from tests.faults.server import main, running
from tests.source import ROOT


@pytest.fixture(scope="module")
def desk():
    """One server with every fault."""
    with running() as serving:
        yield serving
        assert not serving.broken


@pytest.fixture(scope="module")
def run(request, desk):
    """The run against a fault. Those of all tests are begun at once: a server that hangs keeps no other waiting."""
    tests = [item for item in request.session.items if item.path == request.path]
    names = [item.callspec.params["name"] for item in tests if "name" in item.fixturenames]
    with pool(1 if len(names) < 40 else 2) as processes:  # each of them imports everything
        begun = {name: start(CATALOGUE[name], desk, processes) for name in names}

        def once(fault):
            if fault.name not in begun:
                begun[fault.name] = start(fault, desk, processes)
            return begun[fault.name].result(timeout=600)

        yield once
        processes.shutdown(cancel_futures=True)  # after -x or Ctrl-C nobody waits for the rest


def one_of_each_class():
    """Every fault; those that have to be told in the same words as one before them are slow."""
    quick = {fault.expect.words: fault.name for fault in reversed(CATALOGUE.values())}.values()
    return [pytest.param(name, marks=[] if name in quick else pytest.mark.slow) for name in CATALOGUE]


@pytest.mark.parametrize("name", one_of_each_class())
def test_is_classified_right_in_every_cell(name, desk, run):
    fault = CATALOGUE[name]
    ran = run(fault)
    wrong = complaints(fault, ran, desk.session(name).seen)
    assert not wrong, "\n".join([summary(ran), *wrong])


def test_the_rows_of_the_docs_are_faults_of_the_catalogue():
    page = (ROOT / "docs" / "faults.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| [\d ]*\| `(\w+)` \| (.*?) \|", page, re.MULTILINE))

    assert len(rows) > 10
    assert rows.items() <= {fault.name: fault.met for fault in CATALOGUE.values()}.items()
    assert [fault.number for fault in CATALOGUE.values() if fault.number] == list(range(1, 101))


def test_the_bench_complains_of_a_report_that_is_not_of_this_fault(desk, run):
    fault = CATALOGUE["refuses"]
    ran, seen = run(fault), desk.session("refuses").seen
    first, *others = ran.records
    wrong_cell = replace(ran, records=[first | {"outcome": "wrong"}, *others])

    assert complaints(fault, ran, seen) == []
    assert complaints(CATALOGUE["honest"], ran, seen)
    assert complaints(fault, wrong_cell, seen) == [f"{first['id']}: wrong, not refused"]
    assert complaints(fault, replace(ran, status=11), seen) == ["exit code 11, not 0"]
    assert "a traceback" in complaints(fault, replace(ran, output="Traceback (most recent call last)"), seen)
    assert "no records: ERROR: x" in complaints(fault, replace(ran, records=[], output="ERROR: x\n"), seen)


def content(base_url):
    """The server's answer to a question."""
    text = "The gate code for the amber owl mill of Greyfell is 1234567. What is love? What is the gate code for the"
    asked = {"model": "oracle", "messages": [{"role": "user", "content": f"{text} amber owl mill of Greyfell?"}]}
    with urllib.request.urlopen(f"{base_url}/chat/completions", json.dumps(asked).encode(), timeout=10) as answer:
        return json.load(answer)["choices"][0]["message"]["content"]


def test_the_server_runs_alone_and_lists_its_faults(capsys):
    main(["--list"])
    listed = capsys.readouterr().out.splitlines()
    assert [line.split()[0 if line[:3].isspace() else 1] for line in listed] == list(CATALOGUE)
    command = [sys.executable, "-m", "tests.faults.server", "--fault", "refuses", "--port", "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            url = process.stdout.readline().strip()
            assert content(url) == "I'm sorry, but I can't help with that."
            assert "1234567" in content(url.replace("/v1", "/honest/v1"))
        finally:
            process.terminate()
