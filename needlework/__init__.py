"""Needlework: a long-context benchmark as pytest cases.

In a checkout the sub-packages are links to the folders at its top; a wheel has the folders themselves.

PYTEST_DONT_REWRITE: a notebook imports this before it runs pytest, which would warn that it came too late.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, overload

if TYPE_CHECKING:
    from needlework.results.files.read_run import Run


def main(argv: Sequence[str] | None = None) -> int:
    """Run one sub-command of the console command `needlework` and return its exit code."""
    from needlework.__main__ import main as run

    return run(argv)


@overload
def run(*, plan: Literal[False] = False, **options: object) -> Run: ...
@overload
def run(*, plan: Literal[True], **options: object) -> None: ...
def run(*, plan: bool = False, **options: object) -> Run | None:
    """Run the benchmarks, as `pytest --pyargs needlework.benchmarks` does, and return the `Run`.

    `options`: those of `pytest --help` as a TOML file names them: `run(model="mock:perfect", lengths=[500, 1000])`.
    What pytest prints is printed. With `plan=True` that is all: nothing is asked, and there is no run. Raises
    `RuntimeError`, with pytest's last line, where no run was written.
    """
    from needlework.pytest_plugin.options import run_session

    return run_session({"plan": True, **options} if plan else options)
