"""Questions on documents: one panel a task, one sample a document."""

import pytest


@pytest.mark.parametrize(
    ("task", "needle", "repeat", "panel", "sample"),
    [
        ("leval_tpo", "doc3_q7", 0, "questions", 3),
        ("leval_tpo", "doc3_q8", 1, "questions", 3),
        ("leval_tpo", "doc3_q8_bm25", 0, "questions_bm25", 3),
        ("leval_gsm100", "doc0_q7", 0, "questions", 7),  # worked examples make no questions alike
        ("openai_mrcr", "n8_q0123", 0, "n8", 123),
        ("niah", "doc3_q7", 2, "doc3_q7", 2),
        ("niah", "code_zh", 1, "code_zh", 1),
    ],
)
def test_a_record_knows_its_panel_and_sample(make_record, task, needle, repeat, panel, sample):
    record = make_record(task=task, needle=needle, repeat=repeat)

    assert (record.panel, record.sample_number) == (panel, sample)


def test_a_reference_may_name_the_sample(make_record):
    assert make_record(reference={"answers": ["4711"], "sample": 99}).sample == 99
