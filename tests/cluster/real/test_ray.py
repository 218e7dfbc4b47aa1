"""200 cells on a real Ray of two nodes, one of which is lost: the run is that of one process."""

import os
import secrets
import signal
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.cluster.real.launches import wait_until

pytest.importorskip("ray", reason="pip install ray")
# A token of ours: Ray's own lies in the user's folder, once something has made it there.
RAY = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32), "RAY_USAGE_STATS_ENABLED": "0"}


class Node:
    """A node of Ray with two cores on 127.0.0.1, all of its processes in one session."""

    def __init__(self, folder, *options):
        self._log = (folder / f"{len(list(folder.iterdir()))}.log").open("w")
        common = ("--block", "--num-cpus=2", "--node-ip-address=127.0.0.1", "--object-store-memory=100000000")
        self.process = subprocess.Popen(
            [Path(sys.executable).parent / "ray", "start", *common, *options], env={**os.environ, **RAY},
            stdout=self._log, stderr=self._log, stdin=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip

    def members(self):
        """Its daemons and workers. What a worker started for a shard is left to notice that the worker is gone."""
        return [each for each in psutil.process_iter() if _session(each.pid) == self.process.pid]

    def lose(self):
        for each in self.members():
            each.kill()
        self.process.wait()

    def end(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            self.process.wait(60)


def _session(pid):
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return 0


@pytest.fixture
def cluster(tmp_path_factory):
    """Two nodes: the address, and the second."""
    folder = tmp_path_factory.mktemp("ray")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # Ray makes sockets below its folder, whose names have to be short.
    head = Node(
        folder, "--head", f"--port={port}", "--include-dashboard=false", f"--temp-dir=/tmp/ray-needlework-{port}"
    )
    wait_until(lambda: _listens(port), "the head node")
    second = Node(folder, f"--address=127.0.0.1:{port}")
    wait_until(lambda: len(second.members()) > 3, "the second node")
    yield f"127.0.0.1:{port}", second
    second.end()
    head.end()


def _listens(port):
    with socket.socket() as trial:
        return trial.connect_ex(("127.0.0.1", port)) == 0


def test_the_shards_of_a_lost_node_go_on_elsewhere(launches, cluster, one_process):
    address, second = cluster
    launches.environment = RAY
    launch = launches.start("ray", f"--address={address}")
    for shard in (1, 2, 3, 4):
        launches.wait_for(shard, 5)
    second.lose()
    launches.ended_whole(launch, one_process)
    assert sum(launches.log(shard).count("-of-4 on ") for shard in (1, 2, 3, 4)) == 6, "two were started again"
    assert launches.asked_once()


def test_a_ray_of_this_machine_alone_listens_on_loopback(launches, one_process):
    launches.environment, launches.shards = RAY, 2
    launch = launches.start("ray", "--cpus-per-job=0.5")
    launches.wait_for(1, 5)
    listening = {
        connection.laddr.ip
        for process in psutil.process_iter()
        if _session(process.pid) == launch.pid or "raylet" in process.name() or "gcs_server" in process.name()
        for connection in process.net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN
    }
    launches.ended_whole(launch, one_process)
    assert listening
    assert {address.removeprefix("::ffff:") for address in listening} == {"127.0.0.1"}


def test_a_killed_launcher_takes_its_shards_along_and_another_goes_on(launches, cluster, one_process):
    address, _ = cluster
    launches.environment = RAY
    first = launches.start("ray", f"--address={address}")
    launches.wait_for(2, 5)
    first.kill()
    launches.ended_whole(launches.start("ray", f"--address={address}"), one_process)
    assert launches.asked_once()


def test_what_no_node_can_hold_is_told(launches, cluster):
    launches.environment = RAY
    code, said = launches.ended(launches.start("ray", f"--address={cluster[0]}", "--gpus-per-job=1"))

    assert code == 2
    assert "no node of this cluster has 1 GPUs" in said


def test_an_address_where_nobody_is(launches):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        code, said = launches.ended(launches.start("ray", f"--address=127.0.0.1:{free.getsockname()[1]}"))

    assert code == 2
    assert "--address" in said
