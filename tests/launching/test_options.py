"""The options of `needlework launch`."""

from __future__ import annotations

import subprocess
import sys

import pytest

from needlework.cluster.launch import parsed
from needlework.core.errors import InputError


def test_what_stands_after_the_dashes_is_pytests():
    options, words = parsed(["slurm", "-p", "gpu", "--shards", "8", "--", "--model", "m", "--shards", "--"])

    assert (options.engine, options.partition, options.shards, options.retries) == ("slurm", "gpu", 8, 2)
    assert words == ["--model", "m", "--shards", "--"]


def test_opencompass_spelling():
    options, _ = parsed(["--slurm", "-p", "gpu", "-q", "high", "--max-num-workers", "8", "--retry", "3", "--"])

    assert (options.engine, options.partition, options.qos) == ("slurm", "gpu", "high")
    assert (options.max_jobs, options.retries) == (8, 3)


def test_without_dashes_it_is_told_what_to_write():
    with pytest.raises(InputError, match="write `--`"):
        parsed(["local"])


@pytest.mark.parametrize("words", [[], ["slrm"], ["--dry-run", "--lenghts", "1k"], ["--dry-run", "--", "--model", "m"]])
def test_an_engine_comes_first(words, capsys):
    with pytest.raises(SystemExit):
        parsed(words)

    assert "an engine comes first: local, slurm, ray, kubernetes" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["slrm"],
        ["local", "--shards", "0"],
        ["local", "--partition", "gpu"],
        ["local", "--shard", "2"],
        ["ray", "--gpus-per-job", "nan"],
        ["ray", "--cpus-per-job", "-1"],
        ["kubernetes", "--image", "i"],
        ["slurm", "--retries", "-1"],
    ],
)
def test_what_is_wrong_is_one_line(words, capsys):
    with pytest.raises(SystemExit) as ended:
        parsed([*words, "--"])

    assert ended.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_what_reads_runs_is_not_loaded_before_the_first_shard() -> None:
    code = "import sys, needlework.cluster.launch; assert not {'numpy', 'jinja2'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
