"""`needlework questions check`, alone and with servers of this machine as the models."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.loopback import Asked, Loopback, Said, loopback

Call = Callable[..., int]
Rows = Callable[[Path], dict[str, Any]]
WEIGHTS = {"owl": 3, "bat": 4, "fox": 5}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Three good pairs about three of the animals, and one about none."""
    rows = {
        name: {
            "question": f"What does the {name} of Kells weigh?",
            "answer": f"{weight} stone",
            "answer_doc": f"{name}.txt",
            "topic": "weights",
        }
        for name, weight in WEIGHTS.items()
    }
    rows["none"] = {"question": "Who?", "answer": "x", "answer_doc": "gone.txt", "topic": "none"}
    path = tmp_path / "q.json"
    path.write_text(json.dumps(rows))
    return path


def prompts(server: Loopback) -> list[str]:
    return [asked.prompt for asked in server.requests if "messages" in asked.body]


def knows_the_fox(asked: Asked) -> Said:
    """Has no document; knows one animal."""
    assert "house" not in asked.prompt
    return Said("5 stone" if "fox" in asked.prompt else "I do not know.")


def honest(asked: Asked) -> Said:
    """Reads the document that it is shown."""
    document, question = asked.prompt.split("</document>")
    animal = re.search(r"does the (\w+) of", question)
    weight = re.search(rf"The {animal and animal[1]} of Kells weighs (\d+) stone", document)
    return Said(json.dumps({"answerable": bool(weight), "answer": f"{weight[1]} stone" if weight else ""}))


def test_without_a_model_every_row_gets_a_status_and_keeps_what_it_had(
    questions: Call, rows: Rows, animals: Path, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (animals / "owl (2).txt").write_bytes((animals / "owl.txt").read_bytes())
    (animals / "picture.png").write_bytes(b"x")

    assert questions("check", animals, file) == 0

    found = rows(file.with_name("q.checked.json"))
    assert found["owl"]["twins"] == ["owl (2).txt"]
    assert [(row["status"], row["topic"]) for row in found.values()] == [("accept", "weights")] * 3 + [
        ("reject", "none")
    ]
    assert found["owl"]["reasons"] == []
    assert found["none"]["reasons"] == ["no such document: 'gone.txt' is not in the folder, or names several"]
    said = capsys.readouterr().out
    assert "4 questions about 6 documents" in said
    assert "documents that are twins, equal or nearly, 1:\n- 'owl (2).txt', 'owl.txt'" in said
    assert "files that are no documents, 1:\n- 'picture.png': .png is not a kind that is read" in said
    assert "accept          3" in said
    assert "- reject, no such document: 1" in said
    assert f"next: pytest benchmarks --preset own-documents --documents {animals} --questions" in said


def test_what_a_model_knows_without_the_document_is_rejected(
    questions: Call, rows: Rows, animals: Path, file: Path
) -> None:
    with loopback(knows_the_fox) as server:
        assert questions("check", animals, file, server=server) == 0
        assert questions("check", animals, file, server=server) == 0

    assert len(prompts(server)) == 4  # the second time nothing is asked
    found = rows(file.with_name("q.checked.json"))
    assert found["fox"]["status"] == "reject"
    assert found["fox"]["reasons"] == ["known without the document: asked alone, the model says '5 stone'"]
    assert found["fox"]["closed_book"] == {"model": "openai:stub", "known": True, "answer": "5 stone"}
    assert found["owl"]["status"] == "accept"
    assert found["owl"]["closed_book"]["known"] is False


def test_a_checker_reads_the_document_and_the_three_nearest_others(
    questions: Call, rows: Rows, animals: Path, file: Path
) -> None:
    (animals / "rumour.txt").write_text("Some say: The bat of Kells weighs 9 stone, whatever Kells may tell.")
    with loopback(honest) as server:
        words = ("--checker", "openai:checker", "--checker-base-url", server.url)
        assert questions("check", animals, file, *words) == 0

    found = rows(file.with_name("q.checked.json"))
    assert len(prompts(server)) == 3 * 4
    assert found["owl"]["status"] == "accept"
    assert found["owl"]["checker"]["documents"][0] == {"document": "owl.txt", "answer": "3 stone"}
    assert found["bat"]["status"] == "review"
    assert found["bat"]["reasons"] == ["answered by another document: the checker finds '9 stone' in 'rumour.txt'"]


@pytest.mark.parametrize(
    ("reply", "status", "kind"),
    [
        ({"answerable": False}, "reject", "not answerable from its document"),
        ({"answerable": True, "answer": "three and a half tons"}, "review", "another answer"),
    ],
)
def test_what_a_checker_finds_in_the_pairs_own_document(
    questions: Call, rows: Rows, animals: Path, file: Path, reply: dict[str, Any], status: str, kind: str
) -> None:
    def doubting(asked: Asked) -> Said:
        own = "About the owl" in asked.prompt and "does the owl" in asked.prompt
        return Said(json.dumps(reply)) if own else honest(asked)

    with loopback(doubting) as server:
        questions("check", animals, file, "--checker", "openai:checker", "--checker-base-url", server.url)

    found = rows(file.with_name("q.checked.json"))
    assert found["owl"]["status"] == status
    assert [reason.split(":")[0] for reason in found["owl"]["reasons"]] == [kind]


def test_a_reply_that_is_missing_is_said_and_asked_for_again(
    questions: Call, rows: Rows, animals: Path, file: Path
) -> None:
    def mute(asked: Asked) -> Said:
        return (
            Said("", status=400, raw=b'{"error": {"message": "no"}}') if "fox" in asked.prompt else knows_the_fox(asked)
        )

    with loopback(mute) as server:
        assert questions("check", animals, file, server=server) == 1
        found = rows(file.with_name("q.checked.json"))
        assert found["fox"]["status"] == "review"
        assert found["fox"]["reasons"][0].startswith("not probed: the model did not answer")

        server.say = knows_the_fox
        assert questions("check", animals, file, server=server) == 0
    assert rows(file.with_name("q.checked.json"))["fox"]["status"] == "reject"


def test_decisions_of_people_are_kept_while_the_pair_is_the_same(
    questions: Call, rows: Rows, animals: Path, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = file.with_name("q.checked.json")
    decided = rows(file)
    for key in ("owl", "bat"):
        decided[key]["decision"] = {"status": "reject", "by": "ann", "at": "2026-01-01"}
    decided["bat"]["answer"] = "4.5 stone"
    out.write_text(json.dumps(decided))

    assert questions("check", animals, file) == 0

    found = rows(out)
    assert found["owl"]["decision"] == {"status": "reject", "by": "ann", "at": "2026-01-01"}
    assert found["owl"]["status"] == "accept"
    assert "decision" not in found["bat"]
    said = capsys.readouterr().out
    assert "decisions of people that are kept: 1" in said
    assert "decisions about pairs that have changed since, left out: 'bat'" in said


def test_a_checked_file_is_checked_again_in_its_place(questions: Call, rows: Rows, animals: Path, file: Path) -> None:
    questions("check", animals, file)
    out = file.with_name("q.checked.json")
    first = rows(out)

    assert questions("check", animals, out) == 0
    assert rows(out) == first
    assert not file.with_name("q.checked.checked.json").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--max-other", -1), "--max-other: '-1': give a whole number from 0"),
        (("--concurrency", 0, "--model", "mock:perfect"), "--concurrency: '0': give a whole number from 1"),
        (("--checker", "nothing"), "--checker: 'nothing': use one of"),
        (("--checker", "mock:wrong", "--checker-api-key-env", "sk-1"), "--checker-api-key-env: '...': is the name"),
        (("--out", "."), "--out: '.': cannot be read"),
    ],
)
def test_what_cannot_be_used_is_one_line(
    questions: Call, animals: Path, file: Path, capsys: pytest.CaptureFixture[str], words: tuple[Any, ...], said: str
) -> None:
    assert questions("check", animals, file, *words) == 2

    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_the_steps_are_named(questions: Call, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        questions("guess")
    assert "choose from" in capsys.readouterr().err
