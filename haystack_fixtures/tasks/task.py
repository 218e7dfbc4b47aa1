"""Tasks and their questions, and errors in a user's own task."""

import tomllib
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, ValidationError, convert

from needlework.core.errors import InputError
from needlework.core.grid import Cell
from needlework.core.prompts import Needle
from needlework.core.settings import Suite
from needlework.haystack_fixtures.corpora.corpus import Corpus
from needlework.haystack_fixtures.haystacks.conversations import Conversation, GrowingConversation
from needlework.haystack_fixtures.haystacks.documents import Document, OtherDocuments
from needlework.haystack_fixtures.haystacks.listing import Listing
from needlework.haystack_fixtures.retrieval.search import Search


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A second question, asked after the first answer and without the document."""

    question: str
    answer: str  # the right one; empty: that of the first question
    joined: str  # the answer that is scored, with places for `{first}` and `{second}`
    summary: str = ""  # stands before the question, with a place for the first answer as `{summary}`; empty: nothing

    def prompt(self, first_answer: str) -> str:
        """The text that the model is asked."""
        return self.summary.replace("{summary}", first_answer) + self.question


@dataclass(frozen=True, slots=True)
class Prose:
    """A context of the suite's corpus, with the needles in it."""


@dataclass(frozen=True, slots=True)
class Chunks:
    """A context that a retriever makes of the texts of `search`.
    `among`: the other documents, if whole documents are retrieved."""

    retriever: str
    search: Search
    among: OtherDocuments | None = None


# Of a list, its `resolve` has the last word on answer and reference. A document has no needles. Other documents stand
# around needles that are whole documents themselves.
# A conversation's needles are rounds; one that is given as it is has none.
Context = Prose | Listing | Document | OtherDocuments | Chunks | GrowingConversation | Conversation


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The question of one trial."""

    needles: tuple[Needle, ...] = ()  # go into the haystack
    depths: tuple[float, ...] = ()  # of the needles, in percent of the needle-free haystack
    question: str
    answer: str  # a right answer as a person would give it
    # Fields of `scoring.scores.Reference`; `question` and `language` default to this question and the suite's language.
    # `chance` and `floor`: scores (0..1) of guessing among the answers that the question allows, and of the best answer
    # that is the same for every question.
    reference: dict[str, Any]
    joint: bool = False
    needed: tuple[int, ...] | None = None  # numbers of the needles that the answer rests on; `None`: all of them
    distractors: tuple[str, ...] = ()  # further statements, spread evenly
    context: Context = Prose()  # the kind of text that the question is about
    abstains: bool = False  # the question already has an instruction to abstain
    follow_up: FollowUp | None = None  # a second question; the scored text has both answers
    introduction: str = ""  # text before the context, with its line feeds
    answer_prefix: str = ""  # how the answer begins, for suites that start it for the model
    material: str = ""  # further inputs of the trial, for its resume key
    avoid: tuple[str, ...] = ()  # texts that may not stand in the haystack, beside the needles' keys and answers
    verbatim: bool = False  # the answer budget must hold the whole answer
    search: Search | None = None  # the texts that a retriever may find the context in

    @property
    def rests_on(self) -> tuple[int, ...]:
        """Numbers of the needles without which the question has no answer."""
        return tuple(range(len(self.needles))) if self.needed is None else self.needed

    @property
    def all_distractors(self) -> tuple[str, ...]:
        """Statements that are spread evenly: the needles' distractors and the trial's own."""
        return tuple(text for needle in self.needles for text in needle.distractors) + self.distractors


def bare(question: Question) -> Question:
    """The question without needles and distractors, for another context."""
    return replace(question, needles=(), depths=(), needed=(), distractors=(), avoid=())


@dataclass(frozen=True, slots=True)
class Task:
    """A family of cells, or one task of a `family` that has several."""

    name: str
    about: str
    labels: Callable[[Suite], tuple[str, ...]]  # of needles, one series of cells each
    depths: Callable[[Suite], tuple[float | None, ...]]  # of the cells, in percent
    # The trial of suite, cell and seed; depends on nothing else, and on the cell's depth and length by `depths` alone.
    ask: Callable[[Suite, Cell, int], Question]
    family: str = ""
    scorer: str = "match"  # unless the suite names one
    version: int = 0  # raise it when the same seed gives another trial
    absent: bool = True  # a trial whose text lacks the answer makes sense
    focused: bool = True  # a trial on just the needed needles makes sense
    one_haystack: bool = False  # its needles have the same text around them, whichever they are
    lengths: Callable[[Suite, str], tuple[int, ...]] = lambda suite, _label: suite.lengths  # of those, a label's
    corpus: Callable[[Suite], Corpus] | None = None  # the texts that take the place of the suite's corpus
    check: Callable[[Sequence[Suite]], None] | None = None  # raises `InputError` for suites that cannot be asked
    retrieves: bool = False  # its context may be retrieved; it says what to search (`Question.search`)
    facts: Callable[[Suite], dict[str, dict[str, Any]]] | None = None  # of the user's files, for the manifest
    suite: Mapping[str, Any] = field(default_factory=dict, hash=False)  # keys as in a preset, where none has the task
    rows: bool = False  # its labels are rows of a data set, too many to build a prompt of each before the run
    questions: bool = False  # its labels are questions, and `--depths spread` gives each a depth of its own
    notes: Callable[[Suite, bool], Sequence[str]] | None = None  # lines about the user's files; `True`: all there are
    # Tokens of the longest context that its texts fill whatever is asked, from the tokens of each text.
    reach: Callable[[Suite, Sequence[int]], int] | None = None
    share: int = 100  # percent of a length of the suite that its shortest cells have


def no_depths(_suite: Suite) -> tuple[None]:
    """The depths of a task without a depth axis: nothing is inserted, or positions are random."""
    return (None,)


def suite_depths(suite: Suite) -> tuple[float, ...]:
    """The depths of a task that asks at all depths of its suite."""
    return suite.depths


def our_task(name: str, ask: Callable[[Suite, Cell, int], Question], **functions: Any) -> Task:
    """The task of a table in `tasks.toml`. `functions`: further fields, such as `labels` that suites differ in."""
    row = dict(_declared()[name])
    names, depths = row.pop("labels", ()), suite_depths if row.pop("at_depths", False) else no_depths
    labels = functions.pop("labels", lambda suite: tuple(labelled(label, suite) for label in names))
    return Task(name, row.pop("about"), labels, depths, ask, **row, **functions)


@cache
def _declared() -> dict[str, dict[str, Any]]:
    tables = tomllib.loads((resources.files(__package__) / "tasks.toml").read_text("utf-8"))
    rows = {name: table for name, table in tables.items() if "about" in table}
    for family in tables.keys() - rows.keys():
        of_all = {key: value for key, value in tables[family].items() if not isinstance(value, dict)}
        tasks = {name: row for name, row in tables[family].items() if isinstance(row, dict)}
        rows |= {name: {"family": family} | of_all | row for name, row in tasks.items()}
    return rows


def labelled(name: str, suite: Suite) -> str:
    """A needle's label in ids: `code`, `code_zh`."""
    return name if suite.language == "en" else f"{name}_{suite.language}"


def without_language(label: str, suite: Suite) -> str:
    """The label as it is in English."""
    return label if suite.language == "en" else label.removesuffix(f"_{suite.language}")


# Return types of the functions of other people's tasks, and their names in errors.
_Percent = Annotated[float, Meta(ge=0, le=100)]
_RETURNED: dict[str, tuple[Any, str]] = {
    "labels": (tuple[Annotated[str, Meta(min_length=1)], ...], 'needle labels, a tuple of texts such as ("code",)'),
    "depths": (
        Annotated[tuple[_Percent | None, ...], Meta(min_length=1)],
        "depths in percent, such as (0.0, 50.0, 100.0), or (None,) where nothing is placed",
    ),
    "lengths": (tuple[Annotated[int, Meta(gt=0)], ...], "lengths, a tuple of whole numbers of tokens"),
    "ask": (Any, "Question; see docs/extend.md"),
}


def guarded(task: Task) -> Task:
    """The task, with errors and wrongly typed results of its functions turned into `InputError`."""
    functions: dict[str, Any] = {name: _guard(task.name, name, getattr(task, name)) for name in _RETURNED}
    return replace(task, **functions)


def _guard(task: str, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    where = f"task {task}, its `{name}`"

    def call(*values: Any) -> Any:
        try:
            returned = function(*values)
        except InputError:
            raise
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            position = f"{Path(last.filename).name}:{last.lineno}"
            raise InputError(where, position, f"raised {type(error).__name__}: {error}") from error
        kind, expected = _RETURNED[name]
        try:
            converted = convert(returned, kind)
            if name == "ask" and not isinstance(returned, Question):
                raise ValidationError
        except ValidationError:
            raise InputError(where, returned, f"returns no {expected}") from None
        if isinstance(returned, Question):
            _check_depths(where, returned)
        return converted

    return call


def _check_depths(where: str, question: Question) -> None:
    depths = question.depths
    if len(question.needles) != len(depths):
        remedy = f"has {len(question.needles)} needles and {len(depths)} depths: give every needle one"
        raise InputError(where, question, remedy)
    if not all(isinstance(depth, int | float) and 0 <= depth <= 100 for depth in depths):
        remedy = f"has the depths {depths}: each is a percent from 0 to 100; `no_depths` tasks have no needles"
        raise InputError(where, question, remedy)
