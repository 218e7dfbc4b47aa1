"""Every planted fault against our harness and a naive one.

    python -m tests.faults.bench [--only NAME]

Exit code 1 if one cell of one fault is not classified as the catalogue says: the server's own log says which cells it
touched.
"""

import argparse
import re
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache

from tests.faults.catalogue import CATALOGUE, Fault
from tests.faults.runs import naive_score, options, pool, session, trials
from tests.faults.server import running

PASSED, VOID = 0, 11
_VOUCHES = {"canaries_found"}  # flags that speak for a cell


def classification(record):
    """A record's classification in a few words: `invalid server_truncated`, `found (no_usage)`."""
    details = record["details"]
    kind = record["error"]["kind"] if record["error"] else "+".join(details.get("invalid", ()))
    again = ["unstable"] if any(each["outcome"] != record["outcome"] for each in details.get("stability", ())) else []
    flags = f" ({', '.join([*details['flags'], *again])})" if details["flags"] or again else ""
    return f"{record['outcome']} {kind}".strip() + flags


def summary(ran):
    """All cells: `3 found, 3 invalid server_truncated`."""
    counts = Counter(classification(record) for record in ran.records)
    return ", ".join(f"{count} {words}" for words, count in sorted(counts.items())) or "nothing recorded"


def complaints(fault, ran, seen):
    """What is wrong with our report, one line each; none if the fault was classified right in every cell."""
    lines = list(_of_run(fault, ran))
    if fault.expect.stops:
        return lines + [line for record in ran.records for line in _of_cell(fault, record, touched=True)]
    touched = 0
    for record in ran.records:
        sent = seen.get(record["prompt"].get("sha256", ""))
        # A cell that was never asked was refused by our own harness, for the server's reasons.
        hit = sent is None or sent.touched
        touched += hit
        lines += [f"{record['id']}: {line}" for line in _of_cell(fault, record, touched=hit)]
        if sent is not None and sent.hasty:
            lines.append(f"{record['id']}: asked again before the time that the server named, {sent.hasty} times")
    if not ran.records:
        lines.append(f"no records: {ran.output.strip().rpartition(chr(10))[2]}")
    elif fault.number and not touched:
        lines.append("the fault touched no cell")
    return lines


def _of_cell(fault, record, *, touched):
    expect, details, words = fault.expect, record["details"], classification(record)
    flags = set(details["flags"])
    if not touched or fault.number == 0:
        if record["outcome"] != "found" or flags - _VOUCHES:
            yield f"{words}, where nothing was wrong"
        return
    fits = record["outcome"] in expect.outcomes and (
        (record["outcome"] != "error" or record["error"]["kind"] == expect.error)
        and (not expect.invalid or set(expect.invalid) & set(details.get("invalid", ())))
        and (not expect.flags or set(expect.flags) & flags)
    )
    if not fits:
        yield f"{words}, not {expect.words}"
    if expect.clean and flags - _VOUCHES:
        yield f"{words}, where no flag is due"
    if expect.unstable and all(each["text"] == record["response"]["text"] for each in details.get("stability", ())):
        yield f"{words}, and no word of another answer"
    if expect.attempts and record["outcome"] != "skipped":
        least, most = expect.attempts
        if not least <= record["timing"]["attempts"] <= most:
            yield f"{words} after {record['timing']['attempts']} attempts, not {least} to {most}"


def _of_run(fault, ran):
    if "Traceback" in ran.output or "INTERNALERROR" in ran.output:
        yield "a traceback"
    if fault.expect.stops:
        lines = [line for line in ran.output.splitlines() if re.search(fault.expect.stops, line)]
        if not any("stopped" in line and len(line) < 400 for line in lines):
            yield f"no line says that the run stopped: {fault.expect.stops}"
        if ran.status == PASSED:
            yield "exit code 0"
        return
    expected = VOID if any(record["outcome"] in ("invalid", "error") for record in ran.records) else PASSED
    if ran.status != expected:
        yield f"exit code {ran.status}, not {expected}"


@dataclass(frozen=True, slots=True)
class Row:
    """One fault: what the naive harness reports, what we do, and what is wrong with that."""

    fault: Fault
    naive: str
    ours: str
    wrong: tuple[str, ...]


def start(fault, desk, processes):
    """Begin our own run against a fault."""
    return processes.submit(session, (f"--base-url={desk.base_url(fault.name, 'ours')}", *options(fault)))


def finish(fault, desk, ran):
    """What is wrong with our report of it."""
    return tuple(complaints(fault, ran, desk.session(fault.name, "ours").seen))


def naive(fault, desk):
    """The naive harness's report of the same cells."""
    return naive_score(desk.base_url(fault.name, "naive"), _trials(options(fault)), timeout_s=3.0)


_trials = lru_cache(trials)


def run(faults):
    """Run the bench, rows in the catalogue's order. Raises `RuntimeError` when the bench itself is broken."""
    slow_first = sorted(faults, key=lambda fault: fault.expect.attempts is None)
    with running() as desk, pool(min(3, len(faults))) as processes, ThreadPoolExecutor(6) as threads:
        ours = {fault.name: start(fault, desk, processes) for fault in slow_first}
        for fault in faults:
            _trials(options(fault))  # building is not thread-safe
        theirs = {fault.name: threads.submit(naive, fault, desk) for fault in slow_first}
        rows = []
        for fault in faults:
            ran = ours[fault.name].result()
            rows.append(Row(fault, theirs[fault.name].result(), summary(ran), finish(fault, desk, ran)))
        if desk.broken:
            raise RuntimeError(f"the bench is broken: {desk.broken[0]}")
    return rows


def main(argv=None):
    """Print the table; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.bench", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", action="append", choices=list(CATALOGUE), metavar="NAME", help="may be repeated")
    given = parser.parse_args(argv)
    begun = time.monotonic()
    rows = run([CATALOGUE[name] for name in given.only or CATALOGUE])
    for line in plain(rows):
        print(line)
    right = sum(not row.wrong for row in rows)
    print(f"\n{right} of {len(rows)} servers classified right in every cell; {time.monotonic() - begun:.0f} s")
    return 0 if right == len(rows) else 1


def plain(rows):
    """The table for a terminal, with what is wrong below each row."""
    yield f"{'':>3} {'fault':24} {'naive':>6}  {'right':5}  we report"
    for row in rows:
        right = "NO" if row.wrong else "yes"
        yield f"{row.fault.number or '':>3} {row.fault.name:24} {row.naive:>6}  {right:5}  {row.ours}"
        yield from (f"{'':>44}- {line}" for line in row.wrong)


if __name__ == "__main__":
    sys.exit(main())
