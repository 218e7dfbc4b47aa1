"""Prices of models (`--price`)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from needlework.core.errors import InputError

_WRITTEN = re.compile(r"(\S+=)?[0-9]{1,6}(\.[0-9]{1,6})?(,[0-9]{1,6}(\.[0-9]{1,6})?){1,2}")


def price(option: str, value: str) -> str:
    """Read `0.5,1.5`, `0.5,1.5,0.05` (cached tokens), or `MODEL=0.5,1.5`. Raises `InputError`."""
    written = "".join(value.split())
    if not _WRITTEN.fullmatch(written):
        remedy = "give dollars per million tokens, of prompts and of answers: 0.5,1.5, or MODEL=0.5,1.5"
        raise InputError(option, value, remedy)
    return written


@dataclass(frozen=True, slots=True)
class Prices:
    """Dollars per million tokens."""

    prompt: float
    answer: float
    cached: float  # of prompt tokens that a cache had

    def dollars(self, prompt: float, answer: float, cached: float = 0) -> float:
        """The price of so many tokens; `cached`: of the prompt's."""
        return ((prompt - cached) * self.prompt + cached * self.cached + answer * self.answer) / 1e6


def prices_of(written: Sequence[str], model: str) -> Prices | None:
    """The prices of a model (a SPEC, or its name in records): its own in `--price`, else those of all."""
    by_name = dict(each.rpartition("=")[::2] for each in written)
    numbers = by_name.get(model, by_name.get(""))
    if numbers is None:
        return None
    prompt, answer, *cached = map(float, numbers.split(","))
    return Prices(prompt, answer, *(cached or [prompt]))
