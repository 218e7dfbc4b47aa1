"""Questions on the user's own documents, as clauses: right answers, what costs them, what is made up."""

from __future__ import annotations

from collections.abc import Iterator

from needlework.results.statistics.absent import Rate
from needlework.results.statistics.documents import FOCUSED, WHOLE, Documents, Point
from needlework.results.statistics.in_short.parts import depth_clause, ends_words, range_words, tokens
from needlework.results.statistics.panels import Tally, range_of
from needlework.results.style.text import percent1

NAMES = {"bm25": "BM25 search", "dense": "embedding search"}


def document_clauses(found: Documents, position: Tally | None) -> list[str]:
    """The clauses about one model; none where nothing was scored. `position`: its answers of `doc_position`."""
    main = _main(found, position)
    if not main:
        return []
    undecided = position is not None and position.range is not None
    depth = depth_clause(found.depth, undecided=undecided)
    return [main, *filter(None, (depth, _size(found), *_search(found), _absent(found)))]


def place_sentence(found: Documents, length: int | None) -> str:
    """The title of a picture of scores by depth: `With 8k tokens of documents it is weakest in the middle`.

    `length`: `None` where there are several, which the test takes together.
    """
    said = depth_clause(found.depth)
    read = f"With {tokens(length)} tokens of documents" if length else "Over all lengths"
    if not said:
        return f"{read}, no place of the answer is shown to be worse"
    return f"{read} it is {said}" if not said.startswith("no ") else f"{read}, {said}"


def size_sentence(found: Documents) -> str:
    """The title of a picture of scores by size."""
    said = _size(found)
    if said:
        return f"It {said}"
    whole = _largest(found, WHOLE)
    at = f" up to {tokens(whole.length)} tokens" if whole is not None else ""
    return f"Reading more documents{at} is not shown to cost or to help"


def _main(found: Documents, position: Tally | None) -> str:
    if position is not None and position.n:
        share, ends = position.mean, position.interval
        undecided = position.range
        sure = (ends.low, ends.high) if ends else None
    else:
        whole = _largest(found, WHOLE) or _largest(found, FOCUSED)
        if whole is None:
            return ""
        share, undecided = whole.score.value, range_of(whole.score.value, whole.score.n, whole.unscored)
        low, high = whole.score.low, whole.score.high
        sure = None if low is None or high is None else (low, high)
    count = f"{found.questions} questions on your documents" if found.questions != 1 else "one question"
    if undecided is not None:
        return f"answers {range_words(undecided)} of {count} right"
    told = f" ({ends_words(*sure)})" if sure else ""
    return f"answers {percent1(share or 0.0)} % of {count} right{told}"


def _largest(found: Documents, arm: str) -> Point | None:
    points = [each for each in found.by_size if each.arm == arm and each.score.n]
    return max(points, key=lambda each: each.length, default=None)


def _size(found: Documents) -> str:
    """What reading everything costs, where it is more than chance."""
    loss, whole = found.loss, _largest(found, WHOLE)
    if loss is None or whole is None or not loss.sign:
        return ""
    alone = any(each.arm == FOCUSED and each.score.n for each in found.by_size)
    beside = "the right document alone" if alone else "the shortest context"
    words = "loses" if loss.mean < 0 else "gains"
    at = f", the answer at depth {found.size_depths[0]:g} %," if len(found.size_depths) == 1 else ""
    points = f"{words} {percent1(abs(loss.mean))} points"
    return f"{points} when it reads {tokens(whole.length)} tokens{at} in place of {beside}"


def _search(found: Documents) -> Iterator[str]:
    """Search in place of reading everything, where the intervals of both lie apart."""
    whole = _largest(found, WHOLE)
    for arm, name in NAMES.items():
        other = _largest(found, arm)
        if whole is None or other is None or other.length != whole.length or not _apart(whole.score, other.score):
            continue
        if found.by_size and range_of(other.score.value, other.score.n, other.unscored) is None:
            yield f"{name} gives it {percent1(other.score.value or 0.0)} %"


def _apart(one: Rate, other: Rate) -> bool:
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return False
    return one.high < other.low or other.high < one.low


def _absent(found: Documents) -> str:
    rate = found.absent["absent"].hallucination if "absent" in found.absent else None
    if rate is None or rate.value is None:
        return ""
    return f"makes up {percent1(rate.value)} % of the answers that are not there"
