"""Facts of a run: how it was made, latency, stability."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, TypeGuard

import numpy as np

from needlework.core.record import SCORED, UNDECIDED, Record, RepeatedAnswer, Timing
from needlework.results.records.samples import grouped
from needlework.results.style import fit, one_line

_LONGEST = 200  # columns of a value
# Facts of a model in the order in which people ask for them; others follow by name.
_FIRST = (
    "window", "dtype", "rope", "rope_scaling", "quantization", "server", "base_url", "device", "attn_implementation",
    "cache", "sharing", "decoding", "weights_sha256", "template_sha256",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What is known of a model: names and values. `short`: those that a reader must know, in one line."""

    name: str
    facts: tuple[tuple[str, str], ...]

    @property
    def short(self) -> str:
        """`window 8,192 tokens · float32 · cpu`."""
        known = dict(self.facts)
        parts = [f"window {known['window']} tokens"] if known.get("window") else []
        parts += [known[name] for name in ("dtype", "device") if known.get(name)]
        parts += [f"{name} {known[name]}" for name in ("rope", "rope_scaling", "quantization") if known.get(name)]
        parts += [fit(known[name], 60, "…") for name in ("server", "base_url") if known.get(name)]
        return " · ".join(parts)


@dataclass(frozen=True, slots=True)
class RunFacts:
    """`name`: the run's folder; `command`: as it was typed, secrets left out; `seconds`: of one trial on average, 0
    where nobody knows; `models`: a row of facts each; `versions`: of the programs that took part; `told`: the
    manifest itself."""

    name: str
    started: str
    commit: str
    command: tuple[str, ...]
    seconds: float
    models: tuple[ModelFacts, ...]
    versions: tuple[tuple[str, str], ...]
    told: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def option(self, name: str) -> Any:
        """An option of the run; `None` where it had none, or the manifest does not say."""
        return _object(self.told, "options").get(name)


def run_facts(manifest: Mapping[str, Any], name: str) -> RunFacts:
    """Read a manifest; whatever it lacks is empty."""
    pace = _object(manifest, "pace")
    trials, seconds = pace.get("trials"), pace.get("seconds")
    known = isinstance(trials, (int, float)) and isinstance(seconds, (int, float)) and trials > 0
    return RunFacts(
        name=one_line(name),
        started=_text(manifest.get("started")),
        commit=_text(manifest.get("commit")),
        command=_words(manifest.get("command")),
        seconds=float(seconds) / float(trials) if known else 0.0,  # type: ignore[arg-type]  # numbers, as was looked
        models=tuple(ModelFacts(one_line(model), _facts(told)) for model, told in _object(manifest, "models").items()),
        versions=tuple((one_line(key), _text(each)) for key, each in _object(manifest, "versions").items()),
        told=manifest,
    )


def command_words(facts: RunFacts, repeats: int) -> str:
    """The command that asks so many repeats in all, under the name of the run: nothing is asked twice."""
    words = list(_without(facts.command[1:], ("--repeats", "--run-name"), ("--fresh",)))
    if not facts.command or facts.command[0] not in ("pytest", "py.test", "__main__.py"):
        return ""
    return " ".join(map(_quoted, ["pytest", *words, "--repeats", str(repeats), "--run-name", facts.name]))


def _without(words: Sequence[str], valued: Sequence[str], flags: Sequence[str]) -> Iterator[str]:
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in valued:
            skip = True
        elif word not in flags and not word.startswith(tuple(f"{name}=" for name in valued)):
            yield word


def _quoted(word: str) -> str:
    plain = word and all(char.isalnum() or char in "-_./:=,@%+" for char in word)
    return word if plain else "'" + word.replace("'", "'\\''") + "'"


def _facts(told: object) -> tuple[tuple[str, str], ...]:
    if not isinstance(told, Mapping):
        return ()
    order = {name: at for at, name in enumerate(_FIRST)}
    names = sorted((str(name) for name in told), key=lambda name: (order.get(name, len(order)), name))
    return tuple((one_line(name), text) for name in names if (text := _text(told[name])))


def _object(manifest: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = manifest.get(name)
    return found if isinstance(found, Mapping) else {}


def _words(value: object) -> tuple[str, ...]:
    return tuple(one_line(str(word)) for word in value) if isinstance(value, (list, tuple)) else ()


def _text(value: object) -> str:
    if value is None or value in ("", [], {}):
        return ""
    return fit(
        one_line(f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)), _LONGEST, "…"
    )


# A request that failed has no latency worth comparing: a timeout would only show the timeout.
_ANSWERED = frozenset({*SCORED, *UNDECIDED})


@dataclass(frozen=True, slots=True)
class Times:
    """Median and 95th percentile (linear between values) of `n` measurements."""

    n: int
    median: float
    p95: float


@dataclass(frozen=True, slots=True)
class LatencyRow:
    """The answered requests of a model at one length (tokens).

    `latency_s`: seconds to the last token; `ttft_s`: to the first; `token_s`: of each further token; `None` where
    nobody measured it. `tokens_per_s`: 1 / the median of `token_s`. `cached`: share of the prompts' tokens, 0..1, that
    a cache held. `earlier`: how many of the answers are of an earlier session.
    """

    model: str
    length: int
    n: int
    latency_s: Times
    ttft_s: Times | None
    token_s: Times | None
    tokens_per_s: float | None
    cached: float
    earlier: int


def latency_rows(records: Iterable[Record]) -> tuple[LatencyRow, ...]:
    """A row for each model and length, sorted; none where nothing was measured."""
    measured = [record for record in records if latency_of(record) is not None]
    groups = grouped(measured, lambda record: (record.model, record.length))
    return tuple(_row(*key, groups[key]) for key in sorted(groups))


def latency_of(record: Record) -> float | None:
    """Seconds to the last token of an answered request; `None` for others, and where nobody measured it."""
    return _positive(record, "latency_s") if record.outcome in _ANSWERED else None


def ttft_of(record: Record) -> float | None:
    """Seconds to the first token of an answered request."""
    return _positive(record, "ttft_s") if record.outcome in _ANSWERED else None


def token_of(record: Record) -> float | None:
    """Seconds of each token after the first of an answered request."""
    rate = _positive(record, "tokens_per_s") if record.outcome in _ANSWERED else None
    return 1 / rate if rate else None


def _positive(record: Record, name: str) -> float | None:
    value = getattr(record.timing, name)
    return float(value) if _measured(value) else None


def _measured(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and isfinite(value) and value > 0


def _row(model: str, length: int, records: Sequence[Record]) -> LatencyRow:
    timings = [record.timing for record in records]
    whole = _times(timings, "latency_s")
    assert whole is not None  # every one of them was measured
    token = _times(timings, "tokens_per_s", lambda rate: 1 / float(rate))
    prompts = sum([record.prompt.tokens or 0 for record in records])
    cached = sum([timing.cached_tokens or 0 for timing in timings])
    return LatencyRow(
        model=model,
        length=length,
        n=len(records),
        latency_s=whole,
        ttft_s=_times(timings, "ttft_s"),
        token_s=token,
        tokens_per_s=1 / token.median if token else None,
        cached=min(1.0, cached / prompts) if prompts else 0.0,
        earlier=sum([timing.replayed for timing in timings]),
    )


def _times(timings: Sequence[Timing], name: str, measure: Callable[[float], float] = float) -> Times | None:
    """Of answered requests, what `measure` makes of one of their times."""
    values = [value for timing in timings if (value := getattr(timing, name)) is not None]
    found = [measure(value) for value in values if _measured(value)]
    if not found:
        return None
    median, p95 = np.percentile(found, (50, 95))
    return Times(len(found), float(median), float(p95))


@dataclass(frozen=True, slots=True)
class Flips:
    """Answers to prompts that had been asked before. `texts` and `scores`: how many differed from the first answer's.

    `unanswered`: errors, which say nothing about stability and are not among `asked`.
    """

    asked: int = 0
    texts: int = 0
    scores: int = 0
    unanswered: int = 0

    def __add__(self, other: Flips) -> Flips:
        return Flips(
            self.asked + other.asked,
            self.texts + other.texts,
            self.scores + other.scores,
            self.unanswered + other.unanswered,
        )


@dataclass(frozen=True, slots=True)
class Stability:
    """The probe's result: cells asked again, flips in all and by how they were asked, ids of cells with a flip."""

    cells: int
    flips: Flips
    by_how: dict[str, Flips]
    flipped: tuple[str, ...]


def stability_of(records: Iterable[Record]) -> Stability | None:
    """Sum up the probe; `None` when no cell was asked again."""
    cells, by_how, flipped = 0, dict[str, Flips](), list[str]()
    for record in records:
        again = record.details.stability
        if not again:
            continue
        cells += 1
        found = [(each.how, _flips(record, each)) for each in again]
        for how, flips in found:
            by_how[how] = by_how.get(how, Flips()) + flips
        if any(flips.texts for _, flips in found):
            flipped.append(record.id)
    return Stability(cells, sum(by_how.values(), Flips()), by_how, tuple(flipped)) if cells else None


def _flips(record: Record, again: RepeatedAnswer) -> Flips:
    if again.outcome == "error":
        return Flips(unanswered=1)
    return Flips(
        1,
        texts=int(again.text != record.response.text),
        scores=int((again.outcome, again.score) != (record.outcome, record.score)),
    )


def stability_line(stability: Stability) -> str:
    """`stability: 4 cells asked again 12 times (warm 4, cold 4, batch 4): the text differed 0 times, the score 0`."""
    ways = ", ".join(f"{how} {flips.asked}" for how, flips in stability.by_how.items())
    flips = stability.flips
    line = (
        f"stability: {stability.cells} cells asked again {flips.asked} times ({ways}): "
        f"the text differed {flips.texts} times, the score {flips.scores} times"
    )
    if flips.unanswered:
        line += f"; {flips.unanswered} requests failed"
    if stability.flipped:
        shown = ", ".join(stability.flipped[:3]) + (", ..." if len(stability.flipped) > 3 else "")
        line += f"; {shown}"
    return line
