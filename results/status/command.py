"""`needlework status RUN`: how far a run and each of its shards are, while they write or afterwards."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from needlework.haystack_fixtures.command_line import OneLineParser, refuse
from needlework.haystack_fixtures.errors import InputError
from needlework.results.status.lines import status_lines
from needlework.results.status.progress import left_of_all, progress_of_run


def main(argv: Sequence[str]) -> int:
    """Run the command; returns 0, or 2 after one line about wrong input."""
    options = _parser().parse_args(argv)
    try:
        found = progress_of_run(options.run, time.time())
    except InputError as error:
        return refuse("status", error)
    if options.json:
        total = {name: sum(getattr(each, name) for each in found) for name in ("done", "expected", "errors")}
        parts = [asdict(each) for each in found]
        print(json.dumps({"run": str(options.run), **total, "left_s": left_of_all(found), "parts": parts}))
    else:
        print(*status_lines(found), sep="\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = OneLineParser(
        prog="needlework status",
        description="How far a run and each of its shards are, from the files in its folder: trials that are done,"
        " expected and failed, trials a minute, time left. Shards may be running, anywhere.",
    )
    parser.add_argument("run", type=Path, metavar="RUN", help="folder of the run")
    parser.add_argument("--json", action="store_true", help="one object; times in seconds")
    return parser
