"""L-Eval's twenty tasks: which rule scores each, and how many questions each document has, in the order of its file.

Facts of the data at cd34b05, of the rows that are scored by rule (`exam`, `f1`, `rouge`). Rows for judges (`LLM`,
`human`) are not among them.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, cast

Evaluation = Literal["exam", "f1", "rouge"]
BY_JUDGES = ("LLM", "human")


@dataclass(frozen=True, slots=True)
class Task:
    """One task: `evaluation` as its rows name it, `rule` the scorer's name without `_compat`.

    `questions`: how many each document has; empty where that is not known. `expected`: questions in all. `own`: a
    file of the user's, in L-Eval's form.
    """

    name: str
    evaluation: Evaluation
    rule: str
    questions: tuple[int, ...]
    expected: int
    own: bool = False


def _task(name: str, evaluation: Evaluation, rule: str, questions: tuple[int, ...], expected: int = 0) -> Task:
    return Task(name, evaluation, f"leval_{rule}", questions, expected or sum(questions))


def own_task(name: str, evaluation: str, rule: str, expected: int) -> Task:
    """The task of a file of the user's."""
    return Task(name, cast(Evaluation, evaluation), rule, (), expected, own=True)


_ALL = (
    _task("coursera", "exam", "letters", (14, 12, 9, 10, 13, 13, 12, 10, 10, 12, 14, 7, 13, 10, 13)),
    # All questions share one prompt of worked examples, and nothing else: each counts as a document.
    _task("gsm100", "exam", "math", (1,) * 100),
    _task("quality", "exam", "letter", (16, 13, 11, 8, 14, 8, 9, 15, 17, 8, 11, 19, 18, 19, 16)),
    _task("tpo", "exam", "letter", (18, 19, 19, 19, 19, 18, 19, 19, 16, 18, 16, 18, 15, 18, 18)),
    _task("codeU", "exam", "code", (1,) * 90),
    _task("sci_fi", "exam", "sci_fi", (7, 11, 12, 10, 8, 7, 9)),
    _task("topic_retrieval_longchat", "exam", "topic", (3,) * 50),
    _task("financial_qa", "f1", "f1", (8, 8, 8, 10, 8, 10)),
    _task("legal_contract_qa", "f1", "f1", (8, 8, 6, 6, 7, 8, 7, 6, 6, 6, 6, 7, 6, 6, 6, 6, 6, 6, 7, 6)),
    _task("multidoc_qa", "f1", "f1", (5, 5, 8, 7, 8, 7, 6, 8, 8, 6, 7, 8, 7, 8, 7, 7, 7, 5, 7, 5)),
    _task("narrative_qa", "f1", "f1", (), 182),
    _task("natural_question", "f1", "f1", (5, 5, 5, 7, 6, 5, 5, 5, 5, 10, 5, 5, 5, 5, 5, 5, 4, 4, 4, 4)),
    _task("scientific_qa", "f1", "f1", (11, 11, 8, 8, 6, 8, 6, 6, 7, 6, 6, 6, 7, 9, 10, 10, 8, 7, 9, 11)),
    _task("gov_report_summ", "rouge", "rouge", (1,) * 13),
    _task("meeting_summ", "rouge", "rouge", (5, 13, 7, 9, 5, 7, 7, 7, 13, 7, 6, 7, 7, 7, 7, 14, 7, 7, 7, 7)),
    _task("news_summ", "rouge", "rouge", (1,) * 11),
    _task("paper_assistant", "rouge", "rouge", (3,) * 20),
    _task("patent_summ", "rouge", "rouge", (1,) * 13),
    _task("review_summ", "rouge", "rouge", (6,) * 20),
    _task("tv_show_summ", "rouge", "rouge", (1,) * 13),
)
TASKS = MappingProxyType({task.name: task for task in _ALL})
# The published closed average leaves topic retrieval out.
CLOSED = ("tpo", "quality", "coursera", "sci_fi", "gsm100", "codeU")
WITH_F1 = tuple(task.name for task in _ALL if task.evaluation == "f1")
WITH_ROUGE = tuple(task.name for task in _ALL if task.evaluation == "rouge")
