"""`needlework questions make|check`: questions about your own documents, written by a model and checked."""

from __future__ import annotations

from collections.abc import Sequence

from needlework.core.errors import InputError, OneLineParser, ending_signals, refuse
from needlework.results.judging.ask import OpenJudge
from needlework.results.questions import check_command, make

_STEPS = {"make": make, "check": check_command}


def main(argv: Sequence[str], open_judge: OpenJudge) -> int:
    """Run one step; returns its exit code, 2 after one line about what was wrong."""
    parser = OneLineParser(prog="needlework questions", description=__doc__)
    steps = parser.add_subparsers(dest="step", required=True, metavar="STEP")
    for name, step in _STEPS.items():
        step.add_arguments(steps.add_parser(name, help=step.ABOUT, description=step.__doc__))
    options = parser.parse_args(argv)
    try:
        with ending_signals():
            code: int = _STEPS[options.step].run(options, open_judge)
        return code
    except InputError as error:
        return refuse(f"questions {options.step}", error)
    except KeyboardInterrupt:
        return refuse(f"questions {options.step}", "stopped; the same command goes on where it was")
