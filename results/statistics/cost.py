"""The cost of a run: tokens in, out and cached, and dollars by `--price`."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from needlework.core.errors import InputError
from needlework.core.record import Record
from needlework.core.settings import Prices, prices_of
from needlework.results.records.samples import grouped

_UNPAID = ("skipped", "error")


@dataclass(frozen=True, slots=True)
class CostRow:
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
    return tuple(_row(model, by_model[model], prices_of(price, model)) for model in sorted(by_model))


def _row(model: str, records: Sequence[Record], prices: Prices | None) -> CostRow:
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


@dataclass(frozen=True, slots=True)
class SpendingCap:
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
