"""The process that runs one shard on any engine: `python -m needlework.cluster.job`.

It starts pytest, and writes how the shard ended unless it was killed: then its engine starts it again. A signal to stop
is passed on to pytest, which writes its journal first. If its parent is gone (a launcher or a node's daemon that was
killed) it stops too.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import FrameType

from needlework.cluster.plan import DONE, INTERRUPTED, WRONG_USE, Ending, write_ending
from needlework.core.errors import InputError, OneLineParser
from needlework.models.engines.keeper import die_with_parent
from needlework.results.records.journal import Journal

STOPPED = 143  # the exit code that a shell gives for SIGTERM
_TIME_LIMIT_SIGNAL = "SIGUSR1"  # cluster/slurm.py asks Slurm to send it
_POLL_S, _STOP_S = 0.5, 40.0


@dataclass
class StopRequest:
    """A request to stop this process."""

    reason: str = ""  # the signal's name; empty while there is no request
    parent: int = field(default_factory=os.getppid)

    def handle_signal(self, number: int, _: FrameType | None) -> None:
        self.reason = self.reason or signal.Signals(number).name

    def is_set(self) -> bool:
        if os.getppid() != self.parent:
            self.reason = self.reason or "parent is gone"
        return bool(self.reason)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one shard. Returns 0 if it is done, `STOPPED` if it was stopped, else pytest's exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    parser = OneLineParser(prog="needlework.cluster.job", description=__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--shard", required=True)
    options = parser.parse_args(words[: words.index("--")])
    stop = StopRequest()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
        signal.signal(number, stop.handle_signal)
    return run_shard(options.folder, options.shard, words[words.index("--") + 1 :], stop)


def run_shard(folder: Path, shard: str, words: Sequence[str], stop: StopRequest) -> int:
    """Run pytest, and write how it ended by itself."""
    name = shard.replace("/", "-of-")
    journal = folder / "shards" / name / "journal.jsonl"
    _wait_for_lock(journal)
    size_before, why = _size(journal), ""
    _print(f"shard {name} on {socket.gethostname()}")
    run = ["--results-dir", str(folder.parent), "--run-name", folder.name, "--shard", shard]
    code = _run_pytest([*words, *run], stop)
    if code not in DONE and stop.reason:
        if stop.reason != _TIME_LIMIT_SIGNAL or _size(journal) > size_before:
            return _stop(name, stop.reason)
        why = "no cell was finished within the time limit: give it more --time"
    if why or code in (*DONE, *WRONG_USE):
        write_ending(folder / "launch", name, Ending(code, why))
    _print(f"shard {name}: pytest ended with {code}{why and f'; {why}'}")
    return 0 if code in DONE else code if 0 < code < 128 else 1


def _wait_for_lock(journal: Path) -> None:
    """Wait until an earlier process of this shard, which is just ending, has released its journal."""
    until = time.monotonic() + _STOP_S
    while journal.exists() and time.monotonic() < until:
        try:
            Journal(journal, fresh=False).close()
            return
        except InputError:
            time.sleep(_POLL_S)


def _stop(name: str, reason: str) -> int:
    """Report the stop. Before a time limit Slurm queues the job again: the journal has what was answered."""
    _print(f"shard {name}: stopped ({reason})")
    if reason == _TIME_LIMIT_SIGNAL and "SLURM_JOB_ID" in os.environ:
        subprocess.run(["scontrol", "requeue", os.environ["SLURM_JOB_ID"]], check=False, timeout=60)
    return STOPPED


def _run_pytest(words: Sequence[str], stop: StopRequest) -> int:
    """Run pytest to its end and return its exit code, negative for a signal."""
    # If this process is killed, Linux stops pytest too; on other systems it runs to its end.
    child = subprocess.Popen(
        [sys.executable, "-m", "pytest", *words],
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=partial(die_with_parent, signal.SIGTERM),
    )
    code = None
    while code is None and not stop.is_set():
        with suppress(subprocess.TimeoutExpired):
            code = child.wait(_POLL_S)
    if code == INTERRUPTED:  # maybe by the signal that comes to us as well
        time.sleep(_POLL_S)
        stop.is_set()
    if code is None:
        child.terminate()
        with suppress(subprocess.TimeoutExpired):
            code = child.wait(_STOP_S)
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)  # what it leaves behind would hold a card, or the run's folder
    return child.wait() if code is None else code


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _print(text: str) -> None:
    print(f"needlework: {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
