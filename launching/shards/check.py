"""The words after `--`, read by pytest here and now: what is wrong would else be told after hours in a queue."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

from needlework.haystack_fixtures.errors import InputError
from needlework.launching.shards.ending import error_line
from needlework.launching.shards.plan import Plan

_UNKNOWN = "unrecognized arguments"
_MEANT = "needlework: "


def check(plan: Plan) -> None:
    """Have pytest plan the run as one shard: options, tests, models, tokenizers, texts, lengths. Nothing is asked.

    Raises `InputError`.
    """
    run = ["--results-dir", str(plan.folder.parent), "--run-name", plan.folder.name, "--shard", "1/1"]
    code, said = _said([*plan.words, *run, "--plan", "-q"], plan.here)
    if code:
        raise _refused(plan, said, error_line(said) or "pytest finds no test in it")


def check_names(plan: Plan) -> None:
    """Have pytest read the names of the options alone: files and keys are where the shards will run.

    Raises `InputError`.
    """
    _, said = _said([*plan.words, "--collect-only", "-q"], Path.cwd())
    line = next((line for line in said.splitlines() if _UNKNOWN in line), "")
    if line:
        raise _refused(plan, said, line)


def _refused(plan: Plan, said: str, line: str) -> InputError:
    """The error that pytest's line tells, and which option was meant where pytest names one."""
    remedy = re.sub(r"^.*?\b(ERROR|error): ", "", line)
    meant = next((line.strip().removeprefix(_MEANT) for line in said.splitlines() if _MEANT in line), "")
    also = f"; {meant}" if _UNKNOWN in remedy and meant else ""
    return InputError("after --", shlex.join(plan.words), f"{remedy}{also}")


def _said(words: list[str], here: Path) -> tuple[int, str]:
    command = [sys.executable, "-m", "pytest", *words]
    found = subprocess.run(command, cwd=here, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return found.returncode, found.stdout + found.stderr
