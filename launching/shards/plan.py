"""A launch: one run in so many shards, each of which is a command line."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Any

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.settings.places import check_tree
from needlework.haystack_fixtures.writing.whole_files import write_whole
from needlework.launching.shards.ending import Ending, digest_of, ending_of
from needlework.results.records.claim import Claim
from needlework.results.records.run_file import read_run_json

JOB = "needlework.launching.shards.job"


@dataclass(frozen=True)
class Plan:
    """What is to be run, however it is started.

    `folder`: the run's. `words`: pytest's, the same for each shard. `here`: the folder in which pytest is started.
    `retries`: how often a shard that died is tried again.
    """

    folder: Path
    shards: int
    words: tuple[str, ...]
    here: Path
    retries: int

    @property
    def notes(self) -> Path:
        """The folder of logs, scripts and endings of shards."""
        return self.folder / "launch"

    @property
    def numbers(self) -> range:
        """The shards' numbers, from 1."""
        return range(1, self.shards + 1)

    @property
    def digest(self) -> str:
        """Tells whether a shard ended with the same words."""
        return digest_of(self.words)

    def log(self, number: int) -> Path:
        return self.notes / f"shard-{number}-of-{self.shards}.log"

    def ending(self, number: int) -> Ending | None:
        """How the shard ended; `None` while it has not."""
        return ending_of(self.notes, f"{number}-of-{self.shards}")

    def command(self, shard: str, *, python: str = sys.executable, retries: int | None = None) -> list[str]:
        """The command line that runs a shard, named `I/N`."""
        tries = self.retries if retries is None else retries
        options = ["--folder", str(self.folder), "--retries", str(tries), "--shard", shard]
        return [python, "-m", JOB, *options, "--", *self.words]

    def was_launched_otherwise(self) -> bool:
        """Whether an earlier launch of this run had other words for pytest."""
        earlier = _launched(self.folder).get("words", list(self.words))
        return bool(earlier != list(self.words))

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Note the launch in the run's folder, and claim it: one launcher at a time.

        Raises `InputError` where it was divided otherwise, and where another launcher follows it.
        """
        earlier, path = launched_shards(self.folder), self.notes / "launcher"
        if earlier not in (None, self.shards):
            raise InputError("--shards", self.shards, f"this run has {earlier}; or give another --run-name")
        try:
            self.notes.mkdir(parents=True, exist_ok=True)
            check_tree(self.notes, self.notes)
            file = FileIO(path, "a")
        except OSError as error:
            raise InputError("--results-dir", self.folder.parent, f"cannot be written ({error.strerror})") from None
        with file:
            claim = Claim(file, path, ("--run-name", self.folder))
            try:
                noted = {"shards": self.shards, "words": self.words}
                write_whole(self.notes / "launch.json", json.dumps(noted, indent=1).encode())
                yield
            finally:
                claim.release()

    def drop_endings(self, numbers: Iterable[int]) -> None:
        """Forget how these shards ended, before they are started again."""
        for number in numbers:
            (self.notes / f"shard-{number}-of-{self.shards}.json").unlink(missing_ok=True)


def launched_shards(folder: Path) -> int | None:
    """How many shards the run was launched in; `None` where it was not."""
    shards = _launched(folder).get("shards")
    return shards if isinstance(shards, int) else None


def _launched(folder: Path) -> dict[str, Any]:
    try:
        return dict(read_run_json(folder / "launch" / "launch.json"))
    except (OSError, ValueError, TypeError):
        return {}
