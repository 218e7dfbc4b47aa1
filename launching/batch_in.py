"""`needlework batch-in RUN ANSWERS...`: record, score and judge what a batch service answered.

It starts the command line that wrote the requests once more, with `--batch-in` in place of `--batch-out`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from needlework.haystack_fixtures.command_line import OneLineParser, refuse
from needlework.haystack_fixtures.errors import InputError
from needlework.results.records.run_folder import MANIFEST

_ENDED = (0, 1, 10, 11)  # of pytest: files are written
_INCOMPLETE = 3  # as of a merge
# Options of the command that wrote the requests which are said anew, and whether a value follows.
_SAID_ANEW = {
    "--batch-out": True,
    "--batch-in": True,
    "--batch-limits": True,
    "--run-name": True,
    "--results-dir": True,
    "--fresh": False,
    "--resume": False,
}


def main(argv: Sequence[str]) -> int:
    """Return pytest's exit code, which is the gates' (docs/ci.md); 2 where the run's command cannot be started, 3 where
    nothing else is wrong than that cells have no answer yet."""
    parser = OneLineParser(prog="needlework batch-in", description=__doc__)
    parser.add_argument("run", type=Path, metavar="RUN", help="folder of the run that --batch-out wrote requests of")
    parser.add_argument(
        "answers", type=Path, nargs="+", metavar="ANSWERS", help="output and error files of the service, in any order"
    )
    options = parser.parse_args(argv)
    try:
        run = options.run.resolve()
        for path in options.answers:
            if not path.is_file():
                raise InputError("ANSWERS", path, "there is no such file")
        words, folder = command_of(run)
    except InputError as error:
        return refuse("batch-in", error)
    answers = [f"--batch-in={path.resolve()}" for path in options.answers]
    named = [f"--results-dir={run.parent}", f"--run-name={run.name}"]
    done = subprocess.run([sys.executable, "-m", "pytest", *words, *named, *answers], cwd=folder, check=False)
    missing = _missing(_manifest(run)) if done.returncode in _ENDED else 0
    if not missing:
        return done.returncode
    print(f"{missing:,} trials have no answer yet: the command that wrote the requests, with another --batch-out,")
    print("writes those; then give all files of answers again")
    return done.returncode or _INCOMPLETE


def _missing(manifest: Mapping[str, Any]) -> int:
    planned, recorded = manifest.get("planned"), manifest.get("recorded")
    return max(0, planned - recorded) if isinstance(planned, int) and isinstance(recorded, int) else 0


def command_of(run: Path) -> tuple[list[str], Path]:
    """The words after `pytest` that the run was started with, and where. Raises `InputError`."""
    manifest = _manifest(run)
    asked = manifest.get("options")
    if not isinstance(asked, dict) or not (asked.get("batch_out") or asked.get("batch_in")):
        raise InputError("RUN", run, "is no run that --batch-out wrote requests of")
    command, folder = manifest.get("command"), manifest.get("folder")
    if not isinstance(command, list) or not all(isinstance(word, str) for word in command) or not command:
        raise InputError("RUN", run, "its manifest.json has no command line")
    if not isinstance(folder, str) or "\0" in folder or not Path(folder).is_dir():
        raise InputError("RUN", run, f"was started in {folder!s:.200}, which is not there: files are named from it")
    words = list(without_said_anew(command[1:]))
    hidden = next((word for word in words if word.endswith("=...")), None)
    if hidden is not None:
        remedy = f"its command has a hidden value ({hidden}): give the pytest command again, with --batch-in"
        raise InputError("RUN", run, remedy)
    return words, Path(folder)


def without_said_anew(words: Sequence[str]) -> Iterator[str]:
    """The words without options that are said anew, and their values."""
    skip = False
    for word in words:
        name, equals, _ = word.partition("=")
        if skip:
            skip = False
        elif name in _SAID_ANEW:
            skip = _SAID_ANEW[name] and not equals
        else:
            yield word


def _manifest(run: Path) -> dict[str, Any]:
    try:
        content = json.loads((run / MANIFEST).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError("RUN", run, f"is no folder of a run: {MANIFEST} cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError):
        raise InputError("RUN", run, f"its {MANIFEST} is not JSON") from None
    if not isinstance(content, dict):
        raise InputError("RUN", run, f"its {MANIFEST} is not one of a run")
    return content
