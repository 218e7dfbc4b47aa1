"""`needlework rescore RUN --scorer NAME`: judge the stored answers again, without a model."""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from msgspec import structs

from needlework.core.errors import InputError, OneLineParser, run_command
from needlework.core.record import Record, RecordedError
from needlework.results.files.read_run import read_run, report_of
from needlework.results.report.panels import headline
from needlework.results.report.section import section_lines
from needlework.results.report.suites import needlebench_sections
from needlework.results.run.finish import write_files
from needlework.results.statistics.absent import is_absent
from needlework.results.style import one_line
from needlework.scoring.judges.judges import JUDGE, OWN_PROMPT, judged
from needlework.scoring.recording import knows_absence, score_exchange
from needlework.scoring.registry import scorer_named
from needlework.scoring.scores import outcome_of


def main(argv: Sequence[str]) -> int:
    """Write the rescored run beside the run (or to --out) and print each panel's score before and after.

    Returns 0, 2 after one line about what was wrong, or 1 where the scorer failed on an answer.
    """
    parser = OneLineParser(prog="needlework rescore", description=__doc__)
    parser.add_argument("run", type=Path, metavar="RUN", help="folder of the run, or its results.json")
    parser.add_argument("--scorer", required=True, help="name of the scorer, as in docs/presets.md")
    parser.add_argument("--out", type=Path, help="folder for the files [RUN/rescored-NAME]")
    options = parser.parse_args(argv)
    return run_command("rescore", lambda: _rescore(options.run, options.scorer, options.out))


def _rescore(path: Path, scorer: str, out: Path | None) -> int:
    check_scorer(scorer)
    if scorer.startswith(JUDGE):
        raise InputError("--scorer", scorer, "needs a judge; run again with --judge, answers are kept")
    run = read_run(path)
    after = tuple(rescored(record, scorer) for record in run.records)
    out = out or run.folder / f"rescored-{scorer.replace(':', '.')}"
    report = report_of(run, after)
    write_files(out, report)
    for old, new in zip(run.panels, report.panels, strict=True):
        print(f"{new.name}\n  before: {headline(old)}\n  {scorer}: {headline(new)}")
    for line in section_lines(needlebench_sections(report.suites)):
        print(line)
    print(f"written to {out}")
    failed = [record for record in after if record.outcome == "error" and record.scorer == scorer]
    if failed:
        print(one_line(f"{scorer} failed on {len(failed)} of {len(after)} answers: {failed[0].why}"))
    return 1 if failed else 0


def rescored(record: Record, scorer: str) -> Record:
    """The record, scored anew. Invalid and skipped trials stay as they are, and errors but a judge's.

    So do those whose answer is absent on purpose, unless the scorer knows absence: abstaining is right there.
    """
    unjudged = record.outcome == "error" and record.error is not None and record.error.kind == "judge"
    if record.outcome in ("error", "invalid", "skipped") and not unjudged:
        return record
    if is_absent(record) and not knows_absence(scorer):
        return record
    response = record.response
    exchange: Any = SimpleNamespace(
        answer=response.text, reference=record.reference, error_kind=None, finish_reason=response.finish_reason
    )
    scored = score_exchange(exchange, scorer)
    outcome, value = outcome_of(
        error_kind=scored.error_kind,
        finish_reason=response.finish_reason,
        invalid=(),
        score=scored.score,
        answer_text=response.text,
    )
    return structs.replace(
        record,
        outcome=outcome,
        score=value,
        scorer=scored.scorer,
        scorer_version=scored.version,
        why=scored.score.why if scored.score else scored.message,
        read_as=scored.score.answer if scored.score else "",
        details=structs.replace(record.details, score=dict(scored.score.details) if scored.score else {}),
        error=RecordedError(kind=scored.error_kind, message=scored.message) if scored.error_kind else None,
    )


def check_scorer(name: str) -> None:
    """Raise `InputError` where there is no such scorer."""
    try:
        if name == f"{JUDGE}{OWN_PROMPT}":
            return
        if name.startswith(JUDGE):
            judged(lambda _system, _user: "", name.removeprefix(JUDGE))
        else:
            scorer_named(name)
    except ValueError as error:
        raise InputError("--scorer", name, str(error).partition(": ")[2]) from None
