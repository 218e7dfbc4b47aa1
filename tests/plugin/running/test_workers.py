"""Several workers give the same numbers; a dead one costs its cell alone."""


def without_timing(records):
    return [{key: value for key, value in record.items() if key != "timing"} for record in records]


def test_two_workers_give_the_same_results_as_none_and_keep_haystacks_whole(project):
    project.run("--run-name=one", "--repeats=3")
    project.run("--run-name=two", "--repeats=3", "-n2")
    assert without_timing(project.records("one")) == without_timing(project.records("two"))

    workers = {}
    for record in project.records("two"):
        workers.setdefault((record["length"], record["repeat"]), set()).add(record["timing"]["worker"])
    assert {worker for found in workers.values() for worker in found} == {"gw0", "gw1"}
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
