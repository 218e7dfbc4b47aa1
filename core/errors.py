"""Errors of user input; how commands refuse with one line, and end at a signal."""

import argparse
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from math import inf
from types import FrameType
from typing import Any, NoReturn

_LONGEST_VALUE, _LONGEST = 120, 600  # characters
_OURS, _NEAR = 0.75, 0.65  # of difflib's ratio: from where on a name of ours, or any, is what was meant


class InputError(Exception):
    """Something the user gave cannot be used.

    Its text is one line that names the option or file, the value, and the remedy; the plugin prints it as it is.
    """

    def __init__(self, what: str, value: object, remedy: str) -> None:
        shown = _cut(_one_line(value), _LONGEST_VALUE)
        super().__init__(f"{printable(what, _LONGEST_VALUE)}: {shown!r}: {printable(remedy)}")


class TooShortError(InputError):
    """A length, in tokens, too short for what is asked; `least`: the shortest that fits, if known."""

    def __init__(self, length: int, needed: str, least: int | None = None) -> None:
        super().__init__("--lengths", length, f"{needed}: use at least {least}" if least else needed)
        self.least = least


class TooLongError(InputError):
    """A length, in tokens, that the user's texts do not fill; `most`: the longest that they fill."""

    def __init__(self, length: int, most: int, about: str) -> None:
        self.reason = f"all documents together fill {most} tokens with {about}"
        super().__init__("--lengths", length, f"{self.reason}: use no more, or add some")
        self.length, self.most = length, most


class NoRoomError(InputError):
    """An answer budget, in tokens, too small for the answer; `needed`: the smallest that fits."""

    def __init__(self, budget: int, of: str, needed: int) -> None:
        remedy = f"the answer of {of} and its end have {needed} tokens: use at least {needed}"
        super().__init__("--answer-budget", budget, remedy)
        self.needed = needed


def printable(text: object, longest: int = _LONGEST) -> str:
    """Put a text on one line, without anything that a terminal obeys: it may come from files or servers."""
    line = _one_line(text)
    if not line.isprintable():
        line = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)
    return _cut(line, longest)


def nearest(word: str, ours: Iterable[str], theirs: Iterable[str] = ()) -> str:
    """The nearest of the names, empty where none is near; one of ours counts more than another system's."""
    ours = list(ours)
    near = get_close_matches(word, ours, 1, _OURS) or get_close_matches(word, [*ours, *theirs], 1, _NEAR)
    return near[0] if near else ""


def _one_line(value: object) -> str:
    # Only the beginning can be shown: a value of a gigabyte is not split into words.
    return " ".join(str(value)[:10_000].split())


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


class OneLineParser(argparse.ArgumentParser):
    """An argument parser with errors of one line, which name the nearest option.

    `theirs`: what to write in place of another system's option, by its name without dashes before it.
    """

    def __init__(self, *args: Any, theirs: Mapping[str, str] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._theirs = theirs or {}

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse as argparse does, but refuse an unknown option here, where its neighbours are known."""
        parsed, unknown = super().parse_known_args(args, namespace)
        option = next((word.partition("=")[0] for word in unknown if word.startswith("-")), None)
        if option is not None:
            name = option.lstrip("-")
            written = (word for action in self._actions for word in action.option_strings if word.startswith("--"))
            near = nearest(name.replace("_", "-"), (word[2:] for word in written))
            hint = self._theirs.get(name) or (f"did you mean --{near}?" if near else "")
            self.error(f"there is no {option}" + (f": {hint}" if hint else ""))
        return parsed, unknown

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and end with exit code 2."""
        self.exit(2, f"{self.prog}: {printable(message)} (see {self.prog} --help)\n")


def number_from(least: int, kind: type[int] | type[float] = int) -> Callable[[str], float]:
    """The type of an argument of a parser: a number from `least` on."""

    def parse(text: str) -> float:
        try:
            number = kind(text)
        except ValueError:
            number = least - 1
        if not least <= number < inf:
            what = "whole number" if kind is int else "number"
            raise argparse.ArgumentTypeError(f"{text!r}: use a {what} from {least}")
        return number

    return parse


def refuse(command: str, line: object) -> int:
    """Print one line to standard error, with the command's name once; the exit code for bad input."""
    text = printable(line, 1000).removeprefix(f"{command}: ")
    print(f"needlework {command}: {text}", file=sys.stderr)
    return 2


def run_command(command: str, action: Callable[[], int | None]) -> int:
    """Run an action and return its exit code, 0 without one; 2 after one line for bad input or unusable files."""
    try:
        return action() or 0
    except InputError as error:
        return refuse(command, error)
    except BrokenPipeError:
        raise  # whoever read our output has seen enough
    except OSError as error:
        file = error.filename2 or error.filename or "output"
        return refuse(command, InputError("file", file, error.strerror or str(error)))


_NAMES = ("SIGTERM", "SIGHUP")
_AGAIN_S = 5.0  # a Ctrl-C so soon after the first is the same wish


class EndSignals:
    """While `start`ed, make SIGTERM and SIGHUP raise `KeyboardInterrupt` as Ctrl-C does, once.

    A second Ctrl-C is ignored for five seconds: it would end what the first one asks for, a report half written.

    In a worker SIGTERM and SIGHUP end nothing (`heeded=False`): its controller does, when it has its answers. It is
    then told `end`.

    Only a signal that would otherwise kill the process is taken over: not one that is ignored (`nohup`), or that
    somebody else handles.
    """

    def __init__(self, *, heeded: bool = True) -> None:
        self._heeded = heeded
        self._before: dict[signal.Signals, Any] = {}
        self._ends: float | None = None  # since when, in seconds

    def start(self) -> None:
        """Take them over. Other threads cannot."""
        if threading.current_thread() is not threading.main_thread():
            return
        for name in _NAMES:
            number = signal.Signals[name]
            if signal.getsignal(number) is signal.SIG_DFL:
                self._before[number] = signal.signal(number, self._end)
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._before[signal.SIGINT] = signal.signal(signal.SIGINT, self._interrupt)

    def ignore(self) -> None:
        """Ignore the signals from now on: the session ends already."""
        self._ends = time.monotonic()
        for number in self._before:
            if number != signal.SIGINT:
                signal.signal(number, signal.SIG_IGN)

    def end(self) -> None:
        """End the session now, from any thread; nothing after `ignore`."""
        self._heeded = True
        if signal.SIGTERM in self._before:
            os.kill(os.getpid(), signal.SIGTERM)

    def stop(self) -> None:
        """Give the signals back."""
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()

    def _interrupt(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        if self._ends is None or time.monotonic() - self._ends > _AGAIN_S:
            self.ignore()
            raise KeyboardInterrupt

    def _end(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        if not self._heeded:
            return
        self.ignore()
        raise KeyboardInterrupt(signal.Signals(number).name)


@contextmanager
def ending_signals() -> Iterator[None]:
    """Make the signals raise `KeyboardInterrupt`, once, inside this context."""
    signals = EndSignals()
    signals.start()
    try:
        yield
    finally:
        signals.stop()
