"""The schedulers of a launch: a Slurm array, tasks of Ray, an Indexed Job of Kubernetes."""

import argparse
import getpass
import os
import re
import shlex
import socket
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

import yaml

from needlework.cluster.job import WRONG_USE, Plan, size_of
from needlework.core.errors import InputError
from needlework.core.files import write_whole

# Slurm

_TIMEOUT_S = 30.0
_SIGNAL_BEFORE_LIMIT_S = 60  # a shard that nears its time limit writes its files and is queued again
_WAITING = ("PENDING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT", "SUSPENDED", "STOPPED",
            "RESV_DEL_HOLD")  # fmt: skip
_RUNNING = ("RUNNING", "CONFIGURING", "COMPLETING", "STAGE_OUT", "SIGNALING", "RESIZING")


class ArrayTask(NamedTuple):
    """A task of an array. `state`: `running`, `waiting (REASON)`, or Slurm's word for an end."""

    job: int
    number: int
    state: str

    @property
    def active(self) -> bool:
        """Whether it has not ended."""
        return self.state.startswith(("running", "waiting"))


class SlurmArray:
    """Shards as tasks of a Slurm array. They go on without the launcher."""

    settle_s = 15.0  # a shared folder may show a shard's ending file later than Slurm shows its end

    def __init__(self, plan: Plan, options: argparse.Namespace) -> None:
        self._plan, self._options, self._name = plan, options, job_name(plan)
        self._submitted: set[int] = set()
        self._tasks: dict[int, ArrayTask] | None = None  # by shard; none before the first answer

    def start(self, shards: Sequence[int]) -> str:
        path = self._plan.launch_folder / "slurm.sh"
        write_whole(path, slurm_script(self._plan, self._options).encode())
        try:
            job = int(_run("sbatch", "--parsable", f"--array={_array(shards, self._options)}", str(path)).split(";")[0])
        except (subprocess.SubprocessError, ValueError) as error:
            output = str(getattr(error, "stderr", None) or error).replace("sbatch: error: ", "")
            raise InputError("launch slurm", "sbatch", " ".join(output.split())) from None
        self._submitted.add(job)
        return f"Slurm's job {job}: {path}"

    def poll(self) -> Mapping[int, str] | None:
        # All tasks of that name, ended ones too as long as Slurm knows them: job, task's number, state, reason.
        filters = ["--states=all", f"--user={getpass.getuser()}", f"--name={self._name}"]
        try:
            tasks = read_tasks(_run("squeue", "-h", "-r", *filters, "-o", "%F|%K|%T|%r"))
        except (OSError, subprocess.SubprocessError):
            if self._tasks is not None:
                return None
            raise InputError("launch slurm", "squeue", "Slurm does not answer; does `sinfo` here?") from None
        self._tasks = latest_tasks(task for task in tasks if task.active or task.job in self._submitted)
        return {number: task.state for number, task in self._tasks.items() if task.active}

    def death_of(self, shard: int) -> tuple[str, bool]:
        """Return the state of a dead shard's job; final if the job was cancelled by hand."""
        task = (self._tasks or {}).get(shard)
        return (task.state, task.state == "CANCELLED") if task else ("its job is gone", False)

    def leave(self) -> str:
        return f"the jobs go on; the same command follows them, `scancel --name={self._name}` ends them"


def slurm_script(plan: Plan, options: argparse.Namespace) -> str:
    """The job script. It holds no keys: `sbatch` passes on the environment of the user who submits."""
    lines = {
        "job-name": job_name(plan),
        "array": _array(plan.numbers, options),
        "partition": options.partition,
        "qos": options.qos,
        "account": options.account,
        "time": options.time,
        "nodes": 1,
        "ntasks": 1,
        "gres": options.gpus_per_job and f"gpu:{options.gpus_per_job}",
        "cpus-per-task": options.cpus_per_job,
        "mem": options.mem,
        "chdir": plan.cwd,
        "output": plan.launch_folder / f"shard-%a-of-{plan.shards}.log",
        "open-mode": "append",
        "signal": f"B:USR1@{_SIGNAL_BEFORE_LIMIT_S}",
    }
    words = [f"--{name}={shlex.quote(str(value))}" for name, value in lines.items() if value is not None]
    words += ["--requeue", *(shlex.quote(f"--{word.removeprefix('--')}") for word in options.sbatch)]
    command = plan.shell_command('"$SLURM_ARRAY_TASK_ID"')
    return "\n".join(["#!/bin/bash", *(f"#SBATCH {word}" for word in words), command, ""])


def job_name(plan: Plan) -> str:
    """The array's name, unique to the run folder: a later launcher finds the jobs by it."""
    return f"needlework-{plan.folder.name}-{sha256(str(plan.folder).encode()).hexdigest()[:8]}"


def _array(shards: Sequence[int], options: argparse.Namespace) -> str:
    """`--array` for these shards: `1-8%4`, or `2,5`."""
    is_range = len(shards) == shards[-1] - shards[0] + 1
    numbers = f"{shards[0]}-{shards[-1]}" if is_range else ",".join(map(str, shards))
    return f"{numbers}%{options.max_jobs}" if options.max_jobs else numbers


def read_tasks(listing: str) -> list[ArrayTask]:
    """Read the output of `squeue`; lines that are no tasks of an array are left out."""
    tasks = []
    for line in listing.splitlines():
        job, number, state, reason = [*line.split("|", 3), "", "", ""][:4]
        if state in _WAITING:
            state = f"waiting ({reason})" if reason not in ("", "None") else "waiting"
        if job.isdecimal() and number.isdecimal():
            tasks.append(ArrayTask(int(job), int(number), "running" if state in _RUNNING else state))
    return tasks


def latest_tasks(tasks: Iterable[ArrayTask]) -> dict[int, ArrayTask]:
    """Return each shard's active task, else that of the latest job."""
    return {task.number: task for task in sorted(tasks, key=lambda task: (task.active, task.job))}


def _run(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=_TIMEOUT_S).stdout
    except FileNotFoundError:
        remedy = "is not here; launch on a machine that submits to Slurm"
        raise InputError("launch slurm", command[0], remedy) from None


# Ray: a running cluster, or one on this machine, bound to 127.0.0.1

_CONNECT_TIMEOUT_S = 10.0
_OTHER_MACHINES = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"  # read when Ray is imported, on every system


class RayTasks:
    """A task for each shard. If a node is lost, Ray runs its tasks again; they go on from their journals."""

    settle_s = 5.0

    def __init__(self, plan: Plan, options: argparse.Namespace) -> None:
        address, gpus, cpus = options.address, options.gpus_per_job, options.cpus_per_job
        settings: dict[str, Any] = {"log_to_driver": False, "configure_logging": False}
        if address is None:  # else Ray takes this machine's address in its network for 127.0.0.1, and listens there
            os.environ[_OTHER_MACHINES] = "0"
            settings |= {"include_dashboard": False, "_node_ip_address": "127.0.0.1"}
        else:
            settings["address"] = address
        try:
            import ray
        except ImportError:
            remedy = "is not installed: pip install 'needlework[ray]', on every node"
            raise InputError("launch ray", "ray", remedy) from None
        self._ray: Any = ray
        self._plan = plan
        if address not in (None, "auto"):
            _check_address(address)
        try:
            self._ray.init(**settings)
        except (ConnectionError, RuntimeError, ValueError, TimeoutError, self._ray.exceptions.RayError) as error:
            raise InputError("--address", address, f"Ray cannot be reached ({str(error).splitlines()[0]})") from None
        self._options: dict[str, Any] = {"num_cpus": cpus, "num_gpus": gpus, "max_retries": plan.retries}
        # A task that no node can hold would wait for ever.
        nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        if not any(node.get("GPU", 0) >= gpus and node.get("CPU", 0) >= cpus for node in nodes):
            remedy = f"no node of this cluster has {gpus:g} GPUs and {cpus:g} cores for a shard"
            raise InputError("--gpus-per-job", f"{gpus:g}", remedy)
        self._tasks: dict[int, Any] = {}
        self._deaths: dict[int, str] = {}
        self._log_sizes: dict[int, int] = {}  # bytes of each shard's log at its start: a longer log is a running shard

    def start(self, shards: Sequence[int]) -> str:
        task = self._ray.remote(**self._options)(_shard_function())
        for number in shards:
            self._log_sizes[number] = size_of(self._plan.log(number))
            command = self._plan.command(f"{number}/{self._plan.shards}")
            self._tasks[number] = task.remote(command, str(self._plan.cwd), str(self._plan.log(number)))
        return ""

    def poll(self) -> Mapping[int, str]:
        if self._tasks:
            ended, _ = self._ray.wait(list(self._tasks.values()), num_returns=len(self._tasks), timeout=0)
            for number in [number for number, task in self._tasks.items() if task in ended]:
                try:
                    self._deaths[number] = f"exit code {self._ray.get(self._tasks.pop(number))}"
                except self._ray.exceptions.RayError as error:
                    self._deaths[number] = str(error).strip().splitlines()[0][:200]
        return {
            number: "waiting" if size_of(self._plan.log(number)) == self._log_sizes[number] else "running"
            for number in self._tasks
        }

    def death_of(self, shard: int) -> tuple[str, bool]:
        return self._deaths.get(shard, ""), False

    def leave(self) -> str:
        """Cancel the tasks; each shard writes its files first."""
        for task in self._tasks.values():
            self._ray.cancel(task, force=False)
        self._ray.shutdown()
        return "the shards were stopped; the same command goes on"


def _check_address(address: str) -> None:
    """Try to connect: Ray itself tries for minutes before it reports a failure. Raises `InputError`."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=_CONNECT_TIMEOUT_S).close()
    except (OSError, ValueError, OverflowError) as error:
        raise InputError("--address", address, f"give auto, or HOST:PORT of a cluster that runs ({error})") from None


def _shard_function() -> Any:
    """Make the task's function, as a closure: Ray sends its code, and nodes need not have this module."""

    def run_shard(command: list[str], cwd: str, log: str) -> int:
        import subprocess
        from pathlib import Path

        with Path(log).open("ab") as out:
            job = subprocess.Popen(command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
            try:
                return job.wait()
            finally:  # cancelled: it writes its files first
                if job.poll() is None:
                    job.terminate()
                    job.wait()

    return run_shard


# Kubernetes: its YAML. Contacts no cluster.

_MAX_NAME = 50  # characters of a Job's name, which Kubernetes lengthens for each pod to 63 at most


def indexed_job(plan: Plan, options: argparse.Namespace) -> str:
    """Return YAML for `kubectl apply`. The paths of `plan` are those that a pod sees.

    A shard is an index of the Job (from Kubernetes 1.33, in 1.29 to 1.32 as beta). Wrong values fail its index at
    once; an eviction or a lost node counts no try. Raises `InputError`.
    """
    if not options.mount.startswith("/"):
        raise InputError("--mount", options.mount, "is a folder of the pod: give it from / on")
    shell = plan.shell_command('"$((JOB_COMPLETION_INDEX + 1))"', python="python3")
    limits = {"nvidia.com/gpu": options.gpus_per_job or None, "cpu": options.cpus_per_job, "memory": options.mem}
    container = {
        "name": "shard",
        "image": options.image,
        "workingDir": options.mount,
        "command": ["sh", "-c", shell],
        "resources": {"limits": {name: str(limit) for name, limit in limits.items() if limit is not None}},
        "envFrom": [{"secretRef": {"name": options.secret}}] if options.secret else [],
        "volumeMounts": [{"name": "runs", "mountPath": options.mount}],
    }
    pod = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 60,
        "containers": [container],
        "volumes": [{"name": "runs", "persistentVolumeClaim": {"claimName": options.claim}}],
    }
    disrupted = [{"type": "DisruptionTarget", "status": "True"}]
    wrong_use = {"containerName": "shard", "operator": "In", "values": list(WRONG_USE)}
    rules = [
        {"action": "Ignore", "onPodConditions": disrupted},
        {"action": "FailIndex", "onExitCodes": wrong_use},
    ]
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
            "podFailurePolicy": {"rules": rules},
            "template": {"spec": pod},
        },
    }
    text: str = yaml.safe_dump(job, sort_keys=False, width=1000)
    return text


def kubernetes_name(text: str) -> str:
    """A run's name as Kubernetes allows it: lower-case letters, digits and dashes."""
    return f"needlework-{re.sub('[^a-z0-9]+', '-', text.lower())}"[:_MAX_NAME].strip("-")
