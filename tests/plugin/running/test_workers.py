"""Workers, real and simulated: the same numbers, a dead one costs its cell alone, one copy of a model a device."""

import json
from types import SimpleNamespace

import pytest

from needlework.core.grid import Cell
from needlework.pytest_plugin.scheduling import HaystackScheduling
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


@pytest.mark.slow
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


IN_A_STRING = '''
SOURCE = """
@pytest.mark.cells("niah")
"""

def test_it():
    pass
'''


@pytest.mark.parametrize(
    ("code", "is_one"), [(ALIAS, True), (IN_A_STRING, False)], ids=["a mark by another name", "no cells"]
)
def test_cells_run_in_one_process_where_there_is_one_device(project, gpus, code, is_one):
    gpus("")
    project.pytester.makepyfile(test_needles=code)
    result = project.run("-n4", "-k", "nothing", model="smollm2")

    assert ("one process, not -n 4" in header(result)) == is_one
    assert any("created: " in line for line in result.outlines) != is_one


def test_each_worker_has_cards_of_its_own_out_of_the_callers(project, gpus):
    gpus("0,1,4,5,6")
    project.pytester.makepyfile(test_devices=DEVICES)
    options = ("--gpus-per-worker=2", "--model-arg=device_map=auto", "-k", "test_a or test_b or test_c")
    result = project.run("-n8", *options, model="smollm2")

    assert "2 workers, not -n 8: one for each 2 GPUs" in header(result)
    groups = [json.loads(path.read_text()) for path in project.pytester.path.glob("gpu-*.json")]
    assert sorted(groups) == ["0,1", "4,5"]


class Worker:
    """Does what an xdist worker does: starts a test when it knows the next one, or that there is none."""

    def __init__(self, tests):
        self.tests, self.queue, self.ran, self.shutting_down = tests, [], [], False
        self.gateway = SimpleNamespace(id=f"gw{id(self)}")

    def send_runtest_some(self, indices):
        self.queue += indices

    def shutdown(self):
        self.shutting_down = True

    def step(self):
        """Run a test if it may; the index of it."""
        if not self.queue or (len(self.queue) == 1 and not self.shutting_down):
            return None
        index = self.queue.pop(0)
        self.ran.append(index)
        return index


def config(workers):
    return SimpleNamespace(
        getvalue=lambda name: [f"{workers}*popen"], option=SimpleNamespace(loadscopereorder=False), hook=None,
        rootpath=None,
    )  # fmt: skip


def started(tests, workers):
    scheduling = HaystackScheduling(config(workers), None, buffer=2)
    nodes = [Worker(tests) for _ in range(workers)]
    for node in nodes:
        scheduling.add_node(node)
        scheduling.add_node_collection(node, tests)
    scheduling.schedule()
    return scheduling, nodes


def run(scheduling, nodes, die=None):
    """Until every worker was shut down; the tests by name, in the order they ended. `die`: kills on that test."""
    done, nodes = [], list(nodes)
    for _ in range(100_000):
        for node in nodes:
            index = node.step()
            if index is None:
                continue
            name = node.tests[index]
            if name == die:
                assert scheduling.remove_node(node) == die
                nodes.remove(node)
                replacement = Worker(node.tests)
                scheduling.add_node(replacement)
                scheduling.add_node_collection(replacement, node.tests)
                scheduling.schedule()
                nodes.append(replacement)
                break
            done.append((name, node))
            scheduling.mark_test_complete(node, index)
            yield_to(scheduling)
        yield_to(scheduling)
        if all(node.shutting_down and not node.queue for node in nodes):
            return done
    raise AssertionError("the workers wait for ever")


def yield_to(scheduling):
    """What xdist does after every word from a worker."""
    if scheduling.tests_finished:
        for node in scheduling.nodes:
            node.shutdown()


def cells(lengths, depths=3, repeats=1):
    return [
        Cell("niah", length, float(depth), "code", repeat)
        for length in lengths
        for repeat in range(repeats)
        for depth in range(depths)
    ]


def ids_of(found):
    return [f"test_x.py::test_needle[{cell.id}]" for cell in found]


@pytest.mark.parametrize("died_on", [None, *range(9)])
def test_every_test_runs_once_haystacks_stay_together_and_a_dead_worker_costs_one_test(died_on):
    tests = [*ids_of(cells((400, 600, 800))), "test_y.py::test_a", "test_y.py::test_b"]
    lost = None if died_on is None else tests[died_on]
    done = run(*started(tests, 2), die=lost)
    workers = {}
    for name, node in done:
        workers.setdefault(name.partition("-depth")[0], set()).add(node)

    assert sorted(name for name, _ in done) == sorted({*tests} - {lost})
    assert lost or all(len(nodes) == 1 for nodes in workers.values())


def test_a_replacement_with_other_tests_ends_the_run_in_one_line():
    tests = ids_of(cells([400]))
    scheduling, nodes = started(tests, workers=2)
    scheduling.remove_node(nodes[0])
    replacement = Worker(tests)
    scheduling.add_node(replacement)
    with pytest.raises(pytest.exit.Exception, match="files changed while the run went on; run the same command again"):
        scheduling.add_node_collection(replacement, tests[:-1])
