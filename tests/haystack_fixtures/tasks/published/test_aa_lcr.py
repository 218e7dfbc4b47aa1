"""AA-LCR: the documents of a question in their order, the prompt as published, the judge of the answers' version."""

import pytest

from needlework.core.errors import InputError
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.tasks.catalogue import TASKS, grid
from needlework.haystack_fixtures.tasks.published import aa_lcr
from tests.aa_lcr_data import write_copy
from tests.haystack_fixtures.tasks.built import run_of

PROMPT = """BEGIN INPUT DOCUMENTS

BEGIN DOCUMENT 1:
It was passed in May.
END DOCUMENT 1

BEGIN DOCUMENT 2:
The act has 12 sections.
END DOCUMENT 2

END INPUT DOCUMENTS

Answer the following question using the input documents provided above.

START QUESTION

How many sections has the act?

END QUESTION"""


@pytest.mark.parametrize("packed", [False, True])
def test_a_question_has_its_documents_in_their_order_whatever_their_names_became(tmp_path, packed):
    builder, cells = run_of(tmp_path, preset="aa-lcr", data=write_copy(tmp_path, packed=packed), judge=["mock:judge"])
    first, *others = [builder.build(suite, cell) for suite, cell in cells if cell.repeat == 0]

    assert first.prompt.messages[-1].content == PROMPT
    assert [trial.cell.needle for trial in (first, *others)] == ["q001", "q002", "q003"]
    samples = [trial.asked.reference["sample"] for trial in (first, *others)]
    assert samples[0] == samples[1] != samples[2], "questions on one set of documents are one sample"
    assert len(cells) == 9, "three repeats"
    suite = cells[0][0]
    assert TASKS["aa_lcr"].notes(suite, False) == [
        "1 questions are left out, as the copy lacks a text of theirs (q004: losttxt)"
    ]


def test_answers_of_one_version_are_refused_with_the_judge_of_the_other(tmp_path, monkeypatch):
    data = write_copy(tmp_path)

    def cells(preset):
        return grid(resolve_settings({"preset": preset, "data": data, "judge": ["mock:judge"]}, {}, tmp_path))

    with pytest.raises(InputError, match=r"the answers of version 1\.1, .*: --preset aa-lcr"):
        cells("aa-lcr-1-0")
    monkeypatch.setattr(aa_lcr, "answers_version", lambda _data: "1.0")
    with pytest.raises(InputError, match=r"the answers of version 1\.0, .*: --preset aa-lcr-1-0"):
        cells("aa-lcr")
    assert len(cells("aa-lcr-1-0")) == 3


def test_a_copy_without_texts_is_refused(tmp_path):
    write_copy(tmp_path)
    alone = tmp_path / "alone"
    alone.mkdir()
    (tmp_path / "AA-LCR_Dataset.csv").rename(alone / "AA-LCR_Dataset.csv")

    with pytest.raises(InputError, match="has none of the documents' texts"):
        run_of(tmp_path, preset="aa-lcr", data=str(alone), judge=["mock:judge"])
