"""Facts of a run: how it was made, what it cost, latency, stability."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite
from typing import Any

import numpy as np
from msgspec import Struct

from needlework.core.errors import InputError
from needlework.core.record import SCORED, UNDECIDED, Record
from needlework.core.settings import Prices, prices_of
from needlework.results.records.samples import grouped, object_of
from needlework.results.style import fit, one_line

_LONGEST = 200  # columns of a value


class ModelFacts(Struct, frozen=True):
    """The facts of a model: names and values."""

    name: str
    facts: tuple[tuple[str, str], ...]

    @property
    def short(self) -> str:
        """The main facts in one line: `window 8,192 tokens · float32 · cpu`."""
        known = dict(self.facts)
        parts = [f"window {known['window']} tokens"] if known.get("window") else []
        parts += [known[name] for name in ("dtype", "device") if known.get(name)]
        parts += [f"{name} {known[name]}" for name in ("rope", "rope_scaling", "quantization") if known.get(name)]
        parts += [fit(known[name], 60, "…") for name in ("server", "base_url") if known.get(name)]
        return " · ".join(parts)


class RunFacts(Struct, frozen=True):
    """The facts of a run."""

    name: str  # of its folder
    started: str
    commit: str
    command: tuple[str, ...]  # as it was typed, secrets left out
    models: tuple[ModelFacts, ...]
    versions: tuple[tuple[str, str], ...]  # of the programs that took part
    manifest: Mapping[str, Any] = {}

    def option(self, name: str) -> Any:
        """An option of the run; `None` where it had none, or the manifest does not say."""
        return object_of(self.manifest.get("options")).get(name)


def run_facts(manifest: Mapping[str, Any], name: str) -> RunFacts:
    """Read a manifest; whatever it lacks is empty."""
    command = manifest.get("command")
    return RunFacts(
        name=one_line(name),
        started=_text(manifest.get("started")),
        commit=_text(manifest.get("commit")),
        command=tuple(one_line(str(word)) for word in command) if isinstance(command, (list, tuple)) else (),
        models=tuple(
            ModelFacts(one_line(name), _facts(facts)) for name, facts in object_of(manifest.get("models")).items()
        ),
        versions=tuple((one_line(key), _text(each)) for key, each in object_of(manifest.get("versions")).items()),
        manifest=manifest,
    )


def _facts(facts: object) -> tuple[tuple[str, str], ...]:
    named = sorted((str(name), _text(value)) for name, value in facts.items()) if isinstance(facts, Mapping) else ()
    return tuple((one_line(name), text) for name, text in named if text)


def _text(value: object) -> str:
    if value is None or value in ("", [], {}):
        return ""
    text = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
    return fit(one_line(text), _LONGEST, "…")


# A request that failed has no latency worth comparing: a timeout would only show the timeout.
_ANSWERED = frozenset({*SCORED, *UNDECIDED})


class Times(Struct, frozen=True):
    """Median and 95th percentile (linear between values) of `n` measurements."""

    n: int
    median: float
    p95: float


class LatencyRow(Struct, frozen=True):
    """The answered requests of a model at one length; times are `None` where nobody measured them."""

    model: str
    length: int  # tokens
    n: int
    latency_s: Times  # seconds to the last token
    ttft_s: Times | None  # to the first
    token_s: Times | None  # of each further token
    tokens_per_s: float | None  # 1 / the median of `token_s`
    cached: float  # share of the prompts' tokens, 0..1, that a cache held
    earlier: int  # answers of an earlier session


def latency_rows(records: Iterable[Record]) -> tuple[LatencyRow, ...]:
    """A row for each model and length, sorted; none where nothing was measured."""
    measured = [record for record in records if latency_of(record) is not None]
    groups = grouped(measured, lambda record: (record.model, record.length))
    return tuple(_latency_row(*key, groups[key]) for key in sorted(groups))


def latency_of(record: Record) -> float | None:
    """Seconds to the last token of an answered request; `None` for others, and where nobody measured it."""
    return _positive(record, record.timing.latency_s)


def ttft_of(record: Record) -> float | None:
    """Seconds to the first token of an answered request."""
    return _positive(record, record.timing.ttft_s)


def token_of(record: Record) -> float | None:
    """Seconds of each token after the first of an answered request."""
    rate = _positive(record, record.timing.tokens_per_s)
    return 1 / rate if rate else None


def _positive(record: Record, value: float | None) -> float | None:
    measured = record.outcome in _ANSWERED and value is not None and isfinite(value) and value > 0
    return value if measured else None


def _latency_row(model: str, length: int, records: Sequence[Record]) -> LatencyRow:
    latency, token = times_of(records, latency_of), times_of(records, token_of)
    assert latency is not None  # every one of them was measured
    prompts = sum(record.prompt.tokens for record in records)
    cached = sum(record.timing.cached_tokens or 0 for record in records)
    return LatencyRow(
        model=model,
        length=length,
        n=len(records),
        latency_s=latency,
        ttft_s=times_of(records, ttft_of),
        token_s=token,
        tokens_per_s=1 / token.median if token else None,
        cached=min(1.0, cached / prompts) if prompts else 0.0,
        earlier=sum(record.timing.replayed for record in records),
    )


def times_of(records: Sequence[Record], measure: Callable[[Record], float | None]) -> Times | None:
    """Median and 95th percentile of what was measured; `None` where nothing was."""
    values = [value for record in records if (value := measure(record)) is not None]
    if not values:
        return None
    median, p95 = np.percentile(values, (50, 95))
    return Times(len(values), float(median), float(p95))


class Flips(Struct, frozen=True):
    """Answers to prompts that had been asked before."""

    asked: int = 0
    texts: int = 0  # that differed from the first answer's
    scores: int = 0
    unanswered: int = 0  # errors, which say nothing about stability and are not among `asked`


class Stability(Struct, frozen=True):
    """The probe's result."""

    cells: int  # that were asked again
    flips: Flips  # in all
    by_how: dict[str, Flips]
    flipped: tuple[str, ...]  # ids of cells with a flip


def stability_of(records: Iterable[Record]) -> Stability | None:
    """Sum up the probe; `None` when no cell was asked again."""
    by_how: dict[str, Counter[str]] = {}
    probed = [record for record in records if record.details.stability]
    flipped = dict[str, None]()
    for record, again in [(each, again) for each in probed for again in each.details.stability]:
        counts = by_how.setdefault(again.how, Counter())
        if again.outcome == "error":
            counts["unanswered"] += 1
            continue
        text_differs = again.text != record.response.text
        score_differs = (again.outcome, again.score) != (record.outcome, record.score)
        counts.update(asked=1, texts=int(text_differs), scores=int(score_differs))
        if text_differs:
            flipped[record.id] = None
    if not probed:
        return None
    flips = {how: Flips(**counts) for how, counts in by_how.items()}
    return Stability(len(probed), Flips(**sum(by_how.values(), Counter())), flips, tuple(flipped))


def stability_line(stability: Stability) -> str:
    """`stability: 4 cells asked again 12 times (warm 4, cold 4, batch 4): the text differed ...`."""
    counts = ", ".join(f"{how} {flips.asked}" for how, flips in stability.by_how.items())
    flips = stability.flips
    line = (
        f"stability: {stability.cells} cells asked again {flips.asked} times ({counts}): "
        f"the text differed {flips.texts} times, the score {flips.scores} times"
    )
    if flips.unanswered:
        line += f"; {flips.unanswered} requests failed"
    if stability.flipped:
        line += f"; {', '.join(stability.flipped[:3])}{', ...' if len(stability.flipped) > 3 else ''}"
    return line


_UNPAID = ("skipped", "error")


class CostRow(Struct, frozen=True):
    """The answered requests of one model's trials; failed ones, judges and probes are left out."""

    model: str
    answers: int
    prompt_tokens: int  # by the server's count, where it counts, else by ours
    cached_tokens: int  # of these
    answer_tokens: int  # reasoning included
    uncounted: int  # answers whose tokens nobody counted
    dollars: float | None  # `None` without a price


def cost_rows(records: Iterable[Record], price: Sequence[str] = ()) -> tuple[CostRow, ...]:
    """A row for each model, sorted. `price`: as `--price` was written."""
    sent = (record for record in records if record.outcome not in _UNPAID)
    by_model = grouped(sent, lambda record: record.model)
    return tuple(_cost_row(model, by_model[model], prices_of(price, model)) for model in sorted(by_model))


def _cost_row(model: str, records: Sequence[Record], prices: Prices | None) -> CostRow:
    prompt = sum(
        (record.response.prompt_tokens or record.prompt.tokens) + (record.response.follow_up_tokens or 0)
        for record in records
    )
    cached = sum(record.timing.cached_tokens or 0 for record in records)
    counts = [record.response.completion_tokens for record in records]
    answer = sum(count or 0 for count in counts)
    dollars = prices.dollars(prompt, answer, cached) if prices else None
    return CostRow(model, len(records), prompt, cached, answer, counts.count(None), dollars)


def spent(records: Iterable[Record], price: Sequence[str]) -> tuple[float, int]:
    """Dollars, and tokens of prompts and answers."""
    rows = cost_rows(records, price)
    return sum(row.dollars or 0.0 for row in rows), sum(row.prompt_tokens + row.answer_tokens for row in rows)


class SpendingCap(Struct, frozen=True):
    """The most that a run may spend, all of its sessions together; `None`: anything."""

    dollars: float | None  # `--max-cost`
    tokens: int | None  # `--max-tokens`: of prompts and answers

    def __bool__(self) -> bool:
        return self.dollars is not None or self.tokens is not None

    @property
    def words(self) -> str:
        """`ends at 5 dollars or 1,000,000 tokens, all sessions of the run together`."""
        dollars = [] if self.dollars is None else [f"{self.dollars:g} dollars"]
        tokens = [] if self.tokens is None else [f"{self.tokens:,} tokens"]
        return f"ends at {' or '.join([*dollars, *tokens])}, all sessions of the run together"

    def reached(self, dollars: float, tokens: int) -> tuple[str, str, str] | None:
        """The option whose cap is reached, its value, and the sum spent; `None`: there is more."""
        if self.dollars is not None and dollars >= self.dollars:
            return "--max-cost", f"{self.dollars:g}", f"{dollars:,.4g} dollars"
        if self.tokens is not None and tokens >= self.tokens:
            return "--max-tokens", str(self.tokens), f"{tokens:,} tokens"
        return None


def check_cap(cap: SpendingCap, price: Sequence[str], models: Iterable[str]) -> None:
    """Refuse a cap in dollars without the price of a model. Raises `InputError`."""
    unpriced = [] if cap.dollars is None else [model for model in models if prices_of(price, model) is None]
    if unpriced:
        raise InputError("--max-cost", f"{cap.dollars:g}", f"what does {unpriced[0]} cost? give --price IN,OUT")
