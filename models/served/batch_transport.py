"""Answers of a batch service, read from its files in place of a server."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace

from needlework.core.errors import printable
from needlework.core.redact import Redactor, without_credentials
from needlework.models.model import ModelError, Request, Response
from needlework.models.served.batch_files import (
    AnswerFiles,
    BatchAnswer,
    BatchLine,
    calibration_line,
    layout_id,
    trial_line,
)
from needlework.models.served.calibration import Window, layout_of, new_short_requests
from needlework.models.served.connection import ServedOptions, ServerOptions
from needlework.models.served.errors import AttemptFault, AttemptResult, HttpError, fault_of, fault_of_status
from needlework.models.served.http_client import Allowed
from needlework.models.served.reply import read_body
from needlework.models.served.transport import Dialect
from needlework.models.tokenizers.tokenizer import Tokenizer

_NO_ANSWER = (
    "no line of --batch-in answers this request of the cell: it is missing there, or was written with other options or"
    " by another version; --batch-out writes it again"
)
_NO_CALIBRATION = "the files of --batch-in have no answers to the two short requests"


class BatchTransport:
    """A `Transport` that sends nothing: it looks each request up. `answers`: `None` where requests are written."""

    live = False
    redactor = Redactor()
    dialect = Dialect()

    def __init__(self, name: str, options: ServedOptions, tokenizer: Tokenizer, connection: ServerOptions) -> None:
        self._name = options.azure_deployment or name
        self._options = options
        self._tokenizer = tokenizer
        self._answers: AnswerFiles | None = connection.answers
        self._too_long = connection.too_long_pattern
        self._written: set[tuple[str, ...]] = set()  # layouts
        self.asked = name if options.azure_api_version is None else ""
        self.identity: dict[str, str | int | float | None] = {
            "spec": f"openai:{name}",
            "server": without_credentials(connection.base_url) if connection.base_url else "batch service",
            "decoding": options.decoding(),
            "answers": "batch files",
        }

    def lines(self, request: Request) -> Iterator[BatchLine]:
        """What to write for a request: before the first of each layout the two that calibrate, see `ServerFacts`."""
        layout = layout_of(request, self._tokenizer)
        if layout not in self._written:
            self._written.add(layout)
            for number, short in enumerate(new_short_requests(request, self._tokenizer)):
                yield calibration_line(self._name, self._options, short, (self._name, *layout), number)
        yield trial_line(self._name, self._options, request)

    async def attempt(self, request: Request, _dialect: Dialect, _allowed: Allowed, _begun: float) -> AttemptResult:
        answer = self._answers.get(trial_line(self._name, self._options, request).id) if self._answers else None
        if answer is None:
            return AttemptFault("client", _NO_ANSWER)
        result = _read(answer, request.prompt.text, self._too_long)
        if isinstance(result, Response):
            return result
        # One line says nothing of the others: no fault ends the run, and none is asked for again.
        return replace(result, retry=False, fatal=False, sign="answered")

    def short_answers(self, request: Request) -> tuple[list[int], list[Response]]:
        """Our counts of the two short requests of a request's layout, and the responses to them."""
        layout = layout_id((self._name, *layout_of(request, self._tokenizer)))
        pair = self._answers.calibrations(layout) if self._answers else None
        if pair is None:
            return [], [Response(error=ModelError("client", _NO_CALIBRATION))]
        counts, answers = pair
        results = [_read(answer, "", self._too_long) for answer in answers]
        return counts, [
            result
            if isinstance(result, Response)
            else Response(error=ModelError(result.kind, printable(result.message)))
            for result in results
        ]

    def learn(self, _fault: AttemptFault, _dialect: Dialect) -> bool:
        return False

    def discover(self) -> Window:
        if self._options.window is not None:
            return Window(self._options.window, "--model-arg window")
        return Window(None, "a batch service tells none")

    def identify(self) -> dict[str, str]:
        return {}

    def abort(self) -> None:
        """Nothing is open."""


def _read(answer: BatchAnswer, prompt: str, too_long: re.Pattern[str] | None) -> AttemptResult:
    """What a line says, in the words of a server's answers."""
    if answer.whole:
        try:
            return read_body(json.dumps(answer.body).encode(), prompt)
        except Exception as error:  # noqa: BLE001 - a bad line never ends the run, whatever a service thinks of
            return fault_of(error, too_long)
    body = answer.error or answer.body
    if answer.status is not None and answer.status != 200:
        shown = answer.body or answer.error
        return fault_of_status(HttpError(answer.status, shown, json.dumps(shown)), too_long)
    said = HttpError(500, body, json.dumps(body), inside=True)
    return replace(fault_of_status(said, too_long), message=f"the batch has no answer: {said.shown.partition(': ')[2]}")
