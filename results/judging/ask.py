"""Asks a model many questions, several at once; the same command goes on where it stopped.

The model judges answers or writes questions. How it is reached is the caller's business: nothing here knows a model.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing, suppress
from hashlib import sha256
from pathlib import Path
from threading import Event, Lock
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from needlework.core.errors import InputError, ending_signals, number_from, printable, refuse, run_command
from needlework.core.options import variable
from needlework.results.records.journal import Journal

if TYPE_CHECKING:
    from needlework.models.judge import CommandJudge

FIRST_S, EVERY_S = 10.0, 30.0  # until the first line about progress, and between two
_FRUITLESS = 10  # questions without a reply, and none with one: the rest will have none either
_BEGINNING = b'{"key":"'
_OPTION = "--replies"
_JUDGE_TOKENS = 2048  # of a reply, as L-Eval publishes it
_encode = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode
_Value = TypeVar("_Value")


class JudgeQuestion(Struct, frozen=True):
    """One question."""

    key: str  # hash of the model and of every word that it is sent
    system: str
    user: str
    about: Mapping[str, Any]  # further fields of its row in the file of replies


class Replied(Struct, frozen=True):
    """The replies to one question: one, or two where the first could not be read."""

    replies: tuple[str, ...] = ()
    problem: str = "not asked"  # why there is no readable reply; empty where the last one is

    def value(self, read: Callable[[str], _Value]) -> _Value | None:
        """The value that `read` makes of the last reply; `None` if none can be read."""
        with suppress(ValueError):
            return None if self.problem else read(self.replies[-1])
        return None


class AskedReplies(Struct, frozen=True):
    """All replies of a file, by the key of the question. `count`: questions that were asked now."""

    by_key: Mapping[str, Replied]
    count: int

    def to(self, question: JudgeQuestion) -> Replied:
        """The replies to a question."""
        return self.by_key.get(question.key, Replied())


def add_asking_arguments(parser: argparse.ArgumentParser, replies: str) -> None:
    """Add how many questions are in flight, and the file of replies; `replies`: its default, in words."""
    count = "questions in flight at once [8]"
    parser.add_argument("--concurrency", type=number_from(1), default=8, metavar="N", help=count)
    parser.add_argument("--replies", type=Path, metavar="FILE", help=f"file of the replies, gone on with [{replies}]")


def add_judge_arguments(parser: argparse.ArgumentParser, replies: str) -> None:
    """Add the judge, how it is reached, and the file of its replies."""
    add = parser.add_argument
    add("--judge", required=True, metavar="SPEC", help="openai:NAME, or any other SPEC of a model")
    add("--judge-base-url", metavar="URL", help="address of the judge's server, ending in /v1")
    add("--api-key-env", default="OPENAI_API_KEY", metavar="NAME", help="variable with its key [%(default)s]")
    add_asking_arguments(parser, replies)


def open_asked(options: argparse.Namespace, name: str, reply_budget: int = _JUDGE_TOKENS) -> CommandJudge:
    """Open the model of an option: `model`, `judge`, `checker`. `reply_budget`: tokens. Raises `InputError`."""
    from needlework.models.judge import judge_for_command

    prefix = "" if name == "model" else f"{name}_"
    key = f"{prefix}api_key_env" if hasattr(options, f"{prefix}api_key_env") else "api_key_env"
    return judge_for_command(
        getattr(options, name),
        base_url=getattr(options, f"{prefix}base_url"),
        api_key_env=variable(f"--{key.replace('_', '-')}", getattr(options, key)),
        concurrency=options.concurrency,
        reply_budget=reply_budget,
        model_args=[] if prefix else options.model_arg,
        option=f"--{name}",
    )


def run_asking(command: str, action: Callable[[], int]) -> int:
    """The exit code of an action that asks; 2 after one line, where it was stopped too."""
    try:
        with ending_signals():
            return run_command(command, action)
    except KeyboardInterrupt:
        return refuse(command, "stopped; the same command goes on where it was")


def question_to(
    model: CommandJudge, system: str, user: str, about: Mapping[str, Any] | None = None, order: int = 0
) -> JudgeQuestion:
    """Make a question to a model. `order`: tells two questions of the same words apart."""
    key = sha256(_encode([dict(model.identity), system, user, order]).encode("ascii")).hexdigest()
    return JudgeQuestion(key, system, user, about or {})


def ask_all(
    questions: Iterable[JudgeQuestion],
    model: CommandJudge,
    read: Callable[[str], object],
    path: Path,
    *,
    fields: Callable[[JudgeQuestion, Replied], Mapping[str, Any]],
    correct: Callable[[JudgeQuestion, str], str] | None = None,
) -> AskedReplies:
    """Ask every question to which the file `path` has no readable reply; equal questions once.

    `read` raises `ValueError` for a reply that cannot be read. Then the question is asked once more, in the words that
    `correct` makes of it and of what was wrong [its own]. `fields`: what a row of the file says of its replies. Raises
    `InputError` where the model or the file is of no use any more, or nothing but errors comes; the replies until then
    are in the file.
    """
    _read_replies(path)  # a file of something else is refused before it is opened to write
    unique = {question.key: question for question in questions}
    lock, stopped = Lock(), Event()
    with closing(Journal(path, fresh=False, option=_OPTION)) as journal, ThreadPoolExecutor(model.at_once) as threads:
        by_key = _read_replies(path)
        missing = [question for key, question in unique.items() if by_key.get(key, Replied()).problem]
        is_answering = any(key in by_key and by_key[key].replies for key in unique)

        def ask_and_write(question: JudgeQuestion) -> Replied:
            replied = _ask(model, question, read, correct)
            if not (stopped.is_set() and replied.problem):  # an error by closing the model is none of the question's
                ends = {"replies": replied.replies, "problem": replied.problem or None}
                row = _encode({"key": question.key, **question.about, **fields(question, replied), **ends})
                with lock:
                    by_key[question.key] = replied
                    journal.append(row)
            return replied

        try:
            _follow({threads.submit(ask_and_write, question) for question in missing}, model, is_answering)
        except BaseException:
            stopped.set()
            threads.shutdown(wait=False, cancel_futures=True)
            model.close()
            raise
    return AskedReplies(by_key, len(missing))


def _ask(
    model: CommandJudge,
    question: JudgeQuestion,
    read: Callable[[str], object],
    correct: Callable[[JudgeQuestion, str], str] | None,
) -> Replied:
    replies: list[str] = []
    problem, user = "", question.user
    for _ in range(2):
        try:
            replies.append(model.ask(question.system, user))
        except InputError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a client raises, the answers are not to blame
            return Replied(tuple(replies), printable(error) or type(error).__name__)
        try:
            read(replies[-1])
            return Replied(tuple(replies), "")
        except ValueError as error:
            problem = printable(error)
            user = correct(question, problem) if correct else question.user
    return Replied(tuple(replies), f"the reply cannot be read: {problem}")


def _follow(pending: set[Future[Replied]], model: CommandJudge, is_answering: bool) -> None:
    """Wait for all questions, with a line about progress now and then.

    `is_answering`: whether one of them had a reply before. Raises `InputError` where nothing but errors comes.
    """
    count, failed, problem = len(pending), 0, ""
    due_s = monotonic() + FIRST_S
    while pending:
        done, pending = wait(pending, max(0.0, due_s - monotonic()), FIRST_COMPLETED)
        for replied in (future.result() for future in done):
            is_answering |= bool(replied.replies)
            if not replied.replies:
                failed, problem = failed + 1, replied.problem
            if not is_answering and failed >= _FRUITLESS:
                remedy = f"none of its first {failed} questions was answered; {problem}; the same command asks again"
                raise InputError(model.option, str(model.identity.get("spec")), remedy)
        if not done:
            errors = f", {failed} without a reply ({problem})" if failed else ""
            name = model.option.removeprefix("--")
            model.tell(f"{name}: {count - len(pending)} of {count} questions done{errors}")
            due_s = monotonic() + EVERY_S


def _read_replies(path: Path) -> dict[str, Replied]:
    """The rows of a file of replies: JSON lines. Raises `InputError`, also for a file of something else.

    A damaged line is left out, and its question is asked again.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        content = b""
    except (OSError, ValueError) as error:  # a folder; a name that no file can have
        raise InputError(_OPTION, path, f"cannot be read ({getattr(error, 'strerror', None) or error})") from None
    if not _BEGINNING.startswith(content[: len(_BEGINNING)]):
        raise InputError(_OPTION, path, "is no file of a model's replies: give another name")
    by_key = {}
    for line in content.split(b"\n"):
        with suppress(ValueError, RecursionError):
            row = json.loads(line)
            key, replies = (row.get("key"), row.get("replies")) if isinstance(row, dict) else (None, None)
            if isinstance(key, str) and isinstance(replies, list) and all(isinstance(reply, str) for reply in replies):
                problem = str(row.get("problem") or "") or ("" if replies else "no reply")
                by_key[key] = Replied(tuple(replies), problem)
    return by_key
