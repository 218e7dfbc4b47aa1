"""Questions on documents: one panel a task, one sample a document or question."""

import pytest


@pytest.mark.parametrize(
    ("task", "needle", "repeat", "panel", "item", "arm", "sample"),
    [
        ("leval_tpo", "doc3_q7", 0, "questions", "doc3_q7", "", 3),
        ("leval_tpo", "doc3_q8", 1, "questions", "doc3_q8", "", 3),
        ("leval_tpo", "doc3_q8_bm25", 0, "questions_bm25", "doc3_q8", "bm25", 3),
        ("leval_gsm100", "doc0_q7", 0, "questions", "doc0_q7", "", 7),  # worked examples make no questions alike
        ("openai_mrcr", "n8_q0123", 0, "n8", "q0123", "", 123),
        ("niah", "doc3_q7", 2, "doc3_q7", "", "", 2),
        ("niah", "code_zh", 1, "code_zh", "", "", 1),
        ("doc_position", "q12_bm25", 7, "questions_bm25", "q12", "bm25", 12),
        ("doc_size", "q0_focused", 7, "questions_focused", "q0", "focused", 0),
        ("doc_position", "q3_zh_dense", 7, "questions_zh_dense", "q3", "dense", 3),
        ("doc_absent", "q3_near", 7, "questions_near", "q3", "near", 3),
    ],
)
def test_a_record_knows_its_panel_and_sample(make_record, task, needle, repeat, panel, item, arm, sample):
    record = make_record(task=task, needle=needle, repeat=repeat)

    assert (record.panel, record.sample_number, record.arm) == (panel, sample, arm)
    assert item in ("", record.item)


def test_a_question_with_a_name_is_a_sample_and_a_reference_may_number_it(make_record):
    named = [
        make_record(task="doc_size", needle=needle, repeat=at) for at, needle in enumerate(("q_who", "q_who_bm25"))
    ]

    assert (named[0].item, named[0].sample_number) == (named[1].item, named[1].sample_number)
    assert make_record(reference={"answers": ["4711"], "sample": 99}).sample == 99
