"""Read what a batch service sends back: output files and error files, in any order, lines of several batches."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.models.served.batch.lines import calibration_of, cell_of_id
from needlework.haystack_fixtures.models.served.reading.fields import table_of

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
class _Place:
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
        self._places: dict[str, _Place] = {}
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
        place = _Place(path, begin, answer.whole, _said(answer) if answer.whole else "")
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
