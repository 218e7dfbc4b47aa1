"""The review page's routes: what is shown, what is kept, and the reviewed file."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from needlework.core.errors import InputError
from needlework.haystack_fixtures.documents.questions import read_question_set
from tests.results.web.editing_questions_site import HOST, QUESTIONS, Site, write_documents, write_questions

EDIT = {"question": "Who kept a grey cat?", "answers": ["Mara Voss"], "document": "harbour.txt", "supporting": []}


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    return write_documents(tmp_path / "documents")


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    return write_questions(tmp_path / "work" / "q.checked.json")


@pytest.fixture
def site(questions: Path, documents: Path) -> Site:
    return Site(questions, documents)


def competitors(site: Site, key: str) -> Any:
    while True:
        told = site.get("competitors", key=key, by="Ann")
        if told["ready"] and told["twins"] is not None:
            return told
        time.sleep(0.01)


def test_a_pair_is_shown_with_what_the_check_found(site: Site) -> None:
    pair = site.get("pairs")["pairs"][0]

    assert (pair["key"], pair["check"], pair["reasons"]) == ("0", "review", ["ambiguous: mills.txt"])
    assert pair["answers"] == ["1874"]
    assert pair["facts"] == {"support": 1.0, "also_in": ["mills.txt"], "mine": {"kept": [1.5, None]}}


def test_the_answers_document_comes_with_the_places_of_the_answer(site: Site) -> None:
    told = site.get("document", key="0", by="Ann")
    found = site.get("places", key="0", by="Ann")
    text = told["text"]

    assert told["name"] == "harbour.txt"
    assert [text[start:end] for start, end in found["places"]] == ["1874"]
    assert found["literal"]


def test_competitors_are_the_checks_then_holders_then_the_likest_and_twins_are_apart(site: Site) -> None:
    told = competitors(site, "0")

    assert [(each["name"], each["why"]) for each in told["listed"]] == [("mills.txt", "check"), ("letters.txt", "like")]
    assert [each["name"] for each in told["twins"]] == ["copy of harbour.txt"]
    assert [each["why"] for each in competitors(site, "1")["listed"]][:1] == ["answer"]


def test_an_edit_is_what_is_looked_for_from_then_on(site: Site) -> None:
    site.decide("Ann", "0", "accept", pair={**EDIT, "answers": ["grey cat"]})

    assert site.get("places", key="0", by="Ann")["literal"]
    assert site.get("places", key="0", by="Ann") != site.get("places", key="0", by="Bob")


def test_decisions_are_there_after_a_restart(site: Site, questions: Path, documents: Path) -> None:
    site.decide("Ann", "0", "accept")
    site.decide("Ann", "1", "reject", reason="  unclear  ")
    again = Site(questions, documents)

    assert again.opinions("0") == [("Ann", "accept")]
    assert again.get("pairs")["states"]["1"]["opinions"][0]["reason"] == "unclear"
    assert "Ann 2" in again.client.get("/").text


def test_what_is_taken_back_leaves_what_was_said_before(site: Site) -> None:
    first = site.decide("Ann", "0", "accept")["number"]
    second = site.decide("Ann", "0", "reject")["number"]
    other = site.decide("Ann", "1", "accept")["number"]

    assert site.post("undo", {"by": "Ann", "number": other})["key"] == "1"
    assert site.post("undo", {"by": "Ann", "number": second})["key"] == "0"
    assert site.opinions("0") == [("Ann", "accept")]
    site.post("undo", {"by": "Ann", "number": first})
    assert "nothing to take back" in site.post("undo", {"by": "Ann", "number": 0}, 409)["error"]


def test_another_window_of_the_same_reviewer_does_not_win_in_silence(site: Site) -> None:
    site.decide("Ann", "0", "accept")
    told = site.decide("Ann", "0", "reject", http=409, seen=0)

    assert "another window" in told["error"]
    assert [each["status"] for each in told["states"]["0"]["opinions"]] == ["accept"]
    assert "another one" in site.post("undo", {"by": "Ann", "number": 99}, 409)["error"]
    assert site.opinions("0") == [("Ann", "accept")]


def test_reviewers_at_once_lose_nothing(site: Site) -> None:
    people = ["Ann", "Bob", "Cem", "Dia"]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda by: [site.decide(by, key, "accept") for key in ("0", "1", "2")], people))

    assert all(sorted(site.opinions(key)) == [(by, "accept") for by in people] for key in ("0", "1", "2"))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"verdict": "reject", "reason": " "}, "why"),
        ({"verdict": "accept", "pair": {**EDIT, "document": "lost.txt"}}, "lost.txt"),
        ({"verdict": "accept", "pair": {**EDIT, "supporting": ["lost.txt"]}}, "lost.txt"),
        ({"verdict": "accept", "pair": {**EDIT, "answers": []}}, "answer is empty"),
        ({"verdict": "maybe"}, "accept, reject"),
        ({"verdict": "accept", "by": " "}, "name"),
    ],
)
def test_what_cannot_stand_is_refused_with_one_line(site: Site, change: dict[str, Any], problem: str) -> None:
    body = {"by": "Ann", **change}
    told = site.decide(body.pop("by"), "0", body.pop("verdict"), http=400, **body)

    assert problem in told["error"]
    assert site.opinions("0") == []


def test_a_pair_whose_document_is_not_there_is_not_accepted_but_can_be_mended(site: Site) -> None:
    assert "lost.txt" in site.decide("Ann", "3", "accept", http=400)["error"]
    assert "lost.txt" in site.get("document", 404, key="3", by="Ann")["error"]
    site.decide("Ann", "3", "accept", pair={**EDIT, "document": "letters.txt"})
    assert site.get("document", key="3", by="Ann")["name"] == "letters.txt"


def test_the_reviewed_file_keeps_every_field_and_is_what_runs_read(site: Site) -> None:
    site.decide("Ann", "0", "accept")
    site.decide("Ann", "1", "accept", pair=EDIT)
    site.decide("Ann", "3", "reject", reason="its document is lost")
    told = site.write("Ann")
    rows = site.reviewed

    assert list(rows) == list(QUESTIONS)
    assert rows["0"] == {**QUESTIONS["0"], "status": "accept", "decision": rows["0"]["decision"]}
    assert rows["1"]["answer"] == ["Mara Voss"]  # a list, as it was
    assert rows["1"]["decision"]["edited"] == ["question", "answers"]
    assert rows["2"] == QUESTIONS["2"]
    assert rows["3"]["status"] == "reject"
    assert rows["3"]["decision"] | {"at": ""} == {
        "status": "reject", "by": "Ann", "at": "", "reason": "its document is lost",
    }  # fmt: skip
    assert told["decided"] == {"accept": 1, "edit": 1, "reject": 1}
    assert told["undecided"] == {"no status": 1}
    path = Path(told["path"])
    assert told["sha256"] == sha256(path.read_bytes()).hexdigest() == read_question_set(str(path)).sha256
    assert [each.key for each in read_question_set(str(path)).questions] == ["0", "1", "2"]
    assert told["command"].startswith("pytest benchmarks --preset own-documents --documents ")


def test_all_decided_is_a_reviewed_set(site: Site) -> None:
    for key in ("0", "1", "2"):
        site.decide("Ann", key, "accept")
    site.decide("Ann", "3", "reject")

    assert read_question_set(site.write("Ann")["path"]).reviewed


def test_where_reviewers_disagree_it_is_shown_and_the_writers_decision_counts(site: Site) -> None:
    for by, verdict in (("Ann", "accept"), ("Bob", "reject")):
        site.decide(by, "0", verdict)
        site.decide(by, "2", "accept")
    site.decide("Ann", "1", "accept")
    site.decide("Bob", "1", "accept", pair=EDIT)
    states = site.get("pairs")["states"]

    assert [states[key]["disagree"] for key in ("0", "1", "2")] == [True, True, False]
    told = site.write("Bob")
    assert told["disagreements"] == 2
    assert [site.reviewed[key]["decision"]["status"] for key in ("0", "1")] == ["reject", "accept"]


def test_a_file_of_others_is_not_written_over_unasked(site: Site) -> None:
    target = write_questions(site.questions.with_name("q.reviewed.json"))
    told = site.write("Ann")

    assert "not written by this page" in told["exists"]
    assert json.loads(target.read_text()) == QUESTIONS
    site.write("Ann", replace=told["sha256"])
    site.decide("Ann", "0", "accept")
    assert "sha256" in site.write("Ann")  # one's own is written again
    assert "decisions of Ann" in site.write("Bob")["exists"]


def test_rows_that_no_run_can_ask_are_told(site: Site) -> None:
    assert [line for line in site.write("Ann")["problems"] if "lost.txt" in line]


def test_a_changed_file_is_told_and_old_decisions_do_not_count(site: Site, questions: Path) -> None:
    before = site.get("pairs")
    site.decide("Ann", "0", "accept")
    site.decide("Ann", "1", "accept")
    row = {**QUESTIONS["0"], "answer": "1875"}
    write_questions(questions, {"new": QUESTIONS["2"], "0": row, "1": {**QUESTIONS["1"], "status": "review"}})
    now = site.get("pairs")

    assert site.get("changes", since=0)["sha256"] != before["sha256"]
    assert [each["key"] for each in now["pairs"]] == ["new", "0", "1"]
    assert now["states"]["0"]["opinions"][0]["stale"]
    assert not now["states"]["1"]["opinions"][0]["stale"]  # only what the check says has changed
    about = before["pairs"][0]["about"]
    assert "changed on disk" in site.decide("Bob", "0", "accept", http=409, about=about)["error"]
    assert "changed on disk" in site.decide("Bob", "2", "accept", http=409)["error"]
    assert site.write("Ann")["decided"] == {"accept": 1}
    assert site.reviewed["0"] == row


def test_an_earlier_decision_in_the_file_stays(questions: Path) -> None:
    decision = {"status": "reject", "by": "Eve", "at": "2026-01-01T00:00:00+00:00", "note": [1]}
    write_questions(questions, {"0": {**QUESTIONS["0"], "decision": decision}, "1": QUESTIONS["1"]})
    site = Site(questions)
    told = site.write("Ann")

    assert site.get("pairs")["pairs"][0]["earlier"] == decision
    assert (told["earlier"], site.reviewed["0"]["decision"]) == (1, decision)


def test_without_documents_pairs_can_be_reviewed_all_the_same(questions: Path) -> None:
    site = Site(questions)
    site.decide("Ann", "3", "accept")

    assert "--documents" in site.get("document", 404, key="0", by="Ann")["error"]
    assert site.opinions("3") == [("Ann", "accept")]


def test_only_what_is_looked_up_is_answered(site: Site) -> None:
    for number in ("-1", "99", "1e3", "../people.sqlite", "٣"):
        assert site.get("document", 404, key="0", number=number)
    assert site.get("places", 404, key="../0", by="Ann")
    assert site.client.get("/editing/7/pairs").status_code == 404
    assert site.client.get("/editing/0/changes", params={"since": "x"}).status_code == 400


def test_strange_texts_do_not_break_the_page(questions: Path, documents: Path) -> None:
    odd = "a\u2028b \ud800 \u202eright <script>alert(1)</script> שלום"
    write_questions(questions, {odd: {"question": odd, "answer": odd, "answer_doc": "harbour.txt", "x": {odd: odd}}})
    site = Site(questions, documents)

    assert site.get("pairs")["pairs"][0]["question"] == odd
    assert site.client.get("/editing/0/").status_code == 200
    site.decide("Ann", odd, "accept")
    assert site.opinions(odd) == [("Ann", "accept")]
    site.write("Ann")
    assert site.reviewed[odd]["x"] == {odd: odd}


def test_one_file_is_opened_at_once(site: Site) -> None:
    answer = site.client.get("/editing/", follow_redirects=False)

    assert answer.headers["location"] == "/editing/0/"
    assert HOST in str(site.client.base_url)


def test_a_file_of_another_layout_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "list.json"
    path.write_text("[1]", encoding="ascii")

    with pytest.raises(InputError, match="another layout"):
        Site(path)
