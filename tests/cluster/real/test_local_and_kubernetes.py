"""200 cells in processes of this machine; the Indexed Job against the schema that Kubernetes publishes."""

import signal
from pathlib import Path

import pytest
import yaml

from needlework.cluster.job import Plan
from needlework.cluster.launch import parse_arguments
from needlework.cluster.schedulers import indexed_job
from tests.cluster.real.launches import wait_until


def test_killed_shards_and_a_killed_launcher(launches, one_process):
    first = launches.start("local", "--jobs=2")
    launches.wait_for(1, 5)
    launches.kill(1, "needlework.cluster.job")
    launches.wait_for(2, 5)
    launches.kill(2, "needlework.cluster.job")
    launches.wait_for(3, 5)
    first.kill()
    launches.ended_whole(launches.start("local", "--jobs=2"), one_process)
    assert launches.asked_once()


def test_ctrl_c_stops_the_shards_and_the_same_command_goes_on(launches, one_process):
    first = launches.start("local", "--jobs=2")
    launches.wait_for(1, 5)
    shards = [launches.process(shard, "needlework.cluster.job") for shard in (1, 2)]
    first.send_signal(signal.SIGINT)
    code, said = launches.ended(first)
    assert code == 2
    assert "the shards were stopped; the same command goes on" in said
    wait_until(lambda: not any(each.is_running() for each in shards), "shards to end")

    launches.ended_whole(launches.start("local", "--jobs=2"), one_process)


def test_an_option_that_pytest_refuses_is_told_at_once(launches):
    code, said = launches.ended(launches.start("local", words=("--lenghts=5",)))

    assert code == 2
    assert "unrecognized arguments: --lenghts=5" in said
    assert not launches.run.exists()


PLAN = Plan(Path("/runs/results/runs/Big run"), 8, ("--gate", "score >= 0.9"), Path("/runs"), 2)


@pytest.mark.parametrize("more", ["", "--secret keys --gpus-per-job 2 --cpus-per-job 8 --mem 64Gi --max-jobs 4"])
def test_the_published_schema_has_every_field(more):
    validate = pytest.importorskip("kubernetes_validate", reason="pip install kubernetes-validate")
    options, _ = parse_arguments(["kubernetes", "--image=registry/needle:1", "--claim=runs", *more.split(), "--"])
    job = yaml.safe_load(indexed_job(PLAN, options))
    latest = validate.latest_version()

    validate.validate(job, latest, strict=True)
    with pytest.raises(validate.ValidationError):
        validate.validate({**job, "spec": {**job["spec"], "indexes": 8}}, latest, strict=True)
