"""llama.cpp's own server out of the Python package xllamacpp, with llama-server's names of options.

A program of its own: `python xllamacpp_server.py --model FILE.gguf --port N [--ctx-size N] ...`. An option beyond those
of the table below is a field of xllamacpp's `CommonParams`, with dashes or underscores: `--rope-freq-scale 0.5`.
"""

import os
import signal
import sys
import time
from enum import Enum
from typing import Any

_FIELDS = {
    "model": "model.path", "host": "hostnames", "alias": "model_alias", "threads": "cpuparams.n_threads",
    "ctx-size": "n_ctx", "parallel": "n_parallel", "batch-size": "n_batch", "ubatch-size": "n_ubatch",
    "flash-attn": "flash_attn_type", "context-shift": "ctx_shift", "gpu-layers": "n_gpu_layers",
    "rope-scaling": "rope_scaling_type",
}  # fmt: skip
_WORDS = {"on": "enabled", "off": "disabled"}  # llama-server's words for names of llama.cpp's types


def main(words: list[str]) -> int:
    """Serve until a signal comes; 2 for an option that is wrong."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.warmup = False
    # Threads beyond the cores wait for each other.
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    params.cpuparams.n_threads = cores
    try:
        for name, value in options(words):
            put(params, name, value)
        params.cpuparams_batch.n_threads = params.cpuparams.n_threads
        _server = xllamacpp.Server(params)
    except (ValueError, RuntimeError) as error:
        print(f"error: {error}", flush=True)
        return 2 if isinstance(error, ValueError) else 1
    for number in (signal.SIGTERM, signal.SIGINT):  # its own end would wait for its prompt
        signal.signal(number, lambda *_: os._exit(0))
    while True:
        time.sleep(1)  # a signal is seen between two of these


def options(words: list[str]) -> list[tuple[str, str | None]]:
    """`--name value --flag` as pairs."""
    pairs: list[tuple[str, str | None]] = []
    for word in words:
        if word.startswith("--"):
            pairs.append((word.removeprefix("--"), None))
        elif pairs and pairs[-1][1] is None:
            pairs[-1] = (pairs[-1][0], word)
        else:
            raise ValueError(f"{word!r} belongs to no option")
    return pairs


def put(params: Any, name: str, value: str | None) -> None:
    """Set one option. `no-NAME` sets NAME to false."""
    path = _FIELDS.get(name, name.replace("-", "_"))
    if value is None and not hasattr(params, path) and name.startswith("no-"):
        put(params, name.removeprefix("no-"), "false")
        return
    outer, _, field = path.rpartition(".")
    holder = getattr(params, outer) if outer else params
    if not hasattr(holder, field):
        raise ValueError(f"there is no option --{name}")
    if name == "chat-template":
        params.use_jinja = "{" in str(value)  # else it is the name of a template that llama.cpp knows
    setattr(holder, field, typed(name, getattr(holder, field), value))


def typed(name: str, now: object, value: str | None) -> object:
    """The value as the kind of thing that the option holds now."""
    if value is None and not isinstance(now, bool):
        raise ValueError(f"--{name} needs a value")
    if isinstance(now, Enum):
        word = _WORDS.get(value or "", value or "").upper()
        for member in type(now):
            if member.name.endswith(f"_{word}"):
                return member
        raise ValueError(f"--{name}: there is no type {value!r} among llama.cpp's {type(now).__name__}")
    kind: type[Any] = type(now)
    if kind in (list, set):
        return kind([value])
    try:
        return {"true": True, "false": False}[value or "true"] if kind is bool else kind(value)
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"--{name}: {value!r} is no {kind.__name__}") from None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
