"""Make the prompt of a trial again, byte for byte, from the settings of its run."""

from __future__ import annotations

from collections import OrderedDict
from contextlib import AbstractContextManager, chdir, nullcontext
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from needlework.haystack_fixtures.asking.engine import Engine
from needlework.haystack_fixtures.cache import default_cache_dir
from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.grid.cells import Cell, parse_id
from needlework.haystack_fixtures.models.model_named import is_served
from needlework.haystack_fixtures.settings.own import own_of
from needlework.haystack_fixtures.settings.settings import Settings
from needlework.haystack_fixtures.tasks.catalogue import Tasks
from needlework.haystack_fixtures.tasks.leval.family import own_tasks
from needlework.haystack_fixtures.tasks.leval.options import LevalOptions
from needlework.haystack_fixtures.tasks.of_others import with_tasks
from needlework.haystack_fixtures.trials.trial import Trial

_ENGINES_KEPT = 2  # people rate answers of several runs in turn


@dataclass(frozen=True, slots=True)
class Started:
    """How a run was started, and in which folder: options may name files from there."""

    settings: Settings
    folder: str | None = None


@dataclass(frozen=True, slots=True)
class RebuiltPrompt:
    """A prompt's text.

    `needles`: name, start and end in characters of the text. `context`: start and end of what stands around them.
    """

    text: str
    context: tuple[int, int]
    needles: tuple[tuple[str, int, int], ...]


def sent_as_messages(model: str, template: str | None) -> bool:
    """Whether a server got a prompt's messages, and not its text. `model`: its spec; `template`: as recorded."""
    return template == "chat" and is_served(model)


class Rebuilder:
    """Builds prompts of recorded trials one after another; what the trials of a run share is opened once.

    Threads may share it: one builds at a time, since options may name files from where a run was started.
    """

    def __init__(self) -> None:
        self._turn = Lock()
        self._engines: OrderedDict[Started, Engine] = OrderedDict()

    def __call__(self, run: Started, cell_id: str) -> RebuiltPrompt:
        """Build the prompt of a cell of a run. Raises `InputError`."""
        cell = _cell(cell_id)
        with self._turn, _there(run.folder):
            prompt = _trial(self._engine(run), cell).prompt
        needles = tuple((needle.name, needle.start, needle.end) for needle in prompt.placed)
        return RebuiltPrompt(prompt.text, prompt.context, needles)

    def _engine(self, run: Started) -> Engine:
        engine = self._engines.pop(run, None) or Engine(run.settings, default_cache_dir(), tasks=_tasks(run.settings))
        self._engines[run] = engine
        if len(self._engines) > _ENGINES_KEPT:
            self._engines.popitem(last=False)[1].close()
        return engine


def _tasks(settings: Settings) -> Tasks:
    given = dict.fromkeys(own_of(suite, LevalOptions).leval_data for suite in settings.suites)
    return with_tasks([task for data in given for task in own_tasks(data)])


def rebuild(run: Started, cell_id: str) -> Trial:
    """Build the trial of a cell of a run. Raises `InputError`."""
    cell = _cell(cell_id)
    with _there(run.folder):
        engine = Engine(run.settings, default_cache_dir(), tasks=_tasks(run.settings))
        try:
            return _trial(engine, cell)
        finally:
            engine.close()


def _cell(cell_id: str) -> Cell:
    cell = parse_id(cell_id)
    if cell is None:
        raise InputError("CELL", cell_id, "write it like niah-len4000-depth50-code-r0")
    return cell


def _trial(engine: Engine, cell: Cell) -> Trial:
    try:
        return engine.trial(cell)
    except KeyError:
        raise InputError("CELL", cell.id, "is not a cell of this run") from None


def _there(folder: str | None) -> AbstractContextManager[None]:
    """Where the run was started, if that is still there: options may name files from there."""
    return chdir(folder) if folder is not None and "\0" not in folder and Path(folder).is_dir() else nullcontext()
