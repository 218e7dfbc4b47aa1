"""What would make a run's answer surer: more samples, and how many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, fsum

from needlework.haystack_fixtures.tasks.catalogue import family_of
from needlework.results.records.record import Record
from needlework.results.records.samples import OWN_DOCUMENTS
from needlework.results.records.tests_of_cells import task_of
from needlework.results.statistics.intervals.evidence import further_samples, of_scores
from needlework.results.statistics.length.answer import EffectiveLength
from needlework.results.statistics.panels import Tally, decided, trial_of
from needlework.results.style.text import counted

_WIDE = 0.05  # half the width of an interval from which on a narrower one is worth its trials
# Their questions are what they are: a further repeat asks the same ones again.
_FIXED = ("leval", "openai_mrcr", "deepmind_mrcr", "graphwalks", "longbench_v2")
_MOST = 10_000  # repeats
_LASTING = ("client", "oom")  # errors that the same request meets again: what it asks for, and too little memory


@dataclass(frozen=True, slots=True)
class Surer:
    """`what` a further run would decide, and how: `repeats` for `--repeats`, 0 where another thing than an option is to
    be done, which `what` then says."""

    what: str
    repeats: int = 0


def asks_the_rest(name: str = "") -> str:
    """How a run that was ended early goes on; `name`: its run name, empty where it is not known."""
    return f"{_same_command(name)} asks the rest"


def asks_again(records: Sequence[Record], name: str = "") -> str:
    """How trials that failed get their answers; empty where none failed, or each would fail again."""
    count = sum(map(_may_be_mended, records))
    return f"{_same_command(name)} asks the {counted(count, 'failed trial')} again" if count else ""


def surer(
    records: Sequence[Record], found: EffectiveLength | None, overall: Tally, repeats: int | None = None
) -> Surer | None:
    """Return what would make the answer of one task surer; `None` where it is sure, or repeats would not help.

    `records`: those of the task, of which earlier sessions may have asked more; `found`: its effective length;
    `overall`: all of its trials; `repeats`: those of the command, `None` where nobody knows.
    """
    if not records or not overall.n:
        return None
    task = task_of(records[0]["task"])
    if task in OWN_DOCUMENTS:
        # A question counts once: beside `overall.samples`, which has it for each way of taking its answer out.
        asked = len({trial_of(record).sample for record in records})
        wide = _half_width(overall) > _WIDE
        return Surer(f"ask more than {asked} questions; intervals count questions, not trials") if wide else None
    if family_of(task) in _FIXED:
        return None
    if found is not None and found.hangs:
        return _room(records)
    if found is not None and found.status == "undetermined" and found.decisive is not None:
        return _to_decide(records, found)
    asked = repeats or min(_repeats_at(records).values())
    if overall.interval is None:
        return _repeats(2 * asked, "for an interval: one sample has none")
    if _half_width(overall) > _WIDE:
        return _repeats(4 * asked, "for an interval half as wide")
    return None


def _may_be_mended(record: Record) -> bool:
    if record["outcome"] == "error":
        return (record["error"] or {}).get("kind") not in _LASTING
    return record["outcome"] == "invalid" and "uncalibrated" in record["details"].get("invalid", ())


def _same_command(name: str) -> str:
    return f"the same command{f' with --run-name {name}' if name else ''}"


def _room(records: Sequence[Record]) -> Surer | None:
    """What decides answers that the token limit cut off. Others need another thing than room: a note tells it."""
    cut = [record["response"].get("finish_reason") for record in records if record["outcome"] == "censored"]
    if not cut or "unfinished" in cut:
        return None
    return Surer("more room for the answers: --answer-budget, and --thinking-budget for a model that reasons first")


def _to_decide(records: Sequence[Record], found: EffectiveLength) -> Surer | None:
    """The fewest repeats after which the decisive length is decided, if their samples score as those so far.

    With too few samples to prove any length, the promise is kept to where every answer is right. Earlier sessions may
    have asked a length more often than another: each is counted by what it was asked.
    """
    asked, samples = _repeats_at(records), _scored_samples(records)
    trials = [trial for record in records if (trial := trial_of(record)).length == found.decisive]
    # Its mean is on one side of the bar whatever undecided trials are: they are counted for the other side.
    worst = [trial.score for trial in decided(trials, hits=False) if trial.score is not None]
    above = bool(worst) and fsum(worst) / len(worst) >= found.threshold
    trials = decided(trials, hits=not above)
    scored = [(trial.score, trial.sample_name) for trial in trials if trial.score is not None]
    if not scored:
        return None
    if found.few and found.needed and all(score == 1 for score, _ in scored):
        repeats = max(ceil(asked[length] * found.needed / len(names)) for length, names in samples.items())
        return _repeats(repeats, "to prove a length, as far as every answer is right")
    evidence = of_scores([score for score, _ in scored], [sample for _, sample in scored])
    more = further_samples(evidence, lambda low, high: low >= found.threshold or high < found.threshold, 1)
    if not more:
        return None
    now = asked[found.decisive or 0]
    return _repeats(now + ceil(more * now / evidence.samples), "to decide the length")


def _repeats_at(records: Sequence[Record]) -> dict[int, int]:
    """How many repeats each length has."""
    found: dict[int, int] = {}
    for record in records:
        found[record["length"]] = max(found.get(record["length"], 0), 1 + record["repeat"])
    return found


def _scored_samples(records: Sequence[Record]) -> dict[int, set[object]]:
    """The samples of each length that have a score."""
    found: dict[int, set[object]] = {}
    for trial in map(trial_of, records):
        if trial.score is not None:
            found.setdefault(trial.length, set()).add(trial.sample_name)
    return found


def _half_width(found: Tally) -> float:
    return 1.0 if found.interval is None else (found.interval.high - found.interval.low) / 2


def _repeats(count: int, what: str) -> Surer | None:
    return Surer(what, count) if count <= _MOST else None
