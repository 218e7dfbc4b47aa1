"""Lengths that do not fit what is asked: too short for a task, or more than the user's documents fill."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from needlework.haystack_fixtures.errors import InputError, TooLongError

_EVEN = 100


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


def nothing_fits(misfits: Sequence[Misfit], typed: Iterable[int], kept_free: int) -> InputError:
    """The error of a run of which no cell can be asked; `typed`: the lengths that were asked for; `kept_free`: tokens
    of each for the answer and as a buffer.
    """
    short = {(each.length, each.share) for each in misfits}
    shares = {each.share for each in misfits}
    longest = max(typed := tuple(typed), default=0)
    typed = {length for length in typed if any(((length * share + 50) // 100, share) in short for share in shares)}
    lengths = ",".join(map(str, sorted(typed)))
    tasks = ", ".join(dict.fromkeys(each.task for each in misfits))
    least = max((each.wanted for each in misfits if each.wanted is not None), default=None)
    use = f"use at least {least}" if least else "use longer ones"
    also = "" if len({each.task for each in misfits}) == 1 else f" ({_words(misfits)})"
    most = f"; --answer-budget and --length-buffer keep {kept_free} of them" if 2 * kept_free > longest else ""
    return InputError("--lengths", lengths, f"too short for {tasks}: {use}{also}, or other tasks (--task){most}")


def not_filled(found: Sequence[TooLongError]) -> InputError:
    """The error of lengths that documents do not fill: one that all questions of the run fit, at every depth.

    It is rounded down, since the same documents in another order may have a token or two less.
    """
    fewest = min(found, key=lambda each: each.most)
    least = ", the fewest of all questions" if len({each.most for each in found}) > 1 else ""
    use = f"use at most {fewest.most - fewest.most % _EVEN or fewest.most}, or add some"
    return InputError("--lengths", fewest.length, f"{fewest.told}{least}: {use}")
