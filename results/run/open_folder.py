"""A run's folder while records come."""

from __future__ import annotations

import time
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from needlework.core.errors import InputError
from needlework.core.files import drop_halves
from needlework.core.grid import Misfit, left_out, parse_id
from needlework.core.record import Record
from needlework.core.settings import Settings
from needlework.results.records.journal import (
    WAITING_FILES,
    Journal,
    drop_waiting,
    line_of,
    read_and_count,
    read_waiting,
    ruling_of,
    unread_note,
)
from needlework.results.records.manifest import (
    Before,
    command_line,
    manifest,
    merge_facts,
    models_before,
    notes_of,
    recipe_of,
    told_before,
    with_known,
    write_manifest,
)
from needlework.results.records.run_folder import JOURNAL, MANIFEST, drop_written
from needlework.results.records.samples import has_earlier_answers, identity, of_tests, refused_below_window, whole_run
from needlework.results.statistics.comparison.provenance import changed_parts
from needlework.results.style import duration

if TYPE_CHECKING:
    from needlework.results.gates.gate import Verdict


class OpenFolder:
    """One session's hold on a run's folder. Nothing is written before `open`."""

    def __init__(self, settings: Settings, folder: Path, root: Path, selected: Selected) -> None:
        """`root`: the folder of the tests, whose commit the manifest names; `selected`: what the session will run."""
        self._settings = settings
        self._selected = selected
        self._root = root
        self._journal: Journal | None = None
        self._earlier: list[Record] | None = None
        self._unread = 0  # lines of the journal that are no records
        self._journaled: set[tuple[object, str | None]] = set()  # records, and which ruling they have
        self._came: set[tuple[str, object]] = set()  # answers that waited for their test: keys, seconds they took
        self._started = _now()
        self._opened_s = time.monotonic()
        self.path = folder
        self.recipe = recipe_of(settings)
        self._before = Before()
        self._learnt: dict[str, dict[str, Any]] = {}
        self._left_out: str | None = None
        self._told: Mapping[str, Any] = {}  # the manifest as it was last written
        self.facts: dict[str, dict[str, Any]] = {}
        self.written_at = "earlier"

    @property
    def is_open(self) -> bool:
        return self._journal is not None

    @property
    def warning(self) -> str:
        """What to tell of the folder's file system, if anything."""
        return self._journal.warning if self._journal is not None else ""

    @property
    def earlier(self) -> list[Record]:
        """What the journal held before this session."""
        if self._earlier is None:
            self._earlier, self._unread = read_and_count(self.path / JOURNAL)
        return self._earlier

    def replaced(self) -> list[str]:
        """What to say before the run where its folder has a run of models that are not asked now."""
        gone = [model for model in models_before(self.path / MANIFEST) if model not in self._settings.model]
        if self._settings.fresh or not gone or not (self.path / JOURNAL).exists():
            return []
        line = f"{self.path.name} has a run of {', '.join(gone)}: this one replaces its files (its answers stay in the"
        return [f"needlework: {line} journal); another --run-name keeps both"]

    def open(self) -> None:
        """Lock the journal and write a first manifest. Raises `InputError` where the folder cannot take a run."""
        fresh = self._settings.fresh
        with suppress(OSError):  # before the journal is opened: what is torn is cut then
            at = datetime.fromtimestamp((self.path / JOURNAL).stat().st_mtime)
            self.written_at = at.isoformat(" ", timespec="minutes")
        self._journal = Journal(self.path / JOURNAL, fresh=fresh)
        self._earlier = [] if fresh else self.earlier
        self._journaled = {(identity(record), ruling_of(record)) for record in self._earlier}
        self._opened_s = time.monotonic()
        self._waited = frozenset(self.path.glob(WAITING_FILES))
        if self._waited and not fresh:
            self._came = {(answer.key, answer.timing.latency_s) for answer in read_waiting(self.path)}
        if self._earlier:
            self._before = told_before(self.path / MANIFEST, self.recipe, self._settings.model)
            self.facts = with_known(self._before.facts, {})
        try:
            drop_halves(self.path)
            if fresh:
                drop_written(self.path)
                drop_waiting(self.path)
            with suppress(OSError):
                (self._settings.results_dir / ".gitignore").write_text("*\n")
            self.write_manifest(self.manifest([], self.whole([])))
        except OSError as error:
            self.close()
            problem = f"cannot be written ({error.strerror}); free space and run again"
            raise InputError("--results-dir", self.path, problem) from None

    def keep(self, record: Record, line: str = "") -> None:
        """Append a record to the journal, unless it came from there and no judge has judged it anew. `line`: what
        `line_of` gives of it, where that is known.

        Raises `InputError` when the disk is full.
        """
        assert self._journal is not None
        if not record.timing.replayed or (identity(record), ruling_of(record)) not in self._journaled:
            self._journal.append(line or line_of(record))

    def learn(self, facts: Mapping[str, Any]) -> None:
        """Take what a worker found out about its model, for the manifest: at once, as a killed run writes no more."""
        if not facts:
            return
        merge_facts(self._learnt, facts)
        known, self.facts = self.facts, with_known(self._before.facts, self._learnt)
        if self.is_open and self.facts != known:
            with suppress(OSError):  # the journal tells of a full disk
                self.write_manifest({**self._told, **self.facts})

    def replayed(self, now: Sequence[Record]) -> int:
        """Of how many records of this session earlier ones had the answers, scored or not."""
        return sum(bool(each.timing.replayed) or (each.key, each.timing.latency_s) in self._came for each in now)

    def kept(self, records: Iterable[Record]) -> int:
        """How many answers wait in the folder that are none of the run's `records`: it was ended too early."""
        return len({answer.key for answer in read_waiting(self.path)} - {each.key for each in records})

    def whole(self, now: list[Record]) -> list[Record]:
        """The run's records: those of earlier sessions, and those of this one, `now`."""
        return whole_run(self.earlier, now, self.recipe)

    def write_manifest(self, content: Mapping[str, Any]) -> None:
        """Write what is known of the run, as of `manifest`."""
        self._told = content
        write_manifest(self.path / MANIFEST, content)

    def manifest(self, now: list[Record], records: list[Record], *, ended: bool = False) -> dict[str, Any]:
        """What is known of the run whose `records` there are; `now`: those of this session.

        While the run has answers of earlier sessions it is the run that began then, and has the facts of then too.
        """
        if (pace := self.pace(now)) is not None:
            self._learnt["pace"] = pace_facts(pace)
        before, goes_on = self._before, has_earlier_answers(self.earlier, now, self.recipe)
        asked = [each for each in now if not each.timing.replayed and each.outcome != "skipped"]
        changed = list(dict.fromkeys([*before.changed, *self.changed])) if goes_on else []
        return manifest(
            self._settings,
            argv=command_line(),
            root=self._root,
            facts={
                "session_started": self._started,
                **with_known(before.facts if goes_on else {}, self._learnt),
                "changed_facts": changed,
                **({"left_out": self._left_out} if self._left_out else {}),
            },
            started=before.started if goes_on and before.started else self._started,
            ended=None if not ended else before.ended if before.ended and goes_on and not asked else _now(),
            planned=self._selected.planned(records),
            recorded=len(records),
        )

    @property
    def changed(self) -> list[str]:
        """What this session has learnt of texts, prompts and models that earlier ones knew otherwise."""
        return changed_parts(self._before.facts, self.facts)

    def left_out(self, misfits: tuple[Misfit, ...]) -> None:
        """Note what is too short for its task, for the manifest and the report."""
        self._left_out = left_out(misfits) if misfits else None

    def notes(self, manifest: Mapping[str, Any]) -> list[str]:
        """What is to be said of the run, whose `manifest` it is, beside its records."""
        unread = [] if self._settings.fresh or not self._unread else [unread_note(self._unread)]
        return [*unread, *notes_of(manifest)]

    def early_lines(self) -> Iterator[str]:
        """What a session says that was ended before its first record."""
        from needlework.results.report.adaptive import kept_lines
        from needlework.results.statistics.run_followup import asks_the_rest
        from needlework.results.statistics.run_report import interrupted

        records = self.whole([])
        early = interrupted(len(records), self._selected.planned(records))
        yield f"{early or 'interrupted'}: {asks_the_rest(self.path.name)}"
        yield from kept_lines(self.kept(records))

    def pace(self, now: list[Record]) -> SessionPace | None:
        """How fast the records of this session, `now`, came since the folder was opened."""
        return pace_of(now, time.monotonic() - self._opened_s)

    def close(self, *, answered: Container[str] | None = None) -> None:
        """Close the journal. Of a whole run the keys are all `answered`: answers that waited for a test are dropped."""
        if self._journal is None:
            return
        if answered is not None:
            drop_waiting(self.path, earlier=self._waited, answered=answered)
        with suppress(OSError):
            self._journal.close()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass(frozen=True, slots=True)
class SessionPace:
    """What a session asked, and the seconds that it took, loading the model included."""

    trials: int
    prompt_tokens: int
    seconds: float

    @property
    def trial_s(self) -> float:
        return self.seconds / self.trials

    @property
    def tokens_per_s(self) -> float:
        return self.prompt_tokens / self.seconds


def pace_of(now: Iterable[Record], seconds: float) -> SessionPace | None:
    """The pace of a session with these records; `None` where it asked nothing, or all that it asked failed."""
    tokens = [
        record.prompt.tokens
        for record in now
        if not record.timing.replayed and record.outcome != "error" and record.prompt.tokens
    ]
    return SessionPace(len(tokens), sum(tokens), seconds) if tokens and seconds > 0 else None


def pace_facts(pace: SessionPace) -> dict[str, Any]:
    """The pace as a manifest has it."""
    return asdict(pace) | {"seconds": round(pace.seconds, 3)}


def time_lines(settings: Settings, lengths: Sequence[int]) -> list[str]:
    """How long trials of these `lengths` (tokens, one each) take at `--tokens-per-s`."""
    speed = settings.tokens_per_s
    if not speed or not lengths:
        return []
    whole, one = sum(lengths) / speed, sum(lengths) / len(lengths) / speed
    return [f"at {speed:,.0f} prompt tokens a second: at most {duration(whole)}, {duration(one)} a trial"]


class Selected:
    """Cells by the node ids of their tests; other tests are not counted."""

    def __init__(self) -> None:
        self._asked: set[str] = set()
        self._ended: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self._asked)

    def add(self, nodeids: Iterable[str]) -> None:
        """These were collected, and not deselected."""
        self._asked.update(nodeid for nodeid in nodeids if parse_id(nodeid) is not None)

    def end(self, nodeid: str) -> None:
        """This one has run to its end, with or without a record: a test may skip itself."""
        self._ended.add(nodeid)

    def of(self, records: Iterable[Record], now: Iterable[Record]) -> list[Record]:
        """Of a run's records those that this session is about: of the cells that it selects, and of those that it has
        asked beyond, of which `now` has the records. A run's folder may hold more, of earlier commands."""
        return of_tests(records, {*self._asked, *(record.nodeid for record in now)})

    def planned(self, records: Iterable[Record]) -> int:
        """The trials of a run whose `records` there are, those included that the session did not come to."""
        known = [record.nodeid for record in records]
        return len(known) + len(self._asked - self._ended - set(known))


GATE_FAILED, INTERRUPTED, UNWRITTEN, INCONCLUSIVE, VOID = 1, 2, 4, 10, 11  # 0 to 5 mean what pytest means by them


def exit_status(status: int, *, fault: bool, early: bool, void: bool, verdicts: Sequence[Verdict]) -> int:
    """`status`: pytest's own. `fault`: results could not be written. `early`: the run ended before its last cell."""
    if status not in (0, GATE_FAILED, INTERRUPTED):
        return status
    if fault:
        return UNWRITTEN
    if verdicts and early:
        return VOID
    if status == INTERRUPTED:
        return status
    if void:
        return VOID
    states = {verdict.state for verdict in verdicts}
    return GATE_FAILED if "fail" in states else status or (INCONCLUSIVE if "inconclusive" in states else 0)


def is_void(records: Sequence[Record], windows: Mapping[str, int], max_errors: float) -> bool:
    """Whether more than `max_errors` percent of the cells are invalid, errors, or refused though they fit."""
    void = sum(record.outcome in ("invalid", "error") or refused_below_window(record, windows) for record in records)
    return void * 100 > max_errors * len(records)
