"""Models and workers: one copy of a model on a device, a GPU for each worker, a scheduler."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, cast

import pytest

from needlework.core.devices import gpus, places
from needlework.core.errors import InputError
from needlework.core.settings import Settings
from needlework.models.specs import is_served, runs_here
from needlework.pytest_plugin.run_state import run_state
from needlework.pytest_plugin.workers import use_one_process

if TYPE_CHECKING:
    from xdist.scheduler import LoadScopeScheduling


_INPUT = "needlework_gpu"


def limit_workers(config: pytest.Config, settings: Settings) -> None:
    """Cap `-n` at the devices for a local model's copies, or at the requests in flight. Raises `InputError`."""
    state, count = run_state(config), config.option.numprocesses
    local = [spec for spec in settings.model if runs_here(spec)]
    most, reason = 1, ""
    if further := further_option(settings):
        reason = f"{further} decides what is asked next"
    elif local:
        args = dict(word.partition("=")[::2] for word in settings.model_arg)
        cards, per_worker = gpus(), settings.gpus_per_worker
        if per_worker > 1 and "device_map" not in args:
            remedy = "spreads a model over its cards by --model-arg device_map=auto: give that too"
            raise InputError("--gpus-per-worker", per_worker, remedy)
        if per_worker > max(1, len(cards.names)):
            raise InputError("--gpus-per-worker", per_worker, f"this machine shows {len(cards.names)} cards")
        groups = places(args, cards, per_worker)
        most = len(groups)
        if most > 1:
            state.gpus, state.free_gpus = cards, [group for group in groups if group is not None]
            reason = f"one for each {'GPU' if per_worker == 1 else f'{per_worker} GPUs'}"
        else:
            reason = (
                f"a second copy of {local[0]} would only share its device; "
                "cells with equal beginnings are computed together instead"
            )
    elif any(map(is_served, settings.model)) and isinstance(count, int) and count > settings.concurrency:
        most = settings.concurrency  # a request in flight for each worker
        reason = f"--concurrency {most} lets no more requests be in flight"
    if not reason or (isinstance(count, int) and 1 < most >= count):
        return
    if most == 1:
        use_one_process(config)
    else:
        config.option.numprocesses = most
    state.workers_note = f"{'one process' if most == 1 else f'{most} workers'}, not -n {count}: {reason}"


def further_option(settings: Settings) -> str:
    """The option that names cells beyond those that were collected; empty without one."""
    return "--adaptive" if settings.adaptive else "--top-up" if settings.top_up else ""


def pytest_report_header(config: pytest.Config) -> str | None:
    note = run_state(config).workers_note
    return f"needlework: {note}" if note else None


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    # By lease, not by the worker's number: the worker that replaces a dead one has a number of its own.
    state = run_state(node.config)
    if state.gpus is not None and state.free_gpus:
        node.workerinput[_INPUT] = (state.gpus.variable, state.free_gpus.pop(0))


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    free = run_state(node.config).free_gpus
    if free is not None and _INPUT in getattr(node, "workerinput", {}):
        free.append(node.workerinput[_INPUT][1])


def pytest_configure(config: pytest.Config) -> None:
    # CUDA reads this once, when it starts: nothing may import torch before.
    if _INPUT in getattr(config, "workerinput", {}):
        variable, cards = cast("Any", config).workerinput[_INPUT]
        os.environ[variable] = cards


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling | None:
    """Cells of one haystack stay on one worker, in order; every other test is a unit of its own.

    Stock schedulers scatter such cells (`load`), or hang and repeat the crashing test after a worker dies
    (`loadscope`, `loadgroup`: pytest-xdist #1323, #1327, #1371, #1378).
    """
    if config.getvalue("dist") != "load":
        return None
    from needlework.pytest_plugin.scheduling import HaystackScheduling

    in_flight = run_state(config).in_flight
    return HaystackScheduling(config, log, max(2, in_flight // max(1, len(config.option.tx))))
