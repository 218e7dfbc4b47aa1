"""What a launch takes out of pytest's words, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from needlework.cluster.shards import pytest_words, secret_in
from needlework.core.errors import InputError

HERE = Path("/here")


def test_run_name_and_folder_are_taken_out_in_either_spelling():
    words = ["--run-name=a", "--model", "mock:perfect", "--results-dir", "out"]

    assert pytest_words(words, HERE) == (
        Path("/here/out/a"),
        ("--pyargs", "needlework.benchmarks", "--model", "mock:perfect"),
    )


def test_the_last_name_counts_as_in_pytest():
    assert pytest_words(["--run-name", "a", "--run-name=b"], HERE)[0] == Path("/here/results/runs/b")


@pytest.mark.parametrize("own", ["bench/test_mine.py", "test_mine.py::test_one"])
def test_tests_of_ones_own_are_left_as_they_are(own):
    assert pytest_words(["pytest", own, "--run-name", "a"], HERE)[1] == (own,)


@pytest.mark.parametrize("words", [[], ["--run-name"], ["--run-name="], ["--run-name", "a/b"], ["--run-name", ".."]])
def test_a_launch_has_a_name(words):
    with pytest.raises(InputError, match="--run-name"):
        pytest_words(words, HERE)


@pytest.mark.parametrize("word", ["--shard", "--shard=1/2", "--plan", "--fresh"])
def test_what_a_launch_does_itself_is_refused(word):
    with pytest.raises(InputError, match="not for a launch"):
        pytest_words(["--run-name", "a", word], HERE)


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
    with pytest.raises(InputError) as told:
        pytest_words(["--run-name", "a", word], HERE)
    assert "secret@" not in str(told.value)
    assert "abcdefgh" not in str(told.value)


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
def test_what_only_names_a_secret_may_stand_there(word):
    assert not secret_in(word)
