"""The process that runs one shard on any engine: `python -m needlework.cluster.job`.

It runs pytest, and writes how the shard ended unless it was stopped or killed: then its engine starts it again. At a
signal to stop, and when its parent is gone (a launcher or a node's daemon that was killed), pytest writes its journal.
"""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import FrameType

from needlework.cluster.plan import DONE, INTERRUPTED, WRONG_USE, Ending, size_of, write_ending
from needlework.core.errors import InputError
from needlework.results.records.journal import Journal

STOPPED = 143  # the exit code that a shell gives for SIGTERM
_TIME_LIMIT_SIGNAL = "SIGUSR1"  # cluster/schedulers.py asks Slurm to send it
_POLL_S, _LOCKED_S = 0.5, 40.0


class StopRequest:
    """The first signal to stop this process, which ends pytest as Ctrl-C does; later ones are ignored."""

    def __init__(self) -> None:
        self.reason = ""  # the signal's name; empty before any
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
            signal.signal(number, self._stop)

    def _stop(self, number: int, _: FrameType | None) -> None:
        if not self.reason:
            self.reason = signal.Signals(number).name
            raise KeyboardInterrupt


def main(argv: Sequence[str] | None = None) -> int:
    """Run one shard: `FOLDER I/N WORDS...`, with pytest's words.

    Returns 0 if it is done, `STOPPED` if it was stopped, else pytest's exit code.
    """
    folder, shard, *words = sys.argv[1:] if argv is None else argv
    threading.Thread(target=_stop_without_parent, args=(os.getppid(),), daemon=True).start()
    return run_shard(Path(folder), shard, words)


def run_shard(folder: Path, shard: str, words: Sequence[str]) -> int:
    """Run pytest, and write the ending of the shard if it is final."""
    name = shard.replace("/", "-of-")
    journal = folder / "shards" / name / "journal.jsonl"
    _wait_for_lock(journal)
    size_before, why, stop = size_of(journal), "", StopRequest()
    _print(f"shard {name} on {socket.gethostname()}")
    try:
        run = ["--results-dir", str(folder.parent), "--run-name", folder.name, "--shard", shard]
        code = int(import_module("pytest").main([*words, *run]))
    except KeyboardInterrupt:
        code = INTERRUPTED
    if code not in DONE and stop.reason:
        if stop.reason != _TIME_LIMIT_SIGNAL or size_of(journal) > size_before:
            _print(f"shard {name}: stopped ({stop.reason})")
            if stop.reason == _TIME_LIMIT_SIGNAL and "SLURM_JOB_ID" in os.environ:  # it goes on from the journal
                subprocess.run(["scontrol", "requeue", os.environ["SLURM_JOB_ID"]], check=False, timeout=60)
            return STOPPED
        why = "no cell was finished within the time limit: give it more --time"
    if why or code in (*DONE, *WRONG_USE):
        write_ending(folder / "launch", name, Ending(code, why))
    _print(f"shard {name}: pytest ended with {code}{why and f'; {why}'}")
    return 0 if code in DONE else code


def _stop_without_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_POLL_S)
    os.kill(os.getpid(), signal.SIGTERM)


def _wait_for_lock(journal: Path) -> None:
    """Wait until an earlier process of this shard, which is just ending, has released its journal."""
    until = time.monotonic() + _LOCKED_S
    while journal.exists() and time.monotonic() < until:
        try:
            Journal(journal, fresh=False).close()
            return
        except InputError:
            time.sleep(_POLL_S)


def _print(text: str) -> None:
    print(f"needlework: {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
