"""Rating answers: blind, in an order for each person, saved at every click; tables and files of what came out."""

import json
import re
from itertools import chain
from types import SimpleNamespace

import pytest

from needlework.core.errors import InputError
from needlework.results.records.journal import line_of
from needlework.results.web.app import digest_of
from needlework.results.web.command import find_sources
from needlework.results.web.ratings import read_items, sample_items
from tests.results.builders import new_record, write_rows, write_run
from tests.results.web.site import Site, opened, write_predictions


def rate(site, place, answer, level, *, status=303, **more):
    page = site.page(f"/rating/{place}")
    comments = re.findall(r'name="comment".*?>\n(.*?)</textarea>', page, re.DOTALL)
    fields = {"seen": site.form(f"/rating/{place}")["seen"], "comment": comments, "rate": f"{answer}:{level}"}
    return site.post(f"/rating/{place}/rate", {**fields, **more}, status)


def answers(site, place):
    return re.findall(r'<p class="text answer">(.*?)</p>', site.page(f"/rating/{place}"), re.DOTALL)


def rate_all(site, levels):
    """Rate every answer by its text."""
    for place in range(site.page("/rating/").count('<span class="title">')):
        for index, text in enumerate(answers(site, place)):
            rate(site, place, index, levels[text])


def pressed(site, place):
    return re.findall(r'value="(\d+:\d)" aria-pressed="true"', site.page(f"/rating/{place}"))


def test_nobody_sees_whose_answer_it_is_and_each_has_an_order(tmp_path):
    models = {name: [f"{name[0]} says {at}" for at in range(6)] for name in ("alphamodel", "betamodel", "gammamodel")}
    with opened(write_predictions(tmp_path / "p", models)) as ann:
        anns, bobs, again = (
            [answers(Site(ann.address, name), at) for at in range(6)] for name in ("Ann", "Bob", "ANN")
        )
        assert "model" not in "".join(ann.page(f"/rating/{at}") for at in range(6))
        assert anns == again != bobs
        assert sorted(chain(*anns)) == sorted(chain(*models.values()))
        assert len({tuple(text[0] for text in shown) for shown in anns}) > 1


def test_a_rating_is_saved_at_once_and_the_next_open_question_comes(tmp_path):
    folder = write_predictions(tmp_path / "p", {"one": ["a", "b"], "two": ["c", "d"]})
    with opened(folder) as ann:
        seen = ann.form("/rating/0")["seen"]
        assert rate(ann, 0, 1, 4) == "/rating/0"
        assert "has changed since you" in ann.post(
            "/rating/0/rate", {"seen": seen, "comment": ["", ""], "rate": "0:1"}, 409
        )
        assert pressed(ann, 0) == ["1:4"]
        for wrong in ({"rate": "0:6"}, {"rate": "9:1"}, {"rate": "x"}, {"comment": []}):
            assert rate(ann, 0, 0, 1, status=400, **wrong).startswith("rate:")
        assert rate(ann, 0, 0, 2, comment=["good", ""]) == "/rating/1"
        assert "1 rated" in ann.page("/rating/")
        assert pressed(Site(ann.address, "Bob"), 0) == []
        rate(ann, 0, 1, 4)  # once more takes it back
        assert pressed(ann, 0) == ["0:2"]
        seen = ann.form("/rating/1")["seen"]
        ann.post("/rating/1/skip", {"seen": seen, "reason": "no <sense>"})
        assert "You skipped this question: no <sense>" in ann.page("/rating/1")
        rate(ann, 1, 0, 3)
        assert "You skipped" not in ann.page("/rating/1")
    with opened(folder) as again:  # a new start
        assert pressed(again, 0) == ["0:2"]
        assert "good</textarea>" in again.page("/rating/0")
    write_predictions(folder, {"one": ["A", "B"], "two": ["C", "D"]})
    with opened(folder) as again:  # ratings are of a text
        assert pressed(again, 0) == []


def test_a_rating_of_before_0_1_0_was_of_one_models_answer(tmp_path):
    folder = write_predictions(tmp_path / "p", {"one": ["same"], "two": ["same"]})
    with opened(folder) as ann:
        rate(ann, 0, 0, 4)
    path = tmp_path / "ratings.json"
    content = json.loads(path.read_text())
    ((item, marks),) = content["raters"][0]["marks"].items()
    (mark,) = marks.values()
    earlier = digest_of(json.dumps([item, "two_pred", "same"]).encode())
    content["raters"][0]["marks"][item] = {earlier: mark}
    path.write_text(json.dumps(content))

    with opened(folder) as ann:
        assert pressed(ann, 0) == ["0:4"]


def test_results_wait_until_they_are_asked_for_and_what_comes_later_is_left_out(tmp_path):
    with opened(write_predictions(tmp_path / "p", {"one": ["a", "b"], "two": ["c", "d"]})) as ann:
        bob = Site(ann.address, "Bob")
        rate_all(ann, {"a": 5, "b": 5, "c": 1, "d": 2})
        rate_all(bob, {"a": 4, "b": 5, "c": 1, "d": 2})
        assert "one_pred" not in ann.page("/rating/results")
        ann.post("/rating/show", {})
        table = re.sub(r"<[^>]+>|\s+", " ", ann.page("/rating/results"))
        assert re.search(r"one_pred +4.75 .* 0 +0 +0 +1 +3 +4 ", table)
        assert re.search(r"Ann +Bob +4 +75 +100 ", table)
        rate(bob, 0, 0, 3)
        late = bob.page("/rating/results")
        assert "1 ratings were made after names were shown, and are left out" in late
        rate(Site(ann.address, "Cy"), 0, 0, 1)
        assert "one_pred" not in ann.page("/rating/results")  # Cy has not seen names


def test_files_have_levals_counts_and_every_rating(tmp_path):
    folder = write_predictions(tmp_path / "p", {"one": ["a", "same"], "two": ["c", "same"]})
    with opened(folder) as ann:
        rate_all(ann, {"a": 5, "c": 1, "same": 4})
        ann.post("/rating/write", {})
        assert not list(folder.glob("*_from_*"))  # they would name the models
        ann.post("/rating/show", {})
        ann.post("/rating/write", {})
        counts = json.loads((folder / "results_from_Ann.jsonl").read_text())
        assert counts == {"one_pred": {"5.0": 1, "4.0": 1}, "two_pred": {"1.0": 1, "4.0": 1}}
        rows = [json.loads(line) for line in (folder / "ratings_from_Ann.jsonl").read_text().splitlines()]
        assert {(row["question"], row["model"], row["rating"]) for row in rows} == {
            ("question 0?", "one_pred", 5), ("question 0?", "two_pred", 1),
            ("question 1?", "one_pred", 4), ("question 1?", "two_pred", 4),
        }  # fmt: skip
        assert not any(row["names_were_shown"] for row in rows)
        (folder / "results_from_Ann.jsonl").write_text("mine")
        assert "tick that files are replaced" in ann.post("/rating/write", {}, 400)
        assert (folder / "results_from_Ann.jsonl").read_text() == "mine"
        ann.post("/rating/write", {"replace": "1"})
        assert json.loads((folder / "results_from_Ann.jsonl").read_text()) == counts


def test_a_broken_file_of_ratings_is_told_and_not_written_over(tmp_path):
    folder = write_predictions(tmp_path / "p", {"one": ["a"]})
    state = tmp_path / "state.json"
    with opened(folder, state=state) as ann:
        rate(ann, 0, 0, 1)
        state.write_text('{"half')
        assert "is no file of ratings" in ann.page("/rating/", 400)
        assert "is no file of ratings" in ann.page("/")  # what else there is stays to be had
    with pytest.raises(InputError, match="is no file of ratings"), opened(folder, state=state):
        pass
    assert state.read_text() == '{"half'


def test_the_document_of_a_trial_is_built_again(tmp_path):
    write_run(tmp_path / "run", [new_record(response={"text": "4711"})])
    text = "Intro. " + "Story <b>. " * 90 + "End."
    placed = SimpleNamespace(name="tale.txt", start=7, end=len(text) - 4)
    prompt = SimpleNamespace(text=text, context=(7, len(text) - 4), placed=(placed,))
    with opened(tmp_path / "run", rebuild=lambda _run, _id: prompt) as ann:
        page = ann.page("/rating/0/document")
        assert "tale.txt" in page
        assert "Story <b>" in page
        assert "Intro" not in page


def read(*paths):
    return read_items(find_sources(paths, None))


def shown(items):
    def given(item):
        return {model: text for answer in item.answers for model, text in answer.by_model.items()}

    return [(item.question, given(item)) for item in items.items]


def test_answers_are_joined_by_question_and_reference_and_time(tmp_path):
    write_predictions(tmp_path, {"one": ["a", "b"], "two": ["c", "d", "e"]})
    assert shown(read(tmp_path)) == [
        ("question 0?", {"one_pred": "a", "two_pred": "c"}),
        ("question 1?", {"one_pred": "b", "two_pred": "d"}),
        ("question 2?", {"two_pred": "e"}),
    ]
    for name in ("one", "two"):
        rows = [{"query": "q", "gt": "g", f"{name}_pred": f"{name} {at}"} for at in range(2)]
        write_rows(tmp_path / f"{name}.pred.jsonl", rows)
    items = read(tmp_path)
    assert shown(items) == [("q", {"one_pred": f"one {at}", "two_pred": f"two {at}"}) for at in range(2)]
    assert len({item.id for item in items.items}) == 2
    kinds = [{"query": kind, "gt": "g", "m_pred": "x", "evaluation": kind} for kind in ("f1", "human", "LLM")]
    path = write_rows(tmp_path / "all" / "all.pred.jsonl", kinds)
    assert [item.question for item in read(path).items] == ["human"], "rows for people alone, where a file has such"
    write_rows(path, kinds[::2])
    assert [item.question for item in read(path).items] == ["f1", "LLM"]
    files = [write_predictions(tmp_path / name, {"m": [name]}) for name in ("after", "before")]
    assert read(*files).models == ["m_pred (after/m.pred.jsonl)", "m_pred (before/m.pred.jsonl)"], "other answers"


def test_the_document_of_levals_data_stands_beside_its_answers(tmp_path):
    row = {"instructions": ["question 0?", "question 1?"], "outputs": ["reference 0", "reference 1"]}
    data = write_rows(tmp_path / "data.jsonl", [row | {"input": "The document."}])
    folder = write_predictions(tmp_path / "p", {"one": ["a", "b"]})
    assert read(folder, data).is_grouped
    with opened(folder, data) as ann:
        assert "The document." in ann.page("/rating/0/document")


def test_broken_rows_and_runs_are_told_and_do_not_hide_others(tmp_path):
    path = write_predictions(tmp_path / "p", {"one": ["a"]}) / "one.pred.jsonl"
    path.write_text(path.read_text() + "\n{half\n[]\n")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "results.json").write_text('{"half')
    with opened(path, tmp_path / "run") as ann:
        page = ann.page("/rating/")
        for line in ("one.pred.jsonl, line 2: is no JSON object", "one.pred.jsonl, line 3", "run/results.json"):
            assert line in page


def test_trials_of_runs_are_joined_by_their_id(tmp_path):
    texts = {"a": "The code is 4711.", "b": "No idea."}
    for model, text in texts.items():
        records = [
            new_record(model=model, response={"text": text}, depth=0.0),
            new_record(model=model, response={"text": ""}, depth=100.0, outcome="empty", answer=""),
            new_record(model=model, outcome="error", depth=50.0, response={"text": ""}),
        ]
        write_run(tmp_path / model, records)
    items = read(tmp_path)
    assert shown(items) == [("What is the code?", texts), ("What is the code?", {"a": "", "b": ""})]
    assert items.items[0].references == ("4711",)
    assert items.items[0].group == items.items[1].group  # one needle and haystack


def test_a_question_of_runs_is_rated_in_one_of_its_contexts(tmp_path):
    absent = {"control": "absent", "absent": True}
    for model, depths in {"a": (0.0, 25.0, 50.0, 75.0), "b": (0.0, 50.0)}.items():
        records = [new_record(model=model, depth=depth, response={"text": f"{model} {depth}"}) for depth in depths]
        gone = {"reference": absent, "needle": "code_absent", "expected": ["NOT FOUND"]}
        records.append(new_record(model=model, depth=100.0, response={"text": "no"}, **gone))
        write_run(tmp_path / model, records)
    items = read(tmp_path).items
    (once,) = sample_items(items, None)
    questions = read(write_predictions(tmp_path / "p", {"one": [f"text {at}" for at in range(9)]})).items
    drawn = sample_items(questions, 4)
    assert (len(drawn), drawn) == (4, sample_items(questions[::-1], 4)[::-1]), "the same for everyone"
    assert once.plain
    assert sum(len(answer.by_model) for answer in once.answers) == 2, "both models answered in it"


def test_a_run_that_is_not_finished_is_read_from_its_journal(tmp_path):
    (tmp_path / "journal.jsonl").write_text(f"{line_of(new_record(answer='4711', response={}))}\n")
    assert shown(read(tmp_path)) == [("What is the code?", {"mock": "4711"})]
