"""Retrieval beside the whole documents, by hand."""

import json

import pytest

from needlework.results.files.json_files import results_bytes
from needlework.results.gates.gate import groups_of, parse_gate
from needlework.results.html.report import html_text
from needlework.results.report.documents import retrieval_sections
from needlework.results.report.section import section_lines
from needlework.results.statistics.comparison.comparison import compare
from needlework.results.statistics.documents import arm_scores
from needlework.results.statistics.panels import asked_of, summarise
from needlework.results.statistics.run_report import run_report
from needlework.results.statistics.tasks import task_scores
from tests.results.clopper_pearson import clopper_pearson
from tests.results.html.pages import EVIL, Page

FACTS = {"retriever": "bm25", "embedder": None, "k": 4, "chunk_size": 1000, "chunk_overlap": 200, "unit": "characters"}


@pytest.fixture
def ask(make_record):
    """`ask(scores, arm="bm25", ranks=[...])`: a question of each document, with these scores, as L-Eval's are."""

    def build(scores, *, arm="", ranks=None, **facts):
        records = []
        for number, score in enumerate(scores):
            needle, prompt, reference = f"doc{number}_q0", {"tokens": 9000}, {"answers": ["a"]}
            if arm:
                retrieval = {**FACTS, "retriever": arm, "gold": None, "rank": None, "answer_recall": None, **facts}
                if ranks is not None:
                    retrieval |= {"gold": f"doc{number}", "rank": ranks[number]}
                reference |= {"retriever": arm, "twin": needle}
                prompt, needle = {"tokens": 1000, "retrieval": retrieval}, f"{needle}_{arm}"
            fields = {"outcome": "error" if score is None else "partial", "score": score, "prompt": prompt}
            records.append(make_record(task="leval_tpo", needle=needle, depth=None, reference=reference, **fields))
        return records

    return build


def test_an_arm_is_compared_with_the_same_questions_on_the_whole_documents(ask):
    records = ask([1.0, 1.0, 0.0, 1.0, None]) + ask([1.0, 0.0, 0.0, None, 1.0], arm="bm25")
    (row,) = arm_scores(records)
    (task,) = task_scores(asked_of(records))

    assert (row.score.n, row.score.mean) == (4, 0.5)
    assert (task.overall.n, task.overall.mean) == (4, 0.75), "nothing retrieved is in a task's score"
    assert {panel.needle: panel.overall.n for panel in summarise(records)} == {"questions": 4, "questions_bm25": 4}
    assert row.paired.difference.n == 3  # two questions have no score on one side
    assert (row.paired.arm, row.paired.whole) == pytest.approx((1 / 3, 2 / 3))
    assert row.paired.difference.mean == pytest.approx(-1 / 3)
    assert row.paired.difference.low is None  # three samples
    assert (row.paired.arm_tokens, row.paired.whole_tokens) == (1000, 9000)


def test_where_the_whole_was_asked_at_several_depths_their_mean_counts(ask, make_record):
    whole = [
        make_record(task="leval_tpo", needle="doc0_q0", depth=depth, outcome="partial", score=score)
        for depth, score in ((0.0, 1.0), (50.0, 0.0), (100.0, 0.5))
    ]
    paired = arm_scores(whole + ask([1.0], arm="bm25"))[0].paired

    assert (paired.whole, paired.difference.mean, paired.difference.n, paired.difference.low) == (0.5, 0.5, 1, None)


def test_recall_and_rank_are_of_the_answers_own_document_and_need_no_score(ask):
    (row,) = arm_scores(ask([1.0, 1.0, 0.0, 0.5], arm="bm25", ranks=[1, 2, None, 4]))
    (unscored,) = arm_scores(ask([None, 1.0], arm="bm25", ranks=[1, 1], answer_recall=0.5))

    assert (row.recall_at_k.value, row.recall_at_k.n) == (0.75, 4)
    assert (row.recall_at_k.low, row.recall_at_k.high) == pytest.approx(clopper_pearson(0.75, 4))
    assert row.reciprocal_rank.value == pytest.approx((1 + 1 / 2 + 0 + 1 / 4) / 4)
    assert (row.score_if_found.n, row.score_if_found.mean) == (3, pytest.approx(2.5 / 3))
    assert (row.score_if_missed.n, row.score_if_missed.mean, row.paired) == (1, 0.0, None)
    assert (unscored.recall_at_k.n, unscored.answer_recall.n, unscored.answer_recall.value) == (2, 2, 0.5)
    assert (unscored.score_if_found.n, unscored.score_if_found.trials) == (1, 2)


def test_each_retriever_has_a_row_and_the_order_of_records_does_not_matter(ask):
    records = ask([1.0] * 3) + ask([0.5] * 3, arm="dense", embedder="st:m") + ask([1.0] * 3, arm="bm25")
    rows = arm_scores(records)

    assert [(row.retriever, row.embedder) for row in rows] == [("bm25", None), ("dense", "st:m")]
    assert arm_scores(records[::-1]) == rows
    assert arm_scores(ask([1.0])) == ()


def test_gates_and_comparisons_see_what_was_retrieved_only_where_nothing_else_was_asked(ask):
    both, alone = ask([1.0, 0.0]) + ask([1.0, 0.0], arm="bm25"), ask([1.0, 1.0], arm="bm25")
    counts = [
        len(groups_of(parse_gate(gate), both)["all"]) for gate in ("score >= 0.9", "score >= 0 [retriever = bm25]")
    ]

    assert counts == [2, 2]
    assert {record.needle for record in groups_of(parse_gate("score >= 0.9"), both)["all"]} == {"doc0_q0", "doc1_q0"}
    assert [compare(*pair).whole.n for pair in ((both, both), (both, alone), (alone, alone))] == [2, 2, 2]


def test_the_table_says_what_its_words_mean(ask):
    records = ask([1.0] * 12) + ask([1.0, 0.0] * 6, arm="bm25", ranks=[1, None] * 6, answer_recall=0.5)
    lines = section_lines(retrieval_sections(arm_scores(records)), ascii_only=True)
    head, row = lines[1:3]

    assert head.split()[0] == "task"
    for word in ("retriever", "score %", "whole %", "vs whole", "recall %", "MRR", "words %", "if found %", "tokens"):
        assert word in head
    for cell in ("bm25, 4", "-50.0 (", "1,000 / 9,000"):
        assert cell in row
    assert any(line.startswith("  recall %: of questions") for line in lines)
    assert "".join(lines).isascii()
    assert retrieval_sections(()) == []


def test_columns_that_nothing_fills_are_left_out_and_cut_chunks_are_told(ask):
    (section,) = retrieval_sections(arm_scores(ask([1.0, 1.0], arm="dense", cut_chunks=3)))

    assert section.tables[0].head == ("task", "retriever", "score %", "95 %", "n")
    assert section.notes[-1].startswith("leval_tpo, dense: the embedder read only the beginning of some chunks in 2")


def test_reports_have_it_and_stay_pages_whatever_names_say(ask):
    report = run_report(ask([1.0, 0.0]) + ask([1.0, 1.0], arm=EVIL, embedder=EVIL))
    title = "Search in place of reading everything"

    (row,) = json.loads(results_bytes(report))["retrieval"]
    assert row["paired"]["difference"]["n"] == 2
    assert {"recall_at_k", "score_if_found", "score_if_missed", "cut_chunks"} <= row.keys()
    assert title in Page(html_text(report, title="t")).inside("bdi")
    assert title not in Page(html_text(run_report(ask([1.0])), title="t")).inside("bdi")
