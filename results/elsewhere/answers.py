"""Answers that other harnesses wrote down: their files as rows of columns, with the reply.

Read are Inspect's logs (`.eval`, `.json`; openbench), lm-evaluation-harness's samples (`samples_*.jsonl`), evalscope's
reviews and predictions (jsonl), LongBench v2's and eval_hub's own results, and plain rows of id and answer.
"""

from __future__ import annotations

import csv
import json
import struct
import sys
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from needlework.haystack_fixtures.errors import InputError

ARGUMENT = "ANSWERS"
_KINDS = (".eval", ".json", ".jsonl", ".csv")
_ZSTD = 93
_ATTACHED = "attachment://"
_LETTERS = "ABCDEFGHIJ"
_ANSWERS = ("response", "prediction", "completion", "answer")


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply with what its file tells of the question. `columns`: named as in the data set. `key`: the row's id or
    number there. `failed`: the request's error; such a reply is no answer. `source`: which harness wrote it."""

    text: str = field(repr=False)
    columns: Mapping[str, Any] = field(repr=False)
    key: str = ""
    failed: str = ""
    source: str = ""


def read_answers(path: Path) -> list[Answer]:
    """The answers of a file, or of all files below a folder. Raises `InputError`."""
    paths = sorted(each for each in path.rglob("*") if each.suffix in _KINDS) if path.is_dir() else [path]
    if not path.exists():
        raise InputError(ARGUMENT, path, "is no file and no folder")
    found = [answer for each in paths for answer in _file(each, whole=len(paths) == 1)]
    if not found:
        raise InputError(ARGUMENT, path, f"has no answers; give {', '.join(_KINDS)} files of a harness")
    return found


def _file(path: Path, *, whole: bool) -> Iterator[Answer]:
    """The answers of one file. Beside others in a folder, a file without answers is passed over."""
    try:
        rows = list(_rows(path))
    except (OSError, ValueError, KeyError, RecursionError, NotImplementedError, zipfile.BadZipFile) as error:
        if not whole:
            return
        raise InputError(ARGUMENT, path, f"cannot be read ({error})") from None
    for number, row in enumerate(rows):
        found = _answer(row)
        if found is None and whole:
            known = "reply (response, prediction, completion, answer, resps, output, model_output, sample_score)"
            raise InputError(ARGUMENT, f"{path}, row {number + 1}", f"has no {known}")
        if found is not None:
            yield found


def _rows(path: Path) -> Iterator[Mapping[str, Any]]:
    if path.suffix == ".eval":
        with zipfile.ZipFile(path) as file:
            for entry in sorted(file.infolist(), key=lambda entry: entry.filename):
                if entry.filename.startswith("samples/"):
                    yield json.loads(_entry(file, path, entry))
        return
    if path.suffix == ".csv":
        csv.field_size_limit(sys.maxsize)
        with path.open(encoding="utf-8-sig", newline="") as text:
            yield from csv.DictReader(text)
        return
    content = path.read_text(encoding="utf-8-sig")
    if path.suffix == ".json":
        whole = json.loads(content)
        rows = whole.get("samples") if isinstance(whole, dict) else whole
        yield from (row for row in rows or [] if isinstance(row, dict))
        return
    for line in content.split("\n"):
        if line.strip():
            row = json.loads(line)
            if not isinstance(row, dict):
                raise ValueError("a line is no object")
            yield row


def _entry(file: zipfile.ZipFile, path: Path, entry: zipfile.ZipInfo) -> bytes:
    """The bytes of an entry of a log; Inspect packs them with zstd, which `zipfile` learns with Python 3.14."""
    if entry.compress_type != _ZSTD:
        return file.read(entry)
    try:
        from pyarrow import decompress
    except ImportError:
        raise InputError(ARGUMENT, path, "its zstd needs pyarrow: pip install 'needlework[data]'") from None
    with path.open("rb") as raw:
        raw.seek(entry.header_offset)
        name, extra = struct.unpack("<26x2H", raw.read(30))
        raw.seek(name + extra, 1)
        packed = raw.read(entry.compress_size)
    return bytes(decompress(packed, decompressed_size=entry.file_size, codec="zstd", asbytes=True))


def _answer(row: Mapping[str, Any]) -> Answer | None:
    if "resps" in row and isinstance(row.get("doc"), dict):
        text = _likeliest(row["resps"]) or _first(row.get("filtered_resps")) or _first(row["resps"])
        return Answer(text, row["doc"], _key(row["doc"]) or str(row.get("doc_id", "")), source="lm-eval")
    if isinstance(row.get("sample_score"), dict):
        return _of_review(row)
    if isinstance(row.get("model_output"), dict):
        output = row["model_output"]
        columns = _with_prompt(row.get("metadata"), row.get("messages"))
        return Answer(_reply(output), columns, str(row.get("index", "")), _failure(output), "evalscope")
    if isinstance(row.get("output"), dict) and "input" in row:
        return _of_sample(row)
    name = next((name for name in _ANSWERS if isinstance(row.get(name), str)), None)
    if name is None:
        return None
    columns = {key: value for key, value in row.items() if key != name}
    source = "eval_hub" if "queries" in row else "authors" if "judge" in row else ""
    return Answer(row[name], columns, _key(row), source=source)


def _of_sample(row: Mapping[str, Any]) -> Answer:
    """A sample of an Inspect log; long texts may be kept apart as attachments."""
    attached = row.get("attachments") if isinstance(row.get("attachments"), dict) else {}
    columns = dict(_with_prompt(row.get("metadata"), _resolved(row["input"], attached)))
    target = _resolved(row.get("target"), attached)
    columns.setdefault("answer_nodes" if isinstance(target, list) else "answer", target)
    if isinstance(target, str):
        columns.setdefault("target", target)
    error = row.get("error")
    failed = str(error.get("message", "error")) if isinstance(error, dict) else str(error or "")
    text = _resolved(_reply(row["output"]), attached)
    return Answer(text, columns, str(row.get("id", "")), failed or _failure(row["output"]), "openbench")


def _of_review(row: Mapping[str, Any]) -> Answer:
    """A review of evalscope: the reply as it was given stands beside its score."""
    judged = row["sample_score"]
    score = judged.get("score") if isinstance(judged.get("score"), dict) else {}
    columns = dict(_with_prompt(judged.get("sample_metadata"), row.get("input")))
    columns.setdefault("answer", row.get("target"))
    key = _key(columns) or str(row.get("index", ""))
    return Answer(str(score.get("prediction") or ""), columns, key, source="evalscope")


def _with_prompt(metadata: object, asked: object) -> Mapping[str, Any]:
    """Columns of metadata, with the messages that were asked as `prompt`, where it has none."""
    columns = dict(metadata) if isinstance(metadata, dict) else {}
    if isinstance(asked, str):
        columns.setdefault("prompt", asked)
    elif isinstance(asked, list):
        messages = [
            {"role": message.get("role"), "content": _text_of(message.get("content"))}
            for message in asked
            if isinstance(message, dict)
        ]
        # Some logs end with the reply itself.
        while messages and messages[-1]["role"] == "assistant":
            messages.pop()
        columns.setdefault("prompt", messages[0]["content"] if len(messages) == 1 else json.dumps(messages))
    return columns


def _reply(output: Mapping[str, Any]) -> str:
    """The text of a model's output: of its first choice, without its reasoning."""
    choices = output.get("choices")
    message = choices[0].get("message") if isinstance(choices, list) and choices else None
    if isinstance(message, dict):
        return _text_of(message.get("content"))
    return str(output.get("completion") or "")


def _text_of(content: object) -> str:
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, dict) and part.get("type") == "text"]
        return "".join(str(part.get("text", "")) for part in parts)
    return content if isinstance(content, str) else ""


def _failure(output: Mapping[str, Any]) -> str:
    error = output.get("error")
    return str(error) if error else ""


def _likeliest(found: object) -> str:
    """The letter of the likeliest choice where log-likelihoods were asked for: [["-3.1", "False"], ...]; else empty."""
    if not isinstance(found, list) or not 2 <= len(found) <= len(_LETTERS):
        return ""
    pairs = [each[0] if isinstance(each, list) and each and isinstance(each[0], list) else each for each in found]
    try:
        scores = [float(pair[0]) for pair in pairs if str(pair[1]) in ("True", "False")]
    except (TypeError, ValueError, IndexError):
        return ""
    return _LETTERS[scores.index(max(scores))] if len(scores) == len(found) else ""


def _first(found: object) -> str:
    """The first text of lists in lists."""
    while isinstance(found, list):
        found = found[0] if found else ""
    return found if isinstance(found, str) else ""


def _key(row: Mapping[str, Any]) -> str:
    return next((str(row[name]) for name in ("_id", "id", "row", "index") if row.get(name) is not None), "")


def _resolved(value: Any, attached: Any) -> Any:
    if isinstance(value, str) and value.startswith(_ATTACHED):
        return attached.get(value.removeprefix(_ATTACHED), value)
    if isinstance(value, list):
        return [_resolved(each, attached) for each in value]
    if isinstance(value, dict):
        return {name: _resolved(each, attached) for name, each in value.items()}
    return value
