"""Options of `--adaptive`: the effective length from as few tokens as it takes."""

from __future__ import annotations

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.settings.option import ADAPTIVE, Option
from needlework.haystack_fixtures.settings.option_values import one_of, switch, tokens, words

RELATIVE = "relative"
_BAR = "85.6"  # RULER's, percent


def bars(option: str, value: str) -> tuple[str, ...]:
    """`85.6`, `relative`, or both: percents above 0 and below 100."""
    for word in (found := words(option, value)):
        try:
            known = word == RELATIVE or 1 < float(word.removesuffix("%")) < 100
        except ValueError:
            known = False
        if not known:
            raise InputError(option, value, "give a score in percent, such as 85.6 or 90%, or relative, or both")
    return found


OPTIONS: tuple[Option, ...] = (
    Option(
        "adaptive",
        ADAPTIVE,
        "bracket the effective length to one doubling, 95 % sure, and ask no more than that takes: at most 10, 20 or 40"
        " rounds of the depths a length; without a word: normal",
        one_of("quick", "normal", "careful"),
        shown_default="the whole grid is asked",
        metavar="quick|normal|careful",
        bare="normal",
    ),
    Option(
        "adaptive-bar",
        ADAPTIVE,
        "the score, percent, that a length has to hold; relative: 85 % of the base (--relative-to, else the shortest"
        " length); both: 85.6,relative",
        bars,
        _BAR,
        metavar="LIST",
    ),
    Option(
        "adaptive-tokens",
        ADAPTIVE,
        "tokens that may be sent: 50M; the statement is told as it stands then",
        tokens,
        shown_default="as many as it takes",
        metavar="N",
    ),
    Option(
        "censored-is-wrong",
        ADAPTIVE,
        "an answer that the token limit cut off is a miss; without this it has no score and is replaced",
        switch,
        "false",
        flag=True,
    ),
)
