"""Request and answer files of batch services."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from io import BufferedWriter
from pathlib import Path
from typing import Any

from needlework.core.errors import InputError
from needlework.core.grid import Cell
from needlework.models.model import Request
from needlework.models.served.connection import ServedOptions
from needlework.models.served.reply_fields import table_of
from needlework.models.served.transport import body_of

_OPTION = "--batch-in"


@dataclass(frozen=True, slots=True)
class BatchAnswer:
    """One line. `status` is HTTP's, `None` where the request never reached the model; `error` then says why."""

    status: int | None
    body: Any = field(repr=False)
    error: Mapping[str, Any]

    @property
    def whole(self) -> bool:
        """Whether it is an answer, and no fault."""
        return self.status == 200 and isinstance(self.body, dict) and not self.body.get("error")


@dataclass(frozen=True, slots=True)
class _LinePlace:
    file: Path
    begin: int
    whole: bool
    said: str


class AnswerFiles:
    """All lines by their id; only where they stand is kept. May be read from many threads at once.

    Of several lines with one id the first whole answer counts, before any fault.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        """Raises `InputError` for a file that cannot be read or holds no answers."""
        self._places: dict[str, _LinePlace] = {}
        self._cells: Counter[str] = Counter()
        self.lines = self.spoilt = 0
        self.repeated: set[str] = set()
        self.contradicted: set[str] = set()
        for path in dict.fromkeys(map(Path, paths)):
            for begin, line in _lines_of(path):
                self._take(path, begin, line)
        if not self.lines:  # an error file alone is often empty
            raise InputError(_OPTION, paths[0], "is empty: give the service's output file, and its error file")

    def _take(self, path: Path, begin: int, line: bytes) -> None:
        self.lines += 1
        found = _parsed(line)
        if found is None:
            self.spoilt += 1
            return
        custom_id, answer = found
        place = _LinePlace(path, begin, answer.whole, _said(answer) if answer.whole else "")
        known = self._places.get(custom_id)
        if known is None:
            self._cells[cell_of_id(custom_id)] += 1
        else:
            short = calibration_of(custom_id) is not None  # each batch has its own
            self.repeated |= set() if short else {custom_id}
            if known.whole:
                if place.whole and place.said != known.said and not short:
                    self.contradicted.add(custom_id)
                return
        self._places[custom_id] = place

    def get(self, custom_id: str) -> BatchAnswer | None:
        """The answer to a request. Raises `InputError` where its file is gone."""
        place = self._places.get(custom_id)
        if place is None:
            return None
        try:
            with place.file.open("rb") as file:
                file.seek(place.begin)
                found = _parsed(file.readline())
        except OSError as error:
            raise InputError(_OPTION, place.file, f"cannot be read ({error.strerror})") from None
        if found is None or found[0] != custom_id:
            raise InputError(_OPTION, place.file, "was changed while it was read; run again")
        return found[1]

    def has_cell(self, cell_id: str) -> bool:
        """Whether a line answers a request of this cell, see `lines.cell_id`."""
        return self._cells[cell_id] > 0

    def calibrations(self, layout: str) -> tuple[list[int], list[BatchAnswer]] | None:
        """Our counts of the two short requests of a layout, see `lines.layout_id`, and the answers; the last pair."""
        found: dict[int, tuple[int, BatchAnswer]] = {}
        for custom_id in self._places:
            known = calibration_of(custom_id)
            if known is not None and known[0] == layout and (answer := self.get(custom_id)) is not None:
                found[known[1]] = (known[2], answer)
        if sorted(found) != [0, 1]:
            return None
        return [found[number][0] for number in (0, 1)], [found[number][1] for number in (0, 1)]

    def unknown(self, cells: Collection[str]) -> list[str]:
        """The ids that belong to none of these cells, and to no calibration."""
        return [each for each in self._places if calibration_of(each) is None and cell_of_id(each) not in cells]


def _lines_of(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines that say something, with where they begin."""
    answers = False
    try:
        with path.open("rb") as file:
            begin = 0
            for line in file:
                if line.strip():
                    if not answers and b'"response"' not in line and b'"error"' not in line:
                        raise InputError(_OPTION, path, _remedy(line))
                    answers = True
                    yield begin, line
                begin += len(line)
    except OSError as error:
        raise InputError(_OPTION, path, f"cannot be read ({error.strerror})") from None


def _remedy(line: bytes) -> str:
    if b'"method"' in line and b'"body"' in line:
        return "holds requests and no answers: give the output file of the batch service"
    return "is no output file of a batch service: its lines have custom_id, response, error"


def _parsed(line: bytes) -> tuple[str, BatchAnswer] | None:
    try:
        told = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(told, dict) or not isinstance(told.get("custom_id"), str):
        return None
    response, error = told.get("response"), _error(told.get("error"))
    if not isinstance(response, dict):
        return told["custom_id"], BatchAnswer(None, None, error)
    if "body" not in response and "choices" in response:  # some runners leave the envelope out
        return told["custom_id"], BatchAnswer(200, response, error)
    status = response.get("status_code")
    whole = isinstance(response.get("body"), dict) and not error
    status = status if isinstance(status, int) else 200 if whole else None
    return told["custom_id"], BatchAnswer(status, response.get("body"), error)


def _error(told: Any) -> Mapping[str, Any]:
    """An error object, or what `vllm run-batch` has: a text."""
    return {"message": told} if isinstance(told, str) and told else table_of(told)


def _said(answer: BatchAnswer) -> str:
    """What an answer says, to be compared with another to the same request."""
    return json.dumps([answer.body.get("choices"), answer.body.get("usage")], sort_keys=True)


# The id of a trial's request stands for its cell and for the whole body, so that an answer is known to be one to the
# prompt that is built again. The id of a calibration's request says the messages' layout, which of the two it is, and
# how many tokens we count: its answer is read without the request.
_CALIBRATION = re.compile(r"calibration-([0-9a-f]{12})-([0-9]+)-([0-9]+)")


@dataclass(frozen=True, slots=True)
class BatchLine:
    """A line: its id, the endpoint, and the whole text, without a newline."""

    id: str
    url: str
    text: str


def cell_id(cell: Cell) -> str:
    """What the ids of a cell's requests begin with."""
    return sha256(cell.id.encode()).hexdigest()[:12]


def layout_id(layout: Sequence[str]) -> str:
    """What stands for a layout of messages in the ids of calibrations."""
    return sha256(json.dumps(list(layout)).encode()).hexdigest()[:12]


def calibration_of(custom_id: str) -> tuple[str, int, int] | None:
    """Layout, number (0 or 1) and our count of tokens of a calibration's request; `None` for any other id."""
    found = _CALIBRATION.fullmatch(custom_id)
    return (found[1], int(found[2]), int(found[3])) if found else None


def cell_of_id(custom_id: str) -> str:
    """What an id begins with, see `cell_id`."""
    return custom_id.partition("-")[0]


def trial_line(name: str, options: ServedOptions, request: Request) -> BatchLine:
    """The line of a request of a trial."""
    assert request.cell is not None
    body = _body(name, options, request)
    hashed = sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:20]
    return _line(f"{cell_id(request.cell)}-{hashed}", options, request, body)


def calibration_line(
    name: str, options: ServedOptions, request: Request, layout: Sequence[str], number: int
) -> BatchLine:
    """The line of one of the two short requests."""
    custom_id = f"calibration-{layout_id(layout)}-{number}-{request.prompt.tokens}"
    return _line(custom_id, options, request, _body(name, options, request))


def _body(name: str, options: ServedOptions, request: Request) -> dict[str, object]:
    # The newer name of the field, which OpenAI's reasoning models want: nobody answers that it should be another.
    return body_of(name, options, request, options.max_tokens_field or "max_completion_tokens")


def _line(custom_id: str, options: ServedOptions, request: Request, body: dict[str, object]) -> BatchLine:
    endpoint = "chat/completions" if request.template == "chat" else "completions"
    url = f"/v1/{endpoint}" if options.azure_api_version is None else f"/{endpoint}"
    # ASCII: texts hold characters that some programs take for the end of a line.
    return BatchLine(custom_id, url, json.dumps({"custom_id": custom_id, "method": "POST", "url": url, "body": body}))


_OUTPUT_OPTION = "--batch-out"
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
                raise InputError(_OUTPUT_OPTION, each, "is there already; name another file, or remove it")
        if not path.parent.is_dir():
            raise InputError(_OUTPUT_OPTION, path, f"there is no folder {path.parent}; make it, or name another")

    def write(self, line: BatchLine, model: str) -> None:
        """Write one request. Raises `InputError` for one that no file may hold, and for a disk that takes no more."""
        data = f"{line.text}\n".encode("ascii")
        if len(data) > self._most_bytes:
            limit = f"a request of {len(data):,} bytes is more than a file may have; raise --batch-limits"
            raise InputError(_OUTPUT_OPTION, self._path, limit)
        full = self._requests >= self._most_requests or self._bytes + len(data) > self._most_bytes
        try:
            if self._file is None or full or self._group != (model, line.url):
                self._next((model, line.url))
            assert self._file is not None
            self._file.write(data)
        except OSError as error:
            raise InputError(_OUTPUT_OPTION, self.files[-1], f"cannot be written ({error.strerror})") from None
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
                raise InputError(_OUTPUT_OPTION, path, f"cannot be written ({error.strerror})") from None
            self._file = None

    def _next(self, group: tuple[str, str]) -> None:
        self.close()
        number = len(self.files) + 1
        path = self._path if number == 1 else self._path.with_stem(f"{self._path.stem}-{number}")
        self.files.append(path)
        self._file = path.with_name(path.name + _HALF).open("wb")
        self._group, self._requests, self._bytes = group, 0, 0
