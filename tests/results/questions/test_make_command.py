"""`needlework questions make` with a server of this machine as the model."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.loopback import Asked, Loopback, Said, loopback

Call = Callable[..., int]
Rows = Callable[[Path], dict[str, Any]]
ROOT = Path(__file__).parents[3]


def prompts(server: Loopback) -> list[Asked]:
    """What the model was asked; the server was also asked for its window."""
    return [asked for asked in server.requests if "messages" in asked.body]


def _animal(asked: Asked) -> str:
    found = re.search(r"About the (\w+)", asked.prompt)
    return found[1] if found else ""


def writer(asked: Asked) -> Said:
    """Asks for the weight of a document's animal."""
    weight = re.search(r"weighs (\d+) stone", asked.prompt)
    pair = {"question": f"What does the {_animal(asked)} of Kells weigh?", "answer": f"{weight and weight[1]} stone"}
    return Said(f"Here:\n```json\n{json.dumps([pair])}\n```")


def test_each_document_gets_a_question_in_the_published_format(
    questions: Call, rows: Rows, animals: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "q.json"
    with loopback(writer) as server:
        assert questions("make", animals, "--out", out, server=server) == 0

    found = rows(out)
    assert found["0"] == {
        "question": "What does the badger of Kells weigh?",
        "answer": "7 stone",
        "answer_doc": "badger.txt",
        "made_from": sha256((animals / "badger.txt").read_bytes().strip()).hexdigest()[:16],
    }
    assert [row["answer_doc"] for row in found.values()] == [
        f"{name}.txt" for name in ("badger", "bat", "fox", "hedgehog", "owl")
    ]
    assert all(asked.body["temperature"] == 0 for asked in prompts(server))
    said = capsys.readouterr().out
    assert "5 documents in the folder, 5 asked about, 5 have questions: 5 in all" in said
    assert f"next: needlework questions check {animals} {out}" in said


def test_the_second_run_asks_nothing_and_a_new_document_is_asked_about_alone(
    questions: Call, rows: Rows, animals: Path, tmp_path: Path
) -> None:
    out = tmp_path / "q.json"
    with loopback(writer) as server:
        questions("make", animals, "--out", out, server=server)
        first = out.read_bytes()
        assert questions("make", animals, "--out", out, server=server) == 0
        assert (len(prompts(server)), out.read_bytes()) == (5, first)

        (animals / "wolf.txt").write_text("About the wolf. The wolf of Kells weighs 9 stone.")
        assert questions("make", animals, "--out", out, server=server) == 0

    assert (len(prompts(server)), len(rows(out))) == (6, 6)


def test_a_reply_that_cannot_be_used_is_asked_for_again_with_what_was_wrong(
    questions: Call, rows: Rows, animals: Path, tmp_path: Path
) -> None:
    def stumbling(asked: Asked) -> Said:
        return writer(asked) if "could not be used" in asked.prompt else Said('[{"question": "What?"}]')

    with loopback(stumbling) as server:
        assert questions("make", animals, "--out", tmp_path / "q.json", server=server) == 0

    again = [asked for asked in prompts(server) if "could not be used" in asked.prompt]
    assert (len(prompts(server)), len(again)) == (10, 5)
    assert "item 1: answer: Field required" in again[0].prompt
    assert len(rows(tmp_path / "q.json")) == 5


def test_a_document_without_a_question_is_listed_and_asked_about_by_the_next_run(
    questions: Call, rows: Rows, animals: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "q.json"

    def mute(asked: Asked) -> Said:
        return Said("No.") if _animal(asked) == "fox" else writer(asked)

    with loopback(mute) as server:
        assert questions("make", animals, "--out", out, server=server) == 1
    assert "'fox.txt': the reply cannot be read: there is no JSON like" in capsys.readouterr().out
    assert "fox.txt" not in {row["answer_doc"] for row in rows(out).values()}

    with loopback(writer) as server:
        assert questions("make", animals, "--out", out, server=server) == 0
    assert [_animal(asked) for asked in prompts(server)] == ["fox"]
    assert len(rows(out)) == 5


def test_of_twins_only_the_first_is_asked_about(
    questions: Call, rows: Rows, animals: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (animals / "zoo.txt").write_text((animals / "owl.txt").read_text().upper())
    with loopback(writer) as server:
        assert questions("make", animals, "--out", tmp_path / "q.json", server=server) == 0

    assert len(prompts(server)) == 5
    assert (
        "documents that are twins, equal or nearly, 1:\n- 'owl.txt', 'zoo.txt'\nof twins only the first"
        in capsys.readouterr().out
    )


def test_several_questions_a_document_by_a_template_of_the_user(
    questions: Call, rows: Rows, animals: Path, tmp_path: Path
) -> None:
    template = tmp_path / "mine.toml"
    template.write_text('system = "You test."\nuser = "Give {{ count }} of {{ document }}"\n')

    def two(asked: Asked) -> Said:
        name = _animal(asked)
        pairs = [{"question": f"{name} {number}?", "answer": number, "aliases": ["x"]} for number in range(2)]
        return Said(json.dumps({"pairs": pairs}))

    words = ("--template", template, "--per-document", 2, "--limit", 3, "--seed", 5)
    with loopback(two) as server:
        assert questions("make", animals, "--out", tmp_path / "q.json", *words, server=server) == 0

    assert prompts(server)[0].prompt.startswith("You test.\n\nGive 2 of About the ")
    found = rows(tmp_path / "q.json")
    assert list(found) == ["0", "1", "2", "3", "4", "5"]
    assert found["1"]["aliases"] == ["x"]
    assert len({row["answer_doc"] for row in found.values()}) == 3


def test_a_document_longer_than_the_window_is_shown_from_its_beginning_and_named(
    questions: Call, animals: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (animals / "owl.txt").write_text("About the owl. The owl of Kells weighs 3 stone. " + "It hoots again. " * 3000)
    with loopback(writer) as server:
        words = ("--out", tmp_path / "q.json", "--model-arg", "window=4000")
        assert questions("make", animals, *words, server=server) == 0

    longest = max(len(asked.prompt) for asked in prompts(server))
    assert 8_000 < longest < 20_000
    said = capsys.readouterr().out
    assert "documents longer than the model's window, of which it saw the beginning, 1:\n- 'owl.txt'" in said


def test_what_the_file_has_stays_and_only_documents_without_a_question_are_asked_about(
    questions: Call, rows: Rows, animals: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "q.json"
    with loopback(writer) as server:
        questions("make", animals, "--out", out, server=server)
        edited = rows(out) | {"2": {"question": "Mine?", "answer": "yes", "answer_doc": "fox.txt"}}
        out.write_text(json.dumps(edited))
        (animals / "ant.txt").write_text("About the ant. The ant of Kells weighs 1 stone.")
        (animals / "owl-2.txt").write_bytes((animals / "owl.txt").read_bytes())  # its twin has a question
        (animals / "bat.txt").unlink()
        (animals / "badger.txt").write_text("About the badger. The badger of Kells weighs 8 stone by now.")
        capsys.readouterr()

        assert questions("make", animals, "--out", out, server=server) == 0

    assert len(prompts(server)) == 6
    assert list(rows(out)) == ["0", "1", "2", "3", "4", "5"]
    assert rows(out)["5"]["answer_doc"] == "ant.txt"
    assert {key: rows(out)[key] for key in edited} == edited
    said = capsys.readouterr().out
    assert "6 documents in the folder, 4 have questions already and keep them, 1 asked about, 1 have questions" in said
    assert "changed since they were asked about; their questions are kept, 1:\n- 'badger.txt'" in said
    assert "are in the folder no longer; their questions are kept, and rejected by `check`, 1:\n- 'bat.txt'" in said

    checked = out.with_name("q.checked.json")
    questions("check", animals, out)
    found = rows(checked)
    assert [reason.split(":")[0] for reason in found["0"]["reasons"]] == ["document has changed", "hardly supported"]
    assert found["1"]["status"] == "reject"


def test_a_limit_counts_what_the_file_has(questions: Call, rows: Rows, animals: Path, tmp_path: Path) -> None:
    out = tmp_path / "q.json"
    with loopback(writer) as server:
        for limit, most in ((2, 2), (2, 2), (4, 4)):
            assert questions("make", animals, "--out", out, "--limit", limit, server=server) == 0
            assert len({row["answer_doc"] for row in rows(out).values()}) <= most
    assert len(prompts(server)) == len(rows(out))


def test_gap_questions_go_on_too(
    questions: Call, rows: Rows, animals: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "q.json"
    questions("make", animals, "--out", out, "--template", "gap")
    before = rows(out)
    (animals / "ant.txt").write_text("The very small ant of Kells carried 17 leaves over the wall in one single day.")
    questions("make", animals, "--out", out, "--template", "gap")
    assert {key: rows(out)[key] for key in before} == before
    assert [row["answer_doc"] for key, row in rows(out).items() if key not in before] == ["ant.txt"]


def test_every_left_out_file_is_listed_on_request(
    questions: Call, animals: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(12):
        (animals / f"{number}.png").write_bytes(b"x")
    (animals / "z.txt").write_text(" ")
    made = ("make", animals, "--out", tmp_path / "q.json", "--template", "gap")
    questions(*made)
    said = capsys.readouterr().out
    assert "files that are no documents, 13:\n- 'z.txt': it is blank" in said  # what will be missed comes first
    assert "- and 3 more (--list-left-out shows all)" in said
    questions(*made, "--list-left-out")
    assert "and 3 more" not in capsys.readouterr().out


def test_killed_it_goes_on_where_it_was(questions: Call, rows: Rows, animals: Path, tmp_path: Path) -> None:
    out = tmp_path / "q.json"
    with loopback(writer, latency_s=(0.1, 0.1)) as server:
        command = [sys.executable, "-m", "needlework", "questions", "make", str(animals), "--out", str(out)]
        command += ["--model", "openai:stub", "--base-url", server.url, "--concurrency", "1"]
        process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.DEVNULL)
        replies = out.with_name("q.replies.jsonl")
        while not (replies.is_file() and replies.read_text().count("\n") >= 2):
            assert process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait()
        known = replies.read_text().count("\n")
        before = len(prompts(server))

        assert questions("make", animals, "--out", out, server=server) == 0

    assert not known > 4
    assert len(prompts(server)) - before == 5 - known
    assert len(rows(out)) == 5


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--per-document", 0), "--per-document: '0': give a whole number from 1"),
        (("--template", "absent"), "--template: 'absent': cannot be read"),
        (("--api-key-env", "sk-12345"), "--api-key-env: '...': is the name of an environment variable"),
        (("--model-arg", "window"), "--model-arg: 'window': write KEY=VALUE"),
        (("--model", "nothing"), "--model: 'nothing': use one of"),
        (("--model", "mock:wrong"), "has written no question that can be used"),
    ],
)
def test_what_cannot_be_used_is_one_line(
    questions: Call,
    animals: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    words: tuple[Any, ...],
    said: str,
) -> None:
    given = () if "--model" in words else ("--model", "mock:perfect")

    assert questions("make", animals, "--out", tmp_path / "q.json", *given, *words) == 2

    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert not (tmp_path / "q.json").exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("system = 5", "has no text `system`"),
        ('system = "a"\nuser = "{{ count }}"', "{{ document }} is nowhere in it"),
        ('system = "a"\nuser = "{{ documnet }}"', "cannot be rendered ('documnet' is undefined)"),
        ('system = "a"\nuser = "{% if %}"', "cannot be rendered ("),
        ("nothing", "is not valid TOML"),
    ],
)
def test_a_template_that_cannot_be_used_says_why(
    questions: Call, animals: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, said: str
) -> None:
    (tmp_path / "t.toml").write_text(content)

    assert questions("make", animals, "--model", "mock:perfect", "--template", tmp_path / "t.toml") == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("name", ["factoid", "factoid-zh", "two-facts"])
def test_the_built_in_templates_show_the_document_and_the_number(
    questions: Call, animals: Path, tmp_path: Path, name: str
) -> None:
    with loopback(writer) as server:
        questions("make", animals, "--out", tmp_path / "q.json", "--template", name, server=server)

    assert all("of Kells weighs" in asked.prompt and "{{" not in asked.prompt for asked in prompts(server))
