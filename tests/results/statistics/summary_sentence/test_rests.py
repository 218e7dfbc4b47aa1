"""How many independent questions a run rests on; in L-Eval those that share a document are one."""

from __future__ import annotations

from collections.abc import Callable

from needlework.core.record import Record
from needlework.results.statistics.run_followup import basis_of
from needlework.results.statistics.run_report import run_report

MakeRecord = Callable[..., Record]


def asked(make_record: MakeRecord, *needles: str) -> str:
    return basis_of(run_report([make_record(task="leval_tpo", needle=needle, depth=None) for needle in needles]))


def test_questions_on_one_document_are_told_with_their_documents(make_record: MakeRecord) -> None:
    assert asked(make_record, "doc0_q0", "doc0_q1", "doc1_q0") == "3 trials of 3 questions on 2 independent documents"
    assert asked(make_record, "doc0_q0", "doc0_q1") == "2 trials of 2 questions on 1 independent document"
    assert asked(make_record, "doc0_q0", "doc1_q0") == "2 trials of 2 independent questions"


def test_a_retriever_is_asked_the_same_questions(make_record: MakeRecord) -> None:
    four = ("doc0_q0", "doc0_q0_bm25", "doc0_q1", "doc0_q1_bm25")
    assert asked(make_record, *four) == "4 trials of 2 questions on 1 independent document"
