"""`needlework launch`: plans, scripts of Slurm, Kubernetes and Ray; `needlework matrix`: runs that a file names."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import needlework
from needlework.cluster.job import Ending, Plan, contains_secret, launched_shards, split_pytest_words, write_ending
from needlework.cluster.launch import main, parse_arguments, process_environments
from needlework.cluster.matrix import command, read_matrix
from needlework.cluster.schedulers import (
    ArrayTask,
    SlurmArray,
    indexed_job,
    job_name,
    kubernetes_name,
    latest_tasks,
    read_tasks,
    slurm_script,
)
from needlework.core.devices import Gpus
from needlework.core.errors import InputError
from tests.plugin.conftest import output_of, wait_until
from tests.results.builders import refusal

CWD = Path("/here")
OURS = ("--pyargs", "needlework.benchmarks")


def test_options_stand_before_the_dashes_and_may_be_those_of_opencompass():
    line = "--slurm -p gpu -q high --max-num-workers 8 --retry 3 -- --model m --shards --"
    options, after = parse_arguments(line.split())

    assert (options.engine, options.partition, options.qos) == ("slurm", "gpu", "high")
    assert (options.shards, options.max_jobs, options.retries) == (None, 8, 3)
    assert parse_arguments(["local", "--"])[0].retries == 2
    assert after == ["--model", "m", "--shards", "--"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--", "an engine comes first: local, slurm, ray, kubernetes"),
        ("--dry-run --lenghts 1k", "an engine comes first"),
        ("local --shards 0 --", "from 1"), ("slurm --retries -1 --", "whole number"), ("local", "write `--`"),
        ("local --partition gpu --", "--partition"), ("ray --gpus-per-job nan --", "use a number"),
        ("kubernetes --image i --", "--claim"),
    ],
)  # fmt: skip
def test_a_wrong_option_is_one_line(words, message, capsys):
    assert message in refusal(capsys, "launch", *words.split())


@pytest.mark.parametrize(
    ("words", "folder", "rest"),
    [
        ("--run-name=a --model m --results-dir out", "/here/out/a", (*OURS, "--model", "m")),
        ("--run-name=a --run-name=b", "/here/results/runs/b", OURS),
        ("pytest bench/test_mine.py --run-name a", "/here/results/runs/a", ("bench/test_mine.py",)),
        ("test_mine.py::test_one --run-name a", "/here/results/runs/a", ("test_mine.py::test_one",)),
    ],
)
def test_the_folder_comes_from_pytests_words_and_the_users_tests_replace_ours(words, folder, rest):
    assert split_pytest_words(words.split(), CWD) == (Path(folder), rest)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        *((words, "--run-name") for words in ([], ["--run-name"], ["--run-name", "a/b"], ["--run-name", ".."])),
        *((["--run-name", "a", word], "not for a launch") for word in ("--shard=1/2", "--plan", "--fresh")),
    ],
)
def test_words_that_a_launch_cannot_use_are_refused(words, message):
    with pytest.raises(InputError, match=message):
        split_pytest_words(words, CWD)


@pytest.mark.parametrize(
    ("word", "secret"),
    [
        ("--base-url=https://user:secret@host/v1", True),
        ("https://user:secret@host/v1", True),
        ("--model-arg=header.Authorization=Bearer abcdefgh", True),
        ("header.X-Api-Key=abcdefgh", True),
        ('extra_body={"api_key": "abcdefgh"}', True),
        ("sk-abcdefghijkl", True),
        *((word, False) for word in (
            "https://host/v1?api-version=2024", "header.Authorization=ENV:TOKEN", "header.X-Team=abcdefgh",
            "--api-key-env=MY_KEY", "score >= 0.9 [length<=4k]", "{not json",
        )),
    ],
)  # fmt: skip
def test_a_secret_never_gets_into_a_script(word, secret):
    assert contains_secret(word) is secret
    if secret:
        with pytest.raises(InputError) as error:
            split_pytest_words(["--run-name", "a", word], CWD)
        assert not any(part in str(error.value) for part in ("secret@", "abcdefgh"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("launch", "words", "message"),
    [
        ("local --dry-run", "--modle=mock:perfect", "unrecognized arguments: --modle=mock:perfect; --modle: did"),
        ("local", "--model=mock:prefect", "--model mock: 'prefect': use one of mock:perfect"),
        ("local --dry-run", "--model=hf:/nope", "--model hf: '/nope': there is no such folder"),
        ("kubernetes --image i --claim c --dry-run", "--modle hf:/models/only-there", "--modle: did you mean --model?"),
        ("kubernetes --image i --claim c --dry-run", "--model hf:/models/only-there", ""),
    ],
)
def test_a_launch_and_its_dry_run_check_the_run(launch, words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code = main([*launch.split(), "--shards=2", "--", *words.split(), "--lengths=400", "--run-name=big"])
    out, error = capsys.readouterr()

    assert code == (2 if message else 0)
    assert message in error
    assert message or "kind: Job" in out
    assert not (tmp_path / "results").exists()


def test_a_run_has_one_launcher_at_a_time_and_keeps_its_number_of_shards(tmp_path):
    def plan(shards, words=("--model", "mock:perfect")):
        return Plan(tmp_path / "run", shards, words, tmp_path, 2)

    with plan(4).claimed(), pytest.raises(InputError, match="another run is writing there"), plan(4).claimed():
        pass
    with plan(4).claimed():
        pass
    assert launched_shards(tmp_path / "run") == 4
    write_ending(plan(4).launch_folder, "1-of-4", Ending(0))
    with pytest.raises(InputError, match="this run has 4"), plan(5).claimed():
        pass
    other = plan(4, ("--model", "mock:middle"))
    assert [plan(4).had_other_words(), other.had_other_words()] == [False, True]
    with plan(4).claimed():
        assert plan(4).ending(1) == Ending(0)
    with other.claimed():
        assert other.ending(1) is None, "with other options a shard is not done"


PLAN = Plan(Path("/runs/results/Big run"), 8, ("--model", "m", "--gate", "score >= 0.9"), Path("/runs"), 2)


def options(words):
    return parse_arguments([*words.split(), "--"])[0]


def test_every_option_is_a_line_of_slurms_script():
    words = "slurm -p gpu -q high -A lab -t 4:00:00 --gpus-per-job a100:2 -c 8 --mem 64G --max-jobs 4"
    lines = slurm_script(PLAN, options(f"{words} --sbatch constraint=a100 --sbatch=--exclusive")).splitlines()

    assert lines[0] == "#!/bin/bash"
    assert " ".join(line.removeprefix("#SBATCH ") for line in lines[2:-1]) == (
        "--array=1-8%4 --partition=gpu --qos=high --account=lab --time=4:00:00 --nodes=1 --ntasks=1"
        " --gres=gpu:a100:2 --cpus-per-task=8 --mem=64G --chdir=/runs"
        " --output='/runs/results/Big run/launch/shard-%a-of-8.log' --open-mode=append --signal=B:USR1@60 --requeue"
        " --constraint=a100 --exclusive"
    )


def test_the_shell_reads_the_words_of_the_script_as_they_were():
    start = slurm_script(PLAN, options("slurm")).splitlines()[-1].removeprefix("exec ")
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
    job = yaml.safe_load(indexed_job(PLAN, options(f"kubernetes {words} --max-jobs 4")))
    container = job["spec"]["template"]["spec"]["containers"][0]

    assert (job["spec"]["completions"], job["spec"]["parallelism"], job["spec"]["backoffLimitPerIndex"]) == (8, 4, 2)
    assert container["resources"] == {"limits": {"nvidia.com/gpu": "2", "cpu": "8", "memory": "64Gi"}}
    assert container["envFrom"] == [{"secretRef": {"name": "keys"}}]
    assert container["command"][-1].endswith(
        "'/runs/results/Big run' \"$((JOB_COMPLETION_INDEX + 1))\"/8 --model m --gate 'score >= 0.9'"
    )
    with pytest.raises(InputError, match="--mount"):
        indexed_job(PLAN, options("kubernetes --image=i --claim=c --mount=work"))


@pytest.mark.parametrize("name", ["Big run", "a_b.c", "x" * 200, "é", "-"])
def test_names_are_those_of_kubernetes_and_other_for_another_folder(name):
    assert re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,48}[a-z0-9])?", kubernetes_name(name))
    one, other = (Plan(Path(folder) / name, 8, (), Path("/"), 2) for folder in ("/runs", "/others"))
    assert job_name(one) != job_name(other)


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


ONE = '[[configuration]]\nlabel = "a"\n'


@pytest.fixture
def read(tmp_path):
    def matrix(text):
        path = tmp_path / "kv.toml"
        path.write_text(text, encoding="utf-8")
        return read_matrix(path)

    return matrix


def test_a_configuration_adds_to_the_shared_options_or_replaces_them(read):
    configurations = read(
        'model = "a.gguf"\nserve = "llama.cpp"\nserve_arg = ["window=4k"]\nlengths = [500, 1000]\n'
        "canary = true\nguide = false\n"
        '[[configuration]]\nlabel = "KV f16"\n'
        '[[configuration]]\nlabel = "q8"\nserve_arg = ["kv-dtype=q8_0"]\nmodel = "b.gguf"\nlengths = "1k"\n'
    )
    shared = {"--serve=llama.cpp", "--serve-arg=window=4k", "--canary", "--no-guide"}
    own = [{"--model=a.gguf", "--lengths=500,1000"}, {"--model=b.gguf", "--serve-arg=kv-dtype=q8_0", "--lengths=1k"}]

    runs = Path("results/runs/kv")
    assert [(each.label, each.folder) for each in configurations] == [("KV f16", runs / "KV_f16"), ("q8", runs / "q8")]
    assert [set(each.words) for each in configurations] == [{*OURS, *shared, *words} for words in own]


def test_the_command_names_the_runs_folder_and_benchmarks(read, tmp_path):
    serve = 'serve = "my-server --port {port}"\nmodel = "openai:own"\n'
    ours = read(f'name = "series"\nresults_dir = "out"\npytest = ["-n", "2"]\n{serve}{ONE}')
    theirs = read(f'pytest = ["test_mine.py"]\n{ONE}')
    words = command(ours[0], tmp_path)

    assert "--pyargs needlework.benchmarks -n 2 " in " ".join(words)
    assert words[-2:] == [f"--results-dir={tmp_path / 'out' / 'series'}", "--run-name=a"]
    assert "--serve=my-server --port {port}" in words
    assert "--pyargs" not in command(theirs[0], tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"has no \[\[configuration\]\]"),
        ("configuration = 3", r"has no \[\[configuration\]\]"),
        ("[[configuration]]\nmodel = 'smollm2'", "label of configuration 1"),
        (ONE + ONE, "is there twice"),
        ("[[configuration]]\nlabel = 'comparison'", "folder of the matrix itself"),
        (f"{ONE}lenghts = '1k'", "a: 'lenghts': did you mean lengths"),
        (f"{ONE}repeats = 0", "repeats.*1 or more"),
        (f"{ONE}run_name = 'b'", "run_name.*is not for a matrix"),
        (f"{ONE}serve = 'vlm'", "use one of .*vllm"),
        (f"{ONE}serve_arg = ['window=4k']", "there is no serve"),
        (f"pytest = '-n2'\n{ONE}", "is a list of words"),
        (f"name = 'a/b'\n{ONE}", "the name of a folder, without slashes"),
        ("[[configuration]\n", "is not valid TOML"),
    ],
)
def test_a_mistake_is_one_line_that_names_its_place(read, text, message):
    with pytest.raises(InputError, match=message) as error:
        read(text)
    assert "\n" not in str(error.value)


ROOT = Path(__file__).parents[2]
SHARED = (
    'lengths = "300,400"\ndepths = "50"\ncorpus = "pydoc"\ntask = "niah"\npytest = ["-n0", "-p", "no:cacheprovider"]\n'
)


def configuration(label, model, further=""):
    return f'[[configuration]]\nlabel = "{label}"\nmodel = "{model}"\n{further}'


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return tmp_path


def written(place, *configurations, shared=SHARED):
    (place / "m.toml").write_text(shared + "".join(configurations))
    return ["matrix", "m.toml"]


@pytest.mark.slow
def test_worse_configurations_are_told_and_fail_and_one_that_cannot_start_stops_none(place, capsys):
    argv = written(
        place,
        configuration("whole", "mock:perfect", "repeats = 8\n"),
        configuration("gone", "hf:/nothing", "repeats = 8\n"),
        configuration("broken", "mock:wrong", "repeats = 8\n"),
        configuration("small", "mock:perfect", 'repeats = 8\nmodel_arg = ["window=350"]\n'),
    )

    assert needlework.main([*argv, "--fail-if", "worse"]) == 1
    out = capsys.readouterr().out
    assert "2/4 gone: ERROR: --model hf: '/nothing': there is no such folder" in out
    assert "small cannot answer 8 of 16 trials that whole scored: all 8 at 400 (8 skipped)" in out
    (row, _) = [line.split() for line in out.splitlines() if line.split()[:1] == ["broken"]]
    assert row[-2:] == ["300", "worse"]
    folder = place / "results" / "runs" / "m" / "comparison"
    assert {path.name for path in folder.iterdir()} == {"report.html", "scores.png", "scores.svg", "comparison.json"}
    summary = json.loads((folder / "comparison.json").read_text())
    assert [each["verdict"] for each in summary["configurations"]] == [None, None, "worse", "worse"]
    # The same command goes on: nothing is asked again.
    assert needlework.main(argv) == 3
    log = (place / "results" / "runs" / "m" / "logs" / "whole.txt").read_text()
    assert "none was asked now" in " ".join(log.split())
    capsys.readouterr()
    assert needlework.main([*argv, "--only", "whole"]) == 0
    assert "whole: done" in capsys.readouterr().out


@pytest.mark.slow
def test_an_interrupted_matrix_goes_on_from_there(place):
    argv = written(
        place,
        configuration("slow", "mock:sleep=0.5", "concurrency = 1\nrepeats = 9\n"),
        configuration("b", "mock:perfect"),
    )
    words = [sys.executable, "-m", "needlework", *argv]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    journal = place / "results/runs/m/slow/journal.jsonl"
    wait_until(lambda: journal.exists() and journal.stat().st_size, process)
    os.kill(process.pid, signal.SIGINT)
    said = output_of(process)

    assert process.returncode == 2
    assert "1/2 slow: interrupted; the same command goes on from here" in said
    before = journal.read_text().splitlines()
    assert 0 < len(before) < 18
    assert subprocess.run(words, check=False).returncode == 0
    assert journal.read_text().splitlines()[: len(before)] == before


@pytest.mark.slow
def test_a_plan_has_the_commands_and_runs_nothing_and_a_wrong_file_or_label_is_one_line(place, capfd):
    argv = written(place, configuration("a", "mock:perfect"))
    assert needlework.main([*argv, "--plan"]) == 0
    out = capfd.readouterr().out
    assert "--model=mock:perfect" in out
    assert "in all: 2 trials" in out
    assert not (place / "results" / "runs" / "m" / "a").exists()

    assert needlework.main(["matrix", "nothing.toml"]) == 2
    assert needlework.main([*argv, "--only", "b"]) == 2
    assert "--only: 'b': the file has a" in capfd.readouterr().err
