"""Batch services: files of requests, and of answers, which are read in place of a server."""

import glob
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from io import BufferedWriter
from pathlib import Path
from typing import Any

from needlework.core.errors import InputError, printable
from needlework.core.grid import Cell
from needlework.core.redact import Redactor, without_credentials
from needlework.models.model import ModelError, Request, Response, json_of
from needlework.models.served.calibration import layout_of, new_short_requests
from needlework.models.served.connection import ServedOptions, ServerOptions
from needlework.models.served.errors import AttemptFault, AttemptResult, HttpError, fault_of, fault_of_status
from needlework.models.served.http_client import Allowed
from needlework.models.served.reply import read_body, table_of
from needlework.models.served.server_facts import Window
from needlework.models.served.transport import Dialect, Transport, body_of
from needlework.models.tokenizers.tokenizer import Tokenizer

_IN, _OUT = "--batch-in", "--batch-out"
_NO_ANSWER = (
    "no line of --batch-in answers this request of the cell: it is missing there, or was written with other options or"
    " by another version; --batch-out writes it again"
)
_NO_CALIBRATION = "the files of --batch-in have no answers to the two short requests"


# The id of a trial's request stands for its cell and for the whole body, so that an answer is known to be one to the
# prompt that is built again. The id of a calibration's request says the messages' layout, which of the two it is, and
# how many tokens we count: its answer is read without the request.
_CALIBRATION = re.compile(r"calibration-([0-9a-f]{12})-([01])-([0-9]+)")


def cell_id(cell: Cell) -> str:
    """The beginning of the ids of a cell's requests."""
    return sha256(cell.id.encode()).hexdigest()[:12]


def layout_id(layout: Sequence[str]) -> str:
    """The hash of a layout of messages, in the ids of calibrations."""
    return sha256(json.dumps(list(layout)).encode()).hexdigest()[:12]


def request_line(name: str, options: ServedOptions, request: Request, custom_id: str = "") -> dict[str, Any]:
    """The line of a request as an object. `custom_id`: of a calibration; that of a trial is made here."""
    # The newer name of the field, which OpenAI's reasoning models want: nobody answers that it should be another.
    body = body_of(name, options, request, options.max_tokens_field or "max_completion_tokens")
    if not custom_id:
        assert request.cell is not None
        custom_id = f"{cell_id(request.cell)}-{sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:20]}"
    endpoint = "chat/completions" if request.template == "chat" else "completions"
    url = f"/v1/{endpoint}" if options.azure_api_version is None else f"/{endpoint}"
    return {"custom_id": custom_id, "method": "POST", "url": url, "body": body}


@dataclass(frozen=True, slots=True)
class BatchAnswer:
    """An answer of a batch service."""

    status: int | None  # HTTP's; `None` where the request never reached the model, and `error` says why
    body: Any = field(repr=False)
    error: Mapping[str, Any]

    @property
    def whole(self) -> bool:
        """Whether it is an answer, and no fault."""
        return self.status == 200 and isinstance(self.body, dict) and not self.body.get("error")


class AnswerFiles:
    """All answers by id, as lines. Of several with one id the first whole answer counts, before any fault."""

    def __init__(self, paths: Sequence[str]) -> None:
        """Raises `InputError` for a file that cannot be read or holds no answers."""
        self._lines: dict[str, bytes] = {}
        self._cells: set[str] = set()
        self.lines = self.spoilt = 0
        for line in (line for path in dict.fromkeys(map(Path, paths)) for line in _lines_of(path)):
            self.lines += 1
            if (read := _answer_of(line)) is None:
                self.spoilt += 1
                continue
            custom_id, _ = read
            self._cells.add(custom_id.partition("-")[0])
            earlier = self.get(custom_id)
            if earlier is None or not earlier.whole:
                self._lines[custom_id] = line
        if not self.lines:  # an error file alone is often empty
            raise InputError(_IN, paths[0], "is empty: give the service's output file, and its error file")

    def get(self, custom_id: str) -> BatchAnswer | None:
        """The answer to a request."""
        read = _answer_of(self._lines[custom_id]) if custom_id in self._lines else None
        return read and read[1]

    def has_cell(self, cell_id: str) -> bool:
        """Whether a line answers a request of this cell, see `cell_id`."""
        return cell_id in self._cells

    def calibrations(self, layout: str) -> list[tuple[int, BatchAnswer]]:
        """Our counts of the two short requests of a layout, see `layout_id`, and the answers; the last pair."""
        pair: dict[str, tuple[int, BatchAnswer]] = {}
        for custom_id in self._lines:
            match = _CALIBRATION.fullmatch(custom_id)
            if match and match[1] == layout and (answer := self.get(custom_id)):
                pair[match[2]] = int(match[3]), answer
        return [pair["0"], pair["1"]] if len(pair) == 2 else []

    def unknown(self, cells: Collection[str]) -> list[str]:
        """The ids that belong to none of these cells, and to no calibration."""
        return [key for key in self._lines if not _CALIBRATION.fullmatch(key) and key.partition("-")[0] not in cells]


def _lines_of(path: Path) -> list[bytes]:
    """The lines that are not blank."""
    try:
        with path.open("rb") as file:
            lines = [line for line in file if line.strip()]
    except OSError as error:
        raise InputError(_IN, path, f"cannot be read ({error.strerror})") from None
    if lines and b'"response"' not in lines[0] and b'"error"' not in lines[0]:
        raise InputError(_IN, path, "is no output file of a batch service: its lines have custom_id, response, error")
    return lines


def _answer_of(line: bytes) -> tuple[str, BatchAnswer] | None:
    """The id and answer of a line; `None` where it has none."""
    row = json_of(line)
    if not isinstance(row, dict) or not isinstance(custom_id := row.get("custom_id"), str):
        return None
    response, error = row.get("response"), row.get("error")
    error = {"message": error} if isinstance(error, str) and error else table_of(error)  # `vllm run-batch`: a text
    if not isinstance(response, dict):
        return custom_id, BatchAnswer(None, None, error)
    if "body" not in response and "choices" in response:  # some runners leave the envelope out
        return custom_id, BatchAnswer(200, response, error)
    body, status = response.get("body"), response.get("status_code")
    is_whole = isinstance(body, dict) and not error
    return custom_id, BatchAnswer(status if isinstance(status, int) else 200 if is_whole else None, body, error)


_HALF = ".part"


class RequestFiles:
    """`requests.jsonl`, `requests-2.jsonl`, ...: each with one endpoint and one model, up to a limit.

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
        names = [path, *path.parent.glob(f"{glob.escape(path.stem)}-[0-9]*{path.suffix}")]
        for name in names:
            if name.exists():
                raise InputError(_OUT, name, "is there already; name another file, or remove it")
        if not path.parent.is_dir():
            raise InputError(_OUT, path, f"there is no folder {path.parent}; make it, or name another")

    def write(self, line: Mapping[str, Any], model: str) -> None:
        """Write one request. Raises `InputError` for one too large for any file, and for a full disk."""
        # ASCII: texts hold characters that some programs take for the end of a line.
        data = f"{json.dumps(line)}\n".encode("ascii")
        if len(data) > self._most_bytes:
            limit = f"a request of {len(data):,} bytes is more than a file may have; raise --batch-limits"
            raise InputError(_OUT, self._path, limit)
        is_full = self._requests >= self._most_requests or self._bytes + len(data) > self._most_bytes
        with self._writing():
            if self._file is None or is_full or self._group != (model, line["url"]):
                self.close()
                number = len(self.files) + 1
                self.files.append(self._path if number == 1 else self._path.with_stem(f"{self._path.stem}-{number}"))
                self._file = self.files[-1].with_name(self.files[-1].name + _HALF).open("wb")
                self._group, self._requests, self._bytes = (model, line["url"]), 0, 0
            self._file.write(data)
        self._requests += 1
        self._bytes += len(data)

    def close(self) -> None:
        """Give the last file its name."""
        if self._file is None:
            return
        path = self.files[-1]
        with self._writing():
            self._file.close()
            path.with_name(path.name + _HALF).replace(path)
        self._file = None

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise InputError(_OUT, self.files[-1], f"cannot be written ({error.strerror})") from None


class BatchTransport(Transport):
    """Sends nothing: it looks each request up in the answers of `connection`, if there are any."""

    live = False
    redactor = Redactor()

    def __init__(self, name: str, options: ServedOptions, tokenizer: Tokenizer, connection: ServerOptions) -> None:
        self._name = options.azure_deployment or name
        self.options = options
        self._tokenizer = tokenizer
        self._answers: AnswerFiles | None = connection.answers
        self._too_long = connection.too_long_pattern
        self._written: set[tuple[str, ...]] = set()  # layouts
        self.model_name = name if options.azure_api_version is None else ""
        self.identity = {
            "spec": f"openai:{name}",
            "server": without_credentials(connection.base_url) if connection.base_url else "batch service",
            "decoding": options.decoding(),
            "answers": "batch files",
        }

    def lines(self, request: Request) -> Iterator[dict[str, Any]]:
        """The lines of a request: before the first of each layout the two that calibrate (`ServerFacts`)."""
        layout = layout_of(request, self._tokenizer)
        if layout not in self._written:
            self._written.add(layout)
            for number, short in enumerate(new_short_requests(request, self._tokenizer)):
                custom_id = f"calibration-{layout_id((self._name, *layout))}-{number}-{short.prompt.tokens}"
                yield request_line(self._name, self.options, short, custom_id)
        yield request_line(self._name, self.options, request)

    async def attempt(self, request: Request, _dialect: Dialect, _allowed: Allowed, _begun: float) -> AttemptResult:
        custom_id = request_line(self._name, self.options, request)["custom_id"]
        answer = self._answers.get(custom_id) if self._answers else None
        if answer is None:
            return AttemptFault("client", _NO_ANSWER)
        result = self._read(answer, request.prompt.text)
        if isinstance(result, Response):
            return result
        # One line says nothing of the others: no fault ends the run, and none is asked for again.
        return replace(result, retry=False, fatal=False, sign="answered")

    def short_answers(self, request: Request) -> tuple[list[int], list[Response]]:
        layout = layout_id((self._name, *layout_of(request, self._tokenizer)))
        pair = self._answers.calibrations(layout) if self._answers else []
        if not pair:
            return [], [Response(error=ModelError("client", _NO_CALIBRATION))]
        responses = []
        for _, answer in pair:
            result = self._read(answer, "")
            if isinstance(result, AttemptFault):
                result = Response(error=ModelError(result.kind, printable(result.message)))
            responses.append(result)
        return [tokens for tokens, _ in pair], responses

    def window(self) -> Window:
        return Window(None, "a batch service tells none")

    def _read(self, answer: BatchAnswer, prompt: str) -> AttemptResult:
        """Read a line as an answer of a server."""
        if answer.whole:
            try:
                return read_body(json.dumps(answer.body).encode(), prompt)
            except Exception as error:  # noqa: BLE001 - a bad line never ends the run, whatever a service thinks of
                return fault_of(error, self._too_long)
        if answer.status is not None and answer.status != 200:
            shown = answer.body or answer.error
            return fault_of_status(HttpError(answer.status, shown, json.dumps(shown)), self._too_long)
        body = answer.error or answer.body
        fault = HttpError(500, body, json.dumps(body), inside=True)
        message = f"the batch has no answer: {fault.words or 'without a word'}"
        return replace(fault_of_status(fault, self._too_long), message=message)
