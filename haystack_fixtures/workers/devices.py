"""What a local model can run on, told without importing torch: a worker must be given its GPU before CUDA starts."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

VISIBLE = "CUDA_VISIBLE_DEVICES"


def gpus(environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """The GPUs that this process may use, as `CUDA_VISIBLE_DEVICES` names them.

    The caller's own `CUDA_VISIBLE_DEVICES` is the whole of it; without one, all that `nvidia-smi` lists.
    """
    if VISIBLE in environment:
        named = tuple(word.strip() for word in environment[VISIBLE].split(",") if word.strip())
        # CUDA ignores everything from the first device that is not there on.
        return named[: named.index("-1")] if "-1" in named else named
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=20, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ()
    return tuple(str(i) for i, line in enumerate(line for line in listed.splitlines() if line.startswith("GPU ")))


def device_kind(asked: str | None) -> str:
    """`cuda`, `mps` or `cpu`: where a local model runs when `--model-arg device` is `asked`."""
    if asked is not None:
        return asked.partition(":")[0]
    if gpus():
        return "cuda"
    return "mps" if platform.system() == "Darwin" and platform.machine() == "arm64" else "cpu"


def places(model_args: Mapping[str, str], available: Sequence[str]) -> tuple[str | None, ...]:
    """Where copies of a local model can stand, one worker each: names of GPUs, or `None` for the one place there is.

    A CPU is one place: a second copy would only share its cores. So is a model spread over all GPUs (`device_map`).
    """
    device = model_args.get("device")
    if "device_map" in model_args or not available or (device is not None and device != "cuda"):
        return (None,)
    return tuple(available)


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
