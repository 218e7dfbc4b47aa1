"""Every planted fault against our harness and a naive one.

    python -m tests.faults.bench [--only NAME] [--markdown]

Exit code 1 if one cell of one fault is not classified as the catalogue says.
"""

import argparse
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache

from needlework.haystack_fixtures.configuration.option_table import BY_KEY
from tests.faults.catalogue import CATALOGUE, Fault
from tests.faults.grid import options
from tests.faults.judge import complaints, summary
from tests.faults.naive import Told, ask_all, questions
from tests.faults.server import running
from tests.faults.sessions import pool, session

OURS, NAIVE = "ours", "naive"
_WORKERS = 3
_NAIVE_TIMEOUT_S = 3.0


@dataclass(frozen=True, slots=True)
class Row:
    """One fault: what the naive harness reports, what we do, and what is wrong with that."""

    fault: Fault
    naive: Told
    ours: str
    wrong: tuple[str, ...]


def pending(fault):
    """Whether the option that shows this fault is not there yet."""
    return bool(fault.needs) and fault.needs not in BY_KEY


def start(fault, desk, processes):
    """Begin our own run against a fault."""
    return processes.submit(session, (f"--base-url={desk.base_url(fault.name, OURS)}", *options(fault)))


def finish(fault, desk, ran):
    """What is wrong with our report of it."""
    return tuple(complaints(fault, ran, desk.session(fault.name, OURS).seen))


def naive(fault, desk):
    """The naive harness's report of the same cells."""
    return ask_all(desk.base_url(fault.name, NAIVE), _cells(options(fault)), _NAIVE_TIMEOUT_S)


@lru_cache
def _cells(args):
    return tuple(questions(args))


def run(faults):
    """Run the bench, rows in the catalogue's order. Raises `RuntimeError` when the bench itself is broken."""
    chosen = [fault for fault in faults if not pending(fault)]
    slow_first = sorted(chosen, key=lambda fault: fault.expect.attempts is None)
    with running() as desk, pool(min(_WORKERS, len(chosen))) as processes, ThreadPoolExecutor(6) as threads:
        ours = {fault.name: start(fault, desk, processes) for fault in slow_first}
        for fault in chosen:
            _cells(options(fault))  # building is not thread-safe
        theirs = {fault.name: threads.submit(naive, fault, desk) for fault in slow_first}
        rows = []
        for fault in chosen:
            ran = ours[fault.name].result()
            rows.append(Row(fault, theirs[fault.name].result(), summary(ran), finish(fault, desk, ran)))
        if desk.broken:
            raise RuntimeError(f"the bench is broken: {desk.broken[0]}")
    return rows


def main(argv=None):
    """Print the table; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.bench", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", action="append", choices=list(CATALOGUE), metavar="NAME", help="may be repeated")
    parser.add_argument("--markdown", action="store_true", help="print the table in Markdown")
    given = parser.parse_args(argv)
    chosen = [CATALOGUE[name] for name in given.only or CATALOGUE]
    begun = time.monotonic()
    rows = run(chosen)
    for line in markdown(rows) if given.markdown else plain(rows):
        print(line)
    planted = [row for row in rows if row.fault.number]
    right = sum(not row.wrong for row in planted)
    print(f"\n{right} of {len(planted)} faults classified right in every cell", end="")
    honest = [row for row in rows if not row.fault.number]
    if honest:
        print(f"; {sum(not row.wrong for row in honest)} of {len(honest)} honest servers", end="")
    print(f"; {time.monotonic() - begun:.0f} s")
    for fault in filter(pending, chosen):
        print(f"not run: {fault.number} {fault.name} needs --{fault.needs}, which this version does not have")
    return 1 if any(row.wrong for row in rows) else 0


def plain(rows):
    """The table for a terminal, with what is wrong below each row."""
    yield f"{'':>3} {'fault':24} {'naive':>6}  {'right':5}  we report"
    for row in rows:
        right = "NO" if row.wrong else "yes"
        yield f"{row.fault.number or '':>3} {row.fault.name:24} {row.naive.words:>6}  {right:5}  {row.ours}"
        yield from (f"{'':>44}- {line}" for line in row.wrong)


def markdown(rows):
    """The table in Markdown."""
    yield "| | fault | what users met | naive harness | we report |"
    yield "|---|---|---|---|---|"
    for row in rows:
        fault, ours = row.fault, f"**wrong**: {row.ours}" if row.wrong else row.ours
        number = f" {fault.number}" if fault.number else ""
        yield f"|{number} | `{fault.name}` | {fault.met} | {row.naive.words} | {ours} |"


if __name__ == "__main__":
    sys.exit(main())
