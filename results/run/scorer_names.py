"""Whether a scorer's name is one, before anything is asked or judged."""

from __future__ import annotations

from needlework.haystack_fixtures.errors import InputError
from needlework.scoring.judges.scorers import OWN, judged
from needlework.scoring.judges.strategy import JUDGE
from needlework.scoring.registry import scorer_named


def check_scorer(name: str) -> None:
    """Raise `InputError` where there is no such scorer."""
    try:
        if name == f"{JUDGE}{OWN}":
            return
        if name.startswith(JUDGE):
            judged(lambda _system, _user: "", name.removeprefix(JUDGE))
        else:
            scorer_named(name)
    except ValueError as error:
        raise InputError("--scorer", name, str(error).partition(": ")[2]) from None
