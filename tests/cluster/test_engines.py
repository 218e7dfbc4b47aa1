"""What each engine gets: Slurm's script and queue, Kubernetes' Job, the environment of local processes."""

import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from needlework.cluster.kubernetes import indexed_job, kubernetes_name
from needlework.cluster.launch import parse_arguments, process_environments
from needlework.cluster.plan import Plan
from needlework.cluster.slurm import ArrayTask, SlurmArray, job_name, latest_tasks, read_tasks, script
from needlework.core.devices import Gpus
from needlework.core.errors import InputError

PLAN = Plan(Path("/runs/results/Big run"), 8, ("--model", "m", "--gate", "score >= 0.9"), Path("/runs"), 2)


def options(words):
    return parse_arguments([*words.split(), "--"])[0]


def test_every_option_is_a_line_of_slurms_script():
    words = "slurm -p gpu -q high -A lab -t 4:00:00 --gpus-per-job a100:2 -c 8 --mem 64G --max-jobs 4"
    lines = script(PLAN, options(f"{words} --sbatch constraint=a100 --sbatch=--exclusive")).splitlines()

    assert lines[0] == "#!/bin/bash"
    assert " ".join(line.removeprefix("#SBATCH ") for line in lines[2:-1]) == (
        "--array=1-8%4 --partition=gpu --qos=high --account=lab --time=4:00:00 --nodes=1 --ntasks=1"
        " --gres=gpu:a100:2 --cpus-per-task=8 --mem=64G --chdir=/runs"
        " --output='/runs/results/Big run/launch/shard-%a-of-8.log' --open-mode=append --signal=B:USR1@60 --requeue"
        " --constraint=a100 --exclusive"
    )


def test_the_shell_reads_the_words_of_the_script_as_they_were():
    start = script(PLAN, options("slurm")).splitlines()[-1].removeprefix("exec ")
    bash = ["bash", "-c", f"SLURM_ARRAY_TASK_ID=3; printf '%s\\n' {start}"]

    assert subprocess.run(bash, capture_output=True, text=True).stdout.splitlines() == PLAN.command("3/8")


@pytest.mark.parametrize(
    ("shards", "words", "text"),
    [([1, 2, 3], "--max-jobs=2", "1-3%2"), ([2, 5], "", "2,5"), ([4], "", "4-4"), ([4], "--max-jobs=9", "4-4%9")],
)
def test_an_array_has_the_shards_that_are_started(shards, words, text, tmp_path, monkeypatch):
    """By a stand-in for `sbatch` that repeats its words as an error."""
    (tmp_path / "sbatch").write_text('#!/bin/sh\necho "sbatch: error: $@" >&2; exit 1\n')
    (tmp_path / "sbatch").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    plan = Plan(tmp_path / "run", 8, (), tmp_path, 2)
    plan.launch_folder.mkdir(parents=True)

    with pytest.raises(InputError, match=f"^launch slurm: 'sbatch': --parsable --array={text} /"):
        SlurmArray(plan, options(f"slurm {words}")).start(shards)


def test_a_run_of_the_same_name_in_another_folder_has_other_jobs():
    assert job_name(PLAN) != job_name(Plan(Path("/other/Big run"), 8, PLAN.words, PLAN.cwd, 2))


def test_the_queue_is_read_and_a_running_task_counts_before_an_ended_one():
    listing = (
        "12|1|RUNNING|None\n12|2|PENDING|Resources\n12|3|COMPLETED|None\n9|3|FAILED|NonZeroExitCode\n12|4|PENDING|None\n"
        "9|4|RUNNING|None\n12|5|FAILED|None\n9|5|RUNNING|None\nnonsense\n7|N/A|RUNNING|\n"
    )

    assert sorted(latest_tasks(read_tasks(listing)).values(), key=lambda task: task.number) == [
        ArrayTask(12, 1, "running"),
        ArrayTask(12, 2, "waiting (Resources)"),
        ArrayTask(12, 3, "COMPLETED"),
        ArrayTask(12, 4, "waiting"),
        ArrayTask(9, 5, "running"),
    ]


def test_a_kubernetes_job_has_the_plan_and_the_pods():
    words = "--image registry/needle:1 --claim runs --secret keys --gpus-per-job 2 --cpus-per-job 8 --mem 64Gi"
    text = indexed_job(PLAN, options(f"kubernetes {words} --max-jobs 4"))
    job = yaml.safe_load(text)
    container = job["spec"]["template"]["spec"]["containers"][0]

    assert (job["spec"]["completions"], job["spec"]["parallelism"], job["spec"]["backoffLimitPerIndex"]) == (8, 4, 2)
    assert container["resources"] == {"limits": {"nvidia.com/gpu": "2", "cpu": "8", "memory": "64Gi"}}
    assert container["envFrom"] == [{"secretRef": {"name": "keys"}}]
    assert container["command"][-1].endswith(
        "--folder '/runs/results/Big run' --shard \"$((JOB_COMPLETION_INDEX + 1))\"/8"
        " -- --model m --gate 'score >= 0.9'"
    )
    for comment in ("#   kubectl apply -f job.yaml", '"needlework", "merge", "/runs/results/Big run"'):
        assert comment in text
    with pytest.raises(InputError, match="--mount"):
        indexed_job(PLAN, options("kubernetes --image=i --claim=c --mount=work"))


@pytest.mark.parametrize("name", ["Big run", "a_b.c", "x" * 200, "é", "-"])
def test_names_are_those_of_kubernetes(name):
    assert re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,48}[a-z0-9])?", kubernetes_name(name))


@pytest.mark.parametrize(
    ("cards", "cards_each", "jobs", "environments"),
    [
        (Gpus(("0", "1")), 1, None, [{"CUDA_VISIBLE_DEVICES": "0"}, {"CUDA_VISIBLE_DEVICES": "1"}]),
        (Gpus(("3",), "HIP_VISIBLE_DEVICES"), 1, None, [{"HIP_VISIBLE_DEVICES": "3"}]),
        (Gpus(tuple("01234")), 2, None, [{"CUDA_VISIBLE_DEVICES": "0,1"}, {"CUDA_VISIBLE_DEVICES": "2,3"}]),
        (Gpus(tuple("01234")), 2, 1, [{"CUDA_VISIBLE_DEVICES": "0,1"}]),
        (Gpus(("0",)), 2, None, []),
        (Gpus(()), 1, None, [{"OMP_NUM_THREADS": "1"}] * 8),
        (Gpus(("0",)), 0, 2, [{"OMP_NUM_THREADS": "4"}] * 2),
    ],
)
def test_local_processes_share_the_cards_or_the_cores(cards, cards_each, jobs, environments):
    assert process_environments(cards, cards_each, jobs, 8) == environments
