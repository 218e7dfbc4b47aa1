"""The record of one trial: a line of the journal, a row of results.json; the parts of its needle's label."""

import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from math import isfinite
from numbers import Integral, Real
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple, TypeVar
from zlib import crc32

import msgspec
from msgspec import Meta, Struct, field

from needlework.core.grid import Cell

SCHEMA = 1

OutcomeName = Literal[
    "found", "partial", "wrong", "distractor", "refused", "empty",
    "censored", "unclear", "invalid", "skipped", "error", "unscored",
]  # fmt: skip
SCORED: tuple[OutcomeName, ...] = ("found", "partial", "wrong", "distractor", "refused", "empty")
NOTHING_SAID: tuple[OutcomeName, ...] = ("refused", "empty")
"""Score 0, and more than a wrong answer: many of them say that the model was asked in a way it does not take."""
UNDECIDED: tuple[OutcomeName, ...] = ("censored", "unclear")
"""An answer came and has no score: it was cut off, or no rule can tell what it says. It may be a hit or a miss, so that
a score beside it is a range."""
FINAL = frozenset({*SCORED, *UNDECIDED})
"""An answer came: resuming takes these as they are. Errors, invalid and skipped trials are tried again."""
UNSCORED: tuple[OutcomeName, ...] = (*UNDECIDED, "invalid", "skipped", "error")
WAITING: OutcomeName = "unscored"
"""An answer that no test has scored yet; only in a run's files of waiting answers."""

_MOST = 10**15
_Whole = Annotated[int, Meta(gt=-_MOST, lt=_MOST)]
_Number = Annotated[float, Meta(gt=-_MOST, lt=_MOST)]
_Share = Annotated[float, Meta(ge=0, le=1)]
_Percent = Annotated[float, Meta(ge=0, le=100)]
_Positive = Annotated[int, Meta(ge=1, lt=_MOST)]

Value = TypeVar("Value")


def _written(default: Value) -> Value:
    """Declare a field that files may lack and that is always written: msgspec omits plain defaults."""
    factory: Callable[[], Any] = default.copy if isinstance(default, list) else lambda: default
    made: Value = field(default_factory=factory)
    return made


class _Facts(Struct, omit_defaults=True):
    """Facts of a record. Those that have their default are left out, but for `_written` ones."""


class NeedleFacts(Struct, omit_defaults=True, frozen=True, kw_only=True):
    """A needle in the prompt. `start`, `end`: characters; `text` with the characters `before` and `after`.
    `tokens_before`: those of the haystack, other needles not counted; `tokens`: its own.
    `depth`: percent of the context, and as it was `requested`."""

    name: str = ""
    start: _Whole = _written(0)
    end: _Whole = _written(0)
    tokens_before: _Whole = _written(0)
    tokens: _Whole = _written(0)
    requested: _Number = _written(0.0)
    depth: _Number
    before: str = ""
    text: str = ""
    after: str = ""


class RetrievedChunk(_Facts):
    """A chunk that was retrieved. `start`, `end`: characters of the document."""

    document: str = _written("")
    start: _Whole = _written(0)
    end: _Whole = _written(0)
    score: _Number = _written(0.0)


class RetrievalFacts(_Facts):
    """The retrieved context. `rank`: of the chunk with the answer (`gold`).
    `answer_recall`: the share of the answer's words that the context has."""

    retriever: str = _written("")
    embedder: str | None = _written(None)
    k: _Whole = _written(0)
    chunk_size: _Whole = _written(0)
    chunk_overlap: _Whole = _written(0)
    unit: str = _written("")
    chunks: _Whole = _written(0)
    hits: list[RetrievedChunk] = _written([])
    gold: str | None = _written(None)
    rank: _Positive | None = _written(None)
    cut_chunks: _Whole = 0
    answer_recall: _Share | None = _written(None)


class PromptFacts(_Facts):
    """The prompt that was built; all defaults where none was. `slack`: tokens short of the length."""

    tokens: _Whole = 0
    context_tokens: _Whole | None = None
    length_means: str = ""
    slack: _Whole | None = None
    tokens_error: _Number = 0.0
    template: str = ""
    sha256: str = ""
    filler_sha256: str = ""
    corpus_passes: _Number | None = None
    flags: list[str] = _written([])
    truncated: _Number | None = None
    needles: list[NeedleFacts] = _written([])
    retrieval: RetrievalFacts | None = None


class ResponseFacts(_Facts):
    """The model's response."""

    text: str = _written("")
    reasoning: str = _written("")
    finish_reason: str | None = _written(None)
    prompt_tokens: _Whole | None = _written(None)
    completion_tokens: _Whole | None = _written(None)
    reasoning_tokens: _Whole | None = _written(None)
    model: str = ""
    fingerprint: str = ""
    server: str = ""
    summary: str = ""  # the text's, by the model, from which alone it answered (`--controls compacted`)
    follow_up_tokens: _Whole | None = None  # of the prompt of a second question, beside `prompt_tokens`


class RecordedError(_Facts):
    """The error of a trial."""

    kind: str = _written("")
    message: str = _written("")


class RepeatedAnswer(_Facts):
    """An answer to the same prompt, asked once more. `how`: `warm`, `cold`, or in a `batch`."""

    how: str = _written("")
    text: str = _written("")
    finish_reason: str | None = _written(None)
    outcome: str = _written("")
    score: _Share | None = _written(None)
    error: RecordedError | None = _written(None)


class Details(_Facts):
    """Flags, reasons why an answer is `invalid`, recipe, the scorer's details, the stability probe."""

    flags: list[str] = _written([])
    recipe: str = ""
    invalid: list[str] = []
    score: dict[str, Any] = {}
    stability: list[RepeatedAnswer] = []


class Timing(_Facts):
    """Facts that may differ between two runs of the same trial. `part`: the shard of a merged record."""

    latency_s: _Number | None = _written(None)
    ttft_s: _Number | None = _written(None)
    tokens_per_s: _Number | None = _written(None)
    build_s: _Number | None = _written(None)
    cached_tokens: _Whole | None = _written(None)
    attempts: _Whole | None = _written(None)
    worker: str = _written("")
    replayed: bool = _written(False)
    part: str = ""


class Record(Struct, kw_only=True):
    """One trial. `score` is 0..1 where the outcome is one of `SCORED`, else null.

    `test`: the test that asked, where several tests asked the same cell. What `needle` consists of: the `panel` that it
    is shown in, its question or row (`item`), the `arm` in which that is asked. `sample`: the number of the independent
    sample; `None` where each repeat is one. `answer`: as the model wrote it; `read_as`: what the scorer took of it.
    """

    schema: _Whole = SCHEMA
    key: str = ""
    id: str = ""
    nodeid: str = ""
    model: str
    task: str
    needle: str
    language: str = ""
    length: _Positive
    depth: _Percent | None
    repeat: Annotated[int, Meta(ge=0, lt=_MOST)]
    test: str = ""
    panel: str = ""
    item: str = ""
    arm: str = ""
    sample: _Whole | None = None
    seed: _Whole = 0
    outcome: OutcomeName
    score: _Share | None
    scorer: str = ""
    scorer_version: _Whole = 0
    why: str = ""
    question: str = ""
    expected: list[str] = []
    reference: dict[str, Any] = {}
    answer: str = ""
    read_as: str = ""
    prompt: PromptFacts = field(default_factory=PromptFacts)
    response: ResponseFacts = field(default_factory=ResponseFacts)
    details: Details = field(default_factory=Details)
    error: RecordedError | None = None
    timing: Timing = field(default_factory=Timing)

    def __post_init__(self) -> None:
        """Fill in what `needle` and `reference` tell. Raise `ValueError` where score and outcome do not fit."""
        if not self.panel:
            self.panel, self.item, self.arm, sample = label_parts(self.task, self.needle)
            self.sample = self.reference.get("sample", sample)
        if (self.outcome in SCORED) != (self.score is not None):
            raise ValueError(f"has the outcome {self.outcome} and the score {self.score}")

    @property
    def sample_number(self) -> int:
        """The number of the independent sample."""
        return self.repeat if self.sample is None else self.sample

    @property
    def task_label(self) -> str:
        """The task's name in reports: `niah`, or `niah@test_needle` where two tests asked the same cell."""
        return f"{self.task}@{self.test}" if self.test else self.task


def record_of_cell(
    cell: Cell,
    model: str,
    outcome: OutcomeName,
    score: float | None = None,
    *,
    language: str,
    seed: int,
    reference: Mapping[str, Any] = MappingProxyType({}),
) -> Record:
    """The record of a cell without prompt and answer."""
    return Record(
        id=cell.id,
        **{name: getattr(cell, name) for name in ("task", "needle", "length", "depth", "repeat")},
        model=model,
        language=language,
        seed=seed,
        outcome=outcome,
        score=score,
        reference=dict(reference),
    )


QUESTIONS = "questions"
"""The panel of questions, in place of a needle's name."""
OWN_DOCUMENTS = ("doc_position", "doc_size", "doc_absent")
_DATA_SETS = (
    "openai_mrcr", "deepmind_mrcr", "graphwalks", "longbench_v2", "longbench_v2_closed_book", "aa_lcr",
)  # fmt: skip
_LEVAL = "leval_"
# The questions of one document are one sample; these share a prompt of worked examples, which makes nothing alike.
_LEVAL_APART = "leval_gsm100"

_LEVAL_LABEL = re.compile(r"(?P<item>doc(?P<document>\d+)_q(?P<question>\d+))(?:_(?P<arm>[a-z0-9]+))?")
_OWN_LABEL = re.compile(r"(?P<item>q.+?)(?P<words>(?:_(?:zh|bm25|dense|absent|near|focused))*)")
_ROW_LABEL = re.compile(r"(?:(?P<group>[a-z0-9_]+?)_)?(?P<item>q[^_]+(?:_[^_]+)*?)(?:_(?P<arm>bm25|dense))?")
_CHINESE = "zh"


class LabelParts(NamedTuple):
    """The parts of a needle's label."""

    panel: str
    """What rows of reports are called: the needle, or `questions` (`questions_bm25`, `n8`)."""
    item: str = ""
    """The question, or the row of a data set: `q0`, `doc3_q7`; empty for a needle."""
    arm: str = ""
    """A retriever (`bm25`, `dense`) or a control (`absent`, `near`, `focused`); several are joined by `_`."""
    sample: int | None = None
    """The number of the independent sample; `None` where each repeat is one."""


@lru_cache(maxsize=4_096)  # a run has few labels, and asks for each of its trials many times
def label_parts(task: str, needle: str) -> LabelParts:
    """Take the label of a cell of a task apart.

    On documents of one's own each question is a sample, whatever the documents around it; in L-Eval each document is
    one; of other data sets each row.
    """
    if task in OWN_DOCUMENTS:
        label = _OWN_LABEL.fullmatch(needle)  # a label of another form is a question by itself
        item, words = (label["item"], label["words"][1:].split("_")) if label else (needle, [])
        arm = "_".join(word for word in words if word != _CHINESE)
        return LabelParts(_joined(QUESTIONS, "_".join(words)), item, arm, _number(item, item[1:]))
    if task in _DATA_SETS and (row := _ROW_LABEL.fullmatch(needle)):
        arm, name = row["arm"] or "", row["item"][1:]
        return LabelParts(_joined(row["group"] or QUESTIONS, arm), row["item"], arm, _number(name, name))
    if task.startswith(_LEVAL) and (label := _LEVAL_LABEL.fullmatch(needle)):
        arm = label["arm"] or ""
        sample = label["question" if task == _LEVAL_APART else "document"]
        return LabelParts(_joined(QUESTIONS, arm), label["item"], arm, int(sample))
    return LabelParts(needle)


def _number(name: str, digits: str) -> int:
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 10 else crc32(name.encode())


def _joined(name: str, arm: str) -> str:
    return f"{name}_{arm}" if arm else name


class _KnownReference(Struct):
    """The fields of a reference that readers use; it may have others."""

    answers: list[str] = []
    parts: list[str] = []
    distractors: list[str] = []
    statement: str = ""
    keyword: str = ""
    question: str = ""
    language: str = ""
    retriever: str = ""
    twin: str = ""
    sample: int | None = None


def record_of(fields: object) -> Record:
    """The record of parsed JSON. Raises `ValueError`, which says what is wrong with it."""
    try:
        record = msgspec.convert(_of_this_version(fields), Record)
        _check_reference(record.reference)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None
    return record


def _of_this_version(line: object) -> object:
    """A line of a journal, converted if the last version wrote it.

    That one named the test within `task`, and wrote waiting and judged answers in two shorter forms.
    """
    if not isinstance(line, dict):
        return line
    task = line.get("task")
    if isinstance(task, str) and "@" in task:
        name, _, test = task.partition("@")
        line = {**line, "task": name, "test": test}
    if line.get("outcome") not in ("waiting", "ruled"):
        return line
    cell = {"model": "", "task": "", "needle": "", "length": 1, "depth": None, "repeat": 0, "score": None}
    if line["outcome"] == "waiting":
        return {**cell, **line, "outcome": WAITING}
    ruling = line.get("score")
    if not isinstance(ruling, dict):
        return line
    names = {"outcome": "verdict", "score": "value", "scorer": "name", "scorer_version": "version"}
    names |= {"read_as": "answer", "why": "why"}
    scored = {name: ruling.get(old) for name, old in names.items()}
    return {**cell, "key": line.get("key"), **scored, "details": {"score": ruling.get("details")}}


def read_record(line: bytes) -> Record:
    """The record of a line of a file. Raises `ValueError`, which says what is wrong with it."""
    try:
        record = _decode(line)
        _check_reference(record.reference)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return record_of(parse_json(line))
    return record


def _check_reference(reference: dict[str, Any]) -> None:
    known = {name: reference[name] for name in _KnownReference.__struct_fields__ if name in reference}
    msgspec.convert(known, _KnownReference)


def decode_record(line: bytes) -> Record:
    """Read a record that `encode_record` wrote, whatever a task's reference holds."""
    try:
        return _decode(line)
    except msgspec.DecodeError:  # half a surrogate pair
        return msgspec.convert(parse_json(line), Record)


def parse_json(line: bytes) -> object:
    """Parse JSON that may begin with a BOM and hold half a surrogate pair. Raises `ValueError`."""
    try:
        return _parse(line.decode("utf-8", "surrogatepass").removeprefix("\ufeff"))
    except RecursionError:
        raise ValueError("is nested too deeply") from None


def encode_record(record: Record) -> bytes:
    """A record as JSON on one line, its fields in their order. What JSON lacks is in words, NaN null."""
    try:
        return _encode(record)
    except UnicodeEncodeError:  # half a surrogate pair, which some model sent
        built = msgspec.to_builtins(record, enc_hook=_plain)
        return json.dumps(built, ensure_ascii=True, separators=(",", ":")).encode()


def _plain(value: object) -> object:
    """A value of a subclass, such as numpy's, as JSON's own type; anything else as text."""
    if isinstance(value, (Integral, Real)):
        return int(value) if isinstance(value, Integral) else float(value)
    return dict(value) if isinstance(value, Mapping) else str(value)


def _finite(text: str) -> float:
    """A number that JSON has; we write no other, and could not write this one again."""
    value = float(text)
    if not isfinite(value):
        raise ValueError(f"{text} is no number of JSON")
    return value


_parse = json.JSONDecoder(parse_float=_finite, parse_constant=_finite).decode
_decode = msgspec.json.Decoder(Record).decode
_encode = msgspec.json.Encoder(enc_hook=_plain, order="deterministic").encode
