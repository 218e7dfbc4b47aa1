"""Which worker gets which tests, with workers that are simulated."""

from types import SimpleNamespace

import pytest

from needlework.core.grid import Cell
from needlework.pytest_plugin.scheduling import HaystackScheduling


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


def test_every_test_runs_once_and_haystacks_stay_together():
    tests = [*ids_of(cells((400, 600, 800))), "test_y.py::test_a", "test_y.py::test_b"]
    done = run(*started(tests, 2))
    workers = {}
    for name, node in done:
        workers.setdefault(name.partition("-depth")[0], set()).add(node)

    assert sorted(name for name, _ in done) == sorted(tests)
    assert all(len(found) == 1 for found in workers.values())


def test_a_worker_without_work_is_sent_home():
    _, nodes = started(ids_of(cells((400,))), 3)

    assert [node.shutting_down for node in nodes].count(True) == 3
    assert sum(bool(node.queue) for node in nodes) == 1


@pytest.mark.parametrize("died_on", range(9))
def test_a_dead_workers_tests_go_to_others_and_the_one_it_died_on_does_not(died_on):
    tests = ids_of(cells((400, 600, 800)))
    done = run(*started(tests, 2), die=tests[died_on])

    assert sorted(name for name, _ in done) == sorted({*tests} - {tests[died_on]})


def test_a_replacement_with_other_tests_ends_the_run_in_one_line():
    tests = ids_of(cells([400]))
    scheduling, nodes = started(tests, workers=2)
    scheduling.remove_node(nodes[0])
    replacement = Worker(tests)
    scheduling.add_node(replacement)
    with pytest.raises(pytest.exit.Exception, match="files changed while the run went on; run the same command again"):
        scheduling.add_node_collection(replacement, tests[:-1])
