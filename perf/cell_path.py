"""`python -m perf.cell_path [--draw FILE.svg]`: the path of one served cell through the program, counted and drawn.

Runs 60 cells of `niah` against a server process on loopback, in this process and under a profiler, and counts for each
phase the modules of ours in which code ran, function calls, hops (calls from one module of ours into another) and types
(classes of ours among arguments and return values). A further cell is the mean of ten cells in the middle of the run,
when as many prompts are built as answers are scored; its modules and types are those of all ten.
"""

import argparse
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tests.storm_server import storm_server

PACKAGE = "needlework."
CELLS = 60
FURTHER = range(30, 40)
# Folders from the top down, without `core`, which all others use throughout.
LANES = ("pytest_plugin", "pipeline", "haystack_fixtures", "models", "scoring", "results")
PHASES = ("start", "first cell", "further cell", "other cells", "end")


@dataclass
class Phase:
    """The code that ran in one phase: `modules` in the order in which they were first entered."""

    modules: dict[str, None] = field(default_factory=dict)
    calls: int = 0
    hops: int = 0
    types: set[str] = field(default_factory=set)


class PathCounter:
    """A pytest plugin that profiles every thread and assigns what it sees to the phase of the run."""

    def __init__(self) -> None:
        self.phases: dict[str, Phase] = defaultdict(Phase)
        self._phase = self.phases["start"]
        self._cells = 0

    def __enter__(self) -> "PathCounter":
        threading.setprofile(self._profile)
        sys.setprofile(self._profile)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        name = "first cell" if self._cells == 0 else "further cell" if self._cells in FURTHER else "other cells"
        self._phase = self.phases[name]
        try:
            return (yield)
        finally:
            self._cells += 1
            self._phase = self.phases["end" if self._cells == CELLS else "other cells"]

    def _profile(self, frame: FrameType, event: str, argument: Any) -> None:
        module = frame.f_globals.get("__name__", "")
        if event not in ("call", "return") or not module.startswith(PACKAGE):
            return
        phase = self._phase
        if event == "return":
            _add_type(phase, argument)
            return
        phase.modules.setdefault(module.removeprefix(PACKAGE))
        phase.calls += 1
        phase.hops += _calling_module(frame) != module
        code = frame.f_code
        for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
            _add_type(phase, frame.f_locals.get(name))


def _add_type(phase: Phase, value: object) -> None:
    kind = type(value)
    if kind.__module__.startswith(PACKAGE):
        phase.types.add(kind.__qualname__)


def _calling_module(frame: FrameType) -> str:
    """The module of ours that is nearest on the stack; empty where there is none."""
    caller = frame.f_back
    while caller is not None:
        name = str(caller.f_globals.get("__name__", ""))
        if name.startswith(PACKAGE):
            return name
        caller = caller.f_back
    return ""


def count_path(words: Sequence[str] = ()) -> dict[str, Phase]:
    """Run the cells and return what ran in each phase; `words`: further options of the run."""
    with storm_server(0.05) as server, tempfile.TemporaryDirectory() as folder:
        options = [
            *(
                "benchmarks/test_niah.py",
                "-q",
                "-p",
                "no:cacheprovider",
                "--preset=quick",
                "--lengths=500",
                "--depths=50",
            ),
            *(f"--repeats={CELLS}", "--concurrency=2", f"--base-url={server.url}", "--model=openai:gpt-4"),
            f"--results-dir={folder}",
        ]
        with PathCounter() as counter:
            code = pytest.main([*options, *words], plugins=[counter])
    if code != pytest.ExitCode.OK:
        raise SystemExit(f"the run ended with {code!r}")
    return counter.phases


def print_table(phases: dict[str, Phase]) -> None:
    print("| phase | modules | calls | hops | types |\n|---|---|---|---|---|")
    for name in PHASES:
        phase, cells = phases[name], len(FURTHER) if name == "further cell" else 1
        if name != "other cells":
            print(
                f"| {name} | {len(phase.modules)} | {phase.calls // cells:,} | {phase.hops // cells:,} |"
                f" {len(phase.types)} |"
            )
    loaded = {name for name in sys.modules if name.startswith(PACKAGE)}
    modules = {name for phase in phases.values() for name in phase.modules}
    print(f"whole run: code ran in {len(modules)} modules, {len(loaded)} loaded")
    print("further cell:", " > ".join(phases["further cell"].modules))


def draw_path(phase: Phase, path: Path) -> None:
    """Draw the modules of a phase from left to right as they are first entered, a lane for each folder."""
    from matplotlib.figure import Figure

    modules = [parts for name in phase.modules if (parts := name.split("."))[0] in LANES]
    lanes = [lane for lane in LANES if any(parts[0] == lane for parts in modules)]
    figure = Figure(figsize=(0.42 * len(modules) + 2, 0.9 * len(lanes) + 2.2))
    axes = figure.add_subplot()
    places = [(number, lanes.index(parts[0])) for number, parts in enumerate(modules)]
    axes.plot(
        *zip(*places, strict=True), color="#9db4c8", linewidth=1, marker="o", markersize=5, markerfacecolor="#20639b"
    )
    for (x, y), parts in zip(places, modules, strict=True):
        axes.annotate(
            ".".join(parts[1:]) or parts[0], (x, y), (4, -7), textcoords="offset points", rotation=-55, fontsize=7,
            va="top",
        )  # fmt: skip
    axes.set_yticks(range(len(lanes)), lanes)
    axes.set_ylim(len(lanes) + 0.4, -0.5)
    axes.set_xticks([])
    axes.set_title("One served cell: modules in the order in which they are first entered", loc="left", fontsize=10)
    for side in ("top", "right", "bottom"):
        axes.spines[side].set_visible(False)
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draw", type=Path, metavar="FILE.svg", help="draw a further cell's path")
    options, words = parser.parse_known_args()
    phases = count_path(words)
    print_table(phases)
    if options.draw:
        draw_path(phases["further cell"], options.draw)


if __name__ == "__main__":
    main()
