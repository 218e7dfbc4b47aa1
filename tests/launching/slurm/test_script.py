"""The script that `sbatch` gets."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from needlework.cluster.shards import Plan
from needlework.cluster.slurm import ArrayTask, SlurmRequest, array_of, job_name, latest, script, tasks_in

PLAN = Plan(Path("/shared/runs/my run"), 8, ("--model", "mock:perfect", "--gate", "score >= 0.9"), Path("/here"), 2)


def test_every_option_is_a_line_of_the_script():
    wanted = SlurmRequest("gpu", "high", "lab", "4:00:00", "a100:2", 8, "64G", 4, ("constraint=a100", "--exclusive"))
    lines = script(PLAN, wanted).splitlines()

    assert lines[0] == "#!/bin/bash"
    assert [line.removeprefix("#SBATCH ") for line in lines[2:-1]] == [
        "--array=1-8%4",
        "--partition=gpu",
        "--qos=high",
        "--account=lab",
        "--time=4:00:00",
        "--nodes=1",
        "--ntasks=1",
        "--gres=gpu:a100:2",
        "--cpus-per-task=8",
        "--mem=64G",
        "--chdir=/here",
        "--output='/shared/runs/my run/launch/shard-%a-of-8.log'",
        "--open-mode=append",
        "--signal=B:USR1@60",
        "--requeue",
        "--constraint=a100",
        "--exclusive",
    ]


def test_the_shell_puts_the_words_together_again():
    start = script(PLAN, SlurmRequest()).splitlines()[-1].removeprefix("exec ")
    said = subprocess.run(
        ["bash", "-c", f"SLURM_ARRAY_TASK_ID=3; printf '%s\\n' {start}"], capture_output=True, text=True
    )

    assert said.stdout.splitlines() == PLAN.command("3/8")


@pytest.mark.parametrize(
    ("shards", "jobs", "text"), [([1, 2, 3], 2, "1-3%2"), ([2, 5], None, "2,5"), ([4], None, "4-4"), ([4], 9, "4-4%9")]
)
def test_array(shards, jobs, text):
    assert array_of(shards, jobs) == text


def test_a_run_elsewhere_of_the_same_name_has_other_jobs():
    assert job_name(PLAN) != job_name(Plan(Path("/other/runs/my run"), 8, PLAN.words, PLAN.here, 2))


def test_what_squeue_says():
    ended = "12|3|COMPLETED|None\n9|3|FAILED|NonZeroExitCode\n"
    listing = f"12|1|RUNNING|None\n12|2|PENDING|Resources\n{ended}nonsense\n7|N/A|RUNNING|\n"

    assert latest(tasks_in(listing)) == {
        1: ArrayTask(12, 1, "running", "None"),
        2: ArrayTask(12, 2, "waiting", "Resources"),
        3: ArrayTask(12, 3, "COMPLETED", "None"),
    }


def test_a_task_that_runs_counts_before_one_that_has_ended():
    assert latest([ArrayTask(9, 1, "running"), ArrayTask(12, 1, "FAILED")])[1].job == 9
