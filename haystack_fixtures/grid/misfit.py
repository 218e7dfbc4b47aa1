"""Cells that are too short for what their task asks: which, and how long they would have to be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from needlework.haystack_fixtures.errors import InputError


@dataclass(frozen=True, slots=True)
class Misfit:
    """A length in tokens that a task cannot be asked at; `least`: one that would do, `None` where it is not known.

    `of`: the task, and the needle where others of the task may fit. `share`: percent of `--lengths` that the shortest
    length of its task is.
    """

    of: str
    length: int
    least: int | None
    share: int = 100

    @property
    def wanted(self) -> int | None:
        """What `--lengths` has to be, at least."""
        return None if self.least is None else -(-self.least * 100 // self.share)

    @property
    def task(self) -> str:
        return self.of.partition(" ")[0]


def left_out(misfits: Sequence[Misfit]) -> str:
    """`left out, too short: copy at 1000 (from 1142), ruler_cwe at 500, 1000 (from 1200)`."""
    return f"left out, too short: {_words(misfits)}"


def _words(misfits: Sequence[Misfit]) -> str:
    found: dict[str, list[Misfit]] = {}
    for each in misfits:
        found.setdefault(each.task, []).append(each)
    return ", ".join(f"{task} at {_lengths(group)}{_least(group)}" for task, group in found.items())


def _lengths(group: Sequence[Misfit]) -> str:
    return ", ".join(map(str, sorted({each.length for each in group})))


def _least(group: Sequence[Misfit]) -> str:
    known = [each.least for each in group if each.least is not None]
    wanted = max((each.wanted for each in group if each.wanted is not None), default=0)
    if not known:
        return ""
    return f" (from {max(known)})" if wanted == max(known) else f" (from {max(known)}: --lengths {wanted})"


def nothing_fits(misfits: Sequence[Misfit], typed: Iterable[int]) -> InputError:
    """The error of a run of which no cell can be asked; `typed`: the lengths that were asked for."""
    short = {(each.length, each.share) for each in misfits}
    shares = {each.share for each in misfits}
    typed = {length for length in typed if any(((length * share + 50) // 100, share) in short for share in shares)}
    lengths = ",".join(map(str, sorted(typed)))
    tasks = ", ".join(dict.fromkeys(each.task for each in misfits))
    least = max((each.wanted for each in misfits if each.wanted is not None), default=None)
    use = f"use at least {least}" if least else "use longer ones"
    also = "" if len({each.task for each in misfits}) == 1 else f" ({_words(misfits)})"
    return InputError("--lengths", lengths, f"too short for {tasks}: {use}{also}, or other tasks (--task)")
