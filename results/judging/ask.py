"""Asks a judge many questions; goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any, Protocol

from needlework.core.errors import InputError, printable
from needlework.results.records.journal import Journal

# It is called a judge wherever it judges. How it is reached is the caller's business: nothing here knows a model.
_BEGINNING = b'{"key":"'
_encode = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode


class JudgeModel(Protocol):
    """What is asked. `identity`: everything that can change its replies. `at_once`: threads that may ask it.

    `option`: what named it. `tell`: is given a line for who waits, at once, in threads.
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
    """Opens a judge. Raises `InputError`."""

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
    """One question to a judge. `key`: hash of the judge and of every word it is sent. `about`: what the row in the file
    tells beside the replies.
    """

    key: str
    system: str
    user: str
    about: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Replied:
    """The replies to one question: one, or two where the first could not be read. `problem`: why there is no verdict;
    empty where the last reply has one.
    """

    replies: tuple[str, ...]
    problem: str = ""


def key_of(judge: JudgeModel, system: str, user: str, order: int = 0) -> str:
    """Return what names a question to a judge. `order`: of two equal answers, each is asked about by itself."""
    return sha256(_encode([dict(judge.identity), system, user, order]).encode("ascii")).hexdigest()


class ReplyFile:
    """The file of replies: JSON lines, appended. One process at a time. A half line of a killed process is cut off."""

    def __init__(self, path: Path, option: str) -> None:
        """Open it, or begin it. Raises `InputError`, also for a file of something else."""
        try:
            with path.open("rb") as file:
                beginning = file.read(len(_BEGINNING))
        except FileNotFoundError:
            beginning = b""
        except (OSError, ValueError) as error:  # a folder; a name that no file can have
            raise InputError(option, path, f"cannot be read ({getattr(error, 'strerror', None) or error})") from None
        if not _BEGINNING.startswith(beginning):
            raise InputError(option, path, "is no file of a model's replies: give another name")
        self._journal = Journal(path, fresh=False, option=option)
        self._lock = Lock()
        self.known = dict(_rows(path.read_bytes()))

    def append(self, question: JudgeQuestion, replied: Replied, verdict: Mapping[str, Any]) -> None:
        """Write one row. May be called from many threads."""
        row = {
            "key": question.key,
            **question.about,
            **verdict,
            "replies": replied.replies,
            "problem": replied.problem or None,
        }
        with self._lock:
            self.known[question.key] = replied
            self._journal.append(_encode(row))

    def close(self) -> None:
        """Sync and let go."""
        self._journal.close()


def _as_before(question: JudgeQuestion, _reply: str, _problem: str) -> str:
    return question.user


def gather(
    questions: Iterable[JudgeQuestion],
    judge: JudgeModel,
    read: Callable[[str], object],
    verdict: Callable[[JudgeQuestion, Replied], Mapping[str, Any]],
    file: ReplyFile,
    again: Callable[[JudgeQuestion, str, str], str] = _as_before,
) -> int:
    """Ask what the file has no verdict of, equal questions once; return how many were asked.

    `read` raises `ValueError` for a reply that holds no verdict; it is then asked for once more, in the words that
    `again` makes of question, reply and what was wrong [those of the question]. `verdict`: what the row in the file
    says of the replies. Raises `InputError` where the judge or the file is of no use any more, or nothing but errors
    comes; what came until then is in the file.
    """
    asked = {each.key: each for each in questions}
    missing = {key: each for key, each in asked.items() if key not in file.known or file.known[key].problem}
    heard = any(key in file.known and file.known[key].replies for key in asked)
    tally = JudgingCount(judge.option, str(judge.identity.get("spec")), len(missing), heard)
    stopped = Event()

    def settle(question: JudgeQuestion) -> Replied:
        replied = _asked(judge, question, read, again)
        if not (stopped.is_set() and replied.problem):  # what was cut off by closing the judge is no judgement
            file.append(question, replied, verdict(question, replied))
        return replied

    with told_often(tally.line, judge.tell), ThreadPoolExecutor(judge.at_once) as threads:
        try:
            for settled in as_completed([threads.submit(settle, each) for each in missing.values()]):
                replied = settled.result()
                tally.add(replied=bool(replied.replies), problem=replied.problem)
        except BaseException:
            stopped.set()
            threads.shutdown(wait=False, cancel_futures=True)
            judge.close()
            raise
    return len(missing)


def _asked(
    judge: JudgeModel,
    question: JudgeQuestion,
    read: Callable[[str], object],
    again: Callable[[JudgeQuestion, str, str], str],
) -> Replied:
    replies: list[str] = []
    problem, user = "", question.user
    for _ in range(2):
        try:
            replies.append(judge.ask(question.system, user))
        except InputError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a client raises, the answers are not to blame
            return Replied(tuple(replies), printable(error) or type(error).__name__)
        try:
            read(replies[-1])
            return Replied(tuple(replies))
        except ValueError as error:
            problem = f"the reply cannot be read: {printable(error)}"
            user = again(question, replies[-1], printable(error))
    return Replied(tuple(replies), problem)


def _rows(data: bytes) -> Iterable[tuple[str, Replied]]:
    """The rows of a file, the last of each key; a spoilt line is as good as none: its question is asked again."""
    for line in data.split(b"\n"):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        key, replies = (row.get("key"), row.get("replies")) if isinstance(row, dict) else (None, None)
        if isinstance(key, str) and isinstance(replies, list) and all(isinstance(reply, str) for reply in replies):
            yield key, Replied(tuple(replies), str(row.get("problem") or "") or ("" if replies else "no reply"))


FIRST_S, EVERY_S = 10.0, 30.0  # who is done by then is told nothing; later as often as a run in a log
_NEVER = 10  # questions without a reply, and none with one: the rest will have none either


@dataclass(slots=True)
class JudgingCount:
    """What became of the questions so far. `option` and `spec`: who is asked. `heard`: there has been a reply to a
    question of the command.
    """

    option: str
    spec: str
    questions: int
    heard: bool
    done: int = 0
    failed: int = 0
    why: str = ""

    def add(self, *, replied: bool, problem: str) -> None:
        """Count a question. `problem`: why it has no verdict, empty where it has one.

        Raises `InputError` where nothing but errors comes.
        """
        self.done += 1
        self.heard |= replied
        if not replied:
            self.failed += 1
            self.why = problem
        if not self.heard and self.failed >= _NEVER:
            told = f"none of its first {self.failed} questions was answered; {self.why}; the same command asks again"
            raise InputError(self.option, self.spec, told)

    def line(self) -> str:
        """`judge: 12 of 96 questions done, 1 without a reply (HTTP 500: boom)`."""
        failed = f", {self.failed} without a reply ({self.why})" if self.failed else ""
        return f"{self.option.removeprefix('--')}: {self.done} of {self.questions} questions done{failed}"


@contextmanager
def told_often(line: Callable[[], str], tell: Callable[[str], object]) -> Iterator[None]:
    """Tell a line now and then, from a thread, while the block lasts."""
    over = Event()

    def often() -> None:
        pause_s = FIRST_S
        while not over.wait(pause_s):
            tell(line())
            pause_s = EVERY_S

    thread = Thread(target=often, name="needlework-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
