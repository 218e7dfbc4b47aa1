"""What is wrong in pytest's words is told before anything is started, by a launch and by its `--dry-run` alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from needlework.cluster import shards
from needlework.cluster.launch import main
from needlework.cluster.shards import Plan, check_names

POD = ["--image", "i", "--claim", "c"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dry", "words", "said"),
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
def test_a_dry_run_checks_as_a_launch_does(
    dry: bool,
    words: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    launch = ["local", "--shards", "2", *(["--dry-run"] if dry else [])]
    assert main([*launch, "--", *words, "--lengths=400", "--run-name=big"]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "results").exists()


@pytest.mark.slow
def test_of_words_for_pods_the_names_alone_are_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    pods = ["kubernetes", *POD, "--shards", "2", "--dry-run", "--"]
    assert main([*pods, "--model", "hf:/models/only-there", "--run-name=big"]) == 0
    assert 'kind: "Job"' in capsys.readouterr().out
    assert main([*pods, "--modle", "hf:/models/only-there", "--run-name=big"]) == 2
    assert "--modle: did you mean --model?" in capsys.readouterr().err


def test_a_fault_of_another_kind_is_none_of_the_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    plan = Plan(tmp_path / "r", 2, ("--documents", "/only/there"), tmp_path, 0)
    monkeypatch.setattr(shards, "_said", lambda words, here: (4, "ERROR: --documents: '/only/there': no such folder"))
    check_names(plan)
