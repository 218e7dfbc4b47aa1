"""Shards as an Indexed Job of Kubernetes: its YAML and the commands to run. Contacts no cluster."""

import argparse
import json
import re
import shlex
from typing import Any

import yaml

from needlework.cluster.plan import WRONG_USE, Plan
from needlework.core.errors import InputError

_MAX_NAME = 50  # characters of a Job's name, which Kubernetes lengthens for each pod to 63 at most


def indexed_job(plan: Plan, options: argparse.Namespace) -> str:
    """Return YAML for `kubectl apply`. The paths of `plan` are those that a pod sees.

    A shard is an index of the Job (from Kubernetes 1.33, in 1.29 to 1.32 as beta). Wrong options fail its index at
    once; an eviction or a lost node counts no try. Raises `InputError`.
    """
    if not options.mount.startswith("/"):
        raise InputError("--mount", options.mount, "is a folder of the pod: give it from / on")
    shell = plan.shell_command('"$((JOB_COMPLETION_INDEX + 1))"', python="python3")
    wrong_use = {"containerName": "shard", "operator": "In", "values": list(WRONG_USE)}
    disrupted = [{"type": "DisruptionTarget", "status": "True"}]
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": kubernetes_name(plan.folder.name)},
        "spec": {
            "completionMode": "Indexed",
            "completions": plan.shards,
            "parallelism": min(options.max_jobs or plan.shards, plan.shards),
            "backoffLimitPerIndex": plan.retries,
            "maxFailedIndexes": plan.shards,
            "podFailurePolicy": {
                "rules": [
                    {"action": "Ignore", "onPodConditions": disrupted},
                    {"action": "FailIndex", "onExitCodes": wrong_use},
                ]
            },
            "template": {
                "spec": {
                    "restartPolicy": "Never",
                    "terminationGracePeriodSeconds": 60,
                    **_pod(options, "shard", ["sh", "-c", shell], options.gpus_per_job),
                }
            },
        },
    }
    text: str = yaml.safe_dump(job, sort_keys=False, width=1000)
    return text + _comments(plan, options)


def kubernetes_name(text: str) -> str:
    """A run's name as Kubernetes allows it: lower-case letters, digits and dashes."""
    return f"needlework-{re.sub('[^a-z0-9]+', '-', text.lower())}"[:_MAX_NAME].strip("-")


def _pod(options: argparse.Namespace, name: str, command: list[str], gpus: int) -> dict[str, Any]:
    """The container with the volume that all pods write to, resources, and variables from a Secret."""
    limits = {"nvidia.com/gpu": gpus or None, "cpu": options.cpus_per_job, "memory": options.mem}
    resources = {key: str(value) for key, value in limits.items() if value is not None}
    container: dict[str, Any] = {"name": name, "image": options.image, "workingDir": options.mount, "command": command}
    if resources:
        container["resources"] = {"limits": resources}
    if options.secret:
        container["envFrom"] = [{"secretRef": {"name": options.secret}}]
    container["volumeMounts"] = [{"name": "runs", "mountPath": options.mount}]
    volume = {"name": "runs", "persistentVolumeClaim": {"claimName": options.claim}}
    return {"containers": [container], "volumes": [volume]}


def _comments(plan: Plan, options: argparse.Namespace) -> str:
    """The commands that start, follow and merge the Job, as comments."""
    name = kubernetes_name(plan.folder.name)
    merge = {"spec": _pod(options, "merge", ["needlework", "merge", str(plan.folder)], 0)}
    run = f"kubectl run {name}-merge --rm --attach --quiet --restart=Never --image={shlex.quote(options.image)}"
    lines = [
        "Start it (this file is job.yaml), follow it, see the first shard's log:",
        "  kubectl apply -f job.yaml",
        f"  kubectl get job {name} --watch",
        f"  kubectl logs -l job-name={name},batch.kubernetes.io/job-completion-index=0 --tail=20",
        "Start failed shards again; they go on from their journals:",
        f"  kubectl delete job {name} && kubectl apply -f job.yaml",
        f"When all {plan.shards} have ended, merge them, and judge the gates:",
        f"  {run} --overrides={shlex.quote(json.dumps(merge))}",
        "Its exit code is that of the gates.",
    ]
    return "".join(f"# {line}\n" for line in lines)
