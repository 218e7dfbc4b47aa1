"""`needlework questions make DIR --model SPEC`: have a model write questions about your documents.

Each document is shown to the model by itself. `--template gap` asks no model: a sentence with a gap is the question.
Questions that the file has already stay as they are: documents that were added are asked about, and no others.
Exit code 0; 1 where a document has no question; 2 after one line about what was wrong. Stopped, the same command goes
on where it was.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator
from pathlib import Path

from needlework.haystack_fixtures.documents.folder import DocumentSet, read_documents
from needlework.haystack_fixtures.documents.gaps import NAME, gap_rows
from needlework.haystack_fixtures.documents.near_copies import twins
from needlework.haystack_fixtures.documents.questions import Rows, rows_before
from needlework.haystack_fixtures.errors import InputError, printable
from needlework.results.judging.asking import OpenJudge
from needlework.results.questions.folder_report import add_list_argument, folder_lines, listed
from needlework.results.questions.kept import Kept, joined, kept_lines, kept_of
from needlework.results.questions.make import Chosen, choose
from needlework.results.questions.model_options import add_model_arguments, open_model
from needlework.results.questions.templates import load_template, names
from needlework.results.questions.written import Written, replies_of, reply_budget, write_file, write_questions

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


def _lines(found: DocumentSet, chosen: Chosen, written: Written, *, every: bool) -> Iterator[str]:
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


def _kept_words(kept: Kept) -> str:
    return f"{kept.asked} have questions already and keep them, " if kept.rows else ""
