"""Write lines of requests to as many files as a batch service's limits ask for."""

from __future__ import annotations

from io import BufferedWriter
from pathlib import Path

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.models.served.batch.lines import Line

_OPTION = "--batch-out"
_HALF = ".part"


class RequestFiles:
    """`requests.jsonl`, and `requests-2.jsonl`, ... once the first is full. A file has one endpoint and one model.

    A file has its name when it is whole; until then `.part` stands behind it.
    """

    def __init__(self, path: Path, most_requests: int, most_bytes: int) -> None:
        """Raises `InputError` where one of the names is taken: a batch that was paid for is not to be lost."""
        self._path = path
        self._most_requests = most_requests
        self._most_bytes = most_bytes
        self._file: BufferedWriter | None = None
        self._group = ("", "")
        self._requests = self._bytes = 0
        self.files: list[Path] = []
        try:
            taken = [path, *path.parent.glob(f"{path.stem}-[0-9]*{path.suffix}")]
        except (OSError, ValueError):
            taken = [path]
        for each in taken:
            if each.exists():
                raise InputError(_OPTION, each, "is there already; name another file, or remove it")
        if not path.parent.is_dir():
            raise InputError(_OPTION, path, f"there is no folder {path.parent}; make it, or name another")

    def write(self, line: Line, model: str) -> None:
        """Write one request. Raises `InputError` for one that no file may hold, and for a disk that takes no more."""
        data = f"{line.text}\n".encode("ascii")
        if len(data) > self._most_bytes:
            limit = f"a request of {len(data):,} bytes is more than a file may have; raise --batch-limits"
            raise InputError(_OPTION, self._path, limit)
        full = self._requests >= self._most_requests or self._bytes + len(data) > self._most_bytes
        try:
            if self._file is None or full or self._group != (model, line.url):
                self._next((model, line.url))
            assert self._file is not None
            self._file.write(data)
        except OSError as error:
            raise InputError(_OPTION, self.files[-1], f"cannot be written ({error.strerror})") from None
        self._requests += 1
        self._bytes += len(data)

    def close(self) -> None:
        """Give the last file its name."""
        if self._file is not None:
            path = self.files[-1]
            try:
                self._file.close()
                path.with_name(path.name + _HALF).replace(path)
            except OSError as error:
                raise InputError(_OPTION, path, f"cannot be written ({error.strerror})") from None
            self._file = None

    def _next(self, group: tuple[str, str]) -> None:
        self.close()
        number = len(self.files) + 1
        path = self._path if number == 1 else self._path.with_stem(f"{self._path.stem}-{number}")
        self.files.append(path)
        self._file = path.with_name(path.name + _HALF).open("wb")
        self._group, self._requests, self._bytes = group, 0, 0
