"""200 cells on a real Slurm of two nodes: whatever happens to jobs and launcher, the run is that of one process."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from tests.cluster.real.launches import CELLS, wait_until

SCRIPT = Path(__file__).parent / "slurm.sh"
HERE = os.getuid() == 0 and all(shutil.which(each, path="/usr/sbin:/usr/bin") for each in ("slurmctld", "munged"))
pytestmark = pytest.mark.skipif(not HERE, reason="wants root, and Debian's slurm-wlm and munge")


@pytest.fixture(scope="module", autouse=True)
def slurm(tmp_path_factory):
    """A Slurm of two nodes, two cores and two pretended cards each."""
    folder = tmp_path_factory.mktemp("slurm")
    subprocess.run([SCRIPT, "up", folder], check=True, timeout=120)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLURM_CONF", str(folder / "slurm.conf"))
        yield
        slurm_says("scancel", "--user=root")
        wait_until(lambda: not slurm_says("squeue", "-h"), "jobs to end")
    subprocess.run([SCRIPT, "down", folder], check=True, timeout=60)


def slurm_says(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.strip()


def task_of(shard):
    (found,) = [line for line in slurm_says("squeue", "-h", "-r", "-o", "%i").split() if line.endswith(f"_{shard}")]
    return found


def test_killed_requeued_lost_and_followed_by_another_launcher(launches, one_process):
    """One pytest killed, one job requeued, one job killed, and the launcher killed: nothing is asked twice."""
    first = launches.start("slurm", "-p", "debug", "--gpus-per-job=1")
    launches.wait_for(1, 5)
    launches.kill(1, "needlework.cluster.job")
    launches.wait_for(2, 5)
    slurm_says("scontrol", "requeue", task_of(2))
    launches.wait_for(3, 5)
    first.kill()
    launches.kill(3, "needlework.cluster.job")
    said = launches.ended_whole(launches.start("slurm", "-p", "debug", "--gpus-per-job=1"), one_process)
    assert "are queued or running" in said
    assert "merged 4 parts, 200 of 200 trials" in said
    assert launches.asked_once()
    assert [launches.log(shard).count("-of-4 on ") for shard in (1, 2)] == [2, 2]


def test_a_job_that_dies_is_submitted_again(launches, one_process):
    launch = launches.start("slurm")
    launches.wait_for(3, 5)
    launches.kill(3, "needlework.cluster.job")
    assert "shard 3 ended without a word (FAILED), tried again" in launches.ended_whole(launch, one_process)


def test_preempted_jobs_go_on(launches, one_process):
    launch = launches.start("slurm", "-p", "low")
    for shard in (1, 2, 3, 4):
        launches.wait_for(shard, 3)
    slurm_says("sbatch", "-p", "high", "-N", "2", "--exclusive", "-o", "/dev/null", "--wrap", "sleep 2")
    launches.ended_whole(launch, one_process)
    assert sum(launches.log(shard).count("-of-4 on ") for shard in (1, 2, 3, 4)) > 4, "some were started twice"


def test_a_time_limit_ends_nothing(launches):
    """Two minutes, of which a shard may use one; it needs more."""
    launches.shards, launches.model = 1, "mock:sleep=2.5"
    code, said = launches.ended(launches.start("slurm", "--time=2"))

    assert code == 0, said
    assert "stopped (SIGUSR1)" in launches.log(1)
    assert launches.log(1).count("-of-1 on ") == 2
    assert launches.answered(1) == CELLS, "no cell was asked twice"


def test_a_shard_that_is_cancelled_stays_so(launches):
    launch = launches.start("slurm")
    launches.wait_for(2, 3)
    slurm_says("scancel", task_of(2))
    code, said = launches.ended(launch)

    assert code == 3, said
    assert "shard 2 ended without a word (CANCELLED), given up" in said
    assert "2-of-4" in said.partition("needlework merge")[2]


def test_no_wait_and_then_followed(launches, one_process):
    code, said = launches.ended(launches.start("slurm", "--no-wait"))
    assert code == 0
    assert f"needlework merge {launches.run}" in said
    time.sleep(1)
    said = launches.ended_whole(launches.start("slurm"), one_process)
    assert said.splitlines()[0] == "0 of 4 shards are done, 4 are queued or running, 0 are started"


def test_other_options_while_jobs_run_are_refused(launches):
    launches.ended(launches.start("slurm", "--no-wait"))
    code, said = launches.ended(launches.start("slurm", words=("--seed=7",)))
    slurm_says("scancel", "--user=root")

    assert code == 2
    assert "its shards still run with other options" in said


def test_what_slurm_refuses_is_one_line(launches):
    code, said = launches.ended(launches.start("slurm", "-p", "nowhere"))

    assert code == 2
    assert "invalid partition specified: nowhere" in said
    assert len(said.splitlines()) == 1
