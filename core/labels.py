"""The parts of a needle's label: question, document or row, and the arm in which it is asked."""

import re
from functools import lru_cache
from typing import NamedTuple
from zlib import crc32

QUESTIONS = "questions"
"""The panel of questions, in place of a needle's name."""
OWN_DOCUMENTS = ("doc_position", "doc_size", "doc_absent")
_DATA_SETS = ("openai_mrcr", "deepmind_mrcr", "graphwalks", "longbench_v2", "longbench_v2_closed_book")
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
    """A retriever (`bm25`, `dense`) or what is missing (`absent`, `near`, `focused`); several are joined by `_`."""
    sample: int | None = None
    """The number of the independent sample; `None` where the repeat is."""


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
