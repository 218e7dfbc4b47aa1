"""Question and answer pairs, and what is kept of them."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import regex

from needlework.core.errors import InputError, printable
from needlework.core.options import variable
from needlework.haystack_fixtures.documents.questions import Rows
from needlework.haystack_fixtures.documents.readers import DocumentSet, OwnDocument
from needlework.results.judging.ask import JudgeModel, OpenJudge
from needlework.scoring.plain_text import normalize

if TYPE_CHECKING:
    from pydantic import BaseModel


MOST_WORDS, MOST_CHARACTERS = 25, 60  # of an answer; characters where words have no spaces between them
_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}]")
_WORD = regex.compile(r"[^\W_]+(?:['.,-][^\W_]+)*")
_TRIES = 64  # brackets of a reply that may be where its JSON begins


@dataclass(frozen=True, slots=True)
class QuestionPair:
    """A question, its answer, and other spellings of that."""

    question: str
    answer: str
    aliases: tuple[str, ...] = ()


@cache
def _contract() -> type[BaseModel]:
    """Only this needs pydantic: other commands need not wait for it."""
    from typing import Annotated

    from pydantic import BaseModel, ConfigDict, StringConstraints

    text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]

    class PairSource(BaseModel):
        model_config = ConfigDict(coerce_numbers_to_str=True)

        question: text
        answer: text
        aliases: list[text] = []

    return PairSource


def read_pairs(reply: str, count: int) -> tuple[QuestionPair, ...]:
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
    """Why an answer is too long for a question that a few words answer; empty where it is not."""
    unspaced = len(_UNSPACED.findall(answer))
    words = len(_WORD.findall(_UNSPACED.sub(" ", answer)))
    if words / MOST_WORDS + unspaced / MOST_CHARACTERS <= 1:
        return ""
    told = f"{unspaced} characters" if unspaced > words else f"{words} words"
    most = f"{MOST_CHARACTERS} characters" if unspaced > words else f"{MOST_WORDS} words"
    return f"the answer has {told}, at most {most} are short"


def _pairs(value: Any, count: int) -> tuple[QuestionPair, ...]:
    pairs = tuple(_pair(number, item) for number, item in enumerate(_items(value)[:count], 1))
    if len({normalize(pair.question) for pair in pairs}) < len(pairs):
        raise ValueError("two of the questions are the same")
    if len(pairs) < count:
        raise ValueError(f"{len(pairs)} where {count} were asked for")
    return pairs


def _items(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    lists = [each for each in value.values() if isinstance(each, list)]
    return lists[0] if len(lists) == 1 and "question" not in value else [value]


def _pair(number: int, item: Any) -> QuestionPair:
    from pydantic import ValidationError

    try:
        found = vars(_contract().model_validate(item))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = "".join(f"{part}: " for part in first["loc"])
        raise ValueError(f"item {number}: {place}{first['msg']}") from None
    pair = QuestionPair(found["question"], found["answer"], tuple(found["aliases"]))
    long = too_long(pair.answer)
    if long:
        raise ValueError(f"item {number}: {long}")
    return pair


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


MADE_FROM = "made_from"  # of a row: the beginning of the sha256 of the document that the question was made from
_DIGITS = 16


@dataclass(frozen=True, slots=True)
class RetainedRows:
    """The rows of a file, by what became of their documents.

    `names`: documents that are not asked about again: they, or twins of theirs, have a question. `asked`: how many have
    one. `gone`: names that the folder lacks. `changed`: documents that have another text than the one asked about.
    """

    rows: Rows
    names: frozenset[str]
    asked: int
    gone: tuple[str, ...]
    changed: tuple[str, ...]


def digest_of(document: OwnDocument) -> str:
    """What tells whether a document has changed since a question was made from it."""
    return sha256(document.text.encode("utf-8")).hexdigest()[:_DIGITS]


def has_changed(row: Mapping[str, Any], document: OwnDocument) -> bool:
    """Whether a row says that it was made from another text than this one."""
    return isinstance(row.get(MADE_FROM), str) and row[MADE_FROM] != digest_of(document)


def kept_of(rows: Rows, found: DocumentSet, twins: Sequence[Sequence[str]]) -> RetainedRows:
    """Sort the rows of a file by what the folder has now. `twins`: groups of names."""
    groups = {name: group for group in twins for name in group}
    named: set[str] = set()
    gone: dict[str, None] = {}
    changed: dict[str, None] = {}
    for row in rows.values():
        name = str(row.get("answer_doc"))
        document = found.named(name)
        if document is None:
            gone[name] = None
            continue
        named.add(document.name)
        if has_changed(row, document):
            changed[document.name] = None
    names = {other for name in named for other in groups.get(name, (name,))}
    return RetainedRows(rows, frozenset(names), len(named), tuple(gone), tuple(changed))


def joined(kept: RetainedRows, rows: Sequence[Mapping[str, Any]], found: DocumentSet) -> Rows:
    """The kept rows under their keys, and new ones behind them under the next numbers."""
    first = 1 + max((int(key) for key in kept.rows if key.isdecimal()), default=-1)
    made = {}
    for number, row in enumerate(rows, first):
        document = found.named(row["answer_doc"])
        made[str(number)] = {**row, **({MADE_FROM: digest_of(document)} if document else {})}
    return {**kept.rows, **made}


def kept_lines(kept: RetainedRows) -> Iterator[str]:
    """What is said of documents that are not as they were."""
    told = "their questions are kept"
    changed, gone = list(map(repr, kept.changed)), list(map(repr, kept.gone))
    yield from listed(f"documents that have changed since they were asked about; {told}", changed)
    yield from listed(f"documents that are in the folder no longer; {told}, and rejected by `check`", gone)


_SHOWN = 10


def add_list_argument(parser: argparse.ArgumentParser) -> None:
    """Add the option that has all left-out files listed."""
    parser.add_argument(
        "--list-left-out", action="store_true", help=f"list every file that is no document [the first {_SHOWN}]"
    )


def folder_lines(found: DocumentSet, twins: Sequence[Sequence[str]], *, every: bool) -> Iterator[str]:
    """Lines about everything in the folder that is not simply one document. `twins`: groups of names.

    `every`: list all files that are left out.
    """
    if found.missing:
        yield found.missing
    yield from listed("documents that are twins, equal or nearly", [", ".join(map(repr, names)) for names in twins])
    left_out = [f"{name!r}: {why}" for name, why in found.left_out]
    shown = len(left_out) if every else _SHOWN
    yield from listed("files that are no documents", left_out, shown, "--list-left-out shows all")


def listed(what: str, items: Sequence[str], shown: int = _SHOWN, rest: str = "") -> Iterator[str]:
    """How many there are, and the first of them. `rest`: how to see the others."""
    if items:
        yield f"{what}, {len(items)}:"
        yield from (printable(f"- {item}") for item in items[:shown])
        if len(items) > shown:
            yield f"- and {len(items) - shown} more{f' ({rest})' if rest else ''}"


_KEY = "OPENAI_API_KEY"


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """Add how the model of `--model` is reached, and where replies are kept."""
    parser.add_argument(
        "--model-arg", action="append", default=[], metavar="KEY=VALUE", help="as in pytest, repeatable"
    )
    parser.add_argument("--base-url", metavar="URL", help="address of the model's server, ending in /v1")
    parser.add_argument("--api-key-env", default=_KEY, metavar="NAME", help="variable with its key [%(default)s]")
    parser.add_argument("--concurrency", type=int, default=8, metavar="N", help="requests in flight at once [8]")
    parser.add_argument("--replies", type=Path, metavar="FILE", help="replies, gone on with [OUT.replies.jsonl]")


def open_model(
    options: argparse.Namespace, open_judge: OpenJudge, reply_budget: int, option: str = "--model"
) -> JudgeModel:
    """Open what `option` names (`--model` or `--checker`). `reply_budget`: tokens of a reply. Raises `InputError`."""
    own = option == "--model"
    key_option = "--api-key-env" if own else f"{option}-api-key-env"
    key = options.api_key_env if own else options.checker_api_key_env
    variable(key_option, key)
    if options.concurrency < 1:
        raise InputError("--concurrency", options.concurrency, "give a whole number from 1")
    return open_judge(
        options.model if own else options.checker,
        base_url=options.base_url if own else options.checker_base_url,
        api_key_env=key,
        concurrency=options.concurrency,
        reply_budget=reply_budget,
        model_args=options.model_arg if own else (),
        option=option,
    )
