"""Where a run folder's options may name files: in the folder itself, and where the user says so now."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from needlework.haystack_fixtures.errors import InputError

READ = "--read"
READ_HELP = "a file or folder outside the run that its options may name, such as that of --documents; may be repeated"
_PATTERN = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class Places:
    """Where files may be read: the folder of the run, and what the user `named` on this command line, as written.

    `start`: the folder that the run was started in; relative paths of its options begin there.
    """

    run: Path
    start: Path | None = None
    named: tuple[str, ...] = ()

    def path(self, option: str, path: str) -> Path:
        """The absolute path that an option names. Raises `InputError` where it lies elsewhere."""
        try:
            given = Path(path).expanduser()
            full = (self.start or self.run) / given
            moved = self.run / full.name
            if full.parent.name == self.run.resolve().name and not full.exists() and moved.exists():
                full = moved  # the run's own file, and the folder was copied since
            self._check(option, full)
        except (OSError, ValueError, RuntimeError):  # no name of a file
            raise InputError(option, path, "is no path that can be read") from None
        return full

    def names(self, path: Path) -> bool:
        """Whether the user has named this path, or a folder that it lies in."""
        return any(path.is_relative_to(Path(each).expanduser().resolve()) for each in self.named)

    def _check(self, option: str, full: Path) -> None:
        parts = full.parts
        first = next((at for at, part in enumerate(parts) if _PATTERN.search(part)), len(parts))
        pattern = first < len(parts) and not full.exists()
        real = Path(*parts[:first]).resolve() if pattern else full.resolve()
        if self.names(real) and not (pattern and ".." in parts):
            return
        if not real.is_relative_to(self.run.resolve()) or (pattern and ".." in parts):
            shown = real if not pattern else full
            raise InputError(option, full, f"lies outside the run's folder: if it is yours, give {READ} {shown}")
        check_tree(real, self.run, option)


def check_tree(top: Path, run: Path, option: str = "RUN") -> None:
    """Refuse a link that leads out of a run's folder, and what is no file and no folder. Raises `InputError`."""
    inside = run.resolve()
    for folder, folders, files in os.walk(top, followlinks=False):
        for name in (*folders, *files):
            path = Path(folder, name)
            if path.is_symlink() and not path.resolve().is_relative_to(inside):
                raise InputError(option, path, "is a link that leads out of the run's folder: remove it")
            if not stat.S_ISREG(mode := path.lstat().st_mode) and not stat.S_ISDIR(mode) and not path.is_symlink():
                raise InputError(option, path, "is no file and no folder: remove it")
