"""Questions on documents: one panel a task, one sample a document."""

from needlework.results.records.samples import panel_and_sample


def test_questions_are_one_panel_and_their_document_is_their_sample():
    assert (
        panel_and_sample("leval_tpo", "doc3_q7", 0) == panel_and_sample("leval_tpo", "doc3_q8", 1) == ("questions", 3)
    )


def test_worked_examples_make_no_questions_alike():
    assert panel_and_sample("leval_gsm100", "doc0_q7", 0) == ("questions", 7)


def test_needles_stay_what_they_are():
    assert panel_and_sample("niah", "doc3_q7", 2) == ("doc3_q7", 2)
    assert panel_and_sample("niah", "code_zh", 1) == ("code_zh", 1)
