"""Local models under `-n`: one copy a device, and each worker its own GPU."""

import json

import pytest

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


def header(result):
    return "\n".join(line for line in result.outlines if line.startswith("needlework: "))


@pytest.fixture
def gpus(monkeypatch):
    return lambda names: monkeypatch.setenv("CUDA_VISIBLE_DEVICES", names)


def test_one_process_where_there_is_one_device(project, gpus):
    gpus("")
    result = project.run("-n4", "-k", "nothing", model="smollm2", process=True)

    assert "one process, not -n 4" in header(result)
    assert not any("created: " in line for line in result.outlines)


def test_served_and_mock_models_keep_their_workers(project, gpus):
    gpus("")
    result = project.run("-n2", "-k", "len400", process=True)

    assert "one process" not in header(result)
    assert any("created: 2/2 workers" in line for line in result.outlines)


def test_tests_that_are_no_cells_keep_their_workers(project, gpus):
    gpus("")
    project.pytester.makepyfile(test_plain="def test_it(): pass")
    result = project.run("-n2", "test_plain.py", model="smollm2", process=True)

    assert any("created: 2/2 workers" in line for line in result.outlines)


def test_each_worker_has_a_gpu_of_its_own_out_of_the_callers(project, gpus):
    gpus("4,7")
    project.pytester.makepyfile(test_devices=DEVICES)
    result = project.run("-n8", "-k", "test_a or test_b or test_c", model="smollm2", process=True)
    found = [json.loads(path.read_text()) for path in project.pytester.path.glob("gpu-*.json")]

    assert "2 workers, not -n 8: one for each GPU" in header(result)
    assert sorted(found) == ["4", "7"]


def test_each_worker_has_a_group_of_cards_for_a_model_that_is_spread(project, gpus):
    gpus("0,1,4,5,6")
    project.pytester.makepyfile(test_devices=DEVICES)
    options = ("--gpus-per-worker=2", "--model-arg=device_map=auto", "-k", "test_a or test_b or test_c")
    result = project.run("-n8", *options, model="smollm2", process=True)
    found = [json.loads(path.read_text()) for path in project.pytester.path.glob("gpu-*.json")]

    assert "2 workers, not -n 8: one for each 2 GPUs" in header(result)
    assert sorted(found) == ["0,1", "4,5"]


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        (("--gpus-per-worker=2",), "*--gpus-per-worker: '2': *--model-arg device_map=auto*"),
        (("--gpus-per-worker=9", "--model-arg=device_map=auto"), "*--gpus-per-worker: '9': *shows 2 cards*"),
    ],
)
def test_groups_that_cannot_be_are_refused_in_one_line(project, gpus, options, remedy):
    gpus("0,1")
    result = project.run("-n2", *options, model="smollm2", process=True)

    result.stderr.fnmatch_lines([remedy])
    assert "Traceback" not in result.stderr.str()


ALIAS = """
import pytest

cells = pytest.mark.cells

@cells("niah")
def test_needle(cell, generate, assert_scored):
    assert_scored(generate(cell))
"""


def test_a_mark_by_another_name_is_seen_before_workers_start(project, gpus):
    gpus("")
    project.pytester.makepyfile(test_needles=ALIAS)
    result = project.run("-n4", "-k", "nothing", model="smollm2", process=True)

    assert "one process, not -n 4" in header(result)
