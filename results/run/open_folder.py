"""A run's folder while records come: open, append, finish."""

import time
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from needlework.core.errors import InputError
from needlework.core.files import drop_halves
from needlework.core.grid import Misfit, left_out
from needlework.core.record import Record
from needlework.core.settings import Settings
from needlework.results.records import journal
from needlework.results.records.manifest import (
    Before,
    command_line,
    manifest,
    merge_facts,
    models_before,
    notes_of,
    read_before,
    recipe_of,
    with_known,
    write_manifest,
)
from needlework.results.records.run_folder import JOURNAL, MANIFEST, drop_written
from needlework.results.records.samples import has_earlier_answers, identity, whole_run
from needlework.results.run.session import Selected, SessionPace, kept_lines, pace_of
from needlework.results.statistics.comparison.provenance import changed_parts


class OpenFolder:
    """One session's hold on a run's folder. Nothing is written before `open`."""

    def __init__(self, settings: Settings, folder: Path, root: Path, selected: Selected) -> None:
        """`root`: the folder of the tests, whose commit the manifest names; `selected`: the session's cells."""
        self.path = folder
        self.recipe = recipe_of(settings)
        self.facts: dict[str, dict[str, Any]] = {}  # of this session and earlier ones, as the manifest has them
        self.written_at = "earlier"  # when the journal was written last before this session
        self._settings = settings
        self._selected = selected
        self._root = root
        self._journal: journal.Journal | None = None
        self._earlier: list[Record] | None = None
        self._unread = 0  # lines of the journal that are no records
        self._journaled: set[tuple[object, str | None]] = set()  # records in the journal, and which ruling they have
        self._waited: frozenset[Path] = frozenset()  # files of waiting answers of earlier sessions
        self._came: set[tuple[str, object]] = set()  # the answers in them: keys, latencies in seconds
        self._started = _now()
        self._opened_s = time.monotonic()
        self._before = Before()
        self._learnt: dict[str, dict[str, Any]] = {}  # facts of this session
        self._left_out: str | None = None
        self.written_manifest: Mapping[str, Any] = {}

    @property
    def is_open(self) -> bool:
        """Whether the journal is open."""
        return self._journal is not None

    @property
    def warning(self) -> str:
        """A warning about the folder's file system, or nothing."""
        return self._journal.warning if self._journal is not None else ""

    @property
    def earlier(self) -> list[Record]:
        """The records of the journal before this session."""
        if self._earlier is None:
            self._earlier, self._unread = journal.read_counting_damage(self.path / JOURNAL)
        return self._earlier

    def replaced(self) -> list[str]:
        """A line before the run where its folder has a run of other models, or nothing."""
        gone = [model for model in models_before(self.path / MANIFEST) if model not in self._settings.model]
        if self._settings.fresh or not gone or not (self.path / JOURNAL).exists():
            return []
        line = f"{self.path.name} has a run of {', '.join(gone)}: this one replaces its files (its answers stay in the"
        return [f"needlework: {line} journal); another --run-name keeps both"]

    def open(self) -> None:
        """Lock the journal and write a first manifest. Raises `InputError` where the folder cannot take a run."""
        fresh, path = self._settings.fresh, self.path / JOURNAL
        with suppress(OSError):  # before the journal is opened: half a line at its end is cut then
            self.written_at = datetime.fromtimestamp(path.stat().st_mtime).isoformat(" ", timespec="minutes")
        self._journal = journal.Journal(path, fresh=fresh)
        self._earlier = [] if fresh else self.earlier
        self._journaled = {(identity(record), journal.ruling_of(record)) for record in self._earlier}
        self._opened_s = time.monotonic()
        self._waited = frozenset(self.path.glob(journal.WAITING_FILES))
        if self._waited and not fresh:
            self._came = {(answer.key, answer.timing.latency_s) for answer in journal.read_waiting(self.path)}
        if self._earlier:
            self._before = read_before(self.path / MANIFEST, self.recipe, self._settings.model)
            self.facts = with_known(self._before.facts, {})
        try:
            drop_halves(self.path)
            if fresh:
                drop_written(self.path)
                journal.drop_waiting(self.path)
            with suppress(OSError):
                (self._settings.results_dir / ".gitignore").write_text("*\n")
            self.write_manifest(self.manifest([], self.whole([])))
        except OSError as error:
            self.close()
            problem = f"cannot be written ({error.strerror}); free space and run again"
            raise InputError("--results-dir", self.path, problem) from None

    def keep(self, record: Record) -> None:
        """Append a record to the journal, unless it came from there and no judge has judged it anew.
        Raises `InputError` when the disk is full."""
        assert self._journal is not None
        if not record.timing.replayed or (identity(record), journal.ruling_of(record)) not in self._journaled:
            self._journal.append(journal.line_of(record))

    def learn(self, facts: Mapping[str, Any]) -> None:
        """Add a worker's facts on its model to the manifest: at once, as a killed run writes no more."""
        if not facts:
            return
        merge_facts(self._learnt, facts)
        known, self.facts = self.facts, with_known(self._before.facts, self._learnt)
        if self.is_open and self.facts != known:
            with suppress(OSError):  # the journal reports a full disk
                self.write_manifest({**self.written_manifest, **self.facts})

    def replayed(self, now: Sequence[Record]) -> int:
        """The number of this session's records whose answers earlier ones had, scored or not."""
        return sum(bool(each.timing.replayed) or (each.key, each.timing.latency_s) in self._came for each in now)

    def waiting(self, records: Iterable[Record]) -> int:
        """The number of waiting answers that are none of the run's `records`: it ended too early."""
        return len({answer.key for answer in journal.read_waiting(self.path)} - {record.key for record in records})

    def whole(self, now: list[Record]) -> list[Record]:
        """The run's records: those of earlier sessions, and those of this one, `now`."""
        return whole_run(self.earlier, now, self.recipe)

    def write_manifest(self, content: Mapping[str, Any]) -> None:
        """Write the manifest. Raises `OSError`."""
        self.written_manifest = content
        write_manifest(self.path / MANIFEST, content)

    def manifest(self, now: list[Record], records: list[Record], *, ended: bool = False) -> dict[str, Any]:
        """The manifest of the run with these `records`; `now`: those of this session.

        While the run has answers of earlier sessions it is the run that began then, and has the facts of then too.
        """
        if (pace := self.pace(now)) is not None:
            self._learnt["pace"] = asdict(pace) | {"seconds": round(pace.seconds, 3)}
        before = self._before if has_earlier_answers(self.earlier, now, self.recipe) else Before()
        is_new = any(not record.timing.replayed and record.outcome != "skipped" for record in now)
        changed = list(dict.fromkeys([*before.changed, *self.changed])) if before is self._before else []
        return manifest(
            self._settings,
            argv=command_line(),
            root=self._root,
            facts={
                "session_started": self._started,
                **with_known(before.facts, self._learnt),
                "changed_facts": changed,
                **({"left_out": self._left_out} if self._left_out else {}),
            },
            started=before.started or self._started,
            ended=None if not ended else before.ended if before.ended and not is_new else _now(),
            planned=self._selected.planned(records),
            recorded=len(records),
        )

    @property
    def changed(self) -> list[str]:
        """The facts of texts, prompts and models that differ from those of earlier sessions."""
        return changed_parts(self._before.facts, self.facts)

    def left_out(self, misfits: tuple[Misfit, ...]) -> None:
        """Note lengths that are too short for their task, for the manifest and the report."""
        self._left_out = left_out(misfits) if misfits else None

    def notes(self, manifest: Mapping[str, Any]) -> list[str]:
        """Notes on the run with this `manifest`, for its report."""
        unread = [] if self._settings.fresh or not self._unread else [journal.damage_note(self._unread)]
        return [*unread, *notes_of(manifest)]

    def early_lines(self) -> Iterator[str]:
        """The last lines of a session that ended before its first record."""
        from needlework.results.statistics.run_followup import rest_words
        from needlework.results.statistics.run_report import interrupted

        records = self.whole([])
        early = interrupted(len(records), self._selected.planned(records))
        yield f"{early or 'interrupted'}: {rest_words(self.path.name)}"
        yield from kept_lines(self.waiting(records))

    def pace(self, now: list[Record]) -> SessionPace | None:
        """The pace of this session, with the records `now`, since the folder was opened."""
        return pace_of(now, time.monotonic() - self._opened_s)

    def close(self, *, answered: Container[str] | None = None) -> None:
        """Close the journal. After a whole run all keys are `answered`: waiting answers are dropped."""
        if self._journal is None:
            return
        if answered is not None:
            journal.drop_waiting(self.path, earlier=self._waited, answered=answered)
        with suppress(OSError):
            self._journal.close()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
