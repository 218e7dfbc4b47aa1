"""Print the tables of docs/statistics.md: `python -m perf.simulations [TABLE ...] [--times N]`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from itertools import product

import numpy as np

from needlework.results.statistics.effective_length import RULER_THRESHOLD
from perf.simulations import adaptive, differences, history, labels, wholes
from perf.simulations.intervals import (
    LIMITS,
    Covered,
    Make,
    Setting,
    any_share,
    covered,
    hard_ones_lost,
    looks,
    one_in_ten_lost,
    quarters,
    settings,
    tenths,
)
from perf.simulations.models import KINDS, hits

Row = tuple[object, ...]
_AGAIN = 20
_HEAD = ("mean held %", "worst held %", "where", "wrong pass, most %", "width")


def _means(times: int) -> Iterator[Row]:
    yield "samples", "settings", *_HEAD
    for samples in (2, 3, 4, 5, 8, 10, 15, 20, 40):
        yield _summary(samples, times, [covered(each, times) for each in settings(samples)])


def _more_depths(times: int) -> Iterator[Row]:
    yield "samples", "settings", *_HEAD
    for samples in (5, 10, 20):
        yield _summary(samples, times, [covered(each, times) for each in settings(samples, (33, 99))])


def _partial(times: int) -> Iterator[Row]:
    yield "scores", "samples", *_HEAD
    makes: tuple[tuple[str, Make], ...] = (("quarters", quarters), ("tenths", tenths), ("any share", any_share))
    for (name, make), samples in product(makes, (5, 10, 20, 40)):
        found = [covered(each, times, make) for each in settings(samples, (1, 5, 11))]
        yield name, samples, *_summary(samples, times, found, make)[2:]


def _missing(times: int) -> Iterator[Row]:
    yield "missing", "samples", *_HEAD
    keeps: tuple[tuple[str, Make], ...] = (
        ("any 1 in 10", one_in_ten_lost),
        ("hard ones, up to 3 in 10", hard_ones_lost),
    )
    for (name, keep), samples in product(keeps, (5, 10, 20)):
        found = [covered(each, times, hits, keep) for each in settings(samples, (5, 11))]
        yield name, samples, *_summary(samples, times, found, hits, keep)[2:]


def _summary(samples: int, times: int, found: list[Covered], make: Make = hits, keep: Make | None = None) -> Row:
    """The lowest of many noisy shares is low by chance: the five lowest are simulated again, with more data sets."""
    lowest = sorted(found, key=lambda each: each.held)[:5]
    again = [covered(each.setting, _AGAIN * times, make, keep, salt=1) for each in lowest]
    worst = min(again, key=lambda each: each.held)
    highest = max(found, key=lambda each: each.above)
    wrong = covered(highest.setting, _AGAIN * times, make, keep, salt=1).above
    mean, width = np.mean([each.held for each in found]), np.mean([each.width for each in found])
    return samples, len(found), _pct(mean), _pct(worst.held), worst.setting.words, _pct(wrong), f"{width:.2f}"


def _gates(times: int) -> Iterator[Row]:
    yield "first look", "settings", "wrong in all, mean %", "most %", "wrong pass, most %", "wrong fail, most %"
    for first in (5, 10):
        grid = product((*KINDS[:2], *KINDS[3:]), (1, 5, 11), LIMITS, (0.0, 0.1, 0.3, 0.5, 0.8, 0.99))
        found = [looks(kind, first, depths, limit, icc, times) for kind, depths, limit, icc in grid]
        both = [each.passed + each.failed for each in found]
        most = max(each.passed for each in found), max(each.failed for each in found)
        yield f"{first} samples", len(found), _pct(np.mean(both)), _pct(max(both)), *map(_pct, most)


def _paired(times: int) -> Iterator[Row]:
    yield (
        "samples",
        "settings",
        "mean held %",
        "worst held %",
        "false verdict, most %",
        "p < 5 %, most",
        "width",
        "worst",
    )
    for samples, of in ((5, 1), (8, 1), (10, 1), (20, 1), (40, 1), (10, 4), (40, 4)):
        found = [(each[0], differences.compared(samples, *each, times, of=of)) for each in differences.settings()]
        equal = [each for scores, each in found if scores[0] == scores[1]]
        worst = min((each for _, each in found), key=lambda each: each.held)
        yield (
            f"{samples}{' (quarters)' if of > 1 else ''}", len(found), _pct(np.mean([each.held for _, each in found])),
            _pct(worst.held), _pct(max(each.verdicts for each in equal)), _pct(max(each.significant for each in equal)),
            f"{np.mean([each.width for _, each in found]):.2f}", worst.words,
        )  # fmt: skip


def _drops(times: int) -> Iterator[Row]:
    yield "drop", "samples a look x depths", "wrong pass %", "wrong fail %"
    for drop, (samples, depths), spread in product((0.05, 0.1), ((10, 5), (20, 1), (10, 11)), (0.0, 1.5)):
        passed, failed = differences.drop_looks(samples, drop, spread, depths, times)
        yield f"{drop}, sd {spread:g}", f"{samples} x {depths}", _pct(passed), _pct(failed)


def _flat(times: int) -> Iterator[Row]:
    yield "flat at, samples", "5 depths: named %", "11 depths: named %"
    for mean, samples in product((0.5, 0.6, 0.8, 0.9, 0.95, 0.98), (5, 10, 20, 40)):
        found = [
            labels.named(labels.labels(lambda _, mean=mean: mean, samples, depths, times))
            for depths in (labels.FIVE, labels.ELEVEN)
        ]
        yield f"{mean}, {samples}", *map(_pct, found)
    for samples in (10, 20):
        lucky = [labels.luck(samples, depths, max(1, times // 4)) for depths in (labels.FIVE, labels.ELEVEN)]
        yield f"luck shared by 4 lengths, {samples}", *map(_pct, lucky)


def _labels(times: int) -> Iterator[Row]:
    yield "truth", "samples", "5 depths", "11 depths"
    for truth, curve in labels.TRUTHS.items():
        for samples in (10, 20, 40):
            told = [_told(labels.labels(curve, samples, depths, times)) for depths in (labels.FIVE, labels.ELEVEN)]
            yield truth, samples, *told


def _random_depths(times: int) -> Iterator[Row]:
    yield "truth", "samples", "labels"
    for truth, curve in (("flat .85", lambda _: 0.85), ("V .95 > .5", lambda depth: 0.5 + 0.45 * abs(depth - 50) / 50)):
        for samples in (40, 100, 200):
            yield truth, samples, _told(labels.labels(curve, samples, labels.FIVE, times, random=True))


def _told(found: labels.Counter[str]) -> str:
    total = sum(found.values())
    return ", ".join(f"{shape} {round(100 * count / total)}" for shape, count in found.most_common(4))


def _lengths(times: int) -> Iterator[Row]:
    yield "samples x depths", "ICC 0", "ICC .6", "ICC .95"
    for samples, depths in ((3, 11), (5, 11), (10, 5), (10, 11), (20, 11)):
        shares = []
        for icc in (0.0, 0.6, 0.95):
            found = _certified(Setting("beta", samples, depths, 0.8, icc), times)
            shares.append(_pct(found))
        yield f"{samples} x {depths}, truth .8, bar .856", *shares
    for samples, depths in ((10, 5), (20, 5), (40, 5)):
        shares = [_pct(differences.relative(samples, 0.85, spread, depths, times)) for spread in (0.0, 1.5, 4.0)]
        yield f"{samples} x {depths}, just at 85 % of a base of the same samples (sd 0, 1.5, 4)", *shares


def _certified(setting: Setting, times: int) -> float:
    from needlework.results.statistics.intervals import exact_ends
    from perf.simulations.intervals import counts_of_data
    from perf.simulations.models import chances

    rng = np.random.default_rng([setting.samples, setting.depths, round(100 * setting.icc)])
    wrong = 0
    for _ in range(times):
        chance = chances(rng, setting.kind, setting.samples, setting.depths, setting.mean, setting.icc)
        wrong += exact_ends(counts_of_data(hits(rng, chance)))[0] >= RULER_THRESHOLD
    return wrong / times


def _adaptive(times: int) -> Iterator[Row]:
    yield "model", "scores", "wrong %", "Mtok", "saved against the full grid", "width", "turns"
    full = 110 * sum(adaptive.LENGTHS)
    for (name, curve), (kind, draw) in product(adaptive.LEAST_FAVOURABLE.items(), adaptive.DRAWS.items()):
        yield name, kind, *_walked(adaptive.adaptive(curve, times, draw=draw), full)


def _adaptive_modes(times: int) -> Iterator[Row]:
    head = ("wrong %", "worst model", "Mtok", "saved", "median", "width", "one doubling %", "turns")
    yield "43 models of RULER's table", *head
    curves = adaptive.ruler_curves()
    for lengths in (adaptive.LENGTHS[:6], adaptive.LENGTHS):
        full, upto = 110 * sum(lengths), f"4k to {'1M' if len(lengths) > 6 else '128k'}"
        for mode in adaptive.MODES:
            draw = adaptive.middle_lost
            found = [adaptive.adaptive(curve, times, mode, draw, lengths) for curve in curves]
            yield f"{upto}: {mode}", *_together(found, full)
        for samples, spread in ((1, False), (3, False), (10, False), (110, True)):
            few = max(1, times // 5)
            grids = [adaptive.grid(curve, few, samples, spread=spread, lengths=lengths) for curve in curves]
            words = f"{samples} samples at one depth each" if spread else f"{samples} x 11 depths"
            yield f"{upto}: full grid, {words}", *_together(grids, full)
        found = [
            adaptive.grid(curve, few, 110, spread=True, lengths=lengths, stop_at_first_fail=True) for curve in curves
        ]
        yield f"{upto}: 110 samples a length, up to the first that fails", *_together(found, full)
    found = [adaptive.adaptive_share(curve, times) for curve in curves]
    yield "4k to 1M: normal, relative bar", *_together(found, 110 * sum(adaptive.LENGTHS))


def _history(times: int) -> Iterator[Row]:
    yield "runs", "samples", "false change, most %", "found %", "at its place %", "one that is none beside it, most %"
    for runs, samples in product(history.RUNS, history.SAMPLES):
        found = [history.told(runs, samples, mean, trials, times) for mean, trials in history.SETTINGS]
        means = [np.mean([getattr(each, name) for each in found]) for name in ("found", "placed")]
        most = [max(getattr(each, name) for each in found) for name in ("false", "misplaced")]
        yield runs, samples, _pct(most[0]), *map(_pct, means), _pct(most[1])


def _walked(found: adaptive.Simulated, full: float) -> Row:
    tokens = f"{found.tokens / 1e6:.1f}"
    return _pct(found.wrong), tokens, f"{full / found.tokens:.1f} x", f"{found.width:.2f}", f"{found.turns:.0f}"


def _together(found: Sequence[adaptive.Simulated], full: float) -> Row:
    tokens = [each.tokens for each in found]
    return (
        _pct(np.mean([each.wrong for each in found])), _pct(max(each.wrong for each in found)),
        f"{np.mean(tokens) / 1e6:.1f}", f"{full / np.mean(tokens):.1f} x", f"{full / np.median(tokens):.1f} x",
        f"{np.mean([each.width for each in found]):.2f}", _pct(np.mean([each.narrow for each in found])),
        f"{np.mean([each.turns for each in found]):.0f}",
    )  # fmt: skip


def _pct(share: float) -> str:
    return f"{100 * float(share):.1f}"


TABLES: dict[str, tuple[Callable[[int], Iterator[Row]], float]] = {
    "means": (_means, 1.0), "depths": (_more_depths, 1.0), "partial": (_partial, 1.0), "missing": (_missing, 1.0),
    "gates": (_gates, 1.0), "paired": (_paired, 1.0), "drops": (_drops, 2.0), "labels": (_labels, 0.5),
    "flat": (_flat, 2.5), "macros": (wholes.macros, 1.0), "lower-bounds": (wholes.lower_bounds, 1.0),
    "random-depths": (_random_depths, 0.5), "lengths": (_lengths, 5.0),
    "history": (_history, 1.0), "adaptive": (_adaptive, 2.0), "adaptive-modes": (_adaptive_modes, 0.05),
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
