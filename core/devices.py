"""Devices of this machine, and shards of a run."""

import os
import platform
import subprocess
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from heapq import heapify, heapreplace
from pathlib import Path
from typing import TypeVar

from needlework.core.grid import Cell

# What says which cards a process may use, in the order in which it is looked for: CUDA's, and AMD's two.
VISIBLE = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
_AMD_NODES = Path("/sys/class/kfd/kfd/topology/nodes")  # of AMD's driver; a CPU's gpu_id is 0


@dataclass(frozen=True, slots=True)
class Gpus:
    """The cards that this process may use, as the environment variable `variable` names them."""

    names: tuple[str, ...] = ()
    variable: str = VISIBLE[0]


def gpus(environment: Mapping[str, str] = os.environ) -> Gpus:
    """The cards of the caller's environment variable, else all that `nvidia-smi` or AMD's driver lists."""
    for variable in VISIBLE:
        if variable in environment:
            named = tuple(word.strip() for word in environment[variable].split(",") if word.strip())
            # CUDA ignores everything from the first device that is not there on.
            return Gpus(named[: named.index("-1")] if "-1" in named else named, variable)
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=20, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return Gpus(tuple(map(str, range(_amd_cards()))), VISIBLE[1])
    count = sum(line.startswith("GPU ") for line in listed.splitlines())
    return Gpus(tuple(map(str, range(count))))


def _amd_cards() -> int:
    count = 0
    for path in _AMD_NODES.glob("*/gpu_id"):
        with suppress(OSError):
            count += path.read_text(encoding="ascii").strip() != "0"
    return count


def device_kind(device: str | None) -> str:
    """`cuda`, `mps` or `cpu`: where a local model runs when `--model-arg device` is `device`."""
    if device is not None:
        return device.partition(":")[0]
    if gpus().names:
        return "cuda"
    return "mps" if platform.system() == "Darwin" and platform.machine() == "arm64" else "cpu"


def places(model_args: Mapping[str, str], available: Gpus, per_worker: int = 1) -> tuple[str | None, ...]:
    """The cards of each worker's copy of a local model, `0` or `0,1`; `None` for the only device.

    A CPU is one place: a second copy would only share its cores. So is a model spread over all cards (`device_map`),
    unless it is to have `per_worker` of them; cards that make no whole group are left idle.
    """
    device = model_args.get("device")
    spread = "device_map" in model_args and per_worker == 1
    if spread or not available.names or (device is not None and device != "cuda"):
        return (None,)
    groups = len(available.names) // per_worker
    return tuple(",".join(available.names[at * per_worker : (at + 1) * per_worker]) for at in range(groups)) or (None,)


def free_cores() -> int:
    """Cores that this process may use and that others leave idle, at least one.

    Threads beyond the idle cores wait for each other: a prefill took six times as long so (performance.md, C).
    """
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    allowed = min(allowed, _quota() or allowed)
    import psutil

    busy = round(psutil.cpu_percent(interval=0.1) / 100 * (os.cpu_count() or 1))
    return max(1, min(allowed, (os.cpu_count() or 1) - busy))


def _quota() -> int | None:
    """The control group's limit in whole cores, where there is one."""
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
        return max(1, int(quota) // int(period)) if quota != "max" else None
    except (OSError, ValueError):
        return None


# Every process of every shard divides the same cells in the same way, and none has to know of the others.

# Tokens at which attention costs as much as everything else: from there on a prompt's cost grows with its square.
_EVEN = 32_768

Item = TypeVar("Item", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Shard:
    """Shard `number` of `of`, counted from 1."""

    number: int
    of: int

    @property
    def name(self) -> str:
        """The name of its folder: `2-of-4`."""
        return f"{self.number}-of-{self.of}"

    def __str__(self) -> str:
        return f"{self.number} of {self.of}"


def shard_named(text: str) -> Shard:
    """The shard that `--shard` named, `2/4`."""
    number, of = text.split("/")
    return Shard(int(number), int(of))


def shared_out(cells: Iterable[Cell], of: int) -> dict[str, int]:
    """Return the number, from 1, of the shard that asks each haystack (`Cell.haystack_id`).

    The costliest haystack goes to the shard that has least so far: longest processing time first (Graham 1969), at most
    4/3 of the best that there is. Whole numbers only, and ties by name, so that any machine comes to the same.
    """
    costs: dict[str, int] = {}
    for cell in set(cells):
        costs[cell.haystack_id] = costs.get(cell.haystack_id, 0) + cell.length * (_EVEN + cell.length)
    loads = [(0, number) for number in range(1, of + 1)]
    heapify(loads)
    shard_of: dict[str, int] = {}
    for haystack in sorted(costs, key=lambda haystack: (-costs[haystack], haystack)):
        load, number = loads[0]
        shard_of[haystack] = number
        heapreplace(loads, (load + costs[haystack], number))
    return shard_of


@dataclass(frozen=True, slots=True)
class Division:
    """A shard's part of the selected tests."""

    shard: Shard
    counts: tuple[int, ...]  # tests of each shard's cells, by its number - 1
    selection: str  # a hash of all that was selected, the same in every shard of a run


def divided(shard: Shard, tests: Mapping[Item, Cell | None], names: Sequence[str]) -> tuple[frozenset[Item], Division]:
    """Return the tests that a shard runs, and its division.

    `tests`: every selected test with its cell; `names`: the node ids of those with a cell. Tests of one cell stay
    together, for they share its answer. A test that has none, and leaves no record, is run by the first shard.
    """
    shard_of = shared_out((cell for cell in tests.values() if cell is not None), shard.of)
    number_of = {test: 1 if cell is None else shard_of[cell.haystack_id] for test, cell in tests.items()}
    counts = [0] * shard.of
    for test, cell in tests.items():
        counts[number_of[test] - 1] += cell is not None
    # Without folders: the same tests may lie elsewhere on another machine.
    listed = "\n".join(sorted(name.rpartition("/")[2] for name in names)).encode("utf-8", "surrogatepass")
    mine = frozenset(test for test, number in number_of.items() if number == shard.number)
    return mine, Division(shard, tuple(counts), sha256(listed).hexdigest()[:16])
