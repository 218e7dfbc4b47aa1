"""Runs on documents of the user's, made here: what is asked, by whose questions, and what is told of it."""

import json
from collections import Counter
from hashlib import sha256

import pytest

import needlework
from tests.loopback import good, loopback

TOWNS = ("Arle", "Brask", "Corvo", "Dunmere", "Eskdale", "Fenwick", "Garrow", "Holt")
FOUNDERS = ("Ida Prell", "Jonas Quist")
OWN = ("--preset=own-documents", "--documents=documents")


@pytest.fixture
def folder(project):
    """Thirty documents, each about the market of a town, two about its founder too, and a hidden file."""
    folder = project.pytester.mkdir("documents")
    for n in range(30):
        town = f"{TOWNS[n % 8]} {n}"
        founder = f"{town} was founded by {FOUNDERS[n]}. " if n < len(FOUNDERS) else ""
        market = " ".join(
            f"In month {month} the market of {town} sold {month * n + 4} baskets." for month in range(1, 10)
        )
        (folder / f"town{n}.txt").write_text(f"{town}\n\n{founder}{market}", encoding="utf-8")
    (folder / ".hidden.txt").write_text("Not for the run.", encoding="utf-8")
    project.asks("documents")
    return folder


@pytest.fixture
def run(project, folder):
    """`run(*options)`: preset own-documents, with questions about two of the documents."""
    rows = {
        str(n): {"question": f"Who founded {TOWNS[n]} {n}?", "answer": FOUNDERS[n], "answer_doc": f"town{n}.txt"}
        for n in range(len(FOUNDERS))
    }
    (project.pytester.path / "questions.json").write_text(json.dumps(rows), encoding="utf-8")
    given = (*OWN, "--questions=questions.json", "--verify-prompts", "--lengths=2400")
    return lambda *args, **options: project.run(*given, *args, **options)


def prompt_of(project, record):
    """Whether the prompt of a record can be made again; it is printed."""
    return needlework.main(["prompt", str(project.runs / "r"), record["id"], "--read", str(project.pytester.path)]) == 0


def test_the_preset_asks_by_position_size_retrieval_and_absence(run, project, capsysbinary):
    pytest.importorskip("bm25s")
    run("--depths=0,100")
    records = project.records()
    arms = Counter((r["task"], r["reference"]["arm"], r["reference"].get("retriever", "")) for r in records)
    assert arms == {
        ("doc_position", "present", ""): 4,
        ("doc_size", "present", ""): 16,
        ("doc_size", "present", "bm25"): 8,
        ("doc_size", "focused", ""): 2,
        ("doc_absent", "absent", ""): 2,
        ("doc_absent", "near", ""): 2,
    }
    assert {record["outcome"] for record in records} == {"found"}
    for record in records:
        needles, reference = record["prompt"]["needles"], record["reference"]
        if reference["arm"] == "present" and "retriever" not in reference:
            assert needles[0]["name"] == reference["document"]
            assert needles[0]["depth"] == needles[0]["requested"] == record["depth"]
            assert record["prompt"]["slack"] <= 2
    manifest = project.json("manifest.json")
    digest = sha256((project.pytester.path / "questions.json").read_bytes()).hexdigest()
    assert manifest["questions"] == {"questions.json": {"questions": 2, "reviewed": False, "sha256": digest}}
    assert manifest["left_out_documents"] == {".hidden.txt": "hidden"}
    # Each kind of prompt is made again byte for byte.
    kinds = {(record["task"], record["needle"]): record for record in records if record["needle"].startswith("q0")}
    assert len(kinds) == 6
    for record in kinds.values():
        assert prompt_of(project, record)
        assert record["question"].encode() in capsysbinary.readouterr().out


def test_a_question_whose_document_does_not_fit_is_left_out_and_named(run, project, folder):
    path = folder / "town1.txt"
    path.write_text(path.read_text() + " Nothing else is known of this town." * 250)
    result = run("--lengths=1200", "--retriever=none,bm25", "--controls=focused")
    result.stdout.fnmatch_lines(
        ["*left out, 2 questions whose document does not fit: q1 about 'town1.txt', q0 with *(all fit from *)*"]
    )
    cells = {(record["task"], record["needle"]) for record in project.records()}
    assert {needle.partition("_")[0] for _, needle in cells} == {"q0"}
    assert {task for task, _ in cells} == {"doc_position", "doc_size", "doc_absent"}
    assert ("doc_absent", "q0_near") not in cells
    result.stdout.fnmatch_lines(["*of 1 question on your documents right*"])


def test_a_folder_is_enough(project, folder):
    (folder / "scan.txt").write_text(" ")
    given = (*OWN, "--task=doc_position", "--lengths=1k", "--depths=50")
    project.run("-qv", *given).stdout.fnmatch_lines(
        ["--documents documents: 30 documents are read, not 'scan.txt': it is blank; 1 more (-v lists all)"]
    )
    project.run(*given, "-v").stdout.fnmatch_lines(
        ["--documents documents: 30 documents are read, not 'scan.txt': it is blank; '.hidden.txt': hidden"]
    )
    assert [record["outcome"] for record in project.records()] == ["found"] * 20
    assert "gap" in project.json("manifest.json")["questions"]


def test_documents_that_are_fewer_than_the_window_are_all_asked_about_in_one_length(run, project):
    result = run("--lengths=window", "--depths=50", "--retriever=none", "--model-arg=window=50000")
    result.stdout.fnmatch_lines(
        ["--lengths window: *00 tokens, what the documents fill; the window of mock:perfect has 50,000"]
    )
    records = project.records()
    assert {record["outcome"] for record in records} == {"found"}
    (length,) = {record["length"] for record in records if record["task"] != "doc_size"}
    assert length % 100 == 0
    # All but the last of the others, which is shortened, are there whole.
    assert min(len(each["reference"]["documents"]) for each in records if each["task"] == "doc_position") >= 29


def test_documents_are_named_where_they_are_asked_about(project):
    result = project.run("--preset=own-documents")
    result.stderr.fnmatch_lines(["ERROR: *--documents: '': doc_position asks about documents of yours*"])
    assert result.ret == 4


def test_a_vote_is_counted_and_counted_again(project, run, pictures):
    result = run("--task=doc_position", "--vote=3", "--depths=0,25,100", model="mock:middle")
    content = project.json("results.json")
    votes = {(each["ways"], each["depth"]): each for each in content["documents"][0]["votes"]}
    assert list(votes) == [("moved", None), ("fixed", None)]
    assert {each["of"] for each in votes.values()} == {3}
    assert votes["fixed", None]["requests"] == 18
    assert len(content["records"]) == 18
    result.stdout.fnmatch_lines(["*your documents*2 questions*", "*voting: 3 answers*"])
    assert (project.runs / "r" / "documents-position-mock_middle.svg").is_file()
    assert needlework.main(["rescore", str(project.runs / "r"), "--scorer", "match"]) == 0
    assert [each["of"] for each in project.json("rescored-match/results.json")["documents"][0]["votes"]] == [3, 3]


def test_a_judge_decides_and_the_rule_is_recorded_too(project, run, capsys):
    with loopback() as server:
        server.plant(good('{"reason": "it is the name", "correct": false}'))
        judge = ("--scorer=judge_documents", "--judge=openai:judge", f"--judge-base-url={server.url}")
        run("--task=doc_position,doc_absent", "--depths=0,25,100", *judge)
    content = project.json("results.json")
    assert {(r["scorer"], r["score"]) for r in content["records"]} == {("judge_documents", 0.0)}
    assert {r["details"]["score"]["rule"] for r in content["records"]} == {"found"}
    assert content["documents"][0]["judge"]["agreement"]["value"] == 0.0
    sent = [json.dumps(request.body) for request in server.requests]
    assert any("does not know" in each for each in sent)
    assert not any("the market of" in each for each in sent)  # the documents are never sent
    capsys.readouterr()
    assert needlework.main(["judge-audit", str(project.runs / "r")]) == 0
    assert "rule and judge agree: 0.00 %" in capsys.readouterr().out
