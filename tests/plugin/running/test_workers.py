"""Several workers give the same numbers; a dead one costs its cell alone."""


def without_timing(records):
    return [{key: value for key, value in record.items() if key != "timing"} for record in records]


def test_two_workers_give_the_same_results_as_none(project):
    project.run("--run-name=one")
    project.run("--run-name=two", "-n2")

    assert without_timing(project.records("one")) == without_timing(project.records("two"))
    assert {record["timing"]["worker"] for record in project.records("two")} == {"gw0", "gw1"}


def test_cells_of_one_haystack_stay_on_one_worker(project):
    project.run("-n2", "--repeats=3")
    workers = {}
    for record in project.records():
        workers.setdefault((record["length"], record["repeat"]), set()).add(record["timing"]["worker"])

    assert all(len(found) == 1 for found in workers.values())


def test_a_killed_worker_costs_its_cell_alone(project):
    result = project.run("-n2", "--depths=0,25,50,75,100", model="mock:die=50")
    outcomes = {}
    for record in project.records():
        outcomes.setdefault(record["outcome"], []).append(record["depth"])

    assert set(outcomes["error"]) == {50}
    assert len(outcomes["error"]) == 2
    assert len(outcomes["found"]) == 8
    assert result.ret == 11


def test_a_resumed_run_may_have_another_number_of_workers(project):
    project.run("-n2", "-k", "len400")
    project.run()

    assert len(project.journal()) == len(project.records()) == 6
