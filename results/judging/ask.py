"""Asks a model many questions, several at once; the same command goes on where it stopped.

The model judges answers or writes questions. How it is reached is the caller's business: nothing here knows a model.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event, Lock
from time import monotonic
from typing import Any, Protocol, TypeVar

from needlework.core.errors import InputError, printable
from needlework.results.records.journal import Journal

FIRST_S, EVERY_S = 10.0, 30.0  # until the first line about progress, and between two
_FRUITLESS = 10  # questions without a reply, and none with one: the rest will have none either
_BEGINNING = b'{"key":"'
_OPTION = "--replies"
_encode = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode
_Value = TypeVar("_Value")


class JudgeModel(Protocol):
    """A model that answers questions. `identity`: everything that can change its replies. `at_once`: threads that may
    ask it. `option`: the option that named it. `tell`: prints a line about progress.
    """

    @property
    def identity(self) -> Mapping[str, Any]: ...

    @property
    def at_once(self) -> int: ...

    @property
    def option(self) -> str: ...

    @property
    def tell(self) -> Callable[[str], object]: ...

    def ask(self, system: str, user: str) -> str:
        """The reply. Raises `InputError` when no further question will have one either."""
        ...

    def shortened(self, text: str, around: str) -> str:
        """The beginning of a text that fits the window together with the words around it and a reply."""
        ...

    def close(self) -> None: ...


class OpenJudge(Protocol):
    """Opens a model. Raises `InputError`."""

    def __call__(
        self,
        spec: str,
        *,
        base_url: str | None,
        api_key_env: str,
        concurrency: int,
        reply_budget: int,
        model_args: Sequence[str] = (),
        option: str = "--judge",
    ) -> JudgeModel: ...


@dataclass(frozen=True, slots=True)
class JudgeQuestion:
    """One question. `key`: hash of the model and of every word that it is sent. `about`: further fields of its row in
    the file of replies.
    """

    key: str
    system: str
    user: str
    about: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Replied:
    """The replies to one question: one, or two where the first could not be read. `problem`: why there is no readable
    reply; empty where the last one is.
    """

    replies: tuple[str, ...] = ()
    problem: str = "not asked"

    def value(self, read: Callable[[str], _Value]) -> _Value | None:
        """What `read` makes of the last reply; `None` where there is none that can be read."""
        if self.problem:
            return None
        try:
            return read(self.replies[-1])
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class AskedReplies:
    """All replies of a file, by the key of the question. `count`: questions that were asked now."""

    by_key: Mapping[str, Replied]
    count: int

    def to(self, question: JudgeQuestion) -> Replied:
        """The replies to a question."""
        return self.by_key.get(question.key, Replied())


def question_to(
    model: JudgeModel, system: str, user: str, about: Mapping[str, Any] | None = None, order: int = 0
) -> JudgeQuestion:
    """Make a question to a model. `order`: tells two questions of the same words apart."""
    key = sha256(_encode([dict(model.identity), system, user, order]).encode("ascii")).hexdigest()
    return JudgeQuestion(key, system, user, about or {})


def ask_all(
    questions: Iterable[JudgeQuestion],
    model: JudgeModel,
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
    with closing(_ReplyFile(path)) as file:
        unique = {each.key: each for each in questions}
        missing = [each for key, each in unique.items() if file.by_key.get(key, Replied()).problem]
        is_answering = any(key in file.by_key and file.by_key[key].replies for key in unique)
        progress = _Progress(model, len(missing), is_answering)
        stopped = Event()

        def ask_and_write(question: JudgeQuestion) -> Replied:
            replied = _ask(model, question, read, correct)
            if not (stopped.is_set() and replied.problem):  # an error by closing the model is none of the question's
                file.append(question, replied, fields(question, replied))
            return replied

        finished: SimpleQueue[Future[Replied]] = SimpleQueue()
        with ThreadPoolExecutor(model.at_once) as threads:
            try:
                for each in missing:
                    threads.submit(ask_and_write, each).add_done_callback(finished.put)
                for _ in missing:
                    progress.add(_next_of(finished, progress).result())
            except BaseException:
                stopped.set()
                threads.shutdown(wait=False, cancel_futures=True)
                model.close()
                raise
        return AskedReplies(file.by_key, len(missing))


def _ask(
    model: JudgeModel,
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


def _next_of(finished: SimpleQueue[Future[Replied]], progress: _Progress) -> Future[Replied]:
    while True:
        try:
            return finished.get(timeout=max(0.0, progress.due_s - monotonic()))
        except Empty:
            progress.tell()


class _Progress:
    """How many questions are done, and how many failed. `is_answering`: there was a reply to one of them before."""

    def __init__(self, model: JudgeModel, questions: int, is_answering: bool) -> None:
        self._model = model
        self._questions = questions
        self._is_answering = is_answering
        self._done = self._failed = 0
        self._problem = ""
        self.due_s = monotonic() + FIRST_S

    def add(self, replied: Replied) -> None:
        """Count a question. Raises `InputError` where nothing but errors comes."""
        self._done += 1
        self._is_answering |= bool(replied.replies)
        if not replied.replies:
            self._failed += 1
            self._problem = replied.problem
        if not self._is_answering and self._failed >= _FRUITLESS:
            remedy = f"none of its first {self._failed} questions was answered; {self._problem}"
            spec = str(self._model.identity.get("spec"))
            raise InputError(self._model.option, spec, f"{remedy}; the same command asks again")

    def tell(self) -> None:
        """Print `judge: 12 of 96 questions done, 1 without a reply (HTTP 500: boom)`."""
        failed = f", {self._failed} without a reply ({self._problem})" if self._failed else ""
        name = self._model.option.removeprefix("--")
        self._model.tell(f"{name}: {self._done} of {self._questions} questions done{failed}")
        self.due_s = monotonic() + EVERY_S


class _ReplyFile:
    """The file of replies: JSON lines, appended by one process. A half line of a killed process is cut off."""

    def __init__(self, path: Path) -> None:
        """Open it, or begin it. Raises `InputError`, also for a file of something else."""
        try:
            with path.open("rb") as file:
                beginning = file.read(len(_BEGINNING))
        except FileNotFoundError:
            beginning = b""
        except (OSError, ValueError) as error:  # a folder; a name that no file can have
            raise InputError(_OPTION, path, f"cannot be read ({getattr(error, 'strerror', None) or error})") from None
        if not _BEGINNING.startswith(beginning):
            raise InputError(_OPTION, path, "is no file of a model's replies: give another name")
        self._journal = Journal(path, fresh=False, option=_OPTION)
        self._lock = Lock()
        self.by_key = dict(_rows(path.read_bytes()))

    def append(self, question: JudgeQuestion, replied: Replied, fields: Mapping[str, Any]) -> None:
        """Write one row; from any thread."""
        ends = {"replies": replied.replies, "problem": replied.problem or None}
        row = _encode({"key": question.key, **question.about, **fields, **ends})
        with self._lock:
            self.by_key[question.key] = replied
            self._journal.append(row)

    def close(self) -> None:
        self._journal.close()


def _rows(data: bytes) -> Iterator[tuple[str, Replied]]:
    """The rows of a file; a damaged line is left out, and its question is asked again."""
    for line in data.split(b"\n"):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        key, replies = (row.get("key"), row.get("replies")) if isinstance(row, dict) else (None, None)
        if isinstance(key, str) and isinstance(replies, list) and all(isinstance(reply, str) for reply in replies):
            yield key, Replied(tuple(replies), str(row.get("problem") or "") or ("" if replies else "no reply"))
