"""Shards as an Indexed Job of Kubernetes: the YAML, and the commands that follow. Nothing here talks to a cluster."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass, replace
from typing import Any

import yaml

from needlework.cluster.plan import WRONG_USE, Plan
from needlework.core.errors import InputError

_MAX_NAME = 50  # characters of a Job's name, which Kubernetes lengthens for each pod to 63 at most


@dataclass(frozen=True)
class Pods:
    """Image, volume and resources of each pod."""

    image: str
    claim: str  # the PersistentVolumeClaim that all pods write to
    mount: str  # the folder that it is mounted at
    secret: str | None = None  # its entries become environment variables
    gpus: int = 0
    cpus: str | None = None
    memory: str | None = None
    max_pods: int | None = None  # most pods at once


def indexed_job(plan: Plan, pods: Pods) -> str:
    """Return YAML for `kubectl apply`. The paths of `plan` are those that a pod sees.

    A shard is an index of the Job (from Kubernetes 1.33, in 1.29 to 1.32 as beta). Wrong options fail its index at
    once; an eviction or a lost node counts no try.
    """
    if not pods.mount.startswith("/"):
        raise InputError("--mount", pods.mount, "is a folder of the pod: give it from / on")
    name = kubernetes_name(plan.folder.name)
    start, _, end = shlex.join(plan.command("NUMBER/", python="python3", retries=0)).partition("NUMBER/")
    shell = f'exec {start}"$((JOB_COMPLETION_INDEX + 1))"/{plan.shards}{end}'
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {
            "completionMode": "Indexed",
            "completions": plan.shards,
            "parallelism": min(pods.max_pods or plan.shards, plan.shards),
            "backoffLimitPerIndex": plan.retries,
            "maxFailedIndexes": plan.shards,
            "podFailurePolicy": {
                "rules": [
                    {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
                    {
                        "action": "FailIndex",
                        "onExitCodes": {"containerName": "shard", "operator": "In", "values": list(WRONG_USE)},
                    },
                ]
            },
            "template": {
                "spec": {
                    "restartPolicy": "Never",
                    "terminationGracePeriodSeconds": 60,
                    "containers": [_container(pods, ["sh", "-c", shell])],
                    "volumes": [{"name": "runs", "persistentVolumeClaim": {"claimName": pods.claim}}],
                }
            },
        },
    }
    text: str = yaml.safe_dump(job, sort_keys=False, width=1000)
    return text + _comments(name, str(plan.folder), plan.shards, pods)


def kubernetes_name(text: str) -> str:
    """A run's name as Kubernetes allows it: lower-case letters, digits and dashes."""
    return f"needlework-{re.sub('[^a-z0-9]+', '-', text.lower())}"[:_MAX_NAME].strip("-")


def _container(pods: Pods, command: list[str], name: str = "shard") -> dict[str, Any]:
    limits = {"nvidia.com/gpu": pods.gpus or None, "cpu": pods.cpus, "memory": pods.memory}
    resources = {key: str(value) for key, value in limits.items() if value is not None}
    container: dict[str, Any] = {"name": name, "image": pods.image, "workingDir": pods.mount, "command": command}
    if resources:
        container["resources"] = {"limits": resources}
    if pods.secret:
        container["envFrom"] = [{"secretRef": {"name": pods.secret}}]
    return {**container, "volumeMounts": [{"name": "runs", "mountPath": pods.mount}]}


def _comments(name: str, folder: str, shards: int, pods: Pods) -> str:
    """The commands that start, follow and merge the Job, as comments."""
    merge = {
        "spec": {
            "containers": [_container(replace(pods, gpus=0), ["needlework", "merge", folder], "merge")],
            "volumes": [{"name": "runs", "persistentVolumeClaim": {"claimName": pods.claim}}],
        }
    }
    run = f"kubectl run {name}-merge --rm --attach --quiet --restart=Never --image={shlex.quote(pods.image)}"
    lines = [
        "Start it (this file is job.yaml), follow it, see the first shard's log:",
        "  kubectl apply -f job.yaml",
        f"  kubectl get job {name} --watch",
        f"  kubectl logs -l job-name={name},batch.kubernetes.io/job-completion-index=0 --tail=20",
        "Start failed shards again; they go on from their journals:",
        f"  kubectl delete job {name} && kubectl apply -f job.yaml",
        f"When all {shards} have ended, merge them, and judge the gates:",
        f"  {run} --overrides={shlex.quote(json.dumps(merge))}",
        "Its exit code is that of the gates.",
    ]
    return "".join(f"# {line}\n" for line in lines)
