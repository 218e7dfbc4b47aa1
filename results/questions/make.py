"""`needlework questions make DIR --model SPEC`: have a model write questions about your documents.

Each document is shown to the model by itself. `--template gap` asks no model: a sentence with a gap is the question.
Questions that the file has already stay as they are: documents that were added are asked about, and no others.
Exit code 0; 1 where a document has no question; 2 after one line about what was wrong. Stopped, the same command goes
on where it was.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from needlework.core.draws import draws, sample
from needlework.core.errors import InputError, printable
from needlework.core.files import parse_toml, read_text, write_whole
from needlework.haystack_fixtures.documents.near_copies import NAME, gap_rows, twins
from needlework.haystack_fixtures.documents.questions import Rows, question_file, rows_before
from needlework.haystack_fixtures.documents.readers import DocumentSet, OwnDocument, read_documents
from needlework.results.judging.ask import JudgeModel, JudgeQuestion, OpenJudge, Replied, ReplyFile, gather, key_of
from needlework.results.questions.pairs import (
    RetainedRows,
    add_list_argument,
    add_model_arguments,
    folder_lines,
    joined,
    kept_lines,
    kept_of,
    listed,
    open_model,
    read_pairs,
)

if TYPE_CHECKING:
    import jinja2


ABOUT = "have a model write questions about your documents"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("documents", metavar="DIR", help="folder of documents, see docs/documents.md")
    parser.add_argument(
        "--model", metavar="SPEC", help="who writes them: openai:NAME, or any other SPEC; nobody for --template gap"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="file to write [FOLDER.questions.json]")
    parser.add_argument("--per-document", type=int, default=1, metavar="N", help="questions about each document [1]")
    parser.add_argument(
        "--template", default="factoid", metavar="NAME", help=f"{', '.join((*names(), NAME))}, or a TOML file [factoid]"
    )
    parser.add_argument("--limit", type=int, metavar="N", help="only so many documents, drawn with --seed [all]")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="which documents --limit takes [0]")
    add_list_argument(parser)
    add_model_arguments(parser)


def run(options: argparse.Namespace, open_judge: OpenJudge) -> int:
    """Make the questions and say what became of every document. Raises `InputError`."""
    for name in ("per_document", "limit"):
        value = getattr(options, name)
        if value is not None and value < 1:
            raise InputError(f"--{name.replace('_', '-')}", value, "give a whole number from 1")
    found = read_documents(options.documents, "DIR")
    out = options.out or Path(f"{Path(options.documents).expanduser().resolve().name}.questions.json")
    before = rows_before(out)
    if options.template == NAME:
        return _gaps(options, found, out, before)
    if options.model is None:
        raise InputError("--model", "", f"who is to write them? --model SPEC, or nobody: --template {NAME}")
    template = load_template(options.template)
    chosen = choose(found, before, options.limit, options.seed)
    model = open_model(options, open_judge, reply_budget(options.per_document))
    replies = options.replies or replies_of(out)
    try:
        written = write_questions(chosen, found, model, template, options.per_document, replies)
    finally:
        model.close()
    for line in _lines(found, chosen, written, every=options.list_left_out):
        print(line)
    if not written.rows:
        raise InputError("--model", options.model, "has written no question that can be used; see the lines above")
    write_file(out, written.rows)
    print(printable(f"asked now: {written.count}; replies are in {replies}"))
    print(_next(options, out))
    return 1 if written.result.failed else 0


def _gaps(options: argparse.Namespace, found: DocumentSet, out: Path, before: Rows) -> int:
    """Questions without a model."""
    if options.model is not None or options.per_document != 1:
        given = ("--model", options.model) if options.model is not None else ("--per-document", options.per_document)
        raise InputError(*given, f"--template {NAME} asks no model, and one question a document: leave it out")
    groups = twins(found.documents)
    kept = kept_of(before, found, groups)
    made = gap_rows(found, groups, options.limit, seed=options.seed).values()
    new = [row for row in made if row["answer_doc"] not in kept.names]
    rows = joined(kept, new if options.limit is None else new[: max(0, options.limit - kept.asked)], found)
    told = f"{len(found.documents)} documents in the folder, {_kept_words(kept)}"
    print(f"{told}{len(rows) - len(before)} {'more ' if before else ''}have questions")
    asked = {row["answer_doc"] for row in rows.values()} | {name for group in groups for name in group[1:]}
    without = [repr(each.name) for each in found.documents if each.name not in asked | kept.names]
    short = len(rows) < (options.limit or len(found.documents))
    for line in (
        *kept_lines(kept),
        *folder_lines(found, groups, every=options.list_left_out),
        *listed("documents without a sentence for a gap", without if short else []),
    ):
        print(line)
    if not rows:
        raise InputError("DIR", options.documents, "has no sentence to make a question of: have a model write them")
    write_file(out, rows)
    print(_next(options, out))
    return 1 if short and without else 0


def _next(options: argparse.Namespace, out: Path) -> str:
    command = shlex.join(["needlework", "questions", "check", str(options.documents), str(out)])
    return printable(f"written to {out}; next: {command}")


def _lines(found: DocumentSet, chosen: ChosenDocuments, written: WrittenQuestions, *, every: bool) -> Iterator[str]:
    asked, failed = written.asked, written.result.failed
    told = f"{len(found.documents)} documents in the folder, {_kept_words(chosen.kept)}{len(asked)} asked about"
    yield f"{told}, {len(asked) - len(failed)} have questions: {len(written.rows)} in all"
    yield from kept_lines(chosen.kept)
    yield from folder_lines(found, chosen.twins, every=every)
    if chosen.twins:
        yield "of twins only the first is asked about"
    shortened = [repr(each.document) for each in asked if each.shortened]
    yield from listed("documents longer than the model's window, of which it saw the beginning", shortened)
    yield from listed("documents without a question", [f"{name!r}: {why}" for name, why in failed])


def _kept_words(kept: RetainedRows) -> str:
    return f"{kept.asked} have questions already and keep them, " if kept.rows else ""


@dataclass(frozen=True, slots=True)
class ChosenDocuments:
    """The documents that are asked about, in their order. `twins`: groups of names; only the first of each may be.
    `kept`: the questions that are there already.
    """

    documents: tuple[OwnDocument, ...]
    twins: tuple[tuple[str, ...], ...]
    kept: RetainedRows


@dataclass(frozen=True, slots=True)
class WriterRequest:
    """The question to the model about one document. `shortened`: the window has no room for all of it."""

    document: str
    question: JudgeQuestion
    shortened: bool


@dataclass(frozen=True, slots=True)
class Made:
    """The new rows of the file, and the documents that have none: (name, why)."""

    rows: tuple[Mapping[str, Any], ...]
    failed: tuple[tuple[str, str], ...]


def choose(found: DocumentSet, before: Rows, limit: int | None, seed: int) -> ChosenDocuments:
    """Take all documents but the twins of earlier ones: a question about one of two has two right places.

    `before`: rows of the file as it is; their documents are not asked about again. `limit`: only so many, drawn with
    the seed; those that have a question count.
    """
    groups = twins(found.documents)
    kept = kept_of(before, found, groups)
    later = {name for group in groups for name in group[1:]}
    documents = [each for each in found.documents if each.name not in later]
    if limit is not None and limit < len(documents):
        drawn = {each.name for each in sample(draws("questions make", seed), documents, limit)}
        documents = [each for each in documents if each.name in drawn]
    new = [each for each in documents if each.name not in kept.names]
    return ChosenDocuments(tuple(new if limit is None else new[: max(0, limit - kept.asked)]), groups, kept)


def wanted(document: OwnDocument, template: WriterTemplate, count: int, model: JudgeModel) -> WriterRequest:
    """Return the question to the model about one document. Raises `InputError`."""
    around = "".join(template.render("", count))
    text = model.shortened(document.text, around)
    system, user = template.render(text, count)
    about = {"model": model.identity.get("spec"), "document": document.name}
    return WriterRequest(
        document.name, JudgeQuestion(key_of(model, system, user), system, user, about), text != document.text
    )


def correction(question: JudgeQuestion, _reply: str, problem: str) -> str:
    """What is sent after a reply that cannot be used."""
    return f"{question.user}\n\nA reply to this could not be used: {problem}. Reply with the JSON alone."


def made(asked: Sequence[WriterRequest], known: Mapping[str, Replied], count: int) -> Made:
    """Return the rows in the order of the documents; a document without a usable reply is a failed one."""
    rows: list[Mapping[str, Any]] = []
    failed = []
    for each in asked:
        replied = known.get(each.question.key)
        if replied is None or replied.problem or not replied.replies:
            failed.append((each.document, replied.problem if replied else "not asked"))
            continue
        try:
            pairs = read_pairs(replied.replies[-1], count)
        except ValueError as error:
            failed.append((each.document, str(error)))
            continue
        for pair in pairs:
            row: dict[str, Any] = {"question": pair.question, "answer": pair.answer, "answer_doc": each.document}
            rows.append(row | ({"aliases": list(pair.aliases)} if pair.aliases else {}))
    return Made(tuple(rows), tuple(failed))


OPTION = "--template"
_FOLDER = Path(__file__).parent / "prompts"
_NEED = "a template is a TOML file with `system` and `user`, texts with {{ document }} and {{ count }} in them (Jinja)"


@dataclass(frozen=True, slots=True)
class WriterTemplate:
    """`system` and `user` message, Jinja sources. `name`: built in, or the path of the user's file."""

    name: str
    system: str
    user: str

    def render(self, document: str, count: int) -> tuple[str, str]:
        """System and user message. Raises `InputError` where the user's own template cannot be rendered."""
        try:
            system, user = (
                _compiled(source).render(document=document, count=count).strip() for source in (self.system, self.user)
            )
        except Exception as error:  # noqa: BLE001 - a template computes: it may divide by zero, index too far, recurse
            raise InputError(OPTION, self.name, f"cannot be rendered ({error}); {_NEED}") from None
        return system, user


@lru_cache(8)
def _compiled(source: str) -> jinja2.Template:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    return ImmutableSandboxedEnvironment(trim_blocks=True, undefined=StrictUndefined).from_string(source)


def names() -> tuple[str, ...]:
    """The built-in templates."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.toml")))


def load_template(name: str) -> WriterTemplate:
    """A built-in template, or that of a file. Raises `InputError`."""
    if name in names():
        fields = parse_toml(OPTION, name, (_FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    else:
        fields = parse_toml(OPTION, name, read_text(OPTION, name, f"give one of {', '.join(names())}, or a file"))
    system, user = _text(name, fields, "system"), _text(name, fields, "user")
    template = WriterTemplate(name, system, user)
    mark = "where the document goes"
    if mark not in "".join(template.render(mark, 1)):
        raise InputError(OPTION, name, f"{{{{ document }}}} is nowhere in it; {_NEED}")
    return template


def _text(name: str, fields: dict[str, Any], field: str) -> str:
    value = fields.get(field)
    if not isinstance(value, str):
        raise InputError(OPTION, name, f"has no text `{field}`; {_NEED}")
    return value


_REPLY_TOKENS, _PAIR_TOKENS = 512, 256  # of a reply, and more for each further pair


@dataclass(frozen=True, slots=True)
class WrittenQuestions:
    """What became of it. `asked`: the documents that were asked about; `count`: requests that were made now; `rows`:
    all of the file.
    """

    asked: tuple[WriterRequest, ...]
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
    chosen: ChosenDocuments,
    found: DocumentSet,
    model: JudgeModel,
    template: WriterTemplate,
    per_document: int,
    replies: Path,
) -> WrittenQuestions:
    """Have the model write questions about the chosen documents; nothing is written but its replies.

    Raises `InputError` where the model or the file of replies is of no use.
    """
    asked = [wanted(each, template, per_document, model) for each in chosen.documents]
    result, count = _gathered(asked, model, replies, per_document)
    return WrittenQuestions(tuple(asked), result, count, joined(chosen.kept, result.rows, found))


def write_file(out: Path, rows: Rows, option: str = "--out") -> None:
    """Write the file whole. Raises `InputError`."""
    try:
        write_whole(out, question_file(rows))
    except (OSError, ValueError) as error:
        raise InputError(option, out, f"cannot be written ({getattr(error, 'strerror', None) or error})") from None


def _gathered(asked: Sequence[WriterRequest], model: JudgeModel, replies: Path, per_document: int) -> tuple[Made, int]:
    def fields(_question: JudgeQuestion, replied: Replied) -> dict[str, int]:
        return {"pairs": 0 if replied.problem else per_document}

    file = ReplyFile(replies, "--replies")
    try:
        questions = [each.question for each in asked]
        count = gather(questions, model, partial(read_pairs, count=per_document), fields, file, correction)
        return made(asked, file.known, per_document), count
    finally:
        file.close()
