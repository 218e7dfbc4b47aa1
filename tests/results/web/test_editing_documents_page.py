"""What the annotation page keeps, refuses and exports."""

import json

import pytest

from needlework.results.web.app import build_app
from needlework.results.web.command import find_sources
from tests.results.web.signed_in import HOST, LOGIN, signed_in

HEADERS = {"origin": f"http://{HOST}", "x-needlework-token": "t"}
FIRST = {"input": "A long day.", "instructions": ["What day?"], "outputs": ["long"], "evaluation": "LLM", "source": "x"}


def never(*_):
    raise AssertionError


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "data" / "days.jsonl"
    path.parent.mkdir()
    rows = [FIRST, {"text": "Ein Tag\ud800", "id": 7}, {"input": "short", "instructions": ["a"], "outputs": []}]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows) + "no row\n", encoding="utf-8")
    return path


@pytest.fixture
def client(source):
    return client_of(source)


def client_of(*paths):
    state = paths[0].parent / "people.sqlite"
    app = build_app(find_sources(paths, None), state, rebuild=never, hosts=[HOST], login=LOGIN, token="t")
    return signed_in(app, headers=HEADERS, follow_redirects=False)


def content(client, row=0):
    return client.get(f"/editing/0/{row}/content").json()


def keep(client, pairs, *, row=0, base=0, state="begun", person="Ann", tab="one", what="draft", **more):
    body = {"place": row, "base": base, "pairs": pairs, "state": state, "person": person, "tab": tab, "what": what}
    sent = json.dumps({"row": more.pop("key", None) or content(client, row)["key"], **body, **more})
    answer = client.post("/editing/0/keep", content=sent, headers={"content-type": "application/json"})
    assert answer.status_code == 200, answer.text
    return answer.json()


def history(client, row=0):
    return [(each["what"], each["pairs"]) for each in client.get(f"/editing/0/{row}/history").json()]


def export(client, **body):
    return client.post("/editing/0/export", json=body).json()


def test_the_start_page_leads_to_the_rows(client):
    assert "days.jsonl: 4 rows: 0 done, 0 begun, 4 untouched" in client.get("/").text
    assert client.get("/editing/").headers["location"] == "/editing/0/"
    page = client.get("/editing/0/").text
    assert "Ein Tag?" in page  # half a character has no place on a page
    assert "cannot be edited: is no JSON" in page
    assert "1 instructions, 0 outputs" in page
    assert client.get("/editing/1/").status_code == client.get("/editing/0/4/").status_code == 404


def test_texts_and_names_are_shown_as_they_are(tmp_path):
    path = tmp_path / "<b>&'.jsonl"
    path.write_text(json.dumps({"input": "<script>alert(1)</script>"}), encoding="utf-8")
    client = client_of(path)
    for page in ("/", "/editing/0/", "/editing/0/0/"):
        text = client.get(page).text
        assert "&lt;b&gt;&amp;&#39;.jsonl" in text
        assert "<script>" not in text
        assert "<b>&" not in text


def test_several_files_have_a_list(source):
    other = source.with_name("more.jsonl")
    other.write_text('{"input": "x"}\n', encoding="utf-8")
    page = client_of(source, other).get("/editing/").text
    assert "more.jsonl" in page
    assert "1 rows: 0 done" in page


def test_a_row_tells_its_document_pairs_and_other_fields(client):
    row = content(client)
    assert (row["document"], row["document_key"]) == ("A long day.", "input")
    assert (row["source"], row["others"]) == ([["What day?", "long"]], [["evaluation", '"LLM"'], ["source", '"x"']])
    assert content(client, 1)["document"] == "Ein Tag\ud800"
    assert content(client, 3)["problem"].startswith("is no JSON")


def test_what_is_kept_is_there_after_a_new_start(client, source):
    told = keep(client, [["What day?", "a long \ud800 one"]])
    assert told["kept"]
    assert told["here"]
    work = content(client_of(source))["work"]
    assert (work["pairs"], work["state"], work["person"]) == ([["What day?", "a long \ud800 one"]], "begun", "Ann")
    assert "1 begun" in client.get("/").text


def test_of_two_tabs_the_second_is_told_and_nothing_is_lost(client):
    mine = keep(client, [["a", "1"]], tab="one")["work"]
    theirs = keep(client, [["b", "2"]], tab="two", person="Bob")
    assert not theirs["kept"]
    assert theirs["work"] == mine
    keep(client, [["b", "22"]], tab="two", person="Bob")
    assert history(client) == [("overtaken", [["b", "22"]]), ("draft", [["a", "1"]])]
    assert keep(client, [["b", "22"]], tab="two", person="Bob", base=mine["revision"], what="saved")["kept"]
    assert content(client)["work"]["person"] == "Bob"


def test_two_tabs_that_say_the_same_do_not_collide(client):
    keep(client, [["a", "1"]], tab="one")
    assert keep(client, [["a", "1"]], tab="two")["kept"]
    assert len(history(client)) == 1


def test_the_history_has_a_draft_for_each_sitting_and_every_save(client):
    base = 0
    for text, what in (("1", "draft"), ("12", "draft"), ("12", "saved"), ("123", "draft"), ("x", "restored")):
        base = keep(client, [["a", text]], base=base, what=what)["work"]["revision"]
    assert history(client) == [
        ("restored", [["a", "x"]]),
        ("draft", [["a", "123"]]),
        ("saved", [["a", "12"]]),
    ]


def test_a_done_row_leads_to_the_next_that_is_not(client):
    assert keep(client, [["a", "1"]], row=1, state="done", what="saved")["following"] == 2
    assert keep(client, [["a", "1"]], row=2, state="done", what="saved")["following"] == 0
    assert keep(client, [["a", "1"]], row=0, state="done", what="saved")["following"] is None
    assert "All rows are done" in client.get("/editing/0/").text


def test_begin_anew_sets_the_work_aside_and_it_can_be_restored(client):
    keep(client, [["a", "1"]])
    keep(client, [["b", "2"]], row=1, state="done")
    assert client.post("/editing/0/anew", json={"person": "Bob"}).json() == {"rows": 2}
    assert "0 done, 0 begun" in client.get("/").text
    assert export(client)["edited"] == 0
    # A tab that was open all the while does not undo that in silence.
    assert not keep(client, [["a", "12"]], base=1)["kept"]
    keep(client, [["a", "new"]], base=content(client)["work"]["revision"])
    assert "2 rows set aside by Bob" in client.get("/editing/0/").text
    assert client.post("/editing/0/restore", json={"batch": 1, "person": "Ann"}).json() == {"rows": 2}
    assert content(client)["work"]["pairs"] == [["a", "1"]]
    assert content(client, 1)["work"]["state"] == "done"
    assert ("draft", [["a", "new"]]) in history(client)


def test_the_export_keeps_every_byte_that_nobody_edited(client, source):
    keep(client, [["What day?", "a long one"], ["", " "]])
    told = export(client)
    counts = {"rows": 4, "edited": 1, "dropped": 1, "uneven": 1, "unread": 1}
    assert told == {"path": str(source.with_name("days.cleaned.jsonl")), **counts}
    was, now = (path.read_bytes().splitlines() for path in (source, source.with_name("days.cleaned.jsonl")))
    assert was[1:] == now[1:]
    assert json.loads(now[0]) == {**FIRST, "outputs": ["a long one"]}
    download = client.get("/editing/0/cleaned.jsonl")
    assert download.content.splitlines() == now
    assert "days.cleaned.jsonl" in download.headers["content-disposition"]


def test_the_export_writes_over_its_own_file_alone(client, source):
    cleaned = source.with_name("days.cleaned.jsonl")
    export(client)
    keep(client, [["What day?", "Monday"]])
    assert export(client)["edited"] == 1
    cleaned.write_text("mine\n", encoding="utf-8")
    assert export(client) == {"exists": "days.cleaned.jsonl"}
    assert cleaned.read_text(encoding="utf-8") == "mine\n"
    assert export(client, over=True)["edited"] == 1


def test_an_export_that_cannot_be_written_says_so(client, source):
    source.with_name("days.cleaned.jsonl").mkdir()
    assert "download the cleaned file instead" in export(client)["error"]


def test_rows_that_move_in_the_file_keep_their_work(client, source):
    keep(client, [["a", "1"]], row=1)
    lines = source.read_text(encoding="utf-8").splitlines(keepends=True)
    source.write_text(lines[1] + lines[0], encoding="utf-8")
    assert content(client, 0)["work"]["pairs"] == [["a", "1"]]
    assert content(client, 1)["work"] is None


def test_a_row_that_changes_on_disk_is_told_and_its_work_taken_over(client, source):
    old = content(client)["key"]
    work = keep(client, [["a", "1"]])["work"]
    lines = source.read_text(encoding="utf-8").splitlines(keepends=True)
    source.write_text("".join([lines[0].replace("long", "short"), *lines[1:]]), encoding="utf-8")
    open_tab = keep(client, [["a", "12"]], base=work["revision"], key=old)
    assert (open_tab["kept"], open_tab["here"]) == (True, False)
    assert "no longer has 1 of the rows" in client.get("/editing/0/").text
    row = content(client)
    assert row["work"] is None
    assert [each["pairs"] for each in row["earlier"]] == [[["a", "12"]]]
    keep(client, [["a", "12"]], what="restored", taken=old)
    assert content(client)["earlier"] == []
    assert "Changed on disk" not in client.get("/editing/0/").text


def test_a_file_that_is_gone_is_told(client, source):
    source.unlink()
    assert "cannot be read" in client.get("/editing/0/0/content").json()["error"]
    page = client.get("/editing/0/", headers={"accept": "text/html"})
    assert page.status_code == 400
    assert "That did not work" in page.text


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"row": "../etc"}, "row"),
        ({"pairs": [["a"]]}, "pairs"),
        ({"pairs": "ab"}, "pairs"),
        ({"state": "untouched"}, "state"),
        ({"what": "overtaken"}, "what"),
        ({"base": -1}, "base"),
        ({"base": True}, "base"),
        ({"place": "0"}, "place"),
        ({"person": None}, "person"),
        ({"tab": "t" * 81}, "tab"),
    ],
)
def test_a_change_that_makes_no_sense_is_refused(client, change, problem):
    body = {
        "row": content(client)["key"],
        "place": 0,
        "base": 0,
        "pairs": [],
        "state": "begun",
        "person": "",
        "tab": "t",
    }
    answer = client.post("/editing/0/keep", json={**body, "what": "draft", **change})
    assert answer.status_code == 400
    assert answer.json()["error"].startswith(f"{problem}:")
    assert history(client) == []
