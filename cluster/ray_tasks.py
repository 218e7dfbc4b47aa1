"""Shards as tasks of Ray: a cluster that is there, or one on this machine, bound to 127.0.0.1."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence
from typing import Any

from needlework.cluster.shards import Plan
from needlework.core.errors import InputError

_REACH_S = 10.0
_OTHER_MACHINES = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"  # read as Ray is imported, on every system


def ray_module() -> Any:
    """Import Ray. Raises `InputError` where it is not installed."""
    try:
        import ray
    except ImportError:
        raise InputError(
            "launch ray", "ray", "is not installed: pip install 'needlework[ray]', on every node"
        ) from None
    return ray


class RayTasks:
    """A task for each shard. Where a node is lost, Ray runs its tasks again; they go on from their journals."""

    settle_s = 5.0

    def __init__(self, plan: Plan, address: str | None, gpus: float, cpus: float) -> None:
        if address is None:  # else Ray takes 127.0.0.1 for this machine's address in its network, and listens there
            os.environ[_OTHER_MACHINES] = "0"
        self._ray = ray_module()
        self._plan = plan
        self._connect(address)
        self._wanted: dict[str, Any] = {"num_cpus": cpus, "num_gpus": gpus, "max_retries": plan.retries}
        self._check(cpus, gpus)
        self._given: dict[int, Any] = {}
        self._why: dict[int, str] = {}
        self._before: dict[int, int] = {}  # bytes of each shard's log when it was given: more of them say that it runs

    def _connect(self, address: str | None) -> None:
        if address not in (None, "auto"):
            _reach(address)
        options: dict[str, Any] = {"include_dashboard": False, "log_to_driver": False, "configure_logging": False}
        if address is None:
            options = {**options, "_node_ip_address": "127.0.0.1"}
        else:
            options = {"log_to_driver": False, "configure_logging": False, "address": address}
        try:
            self._ray.init(**options)
        except (ConnectionError, RuntimeError, ValueError, TimeoutError, self._ray.exceptions.RayError) as error:
            raise InputError("--address", address, f"Ray cannot be reached ({str(error).splitlines()[0]})") from None

    def _check(self, cpus: float, gpus: float) -> None:
        """A task that no node can hold would wait for ever."""
        nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        if not any(node.get("GPU", 0) >= gpus and node.get("CPU", 0) >= cpus for node in nodes):
            asked = f"{gpus:g} GPUs and {cpus:g} cores"
            raise InputError("--gpus-per-job", f"{gpus:g}", f"no node of this cluster has {asked} for a shard")

    def start(self, shards: Sequence[int]) -> str:
        task = self._ray.remote(**self._wanted)(_task())
        for number in shards:
            self._before[number] = self._size(number)
            command = self._plan.command(f"{number}/{self._plan.shards}")
            self._given[number] = task.remote(command, str(self._plan.here), str(self._plan.log(number)))
        return ""

    def look(self) -> Mapping[int, str]:
        if self._given:
            ended, _ = self._ray.wait(list(self._given.values()), num_returns=len(self._given), timeout=0)
            for number in [number for number, given in self._given.items() if given in ended]:
                self._why[number] = self._end_of(self._given.pop(number))
        sizes = [(number, self._before[number]) for number in self._given]
        return {number: "running" if self._size(number) != size else "waiting" for number, size in sizes}

    def _size(self, number: int) -> int:
        log = self._plan.log(number)
        return log.stat().st_size if log.exists() else 0

    def _end_of(self, given: Any) -> str:
        try:
            return f"exit code {self._ray.get(given)}"
        except self._ray.exceptions.RayError as error:
            return str(error).strip().splitlines()[0][:200]

    def why(self, shard: int) -> tuple[str, bool]:
        return self._why.get(shard, ""), False

    def waits_for(self) -> str:
        return ""

    def leave(self) -> str:
        """Take the tasks back; each shard writes its files first."""
        for given in self._given.values():
            self._ray.cancel(given, force=False)
        self._ray.shutdown()
        return "the shards were stopped; the same command goes on"


def _reach(address: str) -> None:
    """Ray itself tries for minutes before it says that nobody is there. Raises `InputError`."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=_REACH_S).close()
    except (OSError, ValueError, OverflowError) as error:
        raise InputError("--address", address, f"give auto, or HOST:PORT of a cluster that runs ({error})") from None


def _task() -> Any:
    """The task's function. Made inside a function, so that Ray sends it whole and a node need not find this module."""

    def shard(command: list[str], here: str, log: str) -> int:
        import subprocess
        from pathlib import Path

        with Path(log).open("ab") as out:
            job = subprocess.Popen(command, cwd=here, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
            try:
                return job.wait()
            finally:  # taken back: it writes its files first
                if job.poll() is None:
                    job.terminate()
                    job.wait()

    return shard
