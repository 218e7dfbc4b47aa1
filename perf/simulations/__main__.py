"""Print the tables of docs/statistics.md: `python -m perf.simulations [TABLE ...] [--times N]`."""

import argparse
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import SupportsFloat

import numpy as np

from perf.simulations import adaptive, coverage, history, labels
from perf.simulations.models import KINDS

Row = tuple[object, ...]
_AGAIN = 20


def _means(times: int) -> Iterator[Row]:
    """Coverage of means. The five lowest of many noisy shares are simulated again, with more data."""
    yield "samples", "settings", "mean held %", "worst held %", "where", "wrong pass, most %", "width"
    for samples in (2, 3, 4, 5, 8, 10, 15, 20, 40):
        every = [coverage.covered(each, times) for each in coverage.settings(samples)]
        lowest = sorted(every, key=lambda row: row.held)[:5]
        again = [coverage.covered(each.setting, _AGAIN * times, salt=1) for each in lowest]
        worst = min(again, key=lambda row: row.held)
        highest = max(every, key=lambda row: row.above)
        wrong = coverage.covered(highest.setting, _AGAIN * times, salt=1).above
        mean, width = np.mean([each.held for each in every]), np.mean([each.width for each in every])
        shares = _pct(mean), _pct(worst.held), worst.setting.words, _pct(wrong)
        yield samples, len(every), *shares, f"{width:.2f}"


def _gates(times: int) -> Iterator[Row]:
    yield "first look", "settings", "wrong in all, mean %", "most %", "wrong pass, most %", "wrong fail, most %"
    for first in (5, 10):
        grid = product((*KINDS[:2], *KINDS[3:]), (1, 5, 11), coverage.LIMITS, (0.0, 0.1, 0.3, 0.5, 0.8, 0.99))
        gates = [coverage.looks(kind, first, depths, limit, icc, times) for kind, depths, limit, icc in grid]
        both = [each.passed + each.failed for each in gates]
        most = max(each.passed for each in gates), max(each.failed for each in gates)
        yield f"{first} samples", len(gates), _pct(np.mean(both)), _pct(max(both)), *map(_pct, most)


def _same(mean: float, _depth: float) -> float:
    return mean


def _flat(times: int) -> Iterator[Row]:
    yield "flat at, samples", "5 depths: named %", "11 depths: named %"
    for mean, samples in product((0.5, 0.6, 0.8, 0.9, 0.95, 0.98), (5, 10, 20, 40)):
        shapes = [labels.labels(partial(_same, mean), samples, depths, times) for depths in labels.GRIDS]
        yield f"{mean}, {samples}", *(_pct(labels.named(each)) for each in shapes)
    for samples in (10, 20):
        lucky = [labels.luck(samples, depths, max(1, times // 4)) for depths in labels.GRIDS]
        yield f"luck shared by 4 lengths, {samples}", *map(_pct, lucky)


def _labels(times: int) -> Iterator[Row]:
    yield "truth", "samples", "5 depths", "11 depths"
    for (truth, curve), samples in product(labels.TRUTHS.items(), (10, 20, 40)):
        shapes = [labels.labels(curve, samples, depths, times) for depths in labels.GRIDS]
        words = [[f"{name} {round(100 * n / times)}" for name, n in each.most_common(4)] for each in shapes]
        yield truth, samples, *map(", ".join, words)


def _adaptive(times: int) -> Iterator[Row]:
    yield "model", "scores", "wrong %", "Mtok", "saved against the full grid", "width", "turns"
    full = 110 * sum(adaptive.LENGTHS)
    for (name, curve), (kind, draw) in product(adaptive.LEAST_FAVOURABLE.items(), adaptive.DRAWS.items()):
        run = adaptive.adaptive(curve, times, draw=draw)
        saved = f"{run.tokens / 1e6:.1f}", f"{full / run.tokens:.1f} x"
        yield name, kind, _pct(run.wrong), *saved, f"{run.width:.2f}", f"{run.turns:.0f}"


def _adaptive_modes(times: int) -> Iterator[Row]:
    head = ("wrong %", "worst model", "Mtok", "saved", "median", "width", "one doubling %", "turns")
    yield "43 models of RULER's table", *head
    curves, few = adaptive.ruler_curves(), max(1, times // 5)
    for lengths in (adaptive.LENGTHS[:6], adaptive.LENGTHS):
        full, limit = 110 * sum(lengths), f"4k to {'1M' if len(lengths) > 6 else '128k'}"
        for mode in adaptive.MODES:
            runs = [adaptive.adaptive(curve, times, mode, adaptive.middle_lost, lengths) for curve in curves]
            yield f"{limit}: {mode}", *_together(runs, full)
        for samples, spread, stop in ((1, False, False), (3, False, False), (10, False, False), (110, True, False),
                                      (110, True, True)):  # fmt: skip
            options = {"spread": spread, "stop_at_first_fail": stop}
            grids = [adaptive.grid(curve, few, samples, lengths=lengths, **options) for curve in curves]
            words = f"full grid, {f'{samples} samples at one depth each' if spread else f'{samples} x 11 depths'}"
            words = "110 samples a length, up to the first that fails" if stop else words
            yield f"{limit}: {words}", *_together(grids, full)
    runs = [adaptive.adaptive_share(curve, times) for curve in curves]
    yield "4k to 1M: normal, relative bar", *_together(runs, 110 * sum(adaptive.LENGTHS))


def _history(times: int) -> Iterator[Row]:
    yield "runs", "samples", "false change, most %", "found %", "at its place %", "one that is none beside it, most %"
    for runs, samples in product(history.RUNS, history.SAMPLES):
        series = [history.detection_rates(runs, samples, mean, trials, times) for mean, trials in history.SETTINGS]
        means = [np.mean([getattr(each, name) for each in series]) for name in ("found", "placed")]
        most = [max(getattr(each, name) for each in series) for name in ("false", "misplaced")]
        yield runs, samples, _pct(most[0]), *map(_pct, means), _pct(most[1])


def _together(runs: Sequence[adaptive.Simulated], full: float) -> Row:
    tokens = [each.tokens for each in runs]
    return (
        _pct(np.mean([each.wrong for each in runs])), _pct(max(each.wrong for each in runs)),
        f"{np.mean(tokens) / 1e6:.1f}", f"{full / np.mean(tokens):.1f} x", f"{full / np.median(tokens):.1f} x",
        f"{np.mean([each.width for each in runs]):.2f}", _pct(np.mean([each.narrow for each in runs])),
        f"{np.mean([each.turns for each in runs]):.0f}",
    )  # fmt: skip


def _pct(share: SupportsFloat) -> str:
    return f"{100 * float(share):.1f}"


TABLES: dict[str, tuple[Callable[[int], Iterator[Row]], float]] = {
    "means": (_means, 1.0), "gates": (_gates, 1.0), "labels": (_labels, 0.5),
    "flat": (_flat, 2.5), "history": (_history, 1.0), "adaptive": (_adaptive, 2.0),
    "adaptive-modes": (_adaptive_modes, 0.05),
}  # fmt: skip
"""Each with its number of data sets a setting, as a multiple of `--times`."""


def main() -> None:
    """Print the tables as Markdown."""
    parser = argparse.ArgumentParser(prog="python -m perf.simulations", description=__doc__)
    parser.add_argument(
        "tables", nargs="*", choices=[[], *TABLES], metavar="TABLE", help=f"of {', '.join(TABLES)} [all]"
    )
    parser.add_argument("--times", type=int, default=400, help="data sets a setting [400]")
    options = parser.parse_args()
    for name in options.tables or TABLES:
        rows, factor = TABLES[name]
        times = max(1, round(factor * options.times))
        print(f"\n{name}, {times} data sets a setting\n")
        for at, row in enumerate(rows(times)):
            print(f"| {' | '.join(map(str, row))} |", flush=True)
            if at == 0:
                print(f"|{'---|' * len(row)}")


if __name__ == "__main__":
    main()
