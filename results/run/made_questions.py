"""`--questions-model`: a model writes questions about the run's documents, once, before the run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from needlework.core.errors import InputError
from needlework.core.files import write_whole
from needlework.core.settings import Settings, Suite
from needlework.results.style import relative

if TYPE_CHECKING:
    from needlework.models.judge import CommandJudge


OPTION, FILE = "--questions-model", "questions.json"


def with_made_questions(settings: Settings, folder: Path, *, dry: bool) -> Settings:
    """The settings with the run's own file of questions, which is written later. Raises `InputError`.
    `dry`: only if it exists now, as nothing is asked."""
    suites = _suites(settings)
    if not suites:
        return settings
    spec = suites[0].questions_model
    if any(suite.questions for suite in suites):
        raise InputError(OPTION, spec, "there is a file of questions already: leave out --questions, or this")
    if settings.shard is not None:
        raise InputError(OPTION, spec, "shards need one file of questions: write it before, needlework questions make")
    path = folder / FILE
    if dry and not path.exists():
        return settings
    changed = {suite: replace(suite, questions=str(path)) for suite in suites}
    return replace(settings, suites=tuple(changed.get(suite, suite) for suite in settings.suites))


def make_questions(settings: Settings, folder: Path, open_model: Callable[..., CommandJudge]) -> Iterator[str]:
    """Have a model write questions that the run's file lacks; yields progress. Raises `InputError`."""
    suites = _suites(settings)
    if suites and suites[0].documents is not None:  # else the grid refuses
        try:
            yield from _made(settings, suites, folder / FILE, open_model)
        except OSError as error:
            raise InputError("--results-dir", folder, f"cannot be written ({error.strerror or error})") from None


def _suites(settings: Settings) -> list[Suite]:
    """The suites whose questions the run has a model write."""
    documents = [suite for suite in settings.suites if suite.task.startswith("doc_")]
    return [suite for suite in documents if suite.questions_model]


def _made(settings: Settings, suites: list[Suite], out: Path, open_model: Callable[..., CommandJudge]) -> Iterator[str]:
    from needlework.haystack_fixtures.documents.questions import MOST, question_file, rows_before
    from needlework.haystack_fixtures.documents.readers import read_documents
    from needlework.results.questions import make as writing

    suite = suites[0]
    spec, documents = str(suite.questions_model), read_documents(str(suite.documents))
    before = rows_before(out, OPTION)
    chosen = writing.choose(documents, before, MOST, settings.seed)
    if not chosen.documents:
        yield f"questions: {len(before)}, written by {spec} before: {relative(out)}"
        return
    yield f"questions: {spec} writes one about each of {len(chosen.documents)} documents, kept in {relative(out)}"
    out.parent.mkdir(parents=True, exist_ok=True)
    model = open_model(
        spec,
        base_url=suite.questions_model_base_url,
        api_key_env=suite.questions_model_api_key_env,
        concurrency=settings.concurrency,
        reply_budget=writing.reply_budget(1),
        option=OPTION,
    )
    try:
        template = writing.load_template("factoid-zh" if all(suite.language == "zh" for suite in suites) else "factoid")
        written = writing.write_questions(chosen, model, template, 1, writing.replies_beside(out))
    finally:
        model.close()
    failed = [f"{name!r}: {why}" for name, why in written.failed]
    yield from writing.listed(f"documents that {spec} wrote no question about", failed)
    if not written.rows:
        raise InputError(OPTION, spec, f"has written no question that can be used ({failed[0]})")
    write_whole(out, question_file(written.rows))
    yield f"questions: {len(written.rows)} in all, {written.count} requests now"
    if spec in settings.model:
        yield f"{spec} answers questions of its own: have another model write them, if you can"
