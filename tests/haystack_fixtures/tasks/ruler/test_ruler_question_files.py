"""Questions of the user's for RULER's question answering, in the layouts of SQuAD and HotpotQA."""

import json
import re

import pytest

from needlework.core.errors import InputError
from needlework.haystack_fixtures.tasks.catalogue import grid
from needlework.haystack_fixtures.tasks.published.ruler_questions import read_questions
from tests.haystack_fixtures.tasks.built import build, builder, context, settings_of


def squad(articles=6, paragraphs=4):
    """An article is a colour, its paragraphs are numbered; one question has no answer (SQuAD v2)."""
    data = []
    for article in range(articles):
        rows = []
        for number in range(paragraphs):
            place = f"{article}{number}"
            context = (
                f"The harbour of colony {place} was built by engineer Q{place}. Ships called there in all seasons."
            )
            asked = [
                {"id": place, "question": f"Who built the harbour of {place}?", "answers": [{"text": f"Q{place}"}] * 2},
                {"id": f"{place}x", "question": "Who closed it?", "answers": [], "is_impossible": True},
            ]
            rows.append({"context": context, "qas": asked})
        data.append({"title": f"Article {article}", "paragraphs": rows})
    return {"version": "v2.0", "data": data}


def hotpot(rows=8):
    return [
        {
            "_id": str(row),
            "question": f"Where was the painter of picture {row} born?",
            "answer": f"Town{row}",
            "supporting_facts": [[f"Picture {row}", 0], [f"Painter {row}", 1]],
            "context": [
                [f"Picture {row}", [f"Picture {row} is a work of Painter {row}. ", "It hangs in a hall."]],
                [f"Frame {row}", ["A frame is made of wood."]],
                [f"Painter {row}", [f"Painter {row} had two sisters. ", f"All were born in Town{row}."]],
            ],
        }
        for row in range(rows)
    ]


@pytest.fixture
def written(tmp_path):
    def write(content):
        path = tmp_path / "questions.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return str(path)

    return write


def trials(path, task, **options):
    given = {"questions": path, "corpus": "noise", "lengths": "1k", "language": "en", "depths": "50"} | options
    made = builder(task, **given)
    return [build(made, series.suite, cell) for series in grid(settings_of(task, **given)) for cell in series.cells]


def test_squad_questions_have_their_paragraph_and_others_of_the_article_first(written):
    path = written(squad())
    asked = set()
    for trial in trials(path, "ruler_qa_1", repeats="5", lengths="450", controls="none"):
        told, texts = trial.asked.reference, re.split(r"Document \d+:\n", context(trial))[1:]
        (answer,) = told["answers"]
        place = answer[1:]
        assert place in trial.asked.question
        assert f"engineer {answer}." in texts[told["gold"][0] - 1]
        assert len(texts) == told["documents"]
        articles = [re.search(r"colony (\d)", text)[1] for text in texts]
        assert articles.count(place[0]) == min(4, len(texts))
        asked.add(place)
    assert len(asked) == 5


def test_hotpot_questions_have_their_supporting_pages_and_the_absent_twin_the_other_documents(written):
    path = written(hotpot())
    for trial in trials(path, "ruler_qa_2", repeats="4", lengths="700", controls="none"):
        told, texts = trial.asked.reference, re.split(r"Document \d+:\n", context(trial))[1:]
        row = told["answers"][0].removeprefix("Town")
        titles = [texts[number - 1].split("\n")[0] for number in told["gold"]]
        assert titles == [f"Picture {row}", f"Painter {row}"]
        assert "All were born in" in texts[told["gold"][1] - 1]
    found = {trial.cell.needle: trial for trial in trials(path, "ruler_qa_2", lengths="700")}
    (answer,) = found["questions"].asked.reference["answers"]
    assert answer in context(found["questions"])
    assert answer not in context(found["questions_absent"])
    assert "Document 5:" in context(found["questions_absent"])
    assert context(found["questions_focused"]).count("Document") == 2
    with pytest.raises(InputError, match="--questions has 8 questions; ask no more"):
        trials(path, "ruler_qa_2", repeats="9", lengths="700")


def test_equal_documents_are_one_and_answers_come_once(written):
    read = read_questions(written({"data": squad(articles=1)["data"] * 2}))
    assert len(read.documents) == 4
    assert read.questions[0].answers == ("Q00",)
    assert read.questions[0].near == (1, 2, 3)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "is not JSON"),
        ("3", "give the JSON file of SQuAD"),
        ('{"rows": []}', "give the JSON file of SQuAD"),
        ("[]", "no question with an answer"),
        ("[1]", "does not have the fields"),
        ('{"data": [{"title": "t"}]}', "KeyError: 'paragraphs'"),
        (json.dumps(squad(articles=1, paragraphs=1)), "has 1 documents; questions need 2 or more"),
        ('{"data": [{"paragraphs": [{"context": 7, "qas": []}]}]}', "7 is no text"),
    ],
)
def test_files_that_cannot_be_used_say_why(written, content, said):
    with pytest.raises(InputError, match=f"--questions.*{re.escape(said)}"):
        read_questions(written(content))
