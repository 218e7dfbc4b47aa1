"""Tasks by name, and the grid of cells that suites ask for."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import entry_points
from itertools import chain
from types import MappingProxyType

from needlework.core.errors import InputError, TooShortError, nearest
from needlework.core.grid import Cell, Misfit, nothing_fits, slug, spread_depths, spread_questions
from needlework.core.settings import Settings, Suite
from needlework.haystack_fixtures.tasks import (
    agent_log,
    arms,
    conversations,
    lists,
    needles,
    own_documents,
    paths,
    state_world,
    statements,
)
from needlework.haystack_fixtures.tasks.published import (
    aa_lcr,
    data_sets,
    leval,
    mrcr_sets,
    needlebench,
    ruler,
    ruler_questions,
)
from needlework.haystack_fixtures.tasks.task import Question, Task, guarded, without_language

PUBLISHED_TASKS = (*mrcr_sets.TASKS, *data_sets.TASKS, *aa_lcr.TASKS)
RULER_TASKS = (*ruler.TASKS, *ruler_questions.TASKS)
_OURS = (
    *needles.TASKS, *needlebench.TASKS, *lists.TASKS, *RULER_TASKS, *leval.TASKS, *PUBLISHED_TASKS,
    *own_documents.TASKS, *statements.TASKS, *paths.TASKS, *state_world.TASKS, *conversations.TASKS,
    *agent_log.TASKS,
)  # fmt: skip
Tasks = Mapping[str, Task]
TASKS: Tasks = MappingProxyType({task.name: task for task in _OURS})

MOST_CELLS = 1_000_000
# The scores of guessing where the answer may be anything.
_OPEN = {"chance": 0.0, "floor": 0.0}


@dataclass(frozen=True)
class Series:
    """The cells of one needle label of one suite, and one model."""

    suite: Suite
    task: Task
    model: str
    cells: tuple[Cell, ...]
    number: int = 0  # of the label, from 0

    @property
    def retriever(self) -> str:
        """The retriever that finds the context of these cells; empty without one."""
        return arms.split_label(self.cells[0].needle, arms.arms_of(self.task, self.suite))[1]


def task_named(name: str, tasks: Tasks = TASKS) -> Task:
    """A task by name. Raises `InputError` with the nearest names."""
    if name not in tasks:
        raise InputError("task", name, near_names(name, tasks))
    return tasks[name]


def near_names(name: str, known: Sequence[str] | Tasks) -> str:
    """The remedy for an unknown name."""
    near = nearest(name, known)
    return f"did you mean {near}?" if near else f"use one of {', '.join(dict.fromkeys(known))}"


def family_of(task: str) -> str:
    """The family of a task; one that has none, or that this version does not know, is its own."""
    if task not in TASKS and task.startswith("leval_"):  # a file of the user's
        return leval.FAMILY
    return TASKS[task].family or task if task in TASKS else task


def ask(task: Task, suite: Suite, cell: Cell, seed: int) -> Question:
    """The question of a cell, be it a control or a retriever's."""
    label, arm = arms.split_label(cell.needle, arms.arms_of(task, suite))
    label, control = arms.split_label(label, () if arm else controls_of(task, suite))
    if not control and not arm:
        question = task.ask(suite, cell, seed)
    else:
        depths = task.depths(suite)
        # No control depends on the depth but `compacted`, which takes the middle one.
        depth = depths[len(depths) // 2 if control == "compacted" else 0]
        question = task.ask(suite, replace(cell, needle=label, depth=depth), seed)
    known = _OPEN | {"question": question.question, "language": suite.language}
    question = replace(question, reference=known | question.reference)
    arms.check_length_means(suite, question.context)
    if "absent" in controls_of(task, suite):
        question = arms.may_abstain(question, suite.language)
    if arm:
        return arms.with_retriever(question, arm, label)
    if control == "absent":
        return arms.absent(question, suite.language, label)
    if control == "compacted":
        return arms.compacted(question, suite, label)
    return arms.focused(question, label) if control == "focused" else question


def controls_of(task: Task, suite: Suite) -> tuple[str, ...]:
    """The suite's controls that its task has, in one order."""
    has = {"absent": task.absent, "focused": task.focused, "compacted": not task.questions}
    return tuple(control for control in has if has[control] and control in suite.controls)


def grid(settings: Settings, tasks: Tasks = TASKS) -> tuple[Series, ...]:
    """All cells of a run, in their standing order: by suite, needle, model, length, repeat, depth.

    Suites whose lengths hold none of their needles are left out, see `grid_and_misfits`; `InputError` where all are.
    """
    return grid_and_misfits(settings, tasks)[0]


def grid_and_misfits(settings: Settings, tasks: Tasks) -> tuple[tuple[Series, ...], tuple[Misfit, ...]]:
    """The grid of a run, and the suites that are left out of it."""
    pairs = [(task_named(suite.task, tasks), suite) for suite in settings.suites]
    for check in dict.fromkeys(task.check for task, _ in pairs if task.check):
        check([suite for task, suite in pairs if task.check == check])
    arms.check_arms(pairs)
    specs = tuple(dict.fromkeys(settings.model))
    slugs = [slug(spec) if len(specs) > 1 else "" for spec in specs]
    series: dict[tuple[str, str, str], Series] = {}
    misfits: list[Misfit] = []
    count = 0
    for task, suite in pairs:
        try:
            axes = list(_axes(task, suite))
        except TooShortError as error:
            misfits += [Misfit(suite.task, length, error.least) for length in suite.lengths]
            continue
        if not task.rows:
            shortest = min((min(lengths) for _, lengths, _ in axes), default=0)
            misfits += [Misfit(suite.task, length, None) for length in suite.lengths if length < shortest]
        numbers = {label: number for number, label in enumerate(task.labels(suite))} if task.questions else {}
        for label, lengths, depths in axes:
            for spec, model in zip(specs, slugs, strict=True):
                count += len(lengths) * (1 if suite.spread else len(depths)) * suite.repeats
                if count > MOST_CELLS:
                    raise InputError(
                        "--repeats", suite.repeats, f"the run has over {MOST_CELLS:,} cells; ask fewer lengths, depths"
                    )
                number = numbers.get(label, 0)
                cells = tuple(
                    Cell(suite.task, length, depth, label, repeat, model)
                    for length in lengths
                    for repeat in range(suite.repeats)
                    for depth in (
                        sample_depths(task, depths, settings.seed, number, length, repeat) if suite.spread else depths
                    )
                )
                if (suite.task, label, model) in series:
                    raise InputError(
                        "--preset", settings.preset, f"two suites ask {suite.task} with needle {label}: name them apart"
                    )
                series[suite.task, label, model] = Series(suite, task, spec, cells, number)
    if misfits and not series:
        raise nothing_fits(misfits)
    return tuple(series.values()), tuple(misfits)


def sample_depths(
    task: Task, depths: Sequence[float | None], seed: int, number: int, length: int, repeat: int
) -> tuple[float | None, ...]:
    """The one depth at which `--depths spread` asks a sample. `number`: of its label, from 0."""
    if task.questions:
        return spread_questions(depths, seed, number, repeat)
    return spread_depths(depths, seed, length, repeat)


def _axes(task: Task, suite: Suite) -> Iterator[tuple[str, tuple[int, ...], tuple[float | None, ...]]]:
    """Needle labels of a suite with lengths and depths; retrievers and controls have no depth."""
    labels = {without_language(label, suite): label for label in task.labels(suite)}
    chosen = [name for name in labels if not suite.variants or name in suite.variants]
    if labels and not chosen:
        has, wants = ", ".join(labels), ", ".join(suite.variants)
        raise TooShortError(max(suite.lengths), f"{suite.task} has {has} here, and not {wants}")
    for label in (labels[name] for name in chosen):
        lengths = task.lengths(suite, label)
        if not lengths:  # a row of a data set that is longer than every length
            continue
        if arms.asks_whole(task, suite):
            yield label, lengths, task.depths(suite)
        for arm in (*arms.arms_of(task, suite), *controls_of(task, suite)):
            yield f"{label}_{arm}", (min(lengths),) if arm == "focused" else lengths, (None,)


def deepest_first(cells: Sequence[Cell], tasks: Tasks = TASKS) -> list[Cell]:
    """Order for one process with a model of its own, which keeps the previous prompt's key/value cache.

    Prompts of one haystack are alike up to the needle, also those of other lengths: from the needle that stands
    farthest down to the one at the start, each prompt's whole beginning is still in the cache. Where all needles of a
    task have one haystack, so are those of other needles.
    """

    def sort_key(cell: Cell) -> tuple[object, ...]:
        # Where needles share a haystack, a cell without a depth is alike to the end.
        shares = tasks[cell.task].one_haystack
        depth = (100.0 if shares else 0.0) if cell.depth is None else cell.depth
        first, last = ("", cell.needle) if shares else (cell.needle, "")
        return cell.model, cell.task, first, cell.repeat, -cell.length * depth, -cell.length, last

    return sorted(cells, key=sort_key)


def longest_first(cells: Sequence[Cell]) -> list[Cell]:
    """Order for several workers: a long cell that starts last would keep all others waiting."""
    return sorted(cells, key=lambda cell: -cell.length)


GROUP = "needlework.tasks"  # of entry points: each names a `Task`, or a sequence of them
_NAME = re.compile(r"[a-z][a-z0-9_]*")


def with_tasks(more: Sequence[object] = ()) -> Tasks:
    """Our tasks and those of others: of installed packages (entry points of `GROUP`), and `more`.

    `more`: each a task, a sequence of tasks, or nothing. Raises `InputError` for two of one name, and for what is no
    task; their functions raise it for their own errors.
    """
    by_name: dict[str, Task] = {}
    for task in chain(_installed(), *map(_tasks_in, more)):
        if not isinstance(task, Task):
            raise InputError("task", task, "is no Task; see docs/extend.md")
        if not _NAME.fullmatch(task.name):
            raise InputError("task", task.name, "give it a name of small letters, digits and _")
        if task.name in TASKS or by_name.setdefault(task.name, task) is not task:
            raise InputError("task", task.name, "is the name of another task already; give yours a name of its own")
    return MappingProxyType({**TASKS, **{name: guarded(task) for name, task in by_name.items()}})


def _tasks_in(value: object) -> Iterable[object]:
    if value is None:
        return ()
    return value if isinstance(value, Iterable) and not isinstance(value, str) else (value,)


def _installed() -> Iterator[object]:
    for entry in entry_points(group=GROUP):
        try:
            loaded = entry.load()
        except Exception as error:  # noqa: BLE001 - whatever a package raises on import
            remedy = f"the entry point {entry.value} cannot be loaded ({type(error).__name__}: {error})"
            raise InputError("task", entry.name, remedy) from None
        yield from _tasks_in(loaded)


def tasks_marked(name: str, tasks: Tasks) -> list[Task]:
    """The tasks of `@pytest.mark.cells(name)`: the one of that name, or a family's. Raises `InputError`."""
    marked = [task for task in tasks.values() if name in (task.name, task.family)]
    if not marked:
        families = [task.family for task in tasks.values() if task.family]
        raise InputError("@pytest.mark.cells", name, near_names(name, [*tasks, *families]))
    return marked
