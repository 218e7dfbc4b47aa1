"""What runs on documents tell: rule and judge, votes, curves; in every place where results stand."""

import json

import pytest

import needlework
from tests.haystack_fixtures.models.served.planted_http import good, planted_server

TOWNS = ("Oruro", "Potosi", "Sucre", "Tarija", "Trinidad", "Cobija")


@pytest.fixture
def documents(project, tmp_path):
    """Six documents, three questions, and the options that ask them."""
    folder = tmp_path / "documents"
    folder.mkdir()
    for number, town in enumerate(TOWNS):
        about = (
            f"Traveller number {number} wrote about food. The dish that traveller {number} liked was called {town}. "
        )
        rest = " ".join(f"On day {day} of journey {number} nothing of note was eaten anywhere." for day in range(20))
        (folder / f"{town}.txt").write_text(about + rest, encoding="utf-8")
    questions = {
        str(at): {
            "question": f"What was the dish called that traveller {at} liked?",
            "answer": town,
            "answer_doc": f"{town}.txt",
        }
        for at, town in enumerate(TOWNS[:3])
    }
    (tmp_path / "questions.json").write_text(json.dumps(questions), encoding="utf-8")
    project.asks("documents")
    return [
        "--preset=own-documents", f"--documents={folder}", f"--questions={tmp_path / 'questions.json'}",
        "--lengths=1200", "--depths=0,25,100",
    ]  # fmt: skip


def run(project, options, *args, **kind):
    found = project.run(*options, *args, **kind)
    return found, json.loads(project.file("results.json"))


def test_a_vote_is_told_everywhere(project, documents, capsys):
    found, content = run(project, documents, "--task=doc_position", "--vote=3", model="mock:middle")
    (own,) = content["documents"]
    votes = {(each["ways"], each["depth"]): each for each in own["votes"]}
    assert list(votes) == [("moved", None), ("fixed", None), ("fixed", 25.0)]
    assert {each["of"] for each in votes.values()} == {3}
    assert votes["fixed", 25.0]["requests"] == 9
    assert len(content["records"]) == 27
    found.stdout.fnmatch_lines(["*your documents*3 questions*", "*at another depth each time*", "*voting: 3 answers*"])
    assert "votes of 3 answers over as many orders of the documents" in project.file("report.html")
    assert (project.runs / "r" / "documents-position-mock_middle.svg").is_file()
    capsys.readouterr()
    assert needlework.main(["rescore", str(project.runs / "r"), "--scorer", "match"]) == 0
    rescored = json.loads((project.runs / "r" / "rescored-match" / "results.json").read_text(encoding="utf-8"))
    assert [each["of"] for each in rescored["documents"][0]["votes"]] == [3, 3, 3]


def test_a_judge_decides_and_the_rule_is_recorded_too(project, documents, capsys):
    with planted_server() as server:
        server.plant(good('{"reason": "it is the name", "correct": false}'))
        _, content = run(
            project, documents, "--task=doc_position,doc_absent", "--scorer=judge_documents", "--judge=openai:judge",
            f"--judge-base-url={server.url}",
        )  # fmt: skip
    assert {(r["scorer"], r["score"]) for r in content["records"]} == {("judge_documents", 0.0)}
    assert {r["details"]["score"]["rule"] for r in content["records"]} == {"found"}
    assert content["documents"][0]["judge"]["agreement"]["value"] == 0.0
    asked = [json.dumps(request) for request in server.requests]
    assert any("does not know" in each for each in asked)
    assert not any("nothing of note" in each for each in asked)  # the documents are never sent
    capsys.readouterr()
    assert needlework.main(["judge-audit", str(project.runs / "r")]) == 0
    assert "rule and judge agree: 0.00 %" in capsys.readouterr().out
