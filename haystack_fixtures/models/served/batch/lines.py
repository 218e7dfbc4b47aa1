"""One request as a line of a batch file, in OpenAI's batch format: `custom_id`, `method`, `url`, `body`.

The id of a trial's request stands for its cell and for the whole body, so that an answer is known to be one to the
prompt that is built again. The id of a calibration's request says the messages' layout, which of the two it is, and
how many tokens we count: its answer is read without the request.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.models.model import Request
from needlework.haystack_fixtures.models.served.args import ServedOptions
from needlework.haystack_fixtures.models.served.request import body_of

_CALIBRATION = re.compile(r"calibration-([0-9a-f]{12})-([0-9]+)-([0-9]+)")


@dataclass(frozen=True, slots=True)
class Line:
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


def trial_line(name: str, options: ServedOptions, request: Request) -> Line:
    """The line of a request of a trial."""
    assert request.cell is not None
    body = _body(name, options, request)
    hashed = sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:20]
    return _line(f"{cell_id(request.cell)}-{hashed}", options, request, body)


def calibration_line(name: str, options: ServedOptions, request: Request, layout: Sequence[str], number: int) -> Line:
    """The line of one of the two short requests."""
    custom_id = f"calibration-{layout_id(layout)}-{number}-{request.prompt.tokens}"
    return _line(custom_id, options, request, _body(name, options, request))


def _body(name: str, options: ServedOptions, request: Request) -> dict[str, object]:
    # The newer name of the field, which OpenAI's reasoning models want: nobody answers that it should be another.
    return body_of(name, options, request, options.max_tokens_field or "max_completion_tokens")


def _line(custom_id: str, options: ServedOptions, request: Request, body: dict[str, object]) -> Line:
    endpoint = "chat/completions" if request.template == "chat" else "completions"
    url = f"/v1/{endpoint}" if options.azure_api_version is None else f"/{endpoint}"
    # ASCII: texts hold characters that some programs take for the end of a line.
    return Line(custom_id, url, json.dumps({"custom_id": custom_id, "method": "POST", "url": url, "body": body}))
