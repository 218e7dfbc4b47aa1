"""Sections of own documents and of search in them."""

from __future__ import annotations

from collections.abc import Sequence

from needlework.core.grid import depth_label
from needlework.results.report.charts import ARMS, document_charts, size_depth_words
from needlework.results.report.section import Finding, Section, Table, filled_table
from needlework.results.report.tasks import extremes_words
from needlework.results.statistics.absent import Rate
from needlework.results.statistics.documents import FOCUSED, ArmAtPlace, ArmScore, DocumentScores, Paired
from needlework.results.statistics.panels import Tally, range_of
from needlework.results.statistics.votes import WORDS, Vote
from needlework.results.statistics.wording import (
    interval_words,
    percent1_cell,
    points1,
    range_words,
    score_and_interval,
)
from needlework.results.style import NONE, counted, length_labels, one_line, percent1

_RATES = ("score %", "95 %", "n", "abstains % (95 %)", "wrong content % (95 %)", "unscored")
_ABSENT = {"absent": "taken out", "near": "the most similar one instead"}
_MEANINGS = {
    "best and worst depth": "Of all documents in the context: their scores, and the chance of two depths as far apart"
    " if all were alike (permutations within questions).",
    "what size costs": "The score at the largest size minus that of the answer document alone (or the smallest size),"
    " paired by question.",
    "judge and offline rule": "Share of answers on which both agree, and Cohen's kappa: agreement beyond chance.",
    "voting": "Of the answers to one question over several orders of the documents, the one most like the others"
    " (content words, or embeddings) is taken. The gain is paired by question.",
}


def document_sections(found: Sequence[DocumentScores]) -> list[Section]:
    """A section for each model: its tables, then what they come to; none for a run without documents."""
    return [
        Section(
            f"{each.model} · your documents · {counted(each.questions, 'question')}",
            charts=tuple(document_charts(each)),
            tables=tuple(_document_tables(each)),
            findings=tuple(_document_findings(each)),
            brief=True,
        )
        for each in found
    ]


def _document_tables(found: DocumentScores) -> list[Table]:
    tables = []
    if found.by_depth:
        head = ("context", "length", "depth %", *_RATES)
        rows = [(ARMS.get(each.arm, each.arm), _length(each), _depth(each), *_rates(each)) for each in found.by_depth]
        tables.append(Table("by depth of the answer document (doc_position)", head, tuple(rows)))
    if found.by_size:
        head = ("context", "length", "tokens", *_RATES)
        rows = [(ARMS.get(each.arm, each.arm), _length(each), _tokens(each), *_rates(each)) for each in found.by_size]
        tables.append(Table(f"by size of the context (doc_size, {size_depth_words(found)})", head, tuple(rows)))
    if found.absent:
        tables.append(_absent_table(found))
    if found.votes:
        tables.append(_vote_table(found.votes))
    return tables


def _document_findings(found: DocumentScores) -> list[Finding]:
    rows = []
    ends = found.depth.extremes if found.depth else None
    if found.depth and ends is not None and ends.best_score > ends.worst_score:
        text = f"{extremes_words(ends)}, n = {found.depth.samples}"
        rows.append(_row("best and worst depth", text.replace("p (Holm)", "p")))
    if found.loss is not None:
        span = interval_words(found.loss)
        told = f"95 % interval {span}" if span else "too few questions for an interval"
        rows.append(_row("what size costs", f"{points1(found.loss.mean)} points ({told}), n = {found.loss.n}"))
    if found.judge is not None:
        kappa, same = found.judge.kappa, found.judge.agreement
        text = f"agree on {_share(same.value, same.low, same.high)} of {found.judge.n} answers; Cohen's kappa "
        text += NONE if kappa.value is None else f"{kappa.value:.2f}"
        if kappa.low is not None and kappa.high is not None:
            text += f" (95 % interval {kappa.low:.2f} to {kappa.high:.2f})"
        rows.append(_row("judge and offline rule", text))
    if found.votes:
        of = found.votes[0].of
        rows.append(_row("voting", f"{of} answers a question: {of} times the requests and tokens of a single one"))
    return rows


def _row(term: str, text: str) -> Finding:
    return Finding(term, text, _MEANINGS[term])


def _absent_table(found: DocumentScores) -> Table:
    head = (
        *("answer document", "invents %", "95 %", "n", "abstains needlessly %", "95 %", "n"),
        *("balanced %", "95 %", "right in both %", "95 %", "n"),
    )
    rows = [
        (
            _ABSENT[arm],
            *(_percent(each.hallucination), _ends(each.hallucination), str(each.hallucination.n)),
            *(_percent(each.needless), _ends(each.needless), str(each.needless.n)),
            *(_percent(each.balanced), _ends(each.balanced)),
            *(_percent(each.discriminates), _ends(each.discriminates), str(each.discriminates.n)),
        )
        for arm, each in found.absent.items()
    ]
    return Table("without the answer document: right is to abstain", head, tuple(rows))


def _vote_table(votes: Sequence[Vote]) -> Table:
    head = (
        *("task", "context", "answer document", "votes", "incomplete", "voted %", "95 %"),
        *("single %", "95 %", "gain", "95 %", "requests", "tokens"),
    )
    rows = [
        (
            each.task,
            ARMS.get(each.arm, each.arm),
            _place(each),
            str(each.n),
            str(each.incomplete),
            *(_percent(each.voted), _ends(each.voted), _percent(each.single), _ends(each.single)),
            *((points1(each.gain.mean), interval_words(each.gain) or NONE) if each.gain else (NONE, NONE)),
            f"{each.requests:,}",
            f"{each.tokens:,}",
        )
        for each in votes
    ]
    by = "content words" if votes[0].by == WORDS else f"embeddings of {votes[0].by}"
    told = f"votes of {votes[0].of} answers over as many orders of the documents (alike in {by})"
    return Table(told, head, tuple(rows), names=3)


def _place(vote: Vote) -> str:
    if vote.ways == "moved":
        return "at another depth each time"
    return "at one depth" if vote.depth is None else f"at {depth_label(vote.depth)} %"


def _rates(point: ArmAtPlace) -> tuple[str, ...]:
    unscored = ", ".join(f"{count} {outcome}" for outcome, count in point.unscored.items())
    parts = (f"{_percent(rate)} ({_ends(rate)})" if rate.n else NONE for rate in (point.abstains, point.asserts))
    score, interval = _percent(point.score), _ends(point.score)
    told = range_of(point.score.value, point.score.n, point.unscored)
    if told is not None:
        score, interval = range_words(told), f"scored {score} ({interval})" if point.score.n else NONE
    return (score, interval, str(point.score.n), *parts, unscored)


def _length(point: ArmAtPlace) -> str:
    return NONE if point.arm == FOCUSED else length_labels([point.length])[0]


def _depth(point: ArmAtPlace) -> str:
    return NONE if point.depth is None else depth_label(point.depth)


def _tokens(point: ArmAtPlace) -> str:
    return NONE if point.tokens is None else f"{point.tokens:,.0f}"


def _percent(rate: Rate) -> str:
    return percent1_cell(rate.value)


def _ends(rate: Rate) -> str:
    return NONE if rate.low is None or rate.high is None else f"{percent1(rate.low)}–{percent1(rate.high)}"


def _share(value: float | None, low: float | None, high: float | None) -> str:
    if value is None or low is None or high is None:
        return NONE
    return f"{percent1(value)} % (95 % interval {percent1(low)}–{percent1(high)})"


MEANINGS = {
    "whole %": "the same questions on the documents as they are",
    "vs whole": "the difference in points, over questions scored in both ways",
    "recall %": "of questions whose document is known, those with a chunk of it among the ones shown",
    "MRR": "mean of 1 / the place of its first chunk, 0 for none",
    "words %": "the reference's content words that were retrieved, of those that the documents have",
    "if found %": "the score where a chunk of the answer's document was shown",
    "if missed %": "the score where none was",
    "tokens": "of the prompt, on average, and of that with the documents as they are",
}
_NAMES = ("model", "task", "retriever")
_ALWAYS = ("task", "retriever", "score %", "n")


def retrieval_sections(rows: Sequence[ArmScore]) -> list[Section]:
    """A row for each way to retrieve, the model's name first where there are several; none without retrievers."""
    if not rows:
        return []
    cells = [_cells(row) for row in rows]
    head = [name for name in cells[0] if name != "model" or len({row.model for row in rows}) > 1]
    always = {at for at, name in enumerate(head) if name in (*_ALWAYS, "model")}
    table = filled_table(
        "", head, [[row[name] for name in head] for row in cells], sum(name in _NAMES for name in head), always
    )
    meanings = tuple((name, MEANINGS[name]) for name in table.head if name in MEANINGS)
    notes = [
        f"{row.task}, {row.retriever}: the embedder read only the beginning of some chunks in "
        f"{row.cut} trials; use a smaller --chunk-size"
        for row in rows
        if row.cut
    ]
    return [
        Section("Search in place of reading everything", (table,), notes=tuple(notes), name="search", meanings=meanings)
    ]


def _cells(row: ArmScore) -> dict[str, str]:
    score = row.score
    told, interval = score_and_interval(score, NONE)
    shown = row.retriever if row.k is None else f"{row.retriever}, {row.k}"
    return {
        "model": one_line(row.model),
        "task": one_line(row.task),
        "retriever": one_line(shown),
        "score %": told,
        "95 %": interval,
        "n": str(score.n),
        "unscored": ", ".join(f"{count} {name}" for name, count in score.unscored.items()) or NONE,
        "whole %": percent1_cell(row.paired.whole) if row.paired else NONE,
        "vs whole": _difference(row.paired, score.n) if row.paired else NONE,
        "recall %": _rate(row.recall, score.n),
        "MRR": NONE if row.reciprocal_rank.value is None else f"{row.reciprocal_rank.value:.2f}",
        "words %": _rate(row.answer_recall, score.n),
        "if found %": _tally(row.found),
        "if missed %": _tally(row.missed),
        "tokens": _retrieval_tokens(row.paired) if row.paired else NONE,
    }


def _rate(rate: Rate, usual: int) -> str:
    """A rate with its interval, and its n where that is not the usual one."""
    if rate.value is None:
        return NONE
    if rate.low is None or rate.high is None:
        return f"{percent1(rate.value)} (no interval{_n(rate.n, usual)})"
    return f"{percent1(rate.value)} ({percent1(rate.low)}–{percent1(rate.high)}{_n(rate.n, usual)})"


def _tally(found: Tally) -> str:
    if found.mean is None:
        return NONE
    if found.interval is None:
        return f"{percent1(found.mean)} (no interval, n {found.n})"
    return f"{percent1(found.mean)} ({percent1(found.interval.low)}–{percent1(found.interval.high)}, n {found.n})"


def _difference(paired: Paired, usual: int) -> str:
    found = paired.difference
    if found.low is None or found.high is None:
        return f"{points1(found.mean)} (no interval{_n(found.n, usual)})"
    return f"{points1(found.mean)} ({points1(found.low)} to {points1(found.high)}{_n(found.n, usual)})"


def _n(n: int, usual: int) -> str:
    return "" if n == usual else f", n {n}"


def _retrieval_tokens(paired: Paired) -> str:
    return f"{paired.arm_tokens:,.0f} / {paired.whole_tokens:,.0f}"
