"""Questions on documents: all of a task and an arm are one panel, and those that share a document are one sample.

In L-Eval that is the questions of one document; on documents of one's own each question is a sample, whatever the order
of the documents around it (the repeats). An arm is a retriever (`doc3_q7_bm25`), or an absence (`q0_near`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from zlib import crc32

from needlework.haystack_fixtures.tasks.catalogue import family_of
from needlework.results.records.record import Record
from needlework.results.records.tests_of_cells import task_of

PANEL = "questions"
OWN_DOCUMENTS = ("doc_position", "doc_size", "doc_absent")
_LABEL = re.compile(r"doc(?P<document>\d+)_q(?P<question>\d+)(?P<retriever>_[a-z0-9]+)?")
_OWN_LABEL = re.compile(r"(?P<question>q.+?)(?P<arm>(?:_(?:zh|bm25|dense|absent|near|focused))*)")
# Rows of published data sets: `n8_q0123` is of the panel n8, `q66ebc` one of the questions.
_ROWS = ("openai_mrcr", "deepmind_mrcr", "graphwalks", "longbench_v2")
_ROW_LABEL = re.compile(r"(?:(?P<group>[a-z0-9_]+?)_)?q(?P<row>[^_]+(?:_[^_]+)*?)(?P<arm>(?:_(?:bm25|dense))?)")
# What its questions share is a prompt of worked examples: nothing that makes them alike.
_APART = "leval_gsm100"


@dataclass(frozen=True, slots=True)
class OwnLabel:
    """A needle label on documents of one's own: `q0` and `bm25` of `q0_bm25`. `arm` is empty for the whole context."""

    question: str
    arm: str = ""


def own_label(needle: str) -> OwnLabel:
    """Take a label apart; one that is no question's is a question by itself."""
    found = _OWN_LABEL.fullmatch(needle)
    return OwnLabel(found["question"], found["arm"][1:]) if found else OwnLabel(needle)


def panel_and_sample_of(record: Record) -> tuple[str, int]:
    """Return the panel that a record belongs to, and its sample: the one that its reference names, else as of
    `panel_and_sample`."""
    panel, sample = _by_label(record["task"], record["needle"])
    reference = record.get("reference")
    own = reference.get("sample") if isinstance(reference, dict) else None
    return panel, own if isinstance(own, int) else record["repeat"] if sample is None else sample


def panel_and_sample(task: str, needle: str, repeat: int) -> tuple[str, int]:
    """Return the panel that a trial belongs to, and its sample: needle and repeat, unless it asks about a document."""
    panel, sample = _by_label(task, needle)
    return panel, repeat if sample is None else sample


@lru_cache(maxsize=4_096)  # a run has few labels, and asks for each of its trials many times
def _by_label(task: str, needle: str) -> tuple[str, int | None]:
    """The panel, and the sample where the label names one."""
    task = task_of(task)
    if task in OWN_DOCUMENTS:
        own = own_label(needle)
        key = own.question[1:]
        number = int(key) if key.isascii() and key.isdigit() and len(key) < 10 else crc32(own.question.encode())
        return f"{PANEL}_{own.arm}" if own.arm else PANEL, number
    if family_of(task) in _ROWS and (row := _ROW_LABEL.fullmatch(needle)):
        number = int(row["row"]) if row["row"].isdecimal() and len(row["row"]) < 10 else crc32(row["row"].encode())
        return f"{row['group'] or PANEL}{row['arm']}", number
    label = _LABEL.fullmatch(needle) if family_of(task) == "leval" else None
    if label is None:
        return needle, None
    return f"{PANEL}{label['retriever'] or ''}", int(label["question" if task == _APART else "document"])
