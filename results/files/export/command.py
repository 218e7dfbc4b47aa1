"""`needlework export RUN --to inspect|parquet`: a run in the files of other systems."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from needlework.haystack_fixtures.command_line import OneLineParser, refuse
from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.writing.whole_files import write_whole
from needlework.results.files.export.inspect_log import inspect_logs
from needlework.results.files.export.parquet_file import parquet_bytes
from needlework.results.files.read_run import read_run


def main(argv: Sequence[str]) -> int:
    """Run the command; returns the exit code: 0, or 2 after one line about what was wrong."""
    parser = OneLineParser(
        prog="needlework export",
        description="Write a run's trials for other systems: logs of inspect_ai (one for each model and task, for"
        " `inspect view --log-dir DIR`), or a Parquet table (one row a trial; needs pyarrow).",
    )
    parser.add_argument("run", type=Path, metavar="RUN", help="folder of the run, or its results.json")
    parser.add_argument("--to", required=True, choices=("inspect", "parquet"), help="whose files")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder to write to [RUN/inspect, RUN/parquet]")
    options = parser.parse_args(argv)
    try:
        run = read_run(options.run)
        if not run.records:
            raise InputError("RUN", options.run, "holds no trials; there is nothing to export")
        files = inspect_logs(run) if options.to == "inspect" else {"trials.parquet": parquet_bytes(run)}
        folder = options.out or run.folder / options.to
        for name, content in files.items():
            write_whole(folder / name, content)
            print(folder / name)
    except InputError as error:
        return refuse("export", error)
    except BrokenPipeError:
        raise  # whoever read our output has seen enough
    except OSError as error:
        return refuse("export", InputError("--out", error.filename or "output", error.strerror or str(error)))
    return 0
