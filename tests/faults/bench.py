"""Every planted fault against our harness, in processes that keep what they imported.

    python -m tests.faults.bench [--only NAME]

Exit code 1 if one cell of one fault is not classified as the catalogue says: the server's own log says which cells it
touched.
"""

import argparse
import contextlib
import gc
import io
import json
import os
import re
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tests.faults.catalogue import CATALOGUE
from tests.faults.server import TOKENIZER, running
from tests.source import ROOT

PASSED, VOID = 0, 11
# 600 tokens, the window of the faults that have one, lie between the two lengths.
_GRID = ("--lengths=400,900", "--depths=0,50,100", "--corpus=pydoc", "--retries=2", "--timeout=20", "--concurrency=6")
# What our runs do not need; the last would collect garbage twice a run.
_UNUSED = ("cacheprovider", "hypothesispytest", "unraisableexception")
_VOUCHES = {"canaries_found"}  # flags that speak for a cell


@dataclass(frozen=True, slots=True)
class Ran:
    """A run that is over: its exit code, what it printed, and its records."""

    status: int
    output: str
    records: list[dict[str, Any]] = field(default_factory=list)


def pool(workers):
    """Processes for runs. Spawned: a server's threads must not be forked."""
    return ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_settle)


def _settle():
    from needlework.results.run import finish

    finish.write_charts = lambda *_, **__: []  # nobody looks at them, and they take longer than a run
    os.chdir(ROOT)
    for name in [name for name in os.environ if name.startswith(("PYTEST_", "OPENAI_", "GITHUB_", "COV_"))]:
        del os.environ[name]


def start(fault, desk, processes):
    """Begin a run against a fault; what the fault says of its options comes last and wins."""
    given = ("--model=openai:oracle", f"--tokenizer={TOKENIZER}", *_GRID, *fault.args)
    options = {word.partition("=")[0]: word for word in given}.values()
    return processes.submit(_session, (f"--base-url={desk.base_url(fault.name)}", *options))


def _session(args):
    """Run `pytest benchmarks/test_niah.py` with these options, results in a folder that is gone afterwards."""
    import pytest

    with tempfile.TemporaryDirectory(prefix="faults-") as folder, contextlib.redirect_stdout(io.StringIO()) as out:
        with contextlib.redirect_stderr(out):
            gc.unfreeze()  # or the run would first look through all objects of the one before
            quiet = ("-q", *(f"-pno:{name}" for name in _UNUSED))
            status = pytest.main(["benchmarks/test_niah.py", *quiet, f"--results-dir={folder}", "--run-name=r", *args])
        results = Path(folder) / "r" / "results.json"
        records = json.loads(results.read_text(encoding="utf-8"))["records"] if results.exists() else []
    return Ran(int(status), out.getvalue(), records)


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


def main(argv=None):
    """Run them, and print a row for each in the catalogue's order; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.bench", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", action="append", choices=list(CATALOGUE), metavar="NAME", help="may be repeated")
    faults = [CATALOGUE[name] for name in parser.parse_args(argv).only or CATALOGUE]
    begun, right = time.monotonic(), 0
    slow_first = sorted(faults, key=lambda fault: fault.expect.attempts is None)
    print(f"{'':>3} {'fault':24} {'right':5}  we report")
    with running() as desk, pool(min(3, len(faults))) as processes:
        runs = {fault.name: start(fault, desk, processes) for fault in slow_first}
        for fault in faults:
            ran = runs[fault.name].result()
            wrong = complaints(fault, ran, desk.session(fault.name).seen)
            right += not wrong
            print(f"{fault.number or '':>3} {fault.name:24} {'NO' if wrong else 'yes':5}  {summary(ran)}")
            for line in wrong:
                print(f"{'':>37}- {line}")
        if desk.broken:
            raise RuntimeError(f"the bench is broken: {desk.broken[0]}")
    print(f"\n{right} of {len(faults)} servers classified right in every cell; {time.monotonic() - begun:.0f} s")
    return 0 if right == len(faults) else 1


if __name__ == "__main__":
    sys.exit(main())
