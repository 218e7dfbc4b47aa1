"""Own documents: positions, sizes, votes; search."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import fsum, sqrt
from statistics import fmean
from typing import Any, Literal

from msgspec import Struct, structs
from msgspec.structs import asdict

from needlework.core.record import OWN_DOCUMENTS, SCORED, OutcomeName, Record, RetrievalFacts
from needlework.results.records.samples import control_of, grouped, retriever_of
from needlework.results.statistics.absent import AbsentTwins, abstains, is_absent, twins_of
from needlework.results.statistics.agreement import Agreement, agreement
from needlework.results.statistics.depth import DepthEffect, depth_effect
from needlework.results.statistics.paired import Difference, mean_difference
from needlework.results.statistics.panels import Rate, Tally, depth_order, rate_of, tally, trial_of
from needlework.scoring.plain_text import content_words

# A question is one sample, at whatever depth, size and order of the documents it was asked: intervals take its trials
# together. Of the scored trials some abstain ("the documents do not say"), some assert wrong content, few are blank:
# one accuracy hides which (of 208 wrong answers in snorkel's records 109 abstain and 99 assert).
WHOLE, FOCUSED = "whole", "focused"
_POSITION, _SIZE = "doc_position", "doc_size"


class ArmAtPlace(Struct, frozen=True):
    """The trials of one arm at one length and depth."""

    arm: str  # `whole` (all documents in the context), a retriever, or `focused` (the answer document alone)
    length: int  # tokens, 0 for `focused`
    depth: float | None  # percent, `None` over all depths
    tokens: float | None  # mean of the context; `None` if not recorded
    questions: int
    score: Rate
    abstains: Rate  # share of scored trials that say that the documents lack the answer
    asserts: Rate  # share of scored trials with a wrong statement
    unscored: Mapping[OutcomeName, int]  # trials left out of the rates


class DocumentScores(Struct, frozen=True):
    """The statistics of a model's answers on the user's documents; scores and rates 0..1."""

    model: str
    questions: int
    by_depth: tuple[ArmAtPlace, ...]  # of `doc_position`
    by_size: tuple[ArmAtPlace, ...]  # of `doc_size`, the answer document alone first
    size_depths: tuple[float, ...]  # percent: of the answer document among the others
    depth: DepthEffect | None  # over the whole context, paired
    loss: Difference | None  # score at the largest size - that of the answer document alone, paired by question
    absent: Mapping[str, AbsentTwins]  # without the answer document (`absent`), with the most similar one (`near`)
    judge: Agreement | None  # of the offline rule and the judge
    votes: tuple[Vote, ...]  # of `--vote`


def document_statistics(records: Iterable[Record], vote: int = 0) -> tuple[DocumentScores, ...]:
    """Return the statistics of each model on the user's documents, sorted. `vote`: `--vote`, 0: none."""
    ordered = sorted(
        (record for record in records if record.task_label in OWN_DOCUMENTS),
        key=lambda one: (one.task, one.needle, one.length, depth_order(one.depth), one.repeat),
    )
    groups = grouped(ordered, lambda record: record.model)
    return tuple(_of_model(model, groups[model], vote) for model in sorted(groups))


def arm_of(record: Record) -> str:
    """The arm of a record with its answer document: `whole`, `bm25`, `dense`, `focused`."""
    words = record.arm.split("_")
    if control_of(record) == FOCUSED or FOCUSED in words:
        return FOCUSED
    return next((word for word in words if word in ("bm25", "dense")), WHOLE)


def _of_model(model: str, records: Sequence[Record], vote: int) -> DocumentScores:
    present = [record for record in records if not is_absent(record)]
    position = [record for record in present if record.task == _POSITION]
    size = [record for record in present if record.task == _SIZE]
    whole = [record for record in position if arm_of(record) == WHOLE]
    return DocumentScores(
        model=model,
        questions=len({record.item for record in records}),
        by_depth=_points(position, over_depths=False),
        by_size=_points(size, over_depths=True),
        size_depths=tuple(sorted({record.depth for record in size if record.depth is not None})),
        depth=depth_effect(map(trial_of, whole)) if len({record.depth for record in whole}) > 1 else None,
        loss=_loss(size),
        absent=_absent_arms(records),
        judge=_judge_and_rule(records),
        votes=votes(present, vote),
    )


def _points(records: Sequence[Record], *, over_depths: bool) -> tuple[ArmAtPlace, ...]:
    """One point for each arm, size and, unless `over_depths`, depth; the document alone comes first."""

    def key(record: Record) -> tuple[str, int, float | None]:
        arm = arm_of(record)
        return (arm, 0, None) if arm == FOCUSED else (arm, record.length, None if over_depths else record.depth)

    cells = grouped(records, key)
    order = sorted(cells, key=lambda at: (at[0] != FOCUSED, at[0] != WHOLE, *at[:2], -1.0 if at[2] is None else at[2]))
    return tuple(_point(*at, cells[at]) for at in order)


def _point(arm: str, length: int, depth: float | None, records: Sequence[Record]) -> ArmAtPlace:
    scored = [record for record in records if record.outcome in SCORED]
    questions = [record.item for record in scored]
    sizes = [size for record in records if (size := record.prompt.context_tokens) is not None]
    return ArmAtPlace(
        arm=arm,
        length=length,
        depth=depth,
        tokens=fmean(sizes) if sizes else None,
        questions=len(set(questions)),
        score=rate_of(list(map(_score, scored)), questions),
        abstains=rate_of([float(abstains(record)) for record in scored], questions),
        asserts=rate_of([float(record.outcome in ("wrong", "distractor")) for record in scored], questions),
        unscored=tally(map(trial_of, records)).unscored,
    )


def _loss(records: Sequence[Record]) -> Difference | None:
    """The loss with the whole context, by each question's mean over its orders and depths."""
    scores: dict[int, dict[str, list[float]]] = {}
    for record in records:
        arm = arm_of(record)
        if arm in (WHOLE, FOCUSED) and record.outcome in SCORED:
            by_question = scores.setdefault(0 if arm == FOCUSED else record.length, {})
            by_question.setdefault(record.item, []).append(_score(record))
    if len(scores) < 2:
        return None
    small, large = scores[min(scores)], scores[max(scores)]
    both = sorted(small.keys() & large.keys())
    return mean_difference([fmean(large[question]) - fmean(small[question]) for question in both], both)


def _absent_arms(records: Sequence[Record]) -> dict[str, AbsentTwins]:
    """Both arms of each kind of absence. Twins share question, length and order of documents."""
    unsearched = [record for record in records if arm_of(record) == WHOLE]
    names = [(record, {record.reference.get("arm"), *record.arm.split("_")}) for record in unsearched]
    arms: dict[str, list[Record]] = {}
    for record, words in names:
        if is_absent(record):
            arms.setdefault("near" if "near" in words else "absent", []).append(record)
    twins = {}
    for arm, absent in sorted(arms.items()):
        lengths = {record.length for record in absent}
        beside = [record for record in unsearched if not is_absent(record) and record.length in lengths]
        task = _POSITION if any(record.task == _POSITION for record in beside) else _SIZE
        both = (*(record for record in beside if record.task == task), *absent)
        named = [structs.replace(each, reference={**each.reference, "twin": each.item}) for each in both]
        twins[arm] = twins_of(absent[0].model, arm, named)
    return twins


def _judge_and_rule(records: Sequence[Record]) -> Agreement | None:
    """Agreement of the offline rule with the judge; `None` without verdicts of a judge."""
    judged = [record for record in records if record.score is not None and rule_of(record)]
    if not judged:
        return None
    pairs = [(right_or_wrong(rule_of(record) == "found"), right_or_wrong(record.score == 1)) for record in judged]
    return agreement(pairs, [record.item for record in judged])


def rule_of(record: Record) -> str:
    """The offline rule's verdict on an answer with a judge's; empty without one."""
    rule = record.details.score.get("rule")
    return rule if isinstance(rule, str) else ""


def right_or_wrong(right: bool) -> str:
    """The label of a verdict, to compare judge, rule and people by."""
    return "right" if right else "wrong"


def _score(record: Record) -> float:
    return record.score or 0.0


class Paired(Struct, frozen=True):
    """Trials of an arm whose question was also scored on the whole, at that length and repeat."""

    arm: float  # mean score
    whole: float  # mean score, over depths if there are several
    difference: Difference  # arm - whole
    arm_tokens: float  # of the prompts, on average
    whole_tokens: float


class ArmScore(Struct, frozen=True):
    """One (model, task, retriever), all rates 0..1."""

    model: str
    task: str
    retriever: str
    embedder: str | None
    k: int | None
    score: Tally
    recall_at_k: Rate  # of trials whose answer document is known, those with a chunk of it among the `k`
    reciprocal_rank: Rate  # mean of 1 / the rank of its first chunk, 0 for none
    answer_recall: Rate  # share of the reference's content words in the context, of those that the documents have
    score_if_found: Tally  # of trials with a retrieved chunk of the answer document
    score_if_missed: Tally  # of trials without one
    cut_chunks: int  # trials of which the embedder read only beginnings of chunks
    paired: Paired | None


def arm_scores(records: Iterable[Record]) -> tuple[ArmScore, ...]:
    """Return the rows of every retriever that a run has, sorted; none for a run without."""
    ordered = sorted(
        records, key=lambda record: (record.model, record.task, record.needle, record.length, record.repeat)
    )
    arms = grouped(filter(retriever_of, ordered), lambda record: (record.model, record.task, retriever_of(record)))
    if not arms:
        return ()
    plain = [each for each in ordered if not retriever_of(each) and not control_of(each) and each.outcome in SCORED]
    whole = grouped(plain, lambda record: (record.model, record.task, *_question(record, record.needle)))
    return tuple(_row(*key, arms[key], whole) for key in sorted(arms))


def retrieval_object(rows: Sequence[ArmScore]) -> list[dict[str, Any]]:
    """The rows for `results.json`; scores, rates and differences 0..1."""
    names = ("score", "score_if_found", "score_if_missed")
    return [asdict(row) | {name: _scores_object(getattr(row, name)) for name in names} for row in rows]


def _scores_object(scores: Tally) -> dict[str, Any]:
    share = scores.share
    return {"n": scores.n, "trials": scores.trials, "mean": scores.mean, "low": share.low, "high": share.high}


def _row(
    model: str, task: str, retriever: str, records: Sequence[Record], whole: Mapping[tuple[Any, ...], list[Record]]
) -> ArmScore:
    facts = [(record, retrieval) for record in records if (retrieval := record.prompt.retrieval)]
    ranks = [(record, retrieval.rank) for record, retrieval in facts if retrieval.gold is not None]
    words = [(record, recall) for record, each in facts if (recall := each.answer_recall) is not None]
    first = facts[0][1] if facts else RetrievalFacts()
    return ArmScore(
        model=model,
        task=task,
        retriever=retriever,
        embedder=first.embedder,
        k=first.k,
        score=tally(map(trial_of, records)),
        recall_at_k=_rate([(record, float(rank is not None)) for record, rank in ranks]),
        reciprocal_rank=_rate([(record, 1 / rank if rank else 0.0) for record, rank in ranks]),
        answer_recall=_rate(words),
        score_if_found=tally(trial_of(record) for record, rank in ranks if rank),
        score_if_missed=tally(trial_of(record) for record, rank in ranks if not rank),
        cut_chunks=sum(bool(retrieval.cut_chunks) for _, retrieval in facts),
        paired=_paired([record for record in records if record.outcome in SCORED], whole),
    )


def _paired(records: Sequence[Record], whole: Mapping[tuple[Any, ...], list[Record]]) -> Paired | None:
    twins = [(each, (each.model, each.task, *_question(each, each.reference.get("twin", "")))) for each in records]
    pairs = [(record, whole[twin]) for record, twin in twins if twin in whole]
    scores = [(_score(record), fmean(list(map(_score, others)))) for record, others in pairs]
    difference = mean_difference([arm - other for arm, other in scores], [each.sample_number for each, _ in pairs])
    if difference is None:
        return None
    return Paired(
        arm=fmean([arm for arm, _ in scores]),
        whole=fmean([other for _, other in scores]),
        difference=difference,
        arm_tokens=fmean([record.prompt.tokens for record, _ in pairs]),
        whole_tokens=fmean([fmean([other.prompt.tokens for other in others]) for _, others in pairs]),
    )


def _rate(values: Sequence[tuple[Record, float]]) -> Rate:
    return rate_of([value for _, value in values], [record.sample_number for record, _ in values])


def _question(record: Record, needle: str) -> tuple[str, int, int, int]:
    return needle, record.length, record.repeat, record.seed


# The medoid is the answer with the highest mean cosine similarity to the others, of equal ones that of the lowest
# repeat (snorkel's long-context-eval calls it medoid voting, by embeddings). Here answers are bags of content words: no
# model is asked, and the same answers elect the same one. Two ways to take K answers from the same trials:
#
# * `moved`: each at another depth of the answer document, as a random order of all documents would have it;
# * `fixed`: all at one depth, only the other documents are reordered.


class Vote(Struct, frozen=True):
    """Votes of `of` answers each, of one task and arm."""

    task: str
    arm: str
    ways: Literal["moved", "fixed"]
    depth: float | None  # percent, where the answer document stands in each of them; `None` for all depths
    of: int
    n: int  # votes
    incomplete: int  # groups with an answer that has no score, which are left out
    voted: Rate  # score of the elected answers
    single: Rate  # score of all answers that were voted on
    gain: Difference | None  # voted - single, paired by question
    requests: int  # that the votes took; a single order takes the `of`-th part
    tokens: int  # of prompts and answers


def votes(records: Sequence[Record], of: int) -> tuple[Vote, ...]:
    """Return the votes of one model's records, by task and arm; nothing where `of` (answers a vote) is 0."""
    if not of:
        return ()
    series = grouped((each for each in records if arm_of(each) != FOCUSED), lambda record: (record.task, record.arm))
    rows: list[Vote] = []
    for name, trials in sorted(series.items()):
        depths = sorted({record.depth for record in trials if record.depth is not None})
        if len(depths) > 1:
            rows.append(_vote(name, "moved", None, of, list(_groups(trials, of, moved=True))))
        one_depth = depths[0] if len(depths) == 1 else None
        rows.append(_vote(name, "fixed", one_depth, of, list(_groups(trials, of, moved=False))))
    return tuple(row for row in rows if row.n or row.incomplete)


def medoid(answers: Sequence[str]) -> int:
    """Return the index of the answer whose words are most like the others', the first of equal ones.

    Blank answers are like each other and nothing else.
    """
    words = [content_words(answer) for answer in answers]
    # Equal sums of other orders of the same terms are equal: `fsum` is exact.
    means = [
        fsum(_cosine(one, other) for at, other in enumerate(words) if at != here) for here, one in enumerate(words)
    ]
    return means.index(max(means))


def _cosine(one: frozenset[str], other: frozenset[str]) -> float:
    if not one or not other:
        return float(one == other)
    return len(one & other) / sqrt(len(one) * len(other))


def _groups(records: Sequence[Record], of: int, *, moved: bool) -> Iterator[tuple[Record, ...]]:
    """The trials that vote together: one of each of `of` repeats of a question, at equal or moved depths."""
    questions = grouped(records, lambda record: (record.needle, record.length))
    for _, same_question in sorted(questions.items()):
        trials = {(record.repeat, record.depth): record for record in same_question}
        depths = sorted({depth for _, depth in trials}, key=lambda depth: -1.0 if depth is None else depth)
        rounds = (1 + max(repeat for repeat, _ in trials)) // of
        for first in range(0, rounds * of, of):
            for start in range(len(depths)):
                at = [(first + turn, depths[(start + turn * moved) % len(depths)]) for turn in range(of)]
                if all(each in trials for each in at):
                    yield tuple(trials[each] for each in at)


def _vote(
    name: tuple[str, str],
    ways: Literal["moved", "fixed"],
    depth: float | None,
    of: int,
    groups: Sequence[tuple[Record, ...]],
) -> Vote:
    complete = [group for group in groups if all(record.outcome in SCORED for record in group)]
    questions = [group[0].item for group in complete]
    scores = [[record.score or 0.0 for record in group] for group in complete]
    elected = [
        marks[medoid([record.response.text for record in group])] for group, marks in zip(complete, scores, strict=True)
    ]
    task, arm = name
    return Vote(
        task=task,
        arm=arm or "whole",
        ways=ways,
        depth=depth,
        of=of,
        n=len(complete),
        incomplete=len(groups) - len(complete),
        voted=rate_of(elected, questions),
        single=rate_of([score for marks in scores for score in marks], [each for each in questions for _ in range(of)]),
        gain=mean_difference([best - fmean(marks) for best, marks in zip(elected, scores, strict=True)], questions),
        requests=of * len(complete),
        tokens=sum(
            (record.response.prompt_tokens or record.prompt.tokens) + (record.response.completion_tokens or 0)
            for group in complete
            for record in group
        ),
    )
