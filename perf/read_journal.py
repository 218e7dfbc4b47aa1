"""CPU seconds to read a journal of N records, from a run's: `python perf/read_journal.py RUN [N]`."""

from __future__ import annotations

import sys
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path

from needlework.results.records.journal import read_and_count

ROUNDS = 3


def main(run: str, count: str = "10000") -> None:
    """Print the best of some rounds."""
    lines = [line for line in (Path(run) / "journal.jsonl").read_bytes().splitlines() if line]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        path.write_bytes(b"".join(line + b"\n" for line in islice(cycle(lines), int(count))))
        taken = []
        for _ in range(ROUNDS):
            begun = time.process_time()
            records, damaged = read_and_count(path)
            taken.append(time.process_time() - begun)
        size = path.stat().st_size / len(records) / 1000
    print(f"{len(records):,} records of {size:.1f} KB, {damaged} damaged: {min(taken):.3f} CPU s")


if __name__ == "__main__":
    main(*sys.argv[1:])
