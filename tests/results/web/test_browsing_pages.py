"""The browsing pages without a browser: what is on them, and what they do not let through."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from needlework.haystack_fixtures.errors import InputError
from needlework.results.files.index_file import sources_of, write_index
from needlework.results.records.record import Record
from needlework.results.statistics.asked import asked_of
from needlework.results.web.app import build_app
from needlework.results.web.page import RebuiltPrompt
from needlework.results.web.sources import find_sources
from tests.results.web.browsing_runs import record, write_journal
from tests.results.web.signed_in import HOST, LOGIN, signed_in

HOSTILE = "<script>alert(1)</script>\"'&{{ 7 * 7 }} \u2028 \u202e \ud800 你好 שלום"


def no_rebuild(_run: Path, _cell: str) -> RebuiltPrompt:
    raise InputError("--corpus", "docs", "is not there")


def client(*runs: Path) -> TestClient:
    app = build_app(
        find_sources(runs, None), runs[0] / "people.sqlite", rebuild=no_rebuild, hosts=[HOST], login=LOGIN, token="t"
    )
    return signed_in(app, headers={"accept": "text/html"})


def run_of(folder: Path, *records: Record) -> Path:
    return write_journal(folder, records)


def shown_ids(page: str) -> list[str]:
    return [html.unescape(found) for found in re.findall(r'class="open" href="trial/([^"?]+)', page)]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    lengths = [(length, depth) for length in (1000, 2000) for depth in (0.0, 50.0)]
    records = [
        record(n, length=length, depth=depth, outcome="wrong" if depth else "found", score=0.0 if depth else 1.0)
        for length, depth in lengths
        for n in range(2)
    ]
    return run_of(tmp_path / "one", *records)


def test_the_list_its_counts_and_its_heatmap_follow_the_address(run: Path) -> None:
    site = client(run)
    whole, part = site.get("/browse/0/").text, site.get("/browse/0/?outcome=wrong&length=1000").text

    assert len(shown_ids(whole)) == 8
    assert shown_ids(part) == ["niah-len1000-depth50-code-r0", "niah-len1000-depth50-code-r1"]
    assert re.findall(r'data-live="(\w+)">(\d+)<', part) == [("found", "2"), ("wrong", "2")]
    assert "n = 8" in part, "the heatmap is of all lengths and outcomes"
    assert 'href="?length=1000&amp;depth=50&amp;outcome=wrong"' in part


def test_a_single_run_needs_no_choosing_and_several_do(run: Path, tmp_path: Path) -> None:
    other = run_of(tmp_path / "two", record(0))
    third = run_of(tmp_path / "three", record(0))

    assert client(run).get("/browse/", follow_redirects=False).headers["location"] == "/browse/0/"
    site = client(run, other, third)
    (third / "journal.jsonl").unlink()
    several = site.get("/browse/").text
    assert re.findall(r'href="/browse/(\d)/">(\w+)<', several) == [("0", "one"), ("1", "two"), ("2", "three")]
    assert "cannot be read" in several, "a run that cannot be read does not hide the others"


def test_a_record_has_its_neighbours_in_the_list_it_was_opened_from(run: Path) -> None:
    page = client(run).get("/browse/0/trial/niah-len1000-depth50-code-r1?outcome=wrong").text

    assert "2 of 4" in page
    assert re.search(r'rel="prev" href="/browse/0/trial/niah-len1000-depth50-code-r0\?outcome=wrong"', page)
    assert re.search(r'rel="next" href="/browse/0/trial/niah-len2000-depth50-code-r0\?outcome=wrong"', page)
    assert 'href="/browse/0/?outcome=wrong#at' in page


def test_a_hundred_trials_a_page_and_the_way_back_is_to_the_page(tmp_path: Path) -> None:
    site = client(run_of(tmp_path / "r", *map(record, range(250))))
    last = shown_ids(site.get("/browse/0/?page=3").text)

    assert len(last) == 50
    assert shown_ids(site.get("/browse/0/?page=99").text) == last
    assert "/browse/0/?page=3#at249" in site.get("/browse/0/trial/niah-len2000-depth50-code-r249").text


def test_two_runs_beside_each_other(run: Path, tmp_path: Path) -> None:
    same = {"sha256": "5" * 64}
    first = record(0, prompt=same, model="alpha")
    second = record(0, prompt=same, model="beta", outcome="refused", score=0.0, response={"text": "I will not."})
    runs = run_of(tmp_path / "a", first, record(1)), run_of(tmp_path / "b", second)
    site = client(*runs)
    page = site.get("/browse/0/trial/niah-len2000-depth50-code-r0?beside=1").text

    assert "It is 123." in page
    assert "I will not." in page
    assert "the same prompt" in page
    assert "has no such trial" in site.get("/browse/0/trial/niah-len2000-depth50-code-r1?beside=1").text
    assert len(shown_ids(site.get("/browse/0/?beside=1&differ=on").text)) == 2
    assert len(shown_ids(site.get("/browse/0/?beside=0&differ=on").text)) == 0


def test_retrieval_is_shown_with_the_gold_document_marked(tmp_path: Path) -> None:
    retrieval = {
        "retriever": "bm25", "embedder": None, "k": 2, "chunk_size": 1000, "chunk_overlap": 200, "unit": "characters",
        "chunks": 40, "gold": "b.txt", "rank": 2, "answer_recall": 0.75,
        "hits": [{"document": "a.txt", "start": 0, "end": 9, "score": 3.5}, {"document": "b.txt"}],
    }  # fmt: skip
    page = client(run_of(tmp_path / "r", record(0, prompt={"retrieval": retrieval}))).get(
        "/browse/0/trial/niah-len2000-depth50-code-r0"
    )

    assert re.search(r'class="gold">.*b\.txt <b>gold</b>', page.text)
    assert "75.0 %" in page.text


def test_what_models_and_files_say_is_text_and_no_more(tmp_path: Path) -> None:
    hostile = record(
        0, needle=HOSTILE, id=HOSTILE, question=HOSTILE, answer=HOSTILE, why=HOSTILE, expected=[HOSTILE],
        response={"text": HOSTILE, "reasoning": HOSTILE}, error={"kind": HOSTILE, "message": HOSTILE},
        details={"flags": [HOSTILE], "recipe": "a", "score": {HOSTILE: HOSTILE}}, reference={"x": HOSTILE},
    )  # fmt: skip
    site = client(run_of(tmp_path / "r", hostile, record(1)))
    for path in ("/browse/0/", "/browse/0/?q=script", "/browse/0/trial/%230"):
        page = site.get(path)
        assert page.status_code == 200
        assert "<script>alert" not in page.text
        assert "&lt;script&gt;alert" in page.text
        assert "49" not in re.sub(r"\d{3,}", "", page.text), "no template is run twice"
    assert json.loads(site.get("/browse/0/json/%230").text)["why"] == HOSTILE


@pytest.mark.parametrize("outcome", ["error", "skipped", "invalid", "censored"])
def test_records_without_a_score_or_a_prompt(tmp_path: Path, outcome: str) -> None:
    lean = record(0, outcome=outcome, score=None, prompt={}, response={}, reference={}, timing={}, scorer="")
    page = client(run_of(tmp_path / "r", lean)).get("/browse/0/trial/niah-len2000-depth50-code-r0")

    assert page.status_code == 200
    assert "no scorer" in page.text


def test_a_lean_record_of_another_version_is_shown(tmp_path: Path) -> None:
    lean = {"model": "m", "task": "t", "needle": "n", "length": 5, "depth": None, "repeat": 0, "outcome": "found"}
    (tmp_path / "results.json").write_text(json.dumps({"schema": 1, "records": [lean | {"score": 1.0}]}))
    site = client(tmp_path)

    assert shown_ids(site.get("/browse/0/").text) == ["%230"]
    assert site.get("/browse/0/trial/%230").status_code == 200


def test_a_prompt_that_cannot_be_shown_says_why(run: Path) -> None:
    answer = client(run).get("/browse/0/prompt/niah-len1000-depth50-code-r0", headers={"accept": "*/*"})

    assert answer.status_code == 400
    assert "is not there" in answer.json()["error"]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/browse/7/", 404),
        ("/browse/0/trial/../../etc/passwd", 404),
        ("/browse/0/record", 404),
        ("/browse/0/prompt?id=nothing", 404),
        ("/browse/0/?beside=9", 404),
        ("/browse/0/?low=x", 400),
        ("/browse/0/?sort=x", 400),
        ("/browse/one/", 404),
    ],
)
def test_what_is_not_there_is_one_line(run: Path, path: str, status: int) -> None:
    answer = client(run).get(path)

    assert answer.status_code == status
    assert "That did not work" in answer.text


def test_colours_are_those_of_the_pictures(run: Path) -> None:
    css = client(run).get("/browse/colors.css")

    assert css.headers["content-type"].startswith("text/css")
    assert ".p0 { background: rgb(68, 1, 84); color: #fff; }" in css.text
    assert ".p100 { background: rgb(253, 231, 37); color: #1a1a1a; }" in css.text


def documents(number: int, task: str, needle: str, **more: object) -> Record:
    return record(number, task=task, needle=needle, repeat=0, **more)


@pytest.fixture
def own_documents(tmp_path: Path) -> Path:
    """Position, size, retrieval and absence, each of its own score."""
    absent = {"absent": True, "arm": "absent"}
    return run_of(
        tmp_path / "docs",
        *(documents(at, "doc_position", f"q{at}", outcome="wrong", score=0.0) for at in (0, 1, 2, 10)),
        documents(20, "doc_size", "q0"),
        documents(21, "doc_size", "q0_bm25", reference={"retriever": "bm25"}),
        documents(22, "doc_absent", "q0_absent", reference=absent, response={"text": "The answer is NOT FOUND."}),
        documents(23, "doc_absent", "q0_near", reference={**absent, "arm": "near"}, outcome="wrong", score=0.0),
    )


def test_each_task_and_context_has_a_score_of_its_own_and_none_is_of_several(own_documents: Path) -> None:
    site = client(own_documents)
    page = site.get("/browse/0/").text

    cell = r'<a href="\?([^"]*)"[^>]*>(\w+ · [^<]+)</a>.*?<td class="number">([^<]*)</td>'
    assert [(name, score) for _, name, score in re.findall(cell, page)] == [
        ("doc_position · everything", "0"),
        ("doc_size · everything", "100"),
        ("doc_size · BM25 search", "100"),
        ("doc_absent · a similar document instead", "0"),
        ("doc_absent · the answer taken out", "100"),
    ]
    assert 'class="heat"' not in page, "no heatmap of several tasks"
    chosen = site.get("/browse/0/?task=doc_size&context=bm25").text
    assert "doc_size, BM25 search: score 100 %" in chosen
    assert shown_ids(chosen) == ["doc_size-len2000-depth50-q0_bm25-r0"]
    assert re.search(r'<a href="\?" aria-current="true">doc_size · BM25 search', chosen), "a second click shows all"


def test_trials_are_in_the_order_in_which_people_count(own_documents: Path) -> None:
    ids = shown_ids(client(own_documents).get("/browse/0/?task=doc_position").text)
    assert [each.split("-")[3] for each in ids] == ["q0", "q1", "q2", "q10"]


def test_nothing_is_found_where_right_is_to_say_that_nothing_is_there(own_documents: Path) -> None:
    page = client(own_documents).get("/browse/0/trial/doc_absent-len2000-depth50-q0_absent-r0").text
    assert "right: says it is not there" in page
    assert ">found<" not in page
    assert ">wrong<" in client(own_documents).get("/browse/0/trial/doc_absent-len2000-depth50-q0_near-r0").text


def test_the_start_page_says_which_runs_there_are(own_documents: Path, run: Path) -> None:
    page = client(own_documents, run).get("/").text
    assert "docs: 8 trials of mock, " in page
    assert "has not ended" in page


def test_a_card_says_that_a_run_was_interrupted(tmp_path: Path) -> None:
    folder = write_journal(tmp_path / "cut", [record(0), record(1)], ended="2026-11-23T08:00:00+00:00")
    manifest = {"ended": "2026-11-23T08:00:00+00:00", "planned": 40, "suites": [], "options": {}}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    site = client(folder, write_journal(tmp_path / "other", [record(0)]))
    assert "cut: 2 of 40 trials of mock, " in (home := site.get("/").text)
    assert "ago, interrupted" in home
    assert "2 of 40 trials · mock · <b>interrupted</b>" in site.get("/browse/").text
    assert "interrupted after 2 of 40 trials" in site.get("/browse/0/").text


def test_a_run_without_an_answer_is_a_run_of_no_model(tmp_path: Path) -> None:
    assert re.search(
        r"early: 0 trials, \d+ seconds? ago, has not ended", client(write_journal(tmp_path / "early", [])).get("/").text
    )


def test_cards_of_runs_with_an_index_read_no_records(tmp_path: Path) -> None:
    """What stands for 20 MB of records is no JSON: whoever read it would say so."""
    runs = [tmp_path / name for name in ("a", "b")]
    for run in runs:
        run.mkdir()
        (run / "results.json").write_text("not to be read")
        absent = {"absent": True, "control": "absent"}
        made = [record(0), record(1, outcome="wrong", score=0.0), record(2, needle="code_absent", reference=absent)]
        write_index(run, asked_of(made), 3, sources_of(run))
    site = client(*runs)
    home, cards = site.get("/").text, site.get("/browse/").text
    assert "a: 3 trials of mock" in home
    assert re.findall(r"<p>(1 found.*?)</p>", cards) == ["1 found · 1 wrong · 1 control"] * 2
    (runs[0] / "results.json").write_text("another one")  # its index holds no more
    assert site.get("/browse/").text.count("3 trials") == 1
