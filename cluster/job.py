"""The process that runs one shard wherever it was started: `python -m needlework.cluster.job`.

It starts pytest, again where pytest died, and notes how the shard ended. A signal to stop goes on to pytest, which
writes its journal first. Where its parent is gone (a launcher or a node's daemon that was killed) it stops too.
"""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from needlework.cluster.shards import DIED, DONE, INTERRUPTED, WRONG_USE, Ending, digest_of, write_ending
from needlework.core.errors import InputError, OneLineParser
from needlework.results.records.journal import Journal

STOPPED = 143  # as a shell says SIGTERM
_TIME_LIMIT_SIGNAL = "SIGUSR1"  # as cluster/slurm.py asks Slurm to send it
_PR_SET_PDEATHSIG = 1
BREATH_S = 15.0  # before another try: a server that pytest had started may hold its card for 10 seconds
_LOOK_S, _GRACE_S = 0.5, 40.0


@dataclass
class Stop:
    """What has asked this process to stop: a signal's name, or nothing yet."""

    by: str = ""
    parent: int = field(default_factory=os.getppid)

    def hear(self, number: int, _: FrameType | None) -> None:
        self.by = self.by or signal.Signals(number).name

    def asked(self) -> bool:
        if os.getppid() != self.parent:
            self.by = self.by or "parent is gone"
        return bool(self.by)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one shard. Returns 0 where it is done, `STOPPED` where it was stopped, else pytest's exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    parser = OneLineParser(prog="needlework.cluster.job", description=__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--retries", type=int, required=True)
    parser.add_argument("--shard", required=True)
    options = parser.parse_args(words[: words.index("--")])
    stop = Stop()
    for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
        signal.signal(each, stop.hear)
    return run_shard(options.folder, options.shard, words[words.index("--") + 1 :], options.retries, stop)


def run_shard(folder: Path, shard: str, words: Sequence[str], retries: int, stop: Stop) -> int:
    """Run pytest until it ends by itself, at most `retries` times again."""
    name = shard.replace("/", "-of-")
    journal = folder / "shards" / name / "journal.jsonl"
    run = ["--results-dir", str(folder.parent), "--run-name", folder.name, "--shard", shard]
    before, code, tries, why = _size(journal), DIED, 0, ""
    while code not in (*DONE, *WRONG_USE) and tries <= retries and not why:
        if tries:
            _breathe(stop)
        tries += 1
        _wait_for(journal)
        _say(f"shard {name} on {socket.gethostname()}, try {tries}")
        code = _pytest([*words, *run], stop)
        if code in DONE or not stop.by:
            continue
        if stop.by != _TIME_LIMIT_SIGNAL or _size(journal) > before:
            return _stopped(name, stop.by)
        why = "no cell was finished within the time limit: give it more --time"
    write_ending(folder / "launch", name, Ending(code, digest_of(words), tries, socket.gethostname(), why))
    _say(f"shard {name}: pytest ended with {code}{why and f'; {why}'}")
    return 0 if code in DONE else code if 0 < code < 128 else 1


def _breathe(stop: Stop) -> None:
    until = time.monotonic() + BREATH_S
    while time.monotonic() < until and not stop.asked():
        time.sleep(_LOOK_S)


def _wait_for(journal: Path) -> None:
    """Wait until the process that had this shard before, and is just ending, has let go of its journal."""
    until = time.monotonic() + _GRACE_S
    while journal.exists() and time.monotonic() < until:
        try:
            Journal(journal, fresh=False).close()
            return
        except InputError:
            time.sleep(_LOOK_S)


def _end_with_parent() -> None:
    """Have the system stop pytest where this process is killed (Linux; elsewhere it goes on to its end)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _stopped(name: str, by: str) -> int:
    """Say so. Before a time limit Slurm queues the job again: the journal has what was answered."""
    _say(f"shard {name}: stopped ({by})")
    if by == _TIME_LIMIT_SIGNAL and "SLURM_JOB_ID" in os.environ:
        subprocess.run(["scontrol", "requeue", os.environ["SLURM_JOB_ID"]], check=False, timeout=60)
    return STOPPED


def _pytest(words: Sequence[str], stop: Stop) -> int:
    """Run pytest to its end and return its exit code, negative for a signal."""
    command = [sys.executable, "-m", "pytest", *words]
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True, preexec_fn=_end_with_parent)
    code = None
    while code is None and not stop.asked():
        with suppress(subprocess.TimeoutExpired):
            code = child.wait(_LOOK_S)
    if code == INTERRUPTED:  # maybe by the signal that comes to us as well
        time.sleep(_LOOK_S)
        stop.asked()
    if code is None:
        child.terminate()
        with suppress(subprocess.TimeoutExpired):
            code = child.wait(_GRACE_S)
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)  # what it leaves behind would hold a card, or the run's folder
    return child.wait() if code is None else code


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _say(text: str) -> None:
    print(f"needlework: {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
