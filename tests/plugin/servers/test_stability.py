"""Cells asked again: answers that change are reported beside the score."""

import pytest


def stability(project, name="r"):
    return [each for record in project.records(name) for each in record["details"].get("stability", ())]


def line(result):
    return next((line for line in result.outlines if line.startswith("stability: ")), "")


def test_a_steady_model_has_no_flips(project):
    result = project.run("--stability=3")

    assert {each["how"] for each in stability(project)} == {"warm", "batch"}
    assert "stability: 3 cells asked again 15 times (warm 3, batch 12): the text differed 0 times" in line(result)


def test_flips_are_counted_and_named(project):
    result = project.run("--stability=2", model="mock:unsteady")

    # Asked once, then warm, then four times together: the second, fourth and sixth answers differ.
    assert "the text differed 6 times, the score 6 times; niah-len" in line(result)
    assert all(record["outcome"] == "found" for record in project.records()), "the score is the first answer's"


def test_a_resumed_run_keeps_what_the_probe_saw(project):
    project.run("--stability=2", model="mock:unsteady")
    before = stability(project)
    result = project.run("--stability=2", model="mock:unsteady")

    assert stability(project) == before
    assert "the text differed 6 times" in line(result)
    assert all(record["timing"]["replayed"] for record in project.records())


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_the_same_cells_are_probed_with_any_worker_count(project, workers):
    project.run("--stability=3", workers)
    probed = {record["id"] for record in project.records() if record["details"].get("stability")}

    assert len(probed) == 3
    assert probed == {"niah-len400-depth100-code-r0", "niah-len600-depth50-code-r0", "niah-len600-depth100-code-r0"}
