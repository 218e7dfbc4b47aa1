"""`needlework questions make DIR --model SPEC`: have a model write questions about your documents.

Each document is shown to the model by itself. `--template gap` asks no model: a sentence with a gap is the question.
Questions that the file has already stay as they are: documents that were added are asked about, and no others.
Exit code 0; 1 where a document has no question; 2 after one line about what was wrong. Stopped, the same command goes
on where it was.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import regex
from msgspec import Struct

from needlework.core.draws import draws, sample
from needlework.core.errors import InputError, OneLineParser, number_from, printable
from needlework.core.files import parse_toml, read_text, write_whole
from needlework.haystack_fixtures.documents.near_copies import twins
from needlework.haystack_fixtures.documents.questions import GAPS, Rows, gap_rows, question_file, rows_before
from needlework.haystack_fixtures.documents.readers import DocumentSet, OwnDocument, read_documents
from needlework.models.judge import CommandJudge
from needlework.results.judging import ask
from needlework.scoring.plain_text import normalize

if TYPE_CHECKING:
    import jinja2

ABOUT = "have a model write questions about your documents"
OPTION = "--template"
_ABOUT_BOTH = "questions about your own documents, written by a model and checked"
_SHOWN = 10
_FOLDER = Path(__file__).parent / "prompts"
_TEMPLATES = tuple(sorted(path.stem for path in _FOLDER.glob("*.toml")))
_NEED = "a template is a TOML file with `system` and `user`, texts with {{ document }} and {{ count }} in them (Jinja)"
_REPLY_TOKENS, _PAIR_TOKENS = 512, 256  # of a reply, and more for each further pair
_MADE_FROM, _DIGITS = "made_from", 16  # field of a row: the beginning of the sha256 of its document


class ChosenDocuments(Struct, frozen=True):
    """The documents of a folder to ask about."""

    folder: DocumentSet
    documents: tuple[OwnDocument, ...]
    before: Rows  # of the file as it is
    covered: int  # documents that these rows are about
    twins: tuple[tuple[str, ...], ...]  # groups of names, of which the first may be asked about


class WrittenQuestions(Struct, frozen=True):
    """The outcome of asking."""

    rows: Rows  # of the file, old and new
    failed: tuple[tuple[str, str], ...]  # documents without a question, with the reason
    shortened: tuple[str, ...] = ()  # documents that did not fit the window
    count: int = 0  # requests that were made now


class WriterTemplate(Struct, frozen=True):
    """The messages that a model is sent. `name`: built in, or the path of the user's file."""

    name: str
    messages: tuple[jinja2.Template, ...]  # system and user

    def render(self, document: str, count: int) -> tuple[str, str]:
        """System and user message. Raises `InputError` where the user's own template cannot be rendered."""
        try:
            system, user = (message.render(document=document, count=count).strip() for message in self.messages)
        except Exception as error:  # noqa: BLE001 - a template computes: it may divide by zero, index too far, recurse
            raise InputError(OPTION, self.name, f"cannot be rendered ({error}); {_NEED}") from None
        return system, user


def main(argv: Sequence[str]) -> int:
    """Run one step; returns its exit code, 2 after one line about what was wrong."""
    from needlework.results.questions import check

    steps = {"make": sys.modules[__name__], "check": check}
    parser = OneLineParser(prog="needlework questions", description=_ABOUT_BOTH)
    parsers = parser.add_subparsers(dest="step", required=True, metavar="STEP")
    for name, step in steps.items():
        step.add_arguments(parsers.add_parser(name, help=step.ABOUT, description=step.__doc__))
    options = parser.parse_args(argv)
    return ask.run_asking(f"questions {options.step}", lambda: int(steps[options.step].run(options)))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add = parser.add_argument
    add("documents", metavar="DIR", help="folder of documents, see docs/documents.md")
    add("--model", metavar="SPEC", help="model that writes: openai:NAME, or any other SPEC; not with --template gap")
    add("--out", type=Path, metavar="FILE", help="file to write [FOLDER.questions.json]")
    add("--per-document", type=number_from(1), default=1, metavar="N", help="questions about each document [1]")
    names = ", ".join((*_TEMPLATES, GAPS))
    add(OPTION, default="factoid", metavar="NAME", help=f"{names}, or a TOML file [factoid]")
    add("--limit", type=number_from(1), metavar="N", help="only so many documents, drawn with --seed [all]")
    add("--seed", type=int, default=0, metavar="N", help="which documents --limit takes [0]")
    add_shared_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Make the questions, write them, and print what became of every document. Raises `InputError`."""
    folder = read_documents(options.documents, "DIR")
    out = options.out or Path(f"{Path(options.documents).expanduser().resolve().name}.questions.json")
    replies = options.replies or replies_beside(out)
    if options.template == GAPS:
        chosen = choose(folder, rows_before(out), None, options.seed)
        written = _with_gaps(chosen, options)
    else:
        chosen = choose(folder, rows_before(out), options.limit, options.seed)
        if options.model is None:
            raise InputError("--model", "", f"name the model that writes: --model SPEC, or take --template {GAPS}")
        template = load_template(options.template)
        with closing(ask.open_asked(options, "model", reply_budget(options.per_document))) as model:
            written = write_questions(chosen, model, template, options.per_document, replies)
    if not written.rows:
        reason = f" ({written.failed[0][0]!r}: {written.failed[0][1]})" if written.failed else ""
        raise InputError("--model", options.model or "", f"has written no question that can be used{reason}")
    write_whole(out, question_file(written.rows))
    for line in _lines(chosen, written, every=options.list_left_out):
        print(line)
    if written.count:
        print(printable(f"asked now: {written.count}; replies are in {replies}"))
    command = shlex.join(["needlework", "questions", "check", str(options.documents), str(out)])
    print(printable(f"written to {out}; next: {command}"))
    return 1 if written.failed else 0


def add_shared_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options on reaching `--model`, on the file of replies, and on listing."""
    add = parser.add_argument
    add("--model-arg", action="append", default=[], metavar="KEY=VALUE", help="as in pytest, repeatable")
    add("--base-url", metavar="URL", help="address of the model's server, ending in /v1")
    add("--api-key-env", default="OPENAI_API_KEY", metavar="NAME", help="variable with its key [%(default)s]")
    ask.add_asking_arguments(parser, "OUT.replies.jsonl")
    add("--list-left-out", action="store_true", help=f"list every file that is no document [the first {_SHOWN}]")


def replies_beside(out: Path) -> Path:
    """The file of replies beside a file of questions. Raises `InputError` where that is none."""
    if out.is_dir():
        raise InputError("--out", out, "is a folder: give a file")
    return out.with_name(f"{out.name.removesuffix('.json')}.replies.jsonl")


def folder_lines(folder: DocumentSet, twins: Sequence[Sequence[str]], *, every: bool) -> Iterator[str]:
    """Lines on files that are not simply one document. `every`: list all that are left out."""
    yield from listed("documents that are twins, equal or nearly", [", ".join(map(repr, names)) for names in twins])
    left_out = [f"{name!r}: {reason}" for name, reason in folder.left_out]
    shown = len(left_out) if every else _SHOWN
    yield from listed("files that are no documents", left_out, shown, " (--list-left-out shows all)")


def listed(title: str, items: Sequence[str], shown: int = _SHOWN, remedy: str = "") -> Iterator[str]:
    """The number of items, and the first ones. `remedy`: the option that lists the others."""
    if items:
        yield f"{title}, {len(items)}:"
        yield from (printable(f"- {item}") for item in items[:shown])
        if len(items) > shown:
            yield f"- and {len(items) - shown} more{remedy}"


def choose(folder: DocumentSet, before: Rows, limit: int | None, seed: int) -> ChosenDocuments:
    """Choose all documents but later twins and those that rows in `before` cover.

    A question about one of two twins would have two right places. `limit`: so many documents in all, drawn with the
    seed.
    """
    groups = twins(folder.documents)
    later = {name for group in groups for name in group[1:]}
    group_of = {name: group for group in groups for name in group}
    named = {document.name for row in before.values() if (document := folder.named(str(row.get("answer_doc"))))}
    covered = {other for name in named for other in group_of.get(name, (name,))}
    documents = [each for each in folder.documents if each.name not in later]
    if limit is not None and limit < len(documents):
        drawn = {each.name for each in sample(draws("questions make", seed), documents, limit)}
        documents = [each for each in documents if each.name in drawn]
    new = [each for each in documents if each.name not in covered]
    room = None if limit is None else max(0, limit - len(named))
    return ChosenDocuments(folder, tuple(new[:room]), before, len(named), groups)


def write_questions(
    chosen: ChosenDocuments, model: CommandJudge, template: WriterTemplate, count: int, replies: Path
) -> WrittenQuestions:
    """Have the model write `count` questions about each chosen document; only `replies` is written.

    Raises `InputError` where the model or the file of replies is of no use.
    """
    read = partial(read_pairs, count=count)
    questions, shortened = {}, []
    for document in chosen.documents:
        text = model.shortened(document.text, "".join(template.render("", count)))
        about = {"model": model.identity.get("spec"), "document": document.name}
        questions[document.name] = ask.question_to(model, *template.render(text, count), about)
        if text != document.text:
            shortened.append(document.name)
    all_replies = ask.ask_all(
        questions.values(),
        model,
        read,
        replies,
        fields=lambda _, replied: {"pairs": 0 if replied.problem else count},
        correct=corrected,
    )
    rows: list[dict[str, Any]] = []
    failed = []
    for name, question in questions.items():
        replied = all_replies.to(question)
        pairs = replied.value(read)
        if pairs is None:
            failed.append((name, replied.problem or "its stored reply cannot be read"))
        rows += [{**pair, "answer_doc": name} for pair in pairs or ()]
    return WrittenQuestions(_joined(chosen, rows), tuple(failed), tuple(shortened), all_replies.count)


def corrected(question: ask.JudgeQuestion, problem: str) -> str:
    """The words of a question after a reply that could not be read."""
    return f"{question.user}\n\nA reply to this could not be used: {problem}. Reply with the JSON alone."


def reply_budget(per_document: int) -> int:
    """Tokens of a reply with so many questions."""
    return _REPLY_TOKENS + _PAIR_TOKENS * (per_document - 1)


def load_template(name: str) -> WriterTemplate:
    """A built-in template, or that of a file. Raises `InputError`."""
    from jinja2 import StrictUndefined, TemplateError
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    path = _FOLDER / f"{name}.toml" if name in _TEMPLATES else name
    fields = parse_toml(OPTION, name, read_text(OPTION, path, f"give one of {', '.join(_TEMPLATES)}, or a file"))
    missing = next((field for field in ("system", "user") if not isinstance(fields.get(field), str)), None)
    if missing:
        raise InputError(OPTION, name, f"has no text `{missing}`; {_NEED}")
    compile_text = ImmutableSandboxedEnvironment(trim_blocks=True, undefined=StrictUndefined).from_string
    try:
        template = WriterTemplate(name, (compile_text(fields["system"]), compile_text(fields["user"])))
    except TemplateError as error:
        raise InputError(OPTION, name, f"cannot be rendered ({error}); {_NEED}") from None
    mark = "where the document goes"
    if mark not in "".join(template.render(mark, 1)):
        raise InputError(OPTION, name, f"{{{{ document }}}} is nowhere in it; {_NEED}")
    return template


def is_made_from_another_text(row: Mapping[str, Any], document: OwnDocument) -> bool:
    """Whether a row says that it was made from another text than the document has now."""
    return isinstance(row.get(_MADE_FROM), str) and row[_MADE_FROM] != _digest_of(document)


def _digest_of(document: OwnDocument) -> str:
    return sha256(document.text.encode("utf-8")).hexdigest()[:_DIGITS]


def _with_gaps(chosen: ChosenDocuments, options: argparse.Namespace) -> WrittenQuestions:
    """Questions without a model."""
    if options.model is not None or options.per_document != 1:
        option = ("--model", options.model) if options.model is not None else ("--per-document", options.per_document)
        raise InputError(*option, f"--template {GAPS} asks no model, and one question a document: leave it out")
    names = {each.name for each in chosen.documents}
    made = gap_rows(chosen.folder, chosen.twins, options.limit, seed=options.seed).values()
    room = None if options.limit is None else max(0, options.limit - chosen.covered)
    rows = [row for row in made if row["answer_doc"] in names][:room]
    without = names - {row["answer_doc"] for row in rows} if room is None or len(rows) < room else set()
    failed = tuple((name, "no sentence can have a gap") for name in sorted(without))
    return WrittenQuestions(_joined(chosen, rows), failed)


def _joined(chosen: ChosenDocuments, rows: list[Any]) -> Rows:
    """The rows that the file has, and new ones behind them under the next numbers."""
    first = 1 + max((int(key) for key in chosen.before if key.isdecimal()), default=-1)
    digests = {each.name: _digest_of(each) for each in chosen.documents}
    new = {str(number): {**row, _MADE_FROM: digests[row["answer_doc"]]} for number, row in enumerate(rows, first)}
    return {**chosen.before, **new}


def _lines(chosen: ChosenDocuments, written: WrittenQuestions, *, every: bool) -> Iterator[str]:
    before = f"{chosen.covered} have questions already and keep them, " if chosen.before else ""
    about = len({row["answer_doc"] for key, row in written.rows.items() if key not in chosen.before})
    count = f"{len(chosen.folder.documents)} documents in the folder, {before}{about + len(written.failed)} asked about"
    yield f"{count}, {about} have questions: {len(written.rows)} in all"
    yield from folder_lines(chosen.folder, chosen.twins, every=every)
    if chosen.twins:
        yield "of twins only the first is asked about"
    shortened = list(map(repr, written.shortened))
    yield from listed("documents longer than the model's window, of which it saw the beginning", shortened)
    yield from listed("documents without a question", [f"{name!r}: {why}" for name, why in written.failed])


# Pairs of question and answer, read from a model's reply

MOST_WORDS, MOST_CHARACTERS = 25, 60  # of an answer; characters where words have no spaces between them
_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}]")
_WORD = regex.compile(r"[^\W_]+(?:['.,-][^\W_]+)*")
_TRIES = 64  # brackets of a reply that may be where its JSON begins


Pair = dict[str, Any]
"""A row of the file of questions: `question`, `answer`, and where there are some `aliases`, other spellings of that."""


def read_pairs(reply: str, count: int) -> list[Pair]:
    """Read `count` pairs from a reply: a JSON object, a list of them, or an object that holds such a list.

    Text around the JSON is passed over. Further pairs are left out. Raises `ValueError`.
    """
    problems = []
    for value in json_values(reply):
        try:
            return _pairs(value, count)
        except ValueError as error:
            problems.append(str(error))
    raise ValueError(problems[0] if problems else 'there is no JSON like [{"question": "...", "answer": "..."}] in it')


def too_long(answer: str) -> str:
    """The reason why an answer is too long for a question with a short answer; empty if it is not."""
    unspaced = len(_UNSPACED.findall(answer))
    words = len(_WORD.findall(_UNSPACED.sub(" ", answer)))
    if words / MOST_WORDS + unspaced / MOST_CHARACTERS <= 1:
        return ""
    count, most, unit = (unspaced, MOST_CHARACTERS, "characters") if unspaced > words else (words, MOST_WORDS, "words")
    return f"the answer has {count} {unit}, at most {most} {unit} are short"


def json_values(reply: str) -> Iterator[Any]:
    """Objects and lists that begin somewhere in the reply, the outermost first."""
    decoder, end = json.JSONDecoder(), 0
    for tried, mark in enumerate(regex.finditer(r"[\[{]", reply)):
        if tried == _TRIES:
            return
        if mark.start() < end:
            continue
        try:
            value, end = decoder.raw_decode(reply, mark.start())
        except (ValueError, RecursionError):
            continue
        yield value


def _pairs(value: Any, count: int) -> list[Pair]:
    if isinstance(value, dict):
        lists = [each for each in value.values() if isinstance(each, list)]
        value = lists[0] if len(lists) == 1 and "question" not in value else [value]
    pairs = [_pair(f"item {number}", item) for number, item in enumerate(value[:count], 1)]
    if len({normalize(pair["question"]) for pair in pairs}) < len(pairs):
        raise ValueError("two of the questions are the same")
    if len(pairs) < count:
        raise ValueError(f"{len(pairs)} where {count} were asked for")
    return pairs


def _pair(name: str, item: Any) -> Pair:
    if not isinstance(item, dict):
        raise ValueError(f"{name} is no JSON object")
    aliases = item.get("aliases", [])
    if not isinstance(aliases, list):
        raise ValueError(f"{name}: `aliases` is no list")
    question, answer = (_text(f"{name}: `{field}`", item.get(field)) for field in ("question", "answer"))
    long = too_long(answer)
    if long:
        raise ValueError(f"{name}: {long}")
    pair: Pair = {"question": question, "answer": answer}
    return pair | ({"aliases": [_text(f"{name}: an alias", alias) for alias in aliases]} if aliases else {})


def _text(name: str, value: Any) -> str:
    """A text, or a number written out. Raises `ValueError`, also for half of a surrogate pair."""
    is_text = isinstance(value, str | int | float) and not isinstance(value, bool)
    text = str(value).strip() if is_text else ""
    if not text or any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError(f"{name} is missing or no text")
    return text
