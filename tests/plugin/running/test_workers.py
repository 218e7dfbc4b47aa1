"""Several workers give the same numbers, a dead one costs its cell alone; local models have one copy a device."""

import json

import pytest

from tests.plugin.conftest import without_timing


def test_two_workers_give_the_same_results_as_none_and_keep_haystacks_whole(project):
    project.run("--run-name=one", "--repeats=2")
    project.run("--run-name=two", "--repeats=2", "-n2")
    assert without_timing(project.records("one")) == without_timing(project.records("two"))

    workers = {}
    for record in project.records("two"):
        workers.setdefault((record["length"], record["repeat"]), set()).add(record["timing"]["worker"])
    assert {worker for names in workers.values() for worker in names} == {"gw0", "gw1"}
    assert all(len(names) == 1 for names in workers.values())

    project.run("--run-name=two", "--repeats=3")
    assert len(project.journal("two")) == len(project.records("two")) == 18, "another number of workers goes on"


def test_a_killed_worker_costs_its_cell_alone(project):
    result = project.run("-n2", "--lengths=400", "--repeats=2", "-k", "depth0 or depth100 or r0", model="mock:die=50")

    outcomes = {(record["repeat"], record["depth"]): record["outcome"] for record in project.records()}
    assert outcomes.pop((0, 50)) == "error"
    assert list(outcomes.values()) == ["found"] * 4
    assert result.ret == 11


# -- devices ------------------------------------------------------------------------------------------------------

DEVICES = """
import json, os, pathlib, time

def test_a(): note()
def test_b(): note()
def test_c(): note()

def note():
    worker = os.environ["PYTEST_XDIST_WORKER"]
    pathlib.Path(f"gpu-{worker}.json").write_text(json.dumps(os.environ["CUDA_VISIBLE_DEVICES"]))
    time.sleep(0.5)
"""
ALIAS = """
import pytest

cells = pytest.mark.cells

@cells("niah")
def test_needle(cell, generate, assert_scored):
    assert_scored(generate(cell))
"""


def header(result):
    return "\n".join(line for line in result.outlines if line.startswith("needlework: "))


@pytest.fixture
def gpus(monkeypatch):
    return lambda names: monkeypatch.setenv("CUDA_VISIBLE_DEVICES", names)


def test_one_process_where_there_is_one_device(project, gpus):
    gpus("")
    project.pytester.makepyfile(test_needles=ALIAS)
    result = project.run("-n4", "-k", "nothing", model="smollm2")

    assert "one process, not -n 4" in header(result), "though the mark has another name"
    assert not any("created: " in line for line in result.outlines)


def test_tests_that_are_no_cells_keep_their_workers(project, gpus):
    gpus("")
    project.pytester.makepyfile(test_plain="def test_it(): pass")
    result = project.run("-n2", "--collect-only", "test_plain.py", model="smollm2")

    assert "one process" not in header(result)


@pytest.mark.parametrize(
    ("cards", "options", "each", "groups"),
    [
        pytest.param("4,7", (), "GPU", ["4", "7"], marks=pytest.mark.slow),
        ("0,1,4,5,6", ("--gpus-per-worker=2", "--model-arg=device_map=auto"), "2 GPUs", ["0,1", "4,5"]),
    ],
)
def test_each_worker_has_cards_of_its_own_out_of_the_callers(project, gpus, cards, options, each, groups):
    gpus(cards)
    project.pytester.makepyfile(test_devices=DEVICES)
    result = project.run("-n8", *options, "-k", "test_a or test_b or test_c", model="smollm2")

    assert f"2 workers, not -n 8: one for each {each}" in header(result)
    assert sorted(json.loads(path.read_text()) for path in project.pytester.path.glob("gpu-*.json")) == groups
