"""How far a command is that asks a model, said now and then; and whether nothing but errors comes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Thread

from needlework.haystack_fixtures.errors import InputError

FIRST_S, EVERY_S = 10.0, 30.0  # who is done by then is told nothing; later as often as a run in a log
_NEVER = 10  # questions without a reply, and none with one: the rest will have none either


@dataclass(slots=True)
class Tally:
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
