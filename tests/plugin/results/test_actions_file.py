"""docs/github-actions.yml: its commands, as they stand there, stop a model that got worse and pass an equal one."""

import os
import re
import shutil
import subprocess
import sys
import textwrap

import pytest

from tests.docs.commands import ROOT, copy_checkout
from tests.plugin.conftest import CACHE

FILE = ROOT / "docs" / "github-actions.yml"


def commands(step):
    """The shell commands of one step."""
    (text,) = re.findall(rf"- name: {step}\n(.*?)(?=\n      - |\Z)", FILE.read_text(encoding="utf-8"), re.DOTALL)
    block, line = re.search(r"run: \|\n(.*)", text, re.DOTALL), re.search(r"run: (.*)", text)
    return textwrap.dedent(block[1]) if block else line[1]


@pytest.fixture
def job(tmp_path):
    """Runs the job in a checkout, where the model is the only thing that is added: exit code, and what was said."""
    copy_checkout(tmp_path)
    shim = tmp_path / ".venv" / "bin" / "pytest"
    shim.parent.mkdir(parents=True)
    quiet = "-p no:cacheprovider -p no:hypothesispytest -p no:randomly"
    shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m pytest {quiet} --model "$MODEL" "$@"\n')
    shim.chmod(0o755)
    usual = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV", "GITHUB"))}
    usual |= {"PYTHONPATH": str(tmp_path), "NEEDLEWORK_CACHE": str(CACHE)}

    def step(name, event, model):
        # As GitHub runs a step.
        return subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", commands(name)], cwd=tmp_path, timeout=200, check=False,
            env=usual | {"GITHUB_EVENT_NAME": event, "MODEL": model}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True,
        )  # fmt: skip

    def run(event, model):
        done = step("Run", event, model)
        if done.returncode == 0 and event == "schedule":
            assert step("Keep as the baseline", event, model).returncode == 0
        shutil.rmtree(tmp_path / "results" / "runs" / "ci")  # the next job begins without it
        return done.returncode, done.stdout

    return run


@pytest.mark.slow
def test_a_checkpoint_that_lost_37_points_is_stopped_and_an_equal_one_is_not(job):
    for event, model, code, line in (
        ("schedule", "mock:rate=0.92", 0, ""),
        ("pull_request", "mock:rate=0.55", 1, "  FAIL  all"),
        ("pull_request", "mock:rate=0.92", 0, "samples show a drop of"),
        ("schedule", "mock:rate=0.55", 1, ""),  # a worse run is no new baseline
        ("pull_request", "mock:rate=0.92", 0, ""),
    ):
        status, output = job(event, model)
        assert status == code, output
        assert line in output.split("gate not worse")[-1]
