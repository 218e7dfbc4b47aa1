"""`needlework launch`: its options, the words of pytest, and what is refused before anything starts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from needlework.cluster import plan as plan_module
from needlework.cluster.launch import main, parse_arguments
from needlework.cluster.plan import Plan, check_option_names, contains_secret, launched_shards, split_pytest_words
from needlework.core.errors import InputError

CWD = Path("/here")


def test_words_after_the_dashes_are_pytests():
    options, words = parse_arguments(["slurm", "-p", "gpu", "--shards", "8", "--", "--model", "m", "--shards", "--"])

    assert (options.engine, options.partition, options.shards, options.retries) == ("slurm", "gpu", 8, 2)
    assert words == ["--model", "m", "--shards", "--"]


def test_opencompass_spelling():
    options, _ = parse_arguments(["--slurm", "-p", "gpu", "-q", "high", "--max-num-workers", "8", "--retry", "3", "--"])

    assert (options.engine, options.partition, options.qos) == ("slurm", "gpu", "high")
    assert (options.max_jobs, options.retries) == (8, 3)


def test_without_dashes_the_error_says_what_to_write():
    with pytest.raises(InputError, match="write `--`"):
        parse_arguments(["local"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--"], "an engine comes first: local, slurm, ray, kubernetes"),
        (["slrm", "--"], "an engine comes first"),
        (["--dry-run", "--lenghts", "1k"], "an engine comes first"),
        (["local", "--shards", "0", "--"], "from 1"),
        (["local", "--partition", "gpu", "--"], "--partition"),
        (["ray", "--gpus-per-job", "nan", "--"], "use a number"),
        (["kubernetes", "--image", "i", "--"], "--claim"),
        (["slurm", "--retries", "-1", "--"], "whole number"),
    ],
)
def test_a_wrong_option_is_one_line(words, message, capsys):
    with pytest.raises(SystemExit) as ended:
        parse_arguments(words)

    error = capsys.readouterr().err
    assert (ended.value.code, error.count("\n")) == (2, 1)
    assert message in error


def test_modules_that_read_runs_are_not_loaded_before_the_first_shard() -> None:
    code = "import sys, needlework.cluster.launch; assert not {'numpy', 'jinja2'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_run_name_and_folder_are_taken_out_in_either_spelling():
    words = ["--run-name=a", "--model", "mock:perfect", "--results-dir", "out"]
    ours = ("--pyargs", "needlework.benchmarks", "--model", "mock:perfect")

    assert split_pytest_words(words, CWD) == (Path("/here/out/a"), ours)
    assert split_pytest_words(["--run-name", "a", "--run-name=b"], CWD)[0] == Path("/here/results/runs/b")


@pytest.mark.parametrize("test", ["bench/test_mine.py", "test_mine.py::test_one"])
def test_the_users_tests_replace_ours(test):
    assert split_pytest_words(["pytest", test, "--run-name", "a"], CWD)[1] == (test,)


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
    "word",
    [
        "--base-url=https://user:secret@host/v1",
        "https://user:secret@host/v1",
        "--model-arg=header.Authorization=Bearer abcdefgh",
        "header.X-Api-Key=abcdefgh",
        'extra_body={"api_key": "abcdefgh"}',
        "sk-abcdefghijkl",
    ],
)
def test_a_secret_never_gets_into_a_script(word):
    with pytest.raises(InputError) as error:
        split_pytest_words(["--run-name", "a", word], CWD)
    assert "secret@" not in str(error.value)
    assert "abcdefgh" not in str(error.value)


@pytest.mark.parametrize(
    "word",
    [
        "https://host/v1?api-version=2024",
        "header.Authorization=ENV:TOKEN",
        "header.X-Team=abcdefgh",
        "--api-key-env=MY_KEY",
        "score >= 0.9 [length<=4k]",
        "{not json",
    ],
)
def test_the_name_of_a_secret_is_no_secret(word):
    assert not contains_secret(word)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dry_run", "words", "message"),
    [
        (
            True,
            ["--modle=mock:perfect"],
            "unrecognized arguments: --modle=mock:perfect; --modle: did you mean --model?",
        ),
        (False, ["--model=mock:prefect"], "--model mock: 'prefect': use one of mock:perfect"),
        (True, ["--model=hf:/nope"], "--model hf: '/nope': there is no such folder"),
        (True, ["--model=m", "--serve=vlm"], "--serve: 'vlm': did you mean vllm?"),
    ],
)
def test_a_launch_and_its_dry_run_check_the_run(dry_run, words, message, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    launch = ["local", "--shards", "2", *(["--dry-run"] if dry_run else [])]
    assert main([*launch, "--", *words, "--lengths=400", "--run-name=big"]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "results").exists()


@pytest.mark.slow
def test_for_kubernetes_only_the_names_of_options_are_checked(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    pods = ["kubernetes", "--image", "i", "--claim", "c", "--shards", "2", "--dry-run", "--"]
    assert main([*pods, "--model", "hf:/models/only-there", "--run-name=big"]) == 0
    assert "kind: Job" in capsys.readouterr().out
    assert main([*pods, "--modle", "hf:/models/only-there", "--run-name=big"]) == 2
    assert "--modle: did you mean --model?" in capsys.readouterr().err


def test_a_missing_file_is_no_wrong_option_name(monkeypatch, tmp_path) -> None:
    plan = Plan(tmp_path / "r", 2, ("--documents", "/only/there"), tmp_path, 0)
    output = "ERROR: --documents: '/only/there': no such folder"
    monkeypatch.setattr(plan_module, "run_pytest", lambda words, cwd: (4, output))
    check_option_names(plan)


def test_a_run_keeps_its_number_of_shards(tmp_path):
    def plan(shards, words=("--model", "mock:perfect")):
        return Plan(tmp_path / "run", shards, words, tmp_path, 2)

    with plan(4).claimed():
        pass

    assert launched_shards(tmp_path / "run") == 4
    with pytest.raises(InputError, match="this run has 4"), plan(5).claimed():
        pass
    assert plan(4, words=("--model", "mock:middle")).had_other_words()
    assert not plan(4).had_other_words()


def test_one_launcher_at_a_time(tmp_path):
    plan = Plan(tmp_path / "run", 4, (), tmp_path, 2)

    with plan.claimed(), pytest.raises(InputError, match="another run is writing there"), plan.claimed():
        pass
    with plan.claimed():
        pass
