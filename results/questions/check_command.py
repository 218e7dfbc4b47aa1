"""`needlework questions check DIR FILE`: say of every question whether it can be used, and why not.

Without a model: is the answer in its document, is it short, does another document have it beside the question's words,
is the question asked twice. `--model`: does it know the answer without the document. `--checker`: does the document
answer the question, and do its nearest neighbours. Exit code 0; 1 where a model's reply is missing; 2 after one line
about what was wrong.
"""

from __future__ import annotations

import argparse
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from needlework.core.errors import InputError, printable
from needlework.haystack_fixtures.documents.near_copies import twins
from needlework.haystack_fixtures.documents.questions import (
    STATUSES,
    DocumentQuestion,
    Rows,
    is_decided,
    read_rows,
    rows_before,
)
from needlework.haystack_fixtures.documents.readers import DocumentSet, read_documents
from needlework.results.judging.ask import JudgeModel, JudgeQuestion, OpenJudge, Replied, ReplyFile, gather, key_of
from needlework.results.questions.evidence import Checked, DocumentIndex, Reason, check_rows, nearest
from needlework.results.questions.make import correction, replies_of, write_file
from needlework.results.questions.pairs import (
    add_list_argument,
    add_model_arguments,
    folder_lines,
    json_values,
    open_model,
)
from needlework.results.tables.terminal import aligned
from needlework.scoring.scorers.documents import documents_score
from needlework.scoring.scores import Reference

ABOUT = "say which questions can be used, and why the others cannot"
SUFFIX = ".checked.json"
_ANSWER_TOKENS, _VERDICT_TOKENS = 128, 256
_FACTS = frozenset({"status", "reasons", "support", "also_in", "twins", "closed_book", "checker"})
_PAIR = ("question", "answer", "aliases", "answer_doc", "supporting_docs")
_MISSING = ("not probed", "not checked")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("documents", metavar="DIR", help="folder of documents")
    parser.add_argument("questions", metavar="FILE", help='{"0": {"question", "answer", "answer_doc"}, ...}')
    parser.add_argument(
        "--model", metavar="SPEC", help="who is asked without the documents, to see what is known anyway"
    )
    parser.add_argument("--checker", metavar="SPEC", help="who is shown each document with its question")
    parser.add_argument("--checker-base-url", metavar="URL", help="address of the checker's server, ending in /v1")
    parser.add_argument(
        "--checker-api-key-env", default="OPENAI_API_KEY", metavar="NAME", help="variable with its key [%(default)s]"
    )
    parser.add_argument(
        "--max-other", type=int, default=0, metavar="N", help="other documents that may have the answer too [0]"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="file to write [FILE.checked.json]")
    add_list_argument(parser)
    add_model_arguments(parser)


def run(options: argparse.Namespace, open_judge: OpenJudge) -> int:
    """Check the questions, print how many are what, write them. Raises `InputError`."""
    if options.max_other < 0:
        raise InputError("--max-other", options.max_other, "give a whole number from 0")
    rows, _ = read_rows(options.questions, "FILE")
    if not rows:
        raise InputError("FILE", options.questions, "has no question")
    found = read_documents(options.documents, "DIR")
    out = options.out or Path(f"{options.questions.removesuffix('.json').removesuffix('.checked')}{SUFFIX}")
    before = rows_before(out)
    index = DocumentIndex(found.documents)
    groups = twins(found.documents)
    checked = check_rows(rows, found, groups, index, options.max_other)
    if options.model or options.checker:
        file = ReplyFile(options.replies or replies_of(out), "--replies")
        try:
            if options.model:
                checked = _closed_book(checked, options, open_judge, file)
            if options.checker:
                checked = _with_checker(checked, found, index, options, open_judge, file)
        finally:
            file.close()
    kept, dropped = _decisions(rows, before)
    write_file(out, {each.key: _row(rows[each.key], each, kept.get(each.key)) for each in checked})
    for line in (*_lines(checked, found, kept, dropped), *folder_lines(found, groups, every=options.list_left_out)):
        print(line)
    print(printable(f"written to {out}"))
    missing = any(reason.kind in _MISSING for each in checked for reason in each.reasons)
    for line in _next_lines(options.documents, out, checked, kept, missing=missing):
        print(printable(line))
    return 1 if missing else 0


def _next_lines(
    folder: str, out: Path, checked: Sequence[Checked], kept: Mapping[str, Any], *, missing: bool
) -> Iterator[str]:
    """What a person would do with the file now."""
    if missing:
        yield "next: the same command again; it asks for the replies that are missing"
    open_pairs = sum(each.status == "review" and each.key not in kept for each in checked)
    if open_pairs:
        serve = shlex.join(["needlework", "serve", str(out), "--documents", folder])
        yield f"next: decide on {open_pairs} to review: {serve}"
    run = shlex.join(["pytest", "benchmarks", "--preset", "own-documents", "--documents", folder])
    yield f"next: {run} {shlex.join(['--questions', str(out)])} --model SPEC"


def _closed_book(
    checked: Sequence[Checked], options: argparse.Namespace, open_judge: OpenJudge, file: ReplyFile
) -> list[Checked]:
    model = open_model(options, open_judge, _ANSWER_TOKENS)
    try:
        asked = [closed_book_question(each.question, model) for each in checked if each.question]
        gather(asked, model, read_answer, lambda _, replied: {"replied": not replied.problem}, file)
        return [with_closed_book(each, model, file.known) for each in checked]
    finally:
        model.close()


def _with_checker(
    checked: Sequence[Checked],
    found: DocumentSet,
    index: DocumentIndex,
    options: argparse.Namespace,
    open_judge: OpenJudge,
    file: ReplyFile,
) -> list[Checked]:
    model = open_model(options, open_judge, _VERDICT_TOKENS, "--checker")
    try:
        asked = [checker_questions(each, found, index, model) for each in checked]
        questions = [one.question for each in asked for one in each]
        gather(questions, model, read_verdict, lambda _, replied: {"replied": not replied.problem}, file, correction)
        return [with_checker(each, ones, model, file.known) for each, ones in zip(checked, asked, strict=True)]
    finally:
        model.close()


def _decisions(rows: Rows, before: Rows) -> tuple[dict[str, Any], list[str]]:
    """What people decided: of this file, else of the one that is written over, where the pair is still the same.

    With the keys of those that are lost.
    """
    kept, dropped = {}, []
    for key, row in before.items():
        if not is_decided(row):
            continue
        if key in rows and all(row.get(name) == rows[key].get(name) for name in _PAIR):
            kept[key] = row["decision"]
        else:
            dropped.append(key)
    return kept | {key: row["decision"] for key, row in rows.items() if is_decided(row)}, dropped


def _row(row: Mapping[str, Any], each: Checked, decision: Any) -> dict[str, Any]:
    plain = {name: value for name, value in row.items() if name not in _FACTS}
    found = {"status": each.status, "reasons": [str(reason) for reason in each.reasons], **each.facts}
    return plain | found | ({"decision": decision} if decision else {})


def _lines(
    checked: Sequence[Checked], found: DocumentSet, kept: Mapping[str, Any], dropped: Sequence[str]
) -> Iterator[str]:
    yield f"{len(checked)} questions about {len(found.documents)} documents"
    counts: Counter[str] = Counter(each.status for each in checked)
    reasons: Counter[tuple[str, str]] = Counter(
        kind for each in checked for kind in {(each.status, reason.kind) for reason in each.reasons}
    )
    table = [("status", "questions"), *((status, str(counts[status])) for status in STATUSES)]
    yield from aligned(table, names=1)
    if reasons:
        yield "why, and how many (a question may have several reasons):"
    for (status, kind), count in sorted(reasons.items(), key=lambda item: (STATUSES.index(item[0][0]), -item[1])):
        yield f"- {status}, {kind}: {count}"
    if kept:
        yield f"decisions of people that are kept: {len(kept)}; they count whatever the check says"
    if dropped:
        yield printable(f"decisions about pairs that have changed since, left out: {', '.join(map(repr, dropped))}")


OTHERS = 3  # documents nearest to a question that a checker is shown beside its own
_LONGEST = 200  # characters of a reply that the file of questions keeps
_CLOSED_BOOK = (
    "You answer questions from what you know. Give the answer alone, in a few words. If you do not know it, say that "
    "you do not know; do not guess."
)
_CHECKER = (
    "You are given one document and one question, and find out whether that document answers the question. You use "
    "nothing but the document. You reply with JSON and nothing else."
)
_CHECKED = """<document>
{document}
</document>

Question: {question}

The document answers it only if it states the answer for exactly what the question asks about. Reply with
{{"answerable": true or false, "answer": "the answer in a few words, or nothing"}}"""


@dataclass(frozen=True, slots=True)
class CheckQuestion:
    """A question to the checker about one document. `own`: it is the pair's own."""

    document: str
    own: bool
    question: JudgeQuestion


def closed_book_question(pair: DocumentQuestion, model: JudgeModel) -> JudgeQuestion:
    """The pair's question alone."""
    about = {"model": model.identity.get("spec"), "probe": "closed book", "item": pair.key}
    return JudgeQuestion(key_of(model, _CLOSED_BOOK, pair.question), _CLOSED_BOOK, pair.question, about)


def read_answer(reply: str) -> str:
    """A reply that says anything. Raises `ValueError`."""
    if not reply.strip():
        raise ValueError("it is empty")
    return reply.strip()


def with_closed_book(each: Checked, model: JudgeModel, known: Mapping[str, Replied]) -> Checked:
    """The pair with what the model said to its question alone; right, it is known without the document."""
    pair = each.question
    if pair is None:
        return each
    replied = known.get(closed_book_question(pair, model).key)
    if replied is None or replied.problem or not replied.replies:
        return _more(each, {}, Reason("review", "not probed", replied.problem if replied else "no reply"))
    answer = replied.replies[-1].strip()
    right = documents_score(answer, Reference(pair.answers, question=pair.question)).value == 1
    facts = {"closed_book": {"model": model.identity.get("spec"), "known": right, "answer": answer[:_LONGEST]}}
    reasons = [Reason("reject", "known without the document", f"asked alone, the model says {answer[:_LONGEST]!r}")]
    return _more(each, facts, *(reasons if right else []))


def checker_questions(
    each: Checked, found: DocumentSet, index: DocumentIndex, model: JudgeModel
) -> list[CheckQuestion]:
    """The question with its own document, and with the other documents that are nearest to it.

    Raises `InputError` where the checker's window has no room for a document.
    """
    pair = each.question
    own = found.named(pair.document) if pair else None
    if pair is None or own is None:
        return []
    others = nearest(index, pair.question, each.own, OTHERS)
    return [_asked(pair, name, name == own.name, found, model) for name in (own.name, *others)]


def _asked(pair: DocumentQuestion, name: str, own: bool, found: DocumentSet, model: JudgeModel) -> CheckQuestion:
    document = found.named(name)
    assert document is not None
    around = _CHECKER + _CHECKED.format(document="", question=pair.question)
    text = model.shortened(document.text, around)
    user = _CHECKED.format(document=text, question=pair.question)
    about = {"model": model.identity.get("spec"), "probe": "document", "item": pair.key, "document": name}
    return CheckQuestion(name, own, JudgeQuestion(key_of(model, _CHECKER, user), _CHECKER, user, about))


def read_verdict(reply: str) -> str | None:
    """The answer that the document has by a checker's reply; `None` where it has none. Raises `ValueError`."""
    for value in json_values(reply):
        if isinstance(value, dict) and isinstance(value.get("answerable"), bool):
            return str(value.get("answer") or "") if value["answerable"] else None
    raise ValueError('there is no JSON like {"answerable": true, "answer": "..."} in it')


def with_checker(
    each: Checked, asked: Sequence[CheckQuestion], model: JudgeModel, known: Mapping[str, Replied]
) -> Checked:
    """The pair with what the checker said of each document."""
    pair = each.question
    if pair is None or not asked:
        return each
    reasons, said = [], []
    for one in asked:
        replied = known.get(one.question.key)
        if replied is None or replied.problem or not replied.replies:
            reasons.append(Reason("review", "not checked", replied.problem if replied else "no reply"))
            continue
        answer = read_verdict(replied.replies[-1])
        said.append({"document": one.document, "answer": None if answer is None else answer[:_LONGEST]})
        reasons += _of_own(pair, answer) if one.own else _of_another(one.document, answer)
    return _more(each, {"checker": {"model": model.identity.get("spec"), "documents": said}}, *reasons)


def _of_own(pair: DocumentQuestion, answer: str | None) -> list[Reason]:
    if answer is None:
        return [Reason("reject", "not answerable from its document", "says the checker")]
    if documents_score(answer, Reference(pair.answers, question=pair.question)).value == 1:
        return []
    return [Reason("review", "another answer", f"the checker answers {answer[:_LONGEST]!r} from the document")]


def _of_another(name: str, answer: str | None) -> list[Reason]:
    if answer is None:
        return []
    return [Reason("review", "answered by another document", f"the checker finds {answer[:_LONGEST]!r} in {name!r}")]


def _more(each: Checked, facts: Mapping[str, Any], *reasons: Reason) -> Checked:
    return replace(each, facts={**each.facts, **facts}, reasons=(*each.reasons, *reasons))
