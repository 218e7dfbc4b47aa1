"""`needlework questions check`, alone and with servers of this machine as the models."""

import json
import re

import pytest

from tests.loopback import Said, loopback

CHECKER = ("--checker", "openai:checker", "--checker-base-url")


@pytest.fixture
def file(tmp_path):
    """Three good pairs about three of the animals, and one about none."""
    rows = {
        name: {"question": f"What does the {name} of Kells weigh?", "answer": f"{weight} stone"}
        for name, weight in {"owl": 3, "bat": 4, "fox": 5}.items()
    }
    rows = {name: {**row, "answer_doc": f"{name}.txt", "topic": "weights"} for name, row in rows.items()}
    rows["none"] = {"question": "Who?", "answer": "x", "answer_doc": "gone.txt", "topic": "none"}
    path = tmp_path / "q.json"
    path.write_text(json.dumps(rows))
    return path


@pytest.fixture
def checked(file, rows):
    return lambda: rows(file.with_name("q.checked.json"))


def prompts(server):
    return [asked.prompt for asked in server.requests if "messages" in asked.body]


def knows_the_fox(asked):
    """Has no document; knows one animal."""
    assert "house" not in asked.prompt
    return Said("5 stone" if "fox" in asked.prompt else "I do not know.")


def honest(asked):
    """Reads the document that it is shown."""
    document, question = asked.prompt.split("</document>")
    animal = re.search(r"does the (\w+) of", question)
    weight = re.search(rf"The {animal and animal[1]} of Kells weighs (\d+) stone", document)
    return Said(json.dumps({"answerable": bool(weight), "answer": f"{weight[1]} stone" if weight else ""}))


def test_without_a_model_every_row_gets_a_status_and_keeps_what_it_had(questions, checked, animals, file, capsys):
    (animals / "owl (2).txt").write_bytes((animals / "owl.txt").read_bytes())
    (animals / "picture.png").write_bytes(b"x")
    decision = {"status": "reject", "by": "ann", "at": "2026-01-01"}
    file.write_text(json.dumps((rows := json.loads(file.read_text())) | {"owl": {**rows["owl"], "decision": decision}}))
    assert questions("check", animals, file) == 0
    first = checked()
    assert first["owl"]["decision"] == decision
    assert [(row["status"], row["topic"]) for row in first.values()] == [("accept", "weights")] * 3 + [
        ("reject", "none")
    ]
    assert (first["owl"]["twins"], first["owl"]["reasons"]) == (["owl (2).txt"], [])
    assert first["none"]["reasons"] == ["no such document: 'gone.txt' is not in the folder, or names several"]
    said = capsys.readouterr().out
    for line in (
        "4 questions about 6 documents",
        "documents that are twins, equal or nearly, 1:\n- 'owl (2).txt', 'owl.txt'",
        "files that are no documents, 1:\n- 'picture.png': .png is not a kind that is read",
        "accept          3",
        "decisions of people: 1; they count whatever the check says",
        "- reject, no such document: 1",
        f"next: pytest benchmarks --preset own-documents --documents {animals} --questions",
    ):
        assert line in said
    assert questions("check", animals, file.with_name("q.checked.json")) == 0, "checked again in its place"
    assert checked() == first


def test_what_a_model_knows_without_the_document_is_rejected(questions, checked, animals, file):
    with loopback(knows_the_fox) as server:
        assert questions("check", animals, file, server=server) == 0
        assert questions("check", animals, file, server=server) == 0
    assert len(prompts(server)) == 4  # the second time nothing is asked
    fox, owl = checked()["fox"], checked()["owl"]
    assert fox["status"] == "reject"
    assert fox["reasons"] == ["known without the document: asked alone, the model says '5 stone'"]
    assert fox["closed_book"] == {"model": "openai:stub", "known": True, "answer": "5 stone"}
    assert (owl["status"], owl["closed_book"]["known"]) == ("accept", False)


def test_a_checker_reads_the_document_and_the_three_nearest_others(questions, checked, animals, file):
    (animals / "rumour.txt").write_text("Some say: The bat of Kells weighs 9 stone, whatever Kells may tell.")
    with loopback(honest) as server:
        assert questions("check", animals, file, *CHECKER, server.url) == 0
    assert len(prompts(server)) == 3 * 4
    assert checked()["owl"]["status"] == "accept"
    assert checked()["owl"]["checker"]["documents"][0] == {"document": "owl.txt", "answer": "3 stone"}
    bat = checked()["bat"]
    assert (bat["status"], bat["reasons"]) == (
        "review", ["answered by another document: the checker finds '9 stone' in 'rumour.txt'"],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("reply", "status", "kind"),
    [
        ({"answerable": False}, "reject", "not answerable from its document"),
        ({"answerable": True, "answer": "three and a half tons"}, "review", "another answer"),
    ],
)
def test_what_a_checker_finds_in_the_questions_own_document(questions, checked, animals, file, reply, status, kind):
    def doubting(asked):
        is_own = "About the owl" in asked.prompt and "does the owl" in asked.prompt
        return Said(json.dumps(reply)) if is_own else honest(asked)

    with loopback(doubting) as server:
        questions("check", animals, file, *CHECKER, server.url)
    assert checked()["owl"]["status"] == status
    assert [reason.split(":")[0] for reason in checked()["owl"]["reasons"]] == [kind]


def test_a_reply_that_is_missing_is_said_and_asked_for_again(questions, checked, animals, file):
    refusal = Said("", status=400, raw=b'{"error": {"message": "no"}}')
    with loopback(lambda asked: refusal if "fox" in asked.prompt else knows_the_fox(asked)) as server:
        assert questions("check", animals, file, server=server) == 1
        assert checked()["fox"]["status"] == "review"
        assert checked()["fox"]["reasons"][0].startswith("not probed: the model did not answer")
        server.say = knows_the_fox
        assert questions("check", animals, file, server=server) == 0
    assert checked()["fox"]["status"] == "reject"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--concurrency", 0, "--model", "mock:perfect"), "--concurrency: '0': give a whole number from 1"),
        (("--checker", "nothing"), "--checker: 'nothing': use one of"),
        (("--checker", "mock:wrong", "--checker-api-key-env", "sk-1"), "--checker-api-key-env: '...': is the name"),
        (("--out", "."), "--out: '.': is a folder"),
    ],
)
def test_what_cannot_be_used_is_one_line(questions, animals, file, capsys, words, said):
    assert questions("check", animals, file, *words) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
