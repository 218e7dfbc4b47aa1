"""`needlework launch`: its options, the words of pytest, and refusals before anything starts."""

from pathlib import Path

import pytest

from needlework.cluster import plan as plan_module
from needlework.cluster.launch import main, parse_arguments
from needlework.cluster.plan import (
    Ending,
    Plan,
    check_option_names,
    contains_secret,
    launched_shards,
    split_pytest_words,
    write_ending,
)
from needlework.core.errors import InputError

CWD = Path("/here")
OURS = ("--pyargs", "needlework.benchmarks")


@pytest.mark.parametrize(
    ("line", "values", "words"),
    [
        (
            "slurm -p gpu --shards 8 -- --model m --shards --",
            ("slurm", "gpu", None, 8, None, 2),
            "--model m --shards --",
        ),
        ("--slurm -p gpu -q high --max-num-workers 8 --retry 3 --", ("slurm", "gpu", "high", None, 8, 3), ""),
    ],
    ids=["ours", "OpenCompass"],
)
def test_options_stand_before_the_dashes_and_pytests_words_after(line, values, words):
    options, after = parse_arguments(line.split())
    names = ("engine", "partition", "qos", "shards", "max_jobs", "retries")

    assert tuple(getattr(options, name) for name in names) == values
    assert after == words.split()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--", "an engine comes first: local, slurm, ray, kubernetes"),
        ("slrm --", "an engine comes first"),
        ("--dry-run --lenghts 1k", "an engine comes first"),
        ("local --shards 0 --", "from 1"),
        ("local --partition gpu --", "--partition"),
        ("ray --gpus-per-job nan --", "use a number"),
        ("kubernetes --image i --", "--claim"),
        ("slurm --retries -1 --", "whole number"),
        ("local", "write `--`"),
    ],
)
def test_a_wrong_option_is_one_line(words, message, capsys):
    try:
        assert main(words.split()) == 2
    except SystemExit as ended:  # of argparse
        assert ended.code == 2  # noqa: PT017 - both ways to end are right
    error = capsys.readouterr().err

    assert error.count("\n") == 1
    assert message in error


@pytest.mark.parametrize(
    ("words", "folder", "rest"),
    [
        ("--run-name=a --model m --results-dir out", "/here/out/a", (*OURS, "--model", "m")),
        ("--run-name a --run-name=b", "/here/results/runs/b", OURS),
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
        ("https://host/v1?api-version=2024", False),
        ("header.Authorization=ENV:TOKEN", False),
        ("header.X-Team=abcdefgh", False),
        ("--api-key-env=MY_KEY", False),
        ("score >= 0.9 [length<=4k]", False),
        ("{not json", False),
    ],
)
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
        (
            "local --dry-run",
            "--modle=mock:perfect",
            "unrecognized arguments: --modle=mock:perfect; --modle: did",
        ),
        ("local", "--model=mock:prefect", "--model mock: 'prefect': use one of mock:perfect"),
        ("local --dry-run", "--model=hf:/nope", "--model hf: '/nope': there is no such folder"),
        ("local --dry-run", "--model=m --serve=vlm", "--serve: 'vlm': did you mean vllm?"),
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


def test_a_missing_file_is_no_wrong_option_name(monkeypatch, tmp_path):
    plan = Plan(tmp_path / "r", 2, ("--documents", "/only/there"), tmp_path, 0)
    output = "ERROR: --documents: '/only/there': no such folder"
    monkeypatch.setattr(plan_module, "run_pytest", lambda words, cwd: (4, output))
    check_option_names(plan)


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
