"""Sections of own documents and of search in them."""

from collections.abc import Iterator, Sequence

from needlework.core.grid import depth_label
from needlework.results.report.charts import ARMS, document_charts, size_depth_words
from needlework.results.report.section import GLOSSARY, Finding, Section, Table, filled_table
from needlework.results.report.tasks import extremes_words
from needlework.results.statistics import wording
from needlework.results.statistics.documents import FOCUSED, ArmAtPlace, ArmScore, DocumentScores, Vote
from needlework.results.statistics.paired import Difference
from needlework.results.statistics.panels import Tally, range_of
from needlework.results.style import NONE, counted, length_label, one_line

_RATES = ("score %", "95 %", "n", "abstains % (95 %)", "wrong content % (95 %)", "unscored")
_ABSENT = {"absent": "taken out", "near": "the most similar one instead"}
_MEANINGS, _COLUMNS = GLOSSARY["findings"]["documents"], GLOSSARY["columns"]["search"]


def document_sections(models: Sequence[DocumentScores]) -> list[Section]:
    """A section for each model: tables, then findings; none for a run without documents."""
    return [
        Section(
            f"{scores.model} · your documents · {counted(scores.questions, 'question')}",
            charts=tuple(document_charts(scores)),
            tables=tuple(_document_tables(scores)),
            findings=tuple(Finding(term, text, _MEANINGS[term]) for term, text in _document_findings(scores)),
            brief=True,
        )
        for scores in models
    ]


def _document_tables(scores: DocumentScores) -> Iterator[Table]:
    if scores.by_depth:
        depths = [NONE if point.depth is None else depth_label(point.depth) for point in scores.by_depth]
        yield _arms("by depth of the answer document (doc_position)", "depth %", scores.by_depth, depths)
    if scores.by_size:
        tokens = [NONE if point.tokens is None else f"{point.tokens:,.0f}" for point in scores.by_size]
        yield _arms(f"by size of the context (doc_size, {size_depth_words(scores)})", "tokens", scores.by_size, tokens)
    if scores.absent:
        yield _absent_table(scores)
    if scores.votes:
        yield _vote_table(scores.votes)


def _arms(caption: str, column: str, points: Sequence[ArmAtPlace], values: Sequence[str]) -> Table:
    rows = [
        (ARMS.get(each.arm, each.arm), NONE if each.arm == FOCUSED else length_label(each.length), value, *_rates(each))
        for each, value in zip(points, values, strict=True)
    ]
    return Table(caption, ("context", "length", column, *_RATES), tuple(rows))


def _rates(point: ArmAtPlace) -> tuple[str, ...]:
    score = point.score
    cells = wording.score_cells(score, range_of(score.value, score.n, point.unscored))
    parts = (wording.share_cell(rate) for rate in (point.abstains, point.asserts))
    return (*cells, str(score.n), *parts, wording.unscored_words(point.unscored))


def _document_findings(scores: DocumentScores) -> Iterator[tuple[str, str]]:
    """Terms and texts."""
    ends = scores.depth.extremes if scores.depth else None
    if scores.depth and ends is not None and ends.best_score > ends.worst_score:
        text = f"{extremes_words(ends)}, n = {scores.depth.samples}"
        yield "best and worst depth", text.replace("p (Holm)", "p")
    if scores.loss is not None:
        span = wording.interval_words(scores.loss)
        interval = f"95 % interval {span}" if span else "too few questions for an interval"
        yield "what size costs", f"{wording.points1(scores.loss.mean)} points ({interval}), n = {scores.loss.n}"
    if scores.judge is not None:
        kappa = scores.judge.kappa
        text = f"agree on {wording.share_cell(scores.judge.agreement)} % of {scores.judge.n} answers; Cohen's kappa "
        text += NONE if kappa.value is None else f"{kappa.value:.2f}"
        if kappa.low is not None and kappa.high is not None:
            text += f" (95 % interval {kappa.low:.2f} to {kappa.high:.2f})"
        yield "judge and offline rule", text
    if scores.votes:
        of = scores.votes[0].of
        yield "voting", f"{of} answers a question: {of} times the requests and tokens of a single one"


def _absent_table(scores: DocumentScores) -> Table:
    head = (
        *("answer document", "invents %", "95 %", "n", "abstains needlessly %", "95 %", "n"),
        *("balanced %", "95 %", "right in both %", "95 %", "n"),
    )
    rows = [
        (
            _ABSENT[arm],
            *(*wording.score_cells(twins.hallucination), str(twins.hallucination.n)),
            *(*wording.score_cells(twins.needless), str(twins.needless.n)),
            *wording.score_cells(twins.balanced),
            *(*wording.score_cells(twins.discriminates), str(twins.discriminates.n)),
        )
        for arm, twins in scores.absent.items()
    ]
    return Table("without the answer document: right is to abstain", head, tuple(rows))


def _vote_table(votes: Sequence[Vote]) -> Table:
    head = (
        *("task", "context", "answer document", "votes", "incomplete", "voted %", "95 %"),
        *("single %", "95 %", "gain", "95 %", "requests", "tokens"),
    )
    rows = [
        (
            *(vote.task, ARMS.get(vote.arm, vote.arm), _vote_depth(vote), str(vote.n), str(vote.incomplete)),
            *(*wording.score_cells(vote.voted), *wording.score_cells(vote.single)),
            *wording.points_cells(vote.gain),
            *(f"{vote.requests:,}", f"{vote.tokens:,}"),
        )
        for vote in votes
    ]
    caption = f"votes of {votes[0].of} answers over as many orders of the documents (alike in content words)"
    return Table(caption, head, tuple(rows), names=3)


def _vote_depth(vote: Vote) -> str:
    if vote.ways == "moved":
        return "at another depth each time"
    return "at one depth" if vote.depth is None else f"at {depth_label(vote.depth)} %"


def retrieval_sections(rows: Sequence[ArmScore]) -> list[Section]:
    """A row for each retriever, after the model's name if there are several; none without any."""
    if not rows:
        return []
    cells = [_cells(row) for row in rows]
    table = filled_table("", list(cells[0]), [list(row.values()) for row in cells], 3)
    meanings = tuple((name, _COLUMNS[name]) for name in table.head if name in _COLUMNS)
    notes = [
        f"{row.task}, {row.retriever}: the embedder read only the beginning of some chunks in "
        f"{row.cut_chunks} trials; use a smaller --chunk-size"
        for row in rows
        if row.cut_chunks
    ]
    return [
        Section("Search in place of reading everything", (table,), notes=tuple(notes), name="search", meanings=meanings)
    ]


def _cells(row: ArmScore) -> dict[str, str]:
    paired = row.paired
    score, interval = wording.score_and_interval(row.score)
    return {
        "model": one_line(row.model),
        "task": one_line(row.task),
        "retriever": one_line(row.retriever if row.k is None else f"{row.retriever}, {row.k}"),
        "score %": score,
        "95 %": interval,
        "n": str(row.score.n),
        "unscored": wording.unscored_words(row.score.unscored) or NONE,
        "whole %": wording.number_cell(paired.whole) if paired else NONE,
        "vs whole": _difference(paired.difference) if paired else NONE,
        "recall %": wording.share_cell(row.recall_at_k),
        "MRR": NONE if row.reciprocal_rank.value is None else f"{row.reciprocal_rank.value:.2f}",
        "words %": wording.share_cell(row.answer_recall),
        "if found %": _with_n(row.score_if_found),
        "if missed %": _with_n(row.score_if_missed),
        "tokens / whole": f"{paired.arm_tokens:,.0f} / {paired.whole_tokens:,.0f}" if paired else NONE,
    }


def _with_n(scores: Tally) -> str:
    return f"{wording.share_cell(scores.share)}, n {scores.n}" if scores.n else NONE


def _difference(difference: Difference) -> str:
    interval = wording.interval_words(difference) or "no interval"
    return f"{wording.points1(difference.mean)} ({interval}), n {difference.n}"
