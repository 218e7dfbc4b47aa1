"""Which worker gets which tests, with workers that are simulated."""

from __future__ import annotations

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


def started(tests, workers, further=None, **more):
    scheduling = HaystackScheduling(config(workers), None, further, **more)
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
            name = names(scheduling).get(index, "pause")
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


def names(scheduling):
    return scheduling._nodeids


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


def test_units_that_are_done_are_dropped():
    """What a scheduler looks at after each test must not grow with the tests that are done."""
    scheduling, nodes = started(ids_of(cells(range(100, 1100), depths=10)), 2)
    most = 0
    for _ in range(10_000):
        for node in nodes:
            index = node.step()
            if index is not None:
                scheduling.mark_test_complete(node, index)
        most = max(most, *(len(units) for units in scheduling.assigned_work.values()))

    assert sum(len(node.ran) for node in nodes) == 10_000
    assert most <= 3


def test_a_dead_workers_tests_go_to_others_and_the_one_it_died_on_does_not():
    tests = ids_of(cells((400, 600, 800)))
    done = run(*started(tests, 2), die=tests[1])

    assert sorted(name for name, _ in done) == sorted({*tests} - {tests[1]})


def further_rounds(*rounds):
    coming = iter(rounds)
    return lambda: next(coming, None)


def test_further_cells_are_run_when_all_others_are_done():
    first, more = cells((400, 600)), [Cell("niah", 400, 0.0, "code", 5), Cell("niah", 600, 2.0, "code", 1)]
    last = [Cell("niah", 600, 1.0, "code", 2)]
    done = [name for name, _ in run(*started(ids_of(first), 2, further_rounds(more, last)))]
    ran = [name for name in done if name != "pause"]

    assert sorted(ran[:6]) == sorted(ids_of(first))
    assert sorted(ran[6:8]) == sorted(ids_of(more))
    assert ran[8:] == ids_of(last)


def test_every_worker_gets_some_of_the_further_cells():
    first = cells((400, 600))
    more = [Cell("niah", 400, 0.0, "code", repeat) for repeat in (1, 2)]
    done = run(*started(ids_of(first), 2, further_rounds(more)))

    assert len({node for name, node in done if name in ids_of(more)}) == 2


def test_without_further_cells_it_ends_like_any_run():
    first = cells((400, 600))
    done = [name for name, _ in run(*started(ids_of(first), 2, further_rounds()))]

    assert sorted(name for name in done if name != "pause") == sorted(ids_of(first))


class TestAllNamed:
    """Of an adaptive run's cells none runs that was not named; tests without a cell do."""

    def test_what_is_named_runs_round_by_round(self):
        first = [*ids_of(cells((400, 600))), "test_y.py::test_a"]
        rounds = [[Cell("niah", 400, 0.0, "code", 0)], [Cell("niah", 600, 2.0, "code", repeat) for repeat in range(4)]]
        scheduling, nodes = started(first, 2, further_rounds(*rounds), all_named=True)
        done = [name for name, _ in run(scheduling, nodes) if name != "pause"]

        assert done[0] == "test_y.py::test_a"
        assert done[1:2] == ids_of(rounds[0])
        assert sorted(done[2:]) == sorted(ids_of(rounds[1]))

    def test_a_worker_may_die_before_anything_else_was_done(self):
        named = [Cell("niah", 400, 0.0, "code", repeat) for repeat in range(3)]
        scheduling, nodes = started(ids_of(cells((400,))), 2, further_rounds(named), all_named=True)
        done = [name for name, _ in run(scheduling, nodes, die=ids_of(named)[0]) if name != "pause"]

        assert sorted(done) == sorted(ids_of(named[1:]))


@pytest.mark.parametrize("died_on", [0, 2, 5, 6, 7])
def test_a_worker_may_die_on_any_test_also_on_further_ones(died_on):
    first, more = cells((400, 600)), [Cell("niah", 400, float(depth), "code", 1) for depth in range(3)]
    tests = ids_of(first) + ids_of(more)
    done = [name for name, _ in run(*started(ids_of(first), 2, further_rounds(more)), die=tests[died_on])]

    assert sorted(name for name in done if name != "pause") == sorted({*tests} - {tests[died_on]})


def test_two_ids_of_one_cell_both_get_its_further_repeats():
    asked = cells((400,), depths=1)
    tests = [*ids_of(asked), *(name.replace("needle[", "again[") for name in ids_of(asked))]
    more = [Cell("niah", 400, 0.0, "code", 1)]
    done = [name for name, _ in run(*started(tests, 1, further_rounds(more)))]

    assert sorted(name for name in done if name.endswith("-r1]")) == [
        name.replace("-r0", "-r1") for name in sorted(tests)
    ]


def test_a_replacement_with_other_tests_ends_the_run_in_one_line():
    tests = ids_of(cells([400]))
    scheduling, nodes = started(tests, workers=2)
    scheduling.remove_node(nodes[0])
    replacement = Worker(tests)
    scheduling.add_node(replacement)
    with pytest.raises(pytest.exit.Exception, match="files changed while the run went on; run the same command again"):
        scheduling.add_node_collection(replacement, tests[:-1])
