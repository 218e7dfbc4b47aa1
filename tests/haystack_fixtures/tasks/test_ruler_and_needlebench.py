"""RULER's 13 tasks and NeedleBench's chains: answers worked out again from the text; RULER's questions of files."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from needlework.core.errors import InputError
from needlework.haystack_fixtures.configuration.presets import built_in_presets
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.tasks.catalogue import RULER_TASKS as RULER
from needlework.haystack_fixtures.tasks.catalogue import grid
from needlework.haystack_fixtures.tasks.published.ruler_questions import read_questions
from tests.haystack_fixtures.tasks.built import context, judged, mock_says, plain_trials, trials

seeds, languages = st.integers(0, 10_000), st.sampled_from(("en", "zh"))
NAMES = [task.name for task in RULER]
# Keys, values of each, and how many of the keys are asked for; `True`: the text is made of further ones.
NIAH = {
    "ruler_niah_single_1": (1, 1, 1, False),
    "ruler_niah_single_2": (1, 1, 1, False),
    "ruler_niah_single_3": (1, 1, 1, False),
    "ruler_niah_multikey_1": (4, 1, 1, False),
    "ruler_niah_multikey_2": (1, 1, 1, True),
    "ruler_niah_multikey_3": (1, 1, 1, True),
    "ruler_niah_multivalue": (1, 4, 1, False),
    "ruler_niah_multiquery": (4, 1, 4, False),
}
STATEMENT = {
    "en": r"One of the special magic (?:numbers|uuids) for (\S+) is: (\S+)\.",
    "zh": r"([0-9a-f-]{36}|\w{4})的特殊魔法(?:数字|UUID)之一是：([0-9a-f-]+)。",
}


def one(task, **options):
    """The only trial of a task at one length."""
    (trial,) = plain_trials(task, **{"language": "en"} | options)
    return trial


@pytest.mark.parametrize("task", NIAH)
@settings(max_examples=5)
@given(seed=seeds, language=languages)
def test_niah_by_its_text(task, seed, language):
    trial, (keys, values, queries, among) = one(task, seed=str(seed), language=language), NIAH[task]
    pairs = re.findall(STATEMENT[language], context(trial))
    asked = [value for key, value in pairs if key in trial.asked.question]
    assert sorted(asked) == sorted(trial.asked.reference["answers"] or trial.asked.reference["parts"])
    assert len(asked) == values * queries
    assert len({value for _, value in pairs}) == len(pairs) == len({key for key, _ in pairs}) * values
    assert len(pairs) > 20 if among else len(pairs) == keys * values
    assert set(trial.asked.reference["distractors"]) <= {value for _, value in pairs} - set(asked)
    if trial.asked.reference["distractors"]:
        assert judged(trial, mock_says(trial, "distractor")).for_asserting.verdict == "distractor"
    assert len(set(trial.asked.depths)) == len(trial.asked.needles)
    assert set(trial.asked.depths) <= {float(round(100 * number / 39)) for number in range(40)}


@pytest.mark.parametrize("thousands", [4, 8, 16, 32, 64, 128])
def test_presets_have_rulers_counts(thousands, tmp_path):
    assert f"ruler-{thousands}k" in built_in_presets()
    made = resolve_settings({"preset": f"ruler-{thousands}k"}, {}, tmp_path)
    found = grid(made)
    assert [series.suite.task for series in found] == NAMES
    assert all(len(series.cells) == 500 for series in found)
    assert {cell.length for series in found for cell in series.cells} == {thousands * 1024}
    assert all(series.suite.answer_prefix for series in found)
    budgets = {series.suite.task[6:]: series.suite.answer_budget for series in found}
    assert {budgets[task] for task in budgets if task.startswith("niah")} == {128}
    assert [budgets[task] for task in ("vt", "cwe", "fwe", "qa_1", "qa_2")] == [30, 120, 50, 32, 32]


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


def file_trials(path, task, **options):
    return list(trials(task, questions=path, corpus="noise", language="en", depths="50", **options))


def test_squad_questions_have_their_paragraph_and_others_of_the_article_first(written):
    path = written(squad())
    asked = set()
    for trial in file_trials(path, "ruler_qa_1", repeats="5", lengths="450", controls="none"):
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
    for trial in file_trials(path, "ruler_qa_2", repeats="4", lengths="700", controls="none"):
        told, texts = trial.asked.reference, re.split(r"Document \d+:\n", context(trial))[1:]
        row = told["answers"][0].removeprefix("Town")
        titles = [texts[number - 1].split("\n")[0] for number in told["gold"]]
        assert titles == [f"Picture {row}", f"Painter {row}"]
        assert "All were born in" in texts[told["gold"][1] - 1]
    found = {trial.cell.needle: trial for trial in file_trials(path, "ruler_qa_2", lengths="700")}
    (answer,) = found["questions"].asked.reference["answers"]
    assert answer in context(found["questions"])
    assert answer not in context(found["questions_absent"])
    assert "Document 5:" in context(found["questions_absent"])
    assert context(found["questions_focused"]).count("Document") == 2
    with pytest.raises(InputError, match="--questions has 8 questions; ask no more"):
        file_trials(path, "ruler_qa_2", repeats="9", lengths="700")


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


def test_traces_are_asked_at_the_first_length_that_holds_them(tmp_path):
    def windows(lengths):
        given = {"preset": "needlebench-v2-atc", "lengths": lengths, "language": "en"}
        asked = grid(resolve_settings(given, {}, tmp_path))
        return {(cell.needle, cell.length) for series in asked for cell in series.cells}

    short = {(f"n{entries}", 5000) for entries in (2, 4, 8, 16)}
    assert windows("5k") == short
    assert windows("5k,40k") == short | {(f"n{entries}", 40_000) for entries in (32, 64, 128, 256, 512)}
    with pytest.raises(InputError, match=r"too short for needlebench_atc at 2000 \(from --lengths 4460\): use"):
        windows("2k")
