"""The grid of a run: cells and their ids, lengths and depths, limits, lengths that do not fit."""

import math
import re
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from needlework.core.draws import draws, shuffled
from needlework.core.errors import InputError, TooLongError

_NUMBER = r"\d+(?:\.\d+)?"
_ID = re.compile(
    rf"(?P<task>[a-z0-9_]+)(?:@[^-\[\]]+)?-len(?P<length>\d+)-depth(?P<depth>{_NUMBER}|all)"
    r"-(?P<needle>[^-\[\]]+)-r(?P<repeat>\d+)(?:-(?P<model>[^\[\]]+))?"
)
_ON_DOCUMENT = re.compile(r"\A(doc\d+)_q\d+((?:_[a-z0-9]+)?)\Z")


@dataclass(frozen=True, slots=True)
class Cell:
    """Coordinates of one trial: task, needle, length, depth, repeat and model.

    `length` is in tokens: the window that prompt and answer budget need together.
    `depth` is in percent of the context's tokens; `None` where a task puts a needle at every depth.
    `needle` names the needle; other languages than English are part of the name (`code_zh`).
    `model` is a slug, empty while only one model is under test.
    """

    task: str
    length: int
    depth: float | None
    needle: str
    repeat: int = 0
    model: str = ""

    @property
    def id(self) -> str:
        """The pytest id. Every number is followed by `-` or the end, so that `-k depth10-` is exact."""
        parts = [self.task, f"len{self.length}", f"depth{depth_label(self.depth)}", self.needle, f"r{self.repeat}"]
        return "-".join([*parts, self.model] if self.model else parts)

    @property
    def haystack_id(self) -> str:
        """The id without its depth, and of questions on a document (`doc3_q7`) without the question.

        Cells that share it share a haystack, and so a worker.
        """
        needle = _ON_DOCUMENT.sub(r"\1\2", self.needle)
        return replace(self, needle=needle).id.replace(f"-depth{depth_label(self.depth)}-", "-", 1)


def depth_label(depth: float | None) -> str:
    """Write a depth as ids, file names and tables do: `50`, `99.104`, `all`."""
    return "all" if depth is None else f"{depth:g}" if depth == round(depth, 3) else f"{depth:.3f}"


def parse_id(text: str) -> Cell | None:
    """Find the cell in a pytest node id, or in the id of a cell or record; `None` when there is none."""
    inside = re.search(r"\[(.+)\]", text)
    text_of_id = inside.group(1) if inside else text
    match = _ID.fullmatch(text_of_id)
    # pytest's way to write other letters, unless its ini file says otherwise
    if match and "\\" in text_of_id and text_of_id.isascii():
        with suppress(UnicodeDecodeError):
            match = _ID.fullmatch(text_of_id.encode("ascii").decode("unicode_escape"))
    if match is None:
        return None
    depth = match["depth"]
    return Cell(
        task=match["task"],
        length=int(match["length"]),
        depth=None if depth == "all" else float(depth),
        needle=match["needle"],
        repeat=int(match["repeat"]),
        model=match["model"] or "",
    )


def slug(text: str) -> str:
    """Make a word that is safe in ids and file names: everything but letters, digits, `.` becomes `_`."""
    return re.sub(r"[^\w.]+", "_", text).strip("_") or "unnamed"


# Lengths are in tokens, depths in percent. Peers' values are reproduced exactly; where a peer's order is odd (LLMTest's
# sigmoid falls), the values are the peer's and the caller sorts.
_SUFFIX = {"": 1, "k": 1_000, "m": 1_000_000}
_LENGTH = re.compile(r"(\d+(?:\.\d+)?)([km]?)", re.IGNORECASE)
WINDOW = "window"  # a length: as many tokens as the model takes
_MOST_TOKENS = 10**9
_MOST_VALUES = 10_000  # of one range


def linear(first: float, last: float, count: int) -> list[float]:
    """`round(linspace)`, half to even: LLMTest_NeedleInAHaystack and EvalScope, lengths and depths."""
    import numpy as np  # not at the top: `needlework launch` starts shards without it

    return [float(value) for value in np.round(np.linspace(first, last, count)).astype(int)]


def logarithmic(first: float, last: float, count: int) -> list[float]:
    """Evenly spaced on a logarithmic axis, rounded to whole numbers."""
    import numpy as np  # not at the top: `needlework launch` starts shards without it

    return [float(value) for value in np.round(np.geomspace(first, last, count)).astype(int)]


def doubling(first: float, last: float, count: int) -> list[float]:
    """`first`, twice that, and so on; stops at `last`, which is added when the doubling misses it."""
    values = [first]
    while values[-1] * 2 <= last:
        values.append(values[-1] * 2)
    return [*values, *([last] if values[-1] != last else [])][:count]


def llmtest_sigmoid(first: float, last: float, count: int) -> list[float]:
    """LLMTest's sigmoid depths, with its sign error: ends kept, the middle falls, three decimals."""
    import numpy as np  # not at the top: `needlework launch` starts shards without it

    return [
        x if x in (0, 100) else float(np.round(100 / (1 + math.exp(0.1 * (x - 50))), 3))
        for x in np.linspace(first, last, count).tolist()
    ]


def _evenly(first: float, last: float, count: int) -> list[float]:
    return [first + (last - first) / max(1, count - 1) * number for number in range(count)]


def opencompass_linear(first: float, last: float, count: int) -> list[float]:
    """OpenCompass's linear depths: evenly spaced, then cut down to whole percent by its data set configs."""
    return [float(int(depth)) for depth in _evenly(first, last, count)]


def opencompass_sigmoid(first: float, last: float, count: int) -> list[float]:
    """OpenCompass's sigmoid depths: rising, ends not pinned, then cut down to whole percent."""
    return [float(int(round(100 / (1 + math.exp(-0.1 * (x - 50))), 3))) for x in _evenly(first, last, count)]


Spacing = Callable[[float, float, int], list[float]]
LENGTH_SPACINGS: dict[str, Spacing] = {"linear": linear, "log": logarithmic, "doubling": doubling}
DEPTH_SPACINGS: dict[str, Spacing] = {
    "linear": linear,
    "sigmoid": llmtest_sigmoid,
    "opencompass-linear": opencompass_linear,
    "opencompass-sigmoid": opencompass_sigmoid,
}


def parse_tokens(option: str, text: str) -> int:
    """Read a number of tokens: `4000`, `4k`, `1.5k`, `1m` (k = 1,000)."""
    match = _LENGTH.fullmatch(text.strip())
    value = float(match[1]) * _SUFFIX[match[2].lower()] if match else 0.0
    if match is None or value > _MOST_TOKENS or value != int(value):
        raise InputError(option, text, f"give whole tokens up to {_MOST_TOKENS:,}, such as 4000, 4k or 1m")
    return int(value)


def parse_lengths(option: str, text: str, spacing: str) -> tuple[int, ...]:
    """Read `1k,2k,4k` or `1k:128k:8` (first:last:count; no count with doubling) into ascending tokens."""

    def length(word: str) -> float:
        value = float(parse_tokens(option, word))
        if value < 1:
            raise InputError(option, text, "lengths are tokens and begin at 1")
        return value

    values = _parse(option, text, LENGTH_SPACINGS[spacing], length, spacing)
    return tuple(sorted({int(value) for value in values}))


def without_window(option: str, text: str) -> tuple[str, bool]:
    """The lengths as written but for the word `window`, and whether it was there."""
    words = _words(option, text)
    rest = [word for word in words if word.lower() != WINDOW]
    return ",".join(rest), len(rest) < len(words)


def parse_depths(option: str, text: str, spacing: str) -> tuple[float, ...]:
    """Read `0,50,100` or `0:100:11` into ascending percents."""

    def percent(word: str) -> float:
        try:
            value = float(word.strip().removesuffix("%"))
        except ValueError:
            raise InputError(option, text, "depths are percents, such as 0,25,50 or 0:100:11") from None
        if not 0 <= value <= 100:
            raise InputError(option, text, "depths are percents from 0 to 100")
        return round(value, 3) + 0.0  # as ids say it; and no -0.0

    values = _parse(option, text, DEPTH_SPACINGS[spacing], percent, spacing)
    return tuple(sorted(set(values)))


def _words(option: str, text: str) -> list[str]:
    """The values of a list; a comma at its end is none."""
    words = re.findall(r"[^\s,]+", text)
    if not words:
        raise InputError(option, text, "give at least one value")
    if re.match(r"\s*,", text) or re.search(r",\s*,", text):
        raise InputError(option, text, f"a value is missing at a comma: give it, or {','.join(words)}")
    return words


def _parse(option: str, text: str, space: Spacing, number: Callable[[str], float], spacing: str) -> Sequence[float]:
    words = _words(option, text)
    if len(words) > 1 or ":" not in words[0]:
        return [number(word) for word in words]
    ends = words[0].split(":")
    if spacing == "doubling" and len(ends) == 2:
        ends.append("64")
    if len(ends) != 3 or not re.fullmatch("[0-9]{1,9}", ends[2]) or not 1 <= int(ends[2]) <= _MOST_VALUES:
        remedy = f"a range is first:last:count, such as 1k:128k:8 or 0:100:11, with a count up to {_MOST_VALUES:,}"
        raise InputError(option, text, remedy)
    first, last = number(ends[0]), number(ends[1])
    if last < first:
        raise InputError(option, text, "the last value of a range must not be below the first")
    return space(first, last, int(ends[2]))


# Where the needles are many questions on documents, each question has a depth of its own.
SPREAD = "spread"


def spread_depths(depths: Sequence[float | None], seed: int, length: int, repeat: int) -> tuple[float | None, ...]:
    """Return the one depth, of those given, at which a sample is asked at a length.

    Every so many samples as there are depths have each depth once, in a drawn order of their own.
    """
    turn, at = divmod(repeat, len(depths))
    return (shuffled(draws("adaptive", 1, seed, length, turn), depths)[at],)


def spread_questions(depths: Sequence[float | None], seed: int, question: int, repeat: int) -> tuple[float | None, ...]:
    """Return the one depth at which a question of a repeat is asked, the same at every length.

    So lengths differ in nothing else. Every so many questions as there are depths have each depth once, in a drawn
    order of their own; further repeats of a question go through the other depths in turn.
    """
    turn, at = divmod(question, len(depths))
    start = shuffled(draws("spread questions", seed, turn), range(len(depths)))[at]
    return (depths[(start + repeat) % len(depths)],)


def first_trials(panels: Sequence[Sequence[Cell]], chosen: Collection[Cell], limit: float, *, rows: bool) -> set[Cell]:
    """The first of the wanted cells: `limit` of them, or that share where it is below 1, at least one.

    `panels`: the cells of each needle in their standing order. By length, then repeat, then needle and depth: what
    EvalScope takes with its `--limit`. Where needles are `rows` of a data set, in the order of the data.
    """
    placed = [
        (() if rows else (cell.length, cell.repeat), number, number_in_panel, cell)
        for number, cells in enumerate(panels)
        for number_in_panel, cell in enumerate(cells)
        if cell in chosen
    ]
    count = max(1, int(len(placed) * limit)) if limit < 1 else int(limit)
    return {cell for *_, cell in sorted(placed, key=lambda row: row[:3])[:count]}


def limit_note(limit: float) -> str:
    """The note on `--limit` that a run and its report show."""
    most = f"the first {limit:.3g} of the trials" if limit < 1 else f"the first {limit:g} trials"
    return f"--limit {limit:g}: {most} of each task and language, the shortest first: a part of the grid"


_EVEN = 100


@dataclass(frozen=True, slots=True)
class Misfit:
    """A length in tokens that a task cannot be asked at."""

    of: str  # the task, and the needle where others of the task may fit
    length: int
    least: int | None  # a length that would do, `None` where it is not known
    share: int = 100  # percent of `--lengths` that the shortest length of its task is
    question: str = ""  # the one that is left out for its document, in words; empty for a length

    @property
    def least_option(self) -> int | None:
        """The smallest `--lengths` that fits."""
        return None if self.least is None else -(-self.least * 100 // self.share)


_MOST_QUESTIONS = 5  # named in messages


def left_out(misfits: Sequence[Misfit]) -> str:
    """`left out, too short: copy at 1000 (from 1142), ruler_cwe at 500, 1000 (from 1200)`."""
    lengths = [each for each in misfits if not each.question]
    questions = list(dict.fromkeys(each.question for each in misfits if each.question))
    words = [f"left out, too short: {_misfit_words(lengths)}"] if lengths else []
    if questions:
        longest = max((each.least for each in misfits if each.question and each.least is not None), default=0)
        shown = ", ".join(questions[:_MOST_QUESTIONS]) + (", ..." if len(questions) > _MOST_QUESTIONS else "")
        about = f"{len(questions)} questions whose document does not fit"
        words.append(f"left out, {about}: {shown} (all fit from {longest})")
    return "; ".join(words)


def _misfit_words(misfits: Sequence[Misfit]) -> str:
    by_task: dict[str, list[Misfit]] = {}
    for misfit in misfits:
        by_task.setdefault(misfit.of.partition(" ")[0], []).append(misfit)
    words = []
    for task, group in by_task.items():
        least = _least_option(group)
        lengths = ", ".join(map(str, sorted({each.length for each in group})))
        words.append(f"{task} at {lengths}{f' (from --lengths {least})' if least else ''}")
    return ", ".join(words)


def _least_option(misfits: Sequence[Misfit]) -> int | None:
    """The smallest `--lengths` that fits all of them, as far as it is known."""
    return max((each.least_option for each in misfits if each.least_option is not None), default=None)


def nothing_fits(misfits: Sequence[Misfit]) -> InputError:
    """The error of a run of which no cell can be asked."""
    lengths = ",".join(map(str, sorted({each.length for each in misfits})))
    least = _least_option(misfits)
    use = f"use at least {least}" if least else "use longer ones"
    return InputError("--lengths", lengths, f"too short for {_misfit_words(misfits)}: {use}, or other tasks (--task)")


def not_filled(errors: Sequence[TooLongError]) -> InputError:
    """The error of lengths that documents do not fill; it names one that fits all questions.

    It is rounded down, since the same documents in another order may have a token or two less.
    """
    fewest = min(errors, key=lambda error: error.most)
    least = ", the fewest of all questions" if len({error.most for error in errors}) > 1 else ""
    use = f"use at most {fewest.most - fewest.most % _EVEN or fewest.most}, or add some"
    return InputError("--lengths", fewest.length, f"{fewest.reason}{least}: {use}")
