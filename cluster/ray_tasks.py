"""Shards as tasks of Ray: a running cluster, or one on this machine, bound to 127.0.0.1."""

import argparse
import os
import socket
from collections.abc import Mapping, Sequence
from typing import Any

from needlework.cluster.plan import Plan
from needlework.core.errors import InputError

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
        self._ray = import_ray()
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
            self._log_sizes[number] = self._log_size(number)
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
            number: "waiting" if self._log_size(number) == self._log_sizes[number] else "running"
            for number in self._tasks
        }

    def _log_size(self, number: int) -> int:
        log = self._plan.log(number)
        return log.stat().st_size if log.exists() else 0

    def death_of(self, shard: int) -> tuple[str, bool]:
        return self._deaths.get(shard, ""), False

    def leave(self) -> str:
        """Cancel the tasks; each shard writes its files first."""
        for task in self._tasks.values():
            self._ray.cancel(task, force=False)
        self._ray.shutdown()
        return "the shards were stopped; the same command goes on"


def import_ray() -> Any:
    """Import Ray. Raises `InputError` if it is not installed."""
    try:
        import ray
    except ImportError:
        remedy = "is not installed: pip install 'needlework[ray]', on every node"
        raise InputError("launch ray", "ray", remedy) from None
    return ray


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
