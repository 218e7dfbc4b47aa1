"""The Indexed Job, against what Kubernetes publishes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from needlework.cluster.kubernetes import Pods, indexed_job, kubernetes_name
from needlework.cluster.shards import Plan
from needlework.core.errors import InputError

yaml = pytest.importorskip("yaml")
PLAN = Plan(Path("/runs/results/runs/Big run"), 8, ("--model", "m", "--gate", "score >= 0.9"), Path("/runs"), 2)
PODS = Pods("registry/needle:1", "runs", "/runs", "keys", 2, "8", "64Gi", 4)


def test_what_a_pod_is_given():
    job = yaml.safe_load(indexed_job(PLAN, PODS))
    container = job["spec"]["template"]["spec"]["containers"][0]

    assert (job["spec"]["completions"], job["spec"]["parallelism"], job["spec"]["backoffLimitPerIndex"]) == (8, 4, 2)
    assert container["resources"] == {"limits": {"nvidia.com/gpu": "2", "cpu": "8", "memory": "64Gi"}}
    assert container["envFrom"] == [{"secretRef": {"name": "keys"}}]
    assert container["command"][-1].endswith(
        "--folder '/runs/results/runs/Big run' --retries 0 --shard \"$((JOB_COMPLETION_INDEX + 1))\"/8"
        " -- --model m --gate 'score >= 0.9'"
    )


def test_the_commands_that_follow_are_comments():
    text = indexed_job(PLAN, PODS)

    assert "#   kubectl apply -f job.yaml" in text
    assert '"needlework", "merge", "/runs/results/runs/Big run"' in text


@pytest.mark.parametrize("name", ["Big run", "a_b.c", "x" * 200, "é", "-"])
def test_names_are_those_of_kubernetes(name):
    assert re.fullmatch(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?", kubernetes_name(name))
    assert len(kubernetes_name(name)) <= 50


def test_the_mount_is_a_folder_of_the_pod():
    with pytest.raises(InputError, match="--mount"):
        indexed_job(PLAN, Pods("i", "c", "work"))
