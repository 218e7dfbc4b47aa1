"""The rating page's routes: what is kept, what is told, and what is not told before the end."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from needlework.results.web import rating_pages as rating_page
from needlework.results.web.rating_tables import AnswerRating, results_of
from tests.results.web.rating_site import HEADERS, HOST, Site, predictions
from tests.results.web.run_folders import record, write_journal

MODELS = {"alpha": ["good 0", "good 1", "good 2"], "beta": ["bad 0", "bad 1", "bad 2"]}
MARKS = {f"good {at}": 5 for at in range(3)} | {f"bad {at}": 1 + at // 2 for at in range(3)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    predictions(tmp_path / "answers", MODELS)
    return tmp_path / "answers"


@pytest.fixture
def site(folder: Path) -> Site:
    return Site(folder, state=folder.parent / "people.sqlite")


def test_what_was_said_is_there_after_a_restart(site: Site, folder: Path) -> None:
    ann = site.begin("Ann")
    site.rate(ann, 1, 0, 4, comment="short 你好 \ud800")
    before = site.get(f"/of/{ann}/items/1")
    again = Site(folder, state=folder.parent / "people.sqlite")

    assert again.begin("  ANN ") == ann
    assert again.get(f"/of/{ann}/items/1") == before
    assert [each["rating"] for each in before["answers"]] == [4, None]
    assert before["answers"][0]["comment"] == "short 你好 \ufffd"  # SQLite has no half of a surrogate pair
    assert before["states"] == ["open", "begun", "open"]


def test_no_model_is_named_before_the_results_are_shown(site: Site) -> None:
    ann = site.begin("Ann")
    site.rate_by(ann, MARKS)
    items = [json.dumps(site.get(f"/of/{ann}/items/{place}")) for place in range(3)]
    pages = [site.page(path) for path in ("/", f"/of/{ann}/", "/results")]

    assert not [text for text in (*items, *pages) if "alpha" in text or "beta" in text]
    assert site.client.get(f"/rating/of/{ann}/files/results").status_code == 403
    site.post("/show", {})
    assert "alpha" in site.page("/results")


def test_two_annotators_see_other_orders_and_not_each_others_ratings(site: Site) -> None:
    people = [site.begin(name) for name in "abcdefgh"]
    site.rate(people[0], 0, 0, 5)

    assert all(each["rating"] is None for each in site.get(f"/of/{people[1]}/items/0")["answers"])
    orders = {tuple(site.get(f"/of/{one}/items/{place}")["question"] for place in range(3)) for one in people}
    assert len(orders) > 2


def test_a_second_tab_does_not_win_in_silence(site: Site) -> None:
    ann = site.begin("Ann")
    body = {"place": 0, "answer": 0, "comment": "", "seen": 0}
    first = site.post(f"/of/{ann}/rate", {**body, "rating": 5})
    stale = site.post(f"/of/{ann}/rate", {**body, "rating": 1}, 409)

    assert "changed elsewhere" in stale["error"]
    assert stale["mark"] == first["mark"]
    site.post(f"/of/{ann}/rate", {**body, "rating": 1, "seen": stale["mark"]["seen"]})
    assert site.get(f"/of/{ann}/items/0")["answers"][0]["rating"] == 1


def test_two_at_once_lose_nothing(site: Site) -> None:
    people = [site.begin(name) for name in ("Ann", "Bob", "Cem")]
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda one: site.rate_by(one, MARKS), people))
    for one in people:
        assert set(site.get(f"/of/{one}/items/0")["states"]) == {"rated"}


def test_undo_goes_back_click_by_click(site: Site) -> None:
    ann = site.begin("Ann")
    site.rate(ann, 0, 0, 2)
    site.rate(ann, 0, 0, 4)
    site.rate(ann, 2, 1, 5)

    def ratings(place: int) -> list[int | None]:
        return [each["rating"] for each in site.get(f"/of/{ann}/items/{place}")["answers"]]

    assert site.post(f"/of/{ann}/undo", {}) == {"place": 2, "undone": True}
    assert ratings(2) == [None, None]
    site.post(f"/of/{ann}/undo", {})
    assert ratings(0) == [2, None]
    site.post(f"/of/{ann}/undo", {})
    assert ratings(0) == [None, None]
    assert site.post(f"/of/{ann}/undo", {}) == {"place": None, "undone": False}


def test_a_question_can_be_skipped_and_a_rating_takes_that_back(site: Site) -> None:
    ann = site.begin("Ann")
    kept = site.post(f"/of/{ann}/skip", {"place": 1, "skipped": True, "reason": "not English", "seen": 0})
    assert (kept["state"], kept["item"]["comment"]) == ("skipped", "not English")
    assert site.get(f"/of/{ann}/items/1")["states"][1] == "skipped"

    assert site.rate(ann, 1, 0, 3)["item"]["skipped"] is False
    assert site.get(f"/of/{ann}/items/1")["states"][1] == "begun"


@pytest.mark.parametrize(
    "body",
    [
        {"rating": 6},
        {"rating": 0},
        {"rating": 2.5},
        {"rating": True},
        {"answer": 2},
        {"answer": -1},
        {"place": 3},
        {"comment": 7},
        {"comment": "x" * 10_001},
        {"seen": "1"},
    ],
)
def test_what_no_page_sends_is_refused_in_one_line(site: Site, body: dict[str, object]) -> None:
    ann = site.begin("Ann")
    whole = {"place": 0, "answer": 0, "rating": 3, "comment": "", "seen": 0}
    told = site.post(f"/of/{ann}/rate", {**whole, **body}, 400)
    assert "give a" in told["error"]
    assert "\n" not in told["error"]


def test_there_is_no_way_to_what_is_not_there(site: Site) -> None:
    ann = site.begin("Ann")
    for path in ("/of/99/", f"/of/{ann}/items/3", "/documents/0", f"/of/{ann}/files/other"):
        assert site.client.get(f"/rating{path}").status_code == 404
    assert site.client.post("/rating/show", json={}).status_code == 403
    json_headers = {**HEADERS, "content-type": "application/json"}
    assert site.client.post("/rating/show", content="[]", headers=json_headers).status_code == 400
    assert site.client.get("/rating/", headers={"host": f"evil.{HOST}"}).status_code == 403


def test_a_name_is_needed(site: Site) -> None:
    assert "give a name" in site.post("/begin", {"name": " \u200b\n"[::2]}, 400)["error"]


def test_results_wait_until_all_who_began_are_done_or_someone_asks(site: Site) -> None:
    ann, bob = site.begin("Ann"), site.begin("Bob")
    site.rate_by(ann, MARKS)
    site.rate(bob, 0, 0, 3)
    site.post(f"/of/{ann}/done", {"done": True})

    assert 'Not done yet: <b class="plain">Bob</b> (0 of 3)' in site.page("/results")
    site.post(f"/of/{bob}/done", {"done": True})
    assert "All are done" in site.page("/results")
    site.post("/show", {})
    assert "What each model got" in site.page("/results")


def test_ratings_after_names_were_shown_are_left_out_and_counted(site: Site) -> None:
    ann = site.begin("Ann")
    site.rate(ann, 0, 0, 3)
    site.post("/show", {})
    site.rate(ann, 1, 0, 3)

    assert "1 ratings were made after names were shown, and are left out" in site.page("/results")
    assert "and are counted above" in site.page("/results?late=1")


def test_a_comment_is_no_new_rating(site: Site) -> None:
    ann = site.begin("Ann")
    site.rate(ann, 0, 0, 3)
    site.post("/show", {})
    site.rate(ann, 0, 0, 3, comment="because")
    assert "after names were shown" not in site.page("/results")


def test_who_begins_after_the_results_rates_blind_too(site: Site) -> None:
    site.rate(site.begin("Ann"), 0, 0, 3)
    site.post("/show", {})
    assert "What each model got" in site.page("/results")
    bob = site.begin("Bob")
    assert "What each model got" not in site.page("/results")
    site.rate(bob, 0, 0, 3)
    site.post("/show", {})
    assert "What each model got" in site.page("/results")
    assert "after names were shown" not in site.page("/results")


def test_agreement_is_shown_with_its_n(site: Site) -> None:
    for name in ("Ann", "Bob"):
        site.rate_by(site.begin(name), MARKS)
    site.post("/show", {})
    page = " ".join(site.page("/results").split())

    told = "<b>1.00</b> (no interval: too few questions), of 6 answers with two ratings or more"
    assert f"Krippendorff's alpha (ordinal): {told}" in page
    cells = (
        '<td class="number">6</td><td class="number">100</td> <td class="number">100</td><td class="number">1.00</td>'
    )
    assert cells in page


def test_the_files_are_levals_counts_and_every_rating(site: Site, folder: Path) -> None:
    ann = site.begin("Ann/é")
    site.rate_by(ann, MARKS)
    site.rate(ann, 0, 0, 2, comment="changed my mind")
    site.post(f"/of/{ann}/skip", {"place": 2, "skipped": True, "reason": "why not", "seen": 0})
    site.post("/show", {})

    written = Path(site.post(f"/of/{ann}/files/results", {})["path"])
    assert written == folder / "results_from_Ann_é.jsonl"
    counts = json.loads(written.read_text())
    assert set(counts) == {"alpha_pred", "beta_pred"}
    assert sum(sum(each.values()) for each in counts.values()) == 6
    assert set().union(*counts.values()) <= {"1.0", "2.0", "5.0"}

    download = site.client.get(f"/rating/of/{ann}/files/ratings")
    assert download.headers["content-disposition"] == "attachment; filename*=UTF-8''ratings_from_Ann_%C3%A9.jsonl"
    rows = [json.loads(line) for line in download.text.splitlines()]
    rated = [row for row in rows if "rating" in row]
    assert len(rated) == 6
    assert set(rated[0]) == {
        "annotator", "item", "place", "question", "references", "model", "answer_sha256", "shown_as", "rating",
        "comment", "time", "names_were_shown",
    }  # fmt: skip
    assert (rated[0]["place"], rated[0]["shown_as"], rated[0]["rating"]) == (1, "A", 2)
    assert (rated[0]["comment"], rated[0]["names_were_shown"]) == ("changed my mind", False)
    assert [row["skipped"] for row in rows if "skipped" in row] == ["why not"]


def test_a_file_of_other_content_is_replaced_only_on_demand(site: Site, folder: Path) -> None:
    ann = site.begin("Ann")
    site.rate(ann, 0, 0, 2)
    site.post("/show", {})
    path = folder / "ratings_from_Ann.jsonl"
    path.write_text("mine")

    told = site.post(f"/of/{ann}/files/ratings", {}, 409)
    assert told["exists"]
    assert path.read_text() == "mine"
    site.post(f"/of/{ann}/files/ratings", {"over": True})
    assert json.loads(path.read_text())["rating"] == 2
    site.post(f"/of/{ann}/files/ratings", {})  # the same content: nothing to ask


def test_ratings_of_answers_that_changed_are_told_and_not_counted(site: Site, folder: Path) -> None:
    ann = site.begin("Ann")
    site.rate_by(ann, MARKS)
    site.post("/show", {})
    predictions(folder, {"alpha": ["good 0", "good 1", "another"]})
    again = Site(folder, state=folder.parent / "people.sqlite")

    assert "1 ratings of answers that are not in these files are not counted" in again.page("/results")
    assert sorted(again.get(f"/of/{ann}/items/0")["states"]) == ["begun", "rated", "rated"]


def test_hostile_texts_are_text(tmp_path: Path) -> None:
    evil = "</script><img src=x onerror=alert(1)>\u2028\ud800\u202e"
    (path,) = predictions(tmp_path, {"m": [evil]})
    rows = [{"query": evil, "gt": evil, f"{evil}_pred": evil}]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    site = Site(path, state=tmp_path / "state")
    one = site.begin("<b>\ud800")
    item = site.get(f"/of/{one}/items/0")

    assert item["question"] == item["answers"][0]["text"] == evil
    site.rate(one, 0, 0, 1, comment=evil)
    site.post("/show", {})
    for page in ("/", f"/of/{one}/", "/results"):
        assert "<img" not in site.page(page)
        assert "<b>\ufffd" not in site.page(page)


def test_equal_answers_are_shown_once_and_rated_for_every_model_that_gave_them(tmp_path: Path) -> None:
    predictions(tmp_path / "answers", {"alpha": ["the same"], "beta": [" the same\n"], "gamma": ["another"]})
    site = Site(tmp_path / "answers", state=tmp_path / "state")
    ann = site.begin("Ann")
    answers = site.get(f"/of/{ann}/items/0")["answers"]
    assert sorted(each["text"] for each in answers) == ["another", "the same"]

    for at, each in enumerate(answers):
        site.rate(ann, 0, at, 4 if each["text"] == "the same" else 1)
    assert site.get(f"/of/{ann}/items/0")["states"] == ["rated"]
    site.post("/show", {})
    rows = [json.loads(line) for line in site.client.get(f"/rating/of/{ann}/files/ratings").text.splitlines()]
    assert {row["model"]: row["rating"] for row in rows} == {"alpha_pred": 4, "beta_pred": 4, "gamma_pred": 1}
    site.post(f"/of/{ann}/undo", {})
    assert sorted(site.get(f"/of/{ann}/items/0")["states"]) == ["begun"]


def test_equal_answers_of_two_models_are_one_agreement_of_annotators() -> None:
    ratings = [
        AnswerRating(name, model, f"answer of {model}", "group", 3, late=False, shown="answer of a")
        for name in ("Ann", "Bob")
        for model in ("a", "b")
    ]
    found = results_of(ratings, with_late=False)
    assert found.doubly == found.pairs[0].n == 1
    assert [row.n for row in found.models] == [2, 2]


def test_the_document_of_a_run_is_built_again(tmp_path: Path) -> None:
    text = "Read this. " + "The harbour was built in 1874. " * 40 + "When?"
    needles = [("harbour.txt", 11, len(text) - 5)]
    prompt = SimpleNamespace(text=text, context=(11, len(text) - 5), needles=needles)
    run = write_journal(tmp_path / "run", [record(0)])
    site = Site(run, state=tmp_path / "state", rebuild=lambda *_: prompt)
    ann = site.begin("Ann")

    address = site.get(f"/of/{ann}/items/0")["document"]
    assert site.get(address.removeprefix("/rating")) == {"name": "harbour.txt", "text": text[11:-5]}
    prompt.needles = [("code", 11, 40)]
    assert site.get(address.removeprefix("/rating"))["name"] == "Context"


def test_much_is_read_when_the_page_is_opened_and_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rating_page, "_AT_START", 10)
    run = write_journal(tmp_path / "run", [record(at) for at in range(3)])
    site = Site(run, state=tmp_path / "people.sqlite")
    home = site.client.get("/", headers={"accept": "text/html"})
    assert "answers of 1 run, read when this is opened" in home.text
    assert "1 question" in site.page("/")
    assert "1 question" in site.client.get("/", headers={"accept": "text/html"}).text

    monkeypatch.setattr(rating_page, "_MOST", 20)
    refused = Site(run, state=tmp_path / "other.sqlite").client.get("/rating/", headers={"accept": "text/html"})
    assert refused.status_code == 400
    assert "name the runs that people are to rate" in refused.text
