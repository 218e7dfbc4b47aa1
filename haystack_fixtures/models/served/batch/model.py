"""A model behind a batch service: its requests are lines to be written, its answers stand in files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from needlework.haystack_fixtures.errors import printable
from needlework.haystack_fixtures.models.model import ModelError, Request, Response
from needlework.haystack_fixtures.models.served.args import ServedOptions
from needlework.haystack_fixtures.models.served.batch.answer_files import AnswerFiles, BatchAnswer
from needlework.haystack_fixtures.models.served.batch.lines import Line, calibration_line, layout_id, trial_line
from needlework.haystack_fixtures.models.served.connection import Connection
from needlework.haystack_fixtures.models.served.errors import Fault, HttpError, crowded, fault_of, fault_of_status
from needlework.haystack_fixtures.models.served.facts.calibration import layout_of, new_short_requests
from needlework.haystack_fixtures.models.served.facts.server_facts import ServerFacts
from needlework.haystack_fixtures.models.served.facts.window import Window
from needlework.haystack_fixtures.models.served.reading.budget import within_budget
from needlework.haystack_fixtures.models.served.reading.reply import Reply, read_body
from needlework.haystack_fixtures.models.served.response import response_of
from needlework.haystack_fixtures.redact import without_credentials
from needlework.haystack_fixtures.tokenizers.tokenizer import Tokenizer

_NO_ANSWER = (
    "no line of --batch-in answers this request of the cell: it is missing there, or was written with other options or"
    " by another version; --batch-out writes it again"
)
_NO_CALIBRATION = "the files of --batch-in have no answers to the two short requests"


class BatchServiceModel:
    """Answers from files, with every check that a server's answers get. Asks nobody, so that nothing is tried again."""

    def __init__(
        self,
        name: str,
        options: ServedOptions,
        tokenizer: Tokenizer,
        connection: Connection,
        answers: AnswerFiles | None,
    ) -> None:
        """`answers`: `None` where requests are written."""
        self._name = options.azure_deployment or name
        self._options = options
        self._tokenizer = tokenizer
        self._answers = answers
        self._too_long = connection.too_long_pattern
        self._longest = 0  # prompt tokens that were answered
        self._written: set[tuple[str, ...]] = set()  # layouts
        where = without_credentials(connection.base_url) if connection.base_url else "batch service"
        self._identity: dict[str, str | int | float | None] = {
            "spec": f"openai:{name}",
            "server": where,
            "decoding": options.decoding(),
            "answers": "batch files",
        }
        self._facts = ServerFacts(
            name=name,
            asked=name if options.azure_api_version is None else "",
            strict=connection.strict_model,
            ask=self._look_up,
            discover=self._window,
            identify=dict,
            tokenizer=tokenizer,
            shared=None,
            ask_short=self._short,
        )

    @property
    def identity(self) -> Mapping[str, str | int | float | None]:
        return self._identity | self._facts.told()

    @property
    def window(self) -> int | None:
        """The window that was given."""
        return self._options.window

    @property
    def tokenizer(self) -> Tokenizer:
        return self._tokenizer

    def lines(self, request: Request) -> Iterator[Line]:
        """What to write for a request: before the first of each layout the two that calibrate, see `ServerFacts`."""
        layout = layout_of(request, self._tokenizer)
        if layout not in self._written:
            self._written.add(layout)
            for number, short in enumerate(new_short_requests(request, self._tokenizer)):
                yield calibration_line(self._name, self._options, short, (self._name, *layout), number)
        yield trial_line(self._name, self._options, request)

    def respond(self, request: Request) -> Response:
        """The answer that the files have to this request; an error where they have none."""
        return self._facts.checked(request)

    def close(self) -> None:
        """Nothing is open."""

    def _window(self) -> Window:
        if self._options.window is not None:
            return Window(self._options.window, "--model-arg window")
        return Window(None, "a batch service tells none")

    def _look_up(self, request: Request) -> Response:
        custom_id = trial_line(self._name, self._options, request).id
        found = self._answers.get(custom_id) if self._answers else None
        if found is None:
            return Response(error=ModelError("client", _NO_ANSWER))
        outcome = _read(found, request.prompt.text, self._too_long)
        if isinstance(outcome, Reply):
            self._longest = max(self._longest, request.prompt.tokens)
            return response_of(_printable(within_budget(outcome, request, self._tokenizer)))
        if outcome.filtered:
            return Response(finish_reason="content_filter")
        if outcome.too_long and (room := self._has_room(request)):
            outcome = crowded(outcome, room)
        # One line says nothing of the others: no fault ends the run.
        return Response(error=ModelError(outcome.kind, printable(outcome.message), too_long=outcome.too_long))

    def _has_room(self, request: Request) -> str:
        """Why this prompt cannot be too long, in words; empty where it may be."""
        window = self._options.window
        if window is not None and request.cell is not None and request.cell.length <= window:
            return f"its window is {window} tokens"
        return f"one of {self._longest} tokens was answered" if request.prompt.tokens <= self._longest else ""

    def _short(self, request: Request) -> tuple[list[int], list[Response]]:
        layout = layout_id((self._name, *layout_of(request, self._tokenizer)))
        found = self._answers.calibrations(layout) if self._answers else None
        if found is None:
            return [], [Response(error=ModelError("client", _NO_CALIBRATION))]
        counts, answers = found
        return counts, [_short_response(_read(answer, "", self._too_long)) for answer in answers]


def _read(answer: BatchAnswer, prompt: str, too_long: re.Pattern[str] | None) -> Reply | Fault:
    """What a line says, in the words of a server's answers."""
    if answer.whole:
        try:
            return read_body(json.dumps(answer.body).encode(), prompt)
        except Exception as error:  # noqa: BLE001 - a bad line never ends the run, whatever a service thinks of
            return fault_of(error, too_long) or Fault("protocol", f"{type(error).__name__}: {error}")
    body = answer.error or answer.body
    if answer.status is not None and answer.status != 200:
        shown = answer.body or answer.error
        return fault_of_status(HttpError(answer.status, shown, json.dumps(shown)), too_long)
    said = HttpError(500, body, json.dumps(body), inside=True)
    return replace(fault_of_status(said, too_long), message=f"the batch has no answer: {said.shown.partition(': ')[2]}")


def _short_response(outcome: Reply | Fault) -> Response:
    if isinstance(outcome, Reply):
        return response_of(outcome)
    return Response(error=ModelError(outcome.kind, printable(outcome.message)))


def _printable(reply: Reply) -> Reply:
    return replace(
        reply,
        finish_reason=printable(reply.finish_reason, 60),
        model=printable(reply.model, 200),
        fingerprint=printable(reply.fingerprint, 200),
    )
