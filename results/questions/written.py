"""A model writes questions about a folder into a file, which is gone on with; by a command, or as a run begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from needlework.haystack_fixtures.documents.folder import DocumentSet
from needlework.haystack_fixtures.documents.questions import Rows, question_file
from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.writing.whole_files import write_whole
from needlework.results.judging.asking import Judge, Question, Replied, ReplyFile, gather
from needlework.results.questions.kept import joined
from needlework.results.questions.make import Chosen, Made, Wanted, correction, made, wanted
from needlework.results.questions.pairs import read_pairs
from needlework.results.questions.templates import Template

_REPLY_TOKENS, _PAIR_TOKENS = 512, 256  # of a reply, and more for each further pair


@dataclass(frozen=True, slots=True)
class Written:
    """What became of it. `asked`: the documents that were asked about; `count`: requests that were made now; `rows`:
    all of the file.
    """

    asked: tuple[Wanted, ...]
    result: Made
    count: int
    rows: Rows


def reply_budget(per_document: int) -> int:
    """Tokens of a reply with so many questions."""
    return _REPLY_TOKENS + _PAIR_TOKENS * (per_document - 1)


def replies_of(out: Path) -> Path:
    """The file beside a file of questions that replies are kept in as they come."""
    return out.with_name(f"{out.name.removesuffix('.json')}.replies.jsonl")


def write_questions(
    chosen: Chosen, found: DocumentSet, model: Judge, template: Template, per_document: int, replies: Path
) -> Written:
    """Have the model write questions about the chosen documents; nothing is written but its replies.

    Raises `InputError` where the model or the file of replies is of no use.
    """
    asked = [wanted(each, template, per_document, model) for each in chosen.documents]
    result, count = _gathered(asked, model, replies, per_document)
    return Written(tuple(asked), result, count, joined(chosen.kept, result.rows, found))


def write_file(out: Path, rows: Rows, option: str = "--out") -> None:
    """Write the file whole. Raises `InputError`."""
    try:
        write_whole(out, question_file(rows))
    except (OSError, ValueError) as error:
        raise InputError(option, out, f"cannot be written ({getattr(error, 'strerror', None) or error})") from None


def _gathered(asked: Sequence[Wanted], model: Judge, replies: Path, per_document: int) -> tuple[Made, int]:
    def fields(_question: Question, replied: Replied) -> dict[str, int]:
        return {"pairs": 0 if replied.problem else per_document}

    file = ReplyFile(replies, "--replies")
    try:
        questions = [each.question for each in asked]
        count = gather(questions, model, partial(read_pairs, count=per_document), fields, file, correction)
        return made(asked, file.known, per_document), count
    finally:
        file.close()
