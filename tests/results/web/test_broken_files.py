"""Files that are broken, empty, oddly named or gone: one line, and what else there is stays to be had."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from needlework.core.errors import InputError
from needlework.results.web.app import ShownPrompt, build_app
from needlework.results.web.command import find_sources
from tests.results.web.rating_site import HEADERS, write_rows
from tests.results.web.run_folders import record, write_journal
from tests.results.web.signed_in import HOST, LOGIN, signed_in

PAIR = {"question": "What pressure?", "answer": "40 bar", "answer_doc": "a.txt"}


def never(_run: Path, _cell: str) -> ShownPrompt:
    raise AssertionError


def client(*paths: Path, state: Path) -> TestClient:
    app = build_app(find_sources(paths, None), state, rebuild=never, hosts=[HOST], login=LOGIN, token="t")
    return signed_in(app, headers={"accept": "text/html"})


def post(site: TestClient, path: str, body: dict[str, Any]) -> Any:
    answer = site.post(path, content=json.dumps(body), headers={**HEADERS, "content-type": "application/json"})
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "docs.jsonl", [{"input": "A pump.", "instructions": ["What?"], "outputs": ["It."]}])


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    path = tmp_path / "q.json"
    path.write_text(json.dumps({"1": PAIR}))
    return path


def test_a_file_that_is_gone_does_not_hide_the_others(documents: Path, questions: Path, tmp_path: Path) -> None:
    other = Path(shutil.copy(documents, tmp_path / "other.jsonl"))
    site = client(documents, other, questions, state=tmp_path / "state")
    documents.unlink()

    start, files = site.get("/"), site.get("/editing/")
    assert start.status_code == files.status_code == 200
    for page in (start.text, files.text):
        assert "cannot be read (No such file or directory)" in page
        assert "1 untouched" in page
    assert site.get("/editing/0/").status_code == 400
    assert site.get("/editing/1/").status_code == 200


def test_a_broken_run_does_not_hide_the_others(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    write_journal(runs / "good", [record(0)])
    write_journal(runs / "bad", [record(0)])
    (runs / "bad" / "results.json").write_text('{"half')
    site = client(runs, state=tmp_path / "state")

    assert "1 question, answers of 1 model" in site.get("/").text
    assert "bad/results.json" in site.get("/rating/").text


def test_a_state_file_that_is_gone_or_spoilt_is_told_on_the_page(documents: Path, tmp_path: Path) -> None:
    site = client(documents, state=tmp_path / "state")
    (tmp_path / "state").write_bytes(b"spoilt" * 5000)
    page = site.get("/")
    assert page.status_code == 507
    assert "<h1>That did not work</h1>" in page.text
    assert "file is not a database" in page.text
    (tmp_path / "state").unlink()
    assert "unable to open database file" in site.get("/", headers={"accept": "*/*"}).json()["error"]


@pytest.mark.skipif(os.name == "nt", reason="names of files are UTF-16 there")
def test_names_that_are_no_utf8(documents: Path, questions: Path, tmp_path: Path) -> None:
    named = [Path(shutil.copy(path, tmp_path / f"caf\udce9{path.suffix}")) for path in (documents, questions)]
    site = client(*named, state=tmp_path / "state")
    key = site.get("/editing/0/0/content").json()["key"]
    change = {"row": key, "place": 0, "base": 0, "pairs": [], "person": "A", "tab": "1"}
    change |= {"state": "done", "what": "saved"}
    assert post(site, "/editing/0/keep", change)["kept"]
    assert post(site, "/editing/0/export", {})["edited"] == 1
    decided = {"key": "1", "by": "A", "seen": 0, "since": 0, "status": "accept", "reason": "", "about": about(site, 1)}
    post(site, "/editing/1/decide", decided)
    for _ in range(2):  # the second time it is known as ours
        assert post(site, "/editing/1/write", {"by": "A"})["decided"] == {"accept": 1}
    again = client(*named, state=tmp_path / "state")
    assert "1 done" in again.get("/").text
    assert "decided by A 1" in again.get("/").text


def about(site: TestClient, file: int = 0) -> str:
    return str(site.get(f"/editing/{file}/pairs").json()["pairs"][0]["about"])


def test_numbers_that_json_has_not_are_shown(questions: Path, tmp_path: Path) -> None:
    questions.write_text('{"1": {"question": "q", "answer": "a", "answer_doc": "d", "x": [NaN, 1e999, -1e999, 2.5]}}')
    site = client(questions, state=tmp_path / "state")
    assert site.get("/editing/0/pairs").json()["pairs"][0]["facts"] == {"x": ["nan", "inf", "-inf", 2.5]}


def test_files_with_nothing_in_them_are_refused(tmp_path: Path) -> None:
    (tmp_path / "m.pred.jsonl").write_text("\n")
    with pytest.raises(InputError, match="there is nothing to show"):
        client(tmp_path, state=tmp_path / "state")


@pytest.mark.parametrize("name", ["x" * 300, "y" * 300 + ".jsonl"])
def test_a_path_that_cannot_be_looked_at_is_refused_in_one_line(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        find_sources([tmp_path / name], None)
