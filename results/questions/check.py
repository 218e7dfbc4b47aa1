"""`needlework questions check DIR FILE`: say of every question whether it can be used, and why not.

Without a model: is the answer in its document, is it short, does another document have it beside the question's words,
is the question asked twice. `--model`: does it know the answer without the document. `--checker`: does the document
answer the question, and do its nearest neighbours. Exit code 0; 1 where a model's reply is missing; 2 after one line
about what was wrong.
"""

import argparse
import shlex
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from needlework.core.errors import InputError, printable
from needlework.core.files import write_whole
from needlework.haystack_fixtures.documents.near_copies import twins
from needlework.haystack_fixtures.documents.questions import (
    DocumentQuestion,
    Rows,
    is_decided,
    question_file,
    read_rows,
)
from needlework.haystack_fixtures.documents.readers import DocumentSet, read_documents
from needlework.models.judge import CommandJudge
from needlework.results.judging.ask import JudgeQuestion, Replied, ask_all, open_asked, question_to
from needlework.results.questions.evidence import ORDER, CheckedQuestion, DocumentIndex, Reason, check_rows, nearest
from needlework.results.questions.make import add_shared_arguments, corrected, folder_lines, json_values, replies_beside
from needlework.results.style import folded_table
from needlework.scoring.scorers.documents import documents_score
from needlework.scoring.scores import Reference

ABOUT = "say which questions can be used, and why the others cannot"
OTHERS = 3  # documents nearest to a question that a checker is shown beside its own
_SUFFIX = ".checked.json"
_ANSWER_TOKENS, _VERDICT_TOKENS = 128, 256
_LONGEST = 200  # characters of a reply that the file of questions keeps
_FACTS = frozenset({"status", "reasons", "support", "also_in", "twins", "closed_book", "checker"})
_MISSING = ("not probed", "not checked")
_PROMPTS = tomllib.loads((Path(__file__).parent / "check.toml").read_text(encoding="utf-8"))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add = parser.add_argument
    add("documents", metavar="DIR", help="folder of documents")
    add("questions", metavar="FILE", help='{"0": {"question", "answer", "answer_doc"}, ...}')
    add("--model", metavar="SPEC", help="model to ask without the documents: does it know the answer?")
    add("--checker", metavar="SPEC", help="model to show each document with its question")
    add("--checker-base-url", metavar="URL", help="address of the checker's server, ending in /v1")
    add("--checker-api-key-env", default="OPENAI_API_KEY", metavar="NAME", help="variable with its key [%(default)s]")
    add("--out", type=Path, metavar="FILE", help="file to write [FILE.checked.json]")
    add_shared_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Check the questions, write them, and print how many have which status. Raises `InputError`."""
    rows, _ = read_rows(options.questions, "FILE")
    if not rows:
        raise InputError("FILE", options.questions, "has no question")
    folder = read_documents(options.documents, "DIR")
    out = options.out or Path(f"{options.questions.removesuffix('.json').removesuffix('.checked')}{_SUFFIX}")
    replies = options.replies or replies_beside(out)
    index, groups = DocumentIndex(folder.documents), twins(folder.documents)
    checked = check_rows(rows, folder, groups, index)
    if options.model:
        with closing(open_asked(options, "model", _ANSWER_TOKENS)) as model:
            checked = _ask_closed_book(checked, model, replies)
    if options.checker:
        with closing(open_asked(options, "checker", _VERDICT_TOKENS)) as model:
            checked = _ask_about_documents(checked, folder, index, model, replies)
    facts = {
        row.key: {"status": row.status, "reasons": [str(reason) for reason in row.reasons], **row.facts}
        for row in checked
    }
    plain = {key: {name: value for name, value in row.items() if name not in _FACTS} for key, row in rows.items()}
    write_whole(out, question_file({key: plain[key] | facts[key] for key in facts}))
    is_missing = any(reason.kind in _MISSING for row in checked for reason in row.reasons)
    print(f"{len(checked)} questions about {len(folder.documents)} documents")
    for line in (*_count_lines(checked, rows), *folder_lines(folder, groups, every=options.list_left_out)):
        print(line)
    print(printable(f"written to {out}"))
    if is_missing:
        print("next: the same command again; it asks for the replies that are missing")
    if open_pairs := sum(row.status == "review" and not is_decided(rows[row.key]) for row in checked):
        serve = shlex.join(["needlework", "serve", str(out), "--documents", options.documents])
        print(printable(f"next: decide on {open_pairs} to review: {serve}"))
    words = ["--preset", "own-documents", "--documents", options.documents, "--questions", str(out)]
    print(printable(f"next: {shlex.join(['pytest', 'benchmarks', *words])} --model SPEC"))
    return 1 if is_missing else 0


def _ask_closed_book(checked: Sequence[CheckedQuestion], model: CommandJudge, replies: Path) -> list[CheckedQuestion]:
    """Ask each question alone; where the answer is right, the model knows it without the document."""
    spec = model.identity.get("spec")
    about = {"model": spec, "probe": "closed book"}
    questions = {
        row.key: question_to(model, _PROMPTS["closed_book"], row.question.question, {**about, "item": row.key})
        for row in checked
        if row.question
    }
    all_replies = ask_all(questions.values(), model, _read_answer, replies, fields=_is_replied)

    def with_reply(row: CheckedQuestion) -> CheckedQuestion:
        if row.question is None:
            return row
        replied = all_replies.to(questions[row.key])
        answer = replied.value(_read_answer)
        if answer is None:
            return row.with_more({}, Reason("review", "not probed", replied.problem))
        is_known, shown = _is_right(row.question, answer), answer[:_LONGEST]
        reason = Reason("reject", "known without the document", f"asked alone, the model says {shown!r}")
        facts = {"closed_book": {"model": spec, "known": is_known, "answer": shown}}
        return row.with_more(facts, *[reason] * is_known)

    return list(map(with_reply, checked))


def _ask_about_documents(
    checked: Sequence[CheckedQuestion], folder: DocumentSet, index: DocumentIndex, model: CommandJudge, replies: Path
) -> list[CheckedQuestion]:
    """Show the model each question with its document, and with the other documents that are nearest to it."""
    questions = {row.key: _with_documents(row, folder, index, model) for row in checked}
    flat = [question for by_document in questions.values() for question in by_document.values()]
    all_replies = ask_all(flat, model, _read_verdict, replies, fields=_is_replied, correct=corrected)

    def with_replies(row: CheckedQuestion) -> CheckedQuestion:
        reasons, facts = [], []
        for number, (name, question) in enumerate(questions[row.key].items()):
            replied = all_replies.to(question)
            if replied.problem:
                reasons.append(Reason("review", "not checked", replied.problem))
                continue
            answer = _read_verdict(replied.replies[-1])
            shown = None if answer is None else answer[:_LONGEST]
            facts.append({"document": name, "answer": shown})
            assert row.question is not None
            if number and shown is not None:
                detail = f"the checker finds {shown!r} in {name!r}"
                reasons.append(Reason("review", "answered by another document", detail))
            elif not number and answer is None:
                reasons.append(Reason("reject", "not answerable from its document", "says the checker"))
            elif not number and not _is_right(row.question, answer or ""):
                reasons.append(Reason("review", "another answer", f"the checker answers {shown!r} from the document"))
        checker = {"checker": {"model": model.identity.get("spec"), "documents": facts}}
        return row.with_more(checker, *reasons) if questions[row.key] else row

    return list(map(with_replies, checked))


def _with_documents(
    row: CheckedQuestion, folder: DocumentSet, index: DocumentIndex, model: CommandJudge
) -> dict[str, JudgeQuestion]:
    """The question about each document, first its own. Raises `InputError` if one fits no window."""
    pair = row.question
    document = folder.named(pair.document) if pair else None
    questions = {}
    if pair and document:
        around = _PROMPTS["checker"] + _PROMPTS["about_document"].format(document="", question=pair.question)
        for name in (document.name, *nearest(index, pair.question, row.documents, OTHERS)):
            text = model.shortened(index.documents[index.numbers[name]].text, around)
            about = {"model": model.identity.get("spec"), "probe": "document", "item": pair.key, "document": name}
            user = _PROMPTS["about_document"].format(document=text, question=pair.question)
            questions[name] = question_to(model, _PROMPTS["checker"], user, about)
    return questions


def _is_right(pair: DocumentQuestion, answer: str) -> bool:
    return documents_score(answer, Reference(pair.answers, question=pair.question)).value == 1


def _read_answer(reply: str) -> str:
    """A reply that is not blank. Raises `ValueError`."""
    if not reply.strip():
        raise ValueError("it is empty")
    return reply.strip()


def _read_verdict(reply: str) -> str | None:
    """The document's answer in a checker's reply; `None` if it has none. Raises `ValueError`."""
    for value in json_values(reply):
        if isinstance(value, dict) and isinstance(value.get("answerable"), bool):
            return str(value.get("answer") or "") if value["answerable"] else None
    raise ValueError('there is no JSON like {"answerable": true, "answer": "..."} in it')


def _is_replied(_question: JudgeQuestion, replied: Replied) -> dict[str, bool]:
    return {"replied": not replied.problem}


def _count_lines(checked: Sequence[CheckedQuestion], rows: Rows) -> Iterator[str]:
    counts: Counter[str] = Counter(row.status for row in checked)
    yield from folded_table([("status", "questions"), *((status, str(counts[status])) for status in ORDER)], 1)
    reasons: Counter[tuple[str, str]] = Counter(
        kind for row in checked for kind in {(reason.status, reason.kind) for reason in row.reasons}
    )
    if reasons:
        yield "why, and how many (a question may have several reasons):"
    for (status, kind), count in sorted(reasons.items(), key=lambda item: (ORDER.index(item[0][0]), -item[1])):
        yield f"- {status}, {kind}: {count}"
    if decided := sum(map(is_decided, rows.values())):
        yield f"decisions of people: {decided}; they count whatever the check says"
