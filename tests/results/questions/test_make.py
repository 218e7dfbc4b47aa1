"""`needlework questions make` with a server of this machine as the model."""

import json
import os
import re
import signal
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from tests.loopback import Said, loopback

ROOT = Path(__file__).parents[3]


@pytest.fixture
def out(tmp_path):
    return tmp_path / "q.json"


def prompts(server):
    """What the model was asked; the server was also asked for its window."""
    return [asked for asked in server.requests if "messages" in asked.body]


def animal_of(asked):
    found = re.search(r"About the (\w+)", asked.prompt)
    return found[1] if found else ""


def writer(asked):
    """Asks for the weight of a document's animal."""
    weight = re.search(r"weighs (\d+) stone", asked.prompt)
    pair = {"question": f"What does the {animal_of(asked)} of Kells weigh?", "answer": f"{weight and weight[1]} stone"}
    return Said(f"Here:\n```json\n{json.dumps([pair])}\n```")


def test_each_document_gets_a_question_and_the_next_run_goes_on(questions, rows, animals, out, capsys):
    with loopback(writer) as server:
        assert questions("make", animals, "--out", out, server=server) == 0
        assert rows(out)["0"] == {
            "question": "What does the badger of Kells weigh?",
            "answer": "7 stone",
            "answer_doc": "badger.txt",
            "made_from": sha256((animals / "badger.txt").read_bytes().strip()).hexdigest()[:16],
        }
        names = [f"{name}.txt" for name in ("badger", "bat", "fox", "hedgehog", "owl")]
        assert [row["answer_doc"] for row in rows(out).values()] == names
        assert all(asked.body["temperature"] == 0 for asked in prompts(server))
        said = capsys.readouterr().out
        assert "5 documents in the folder, 5 asked about, 5 have questions: 5 in all" in said
        assert f"next: needlework questions check {animals} {out}" in said

        edited = rows(out) | {"2": {"question": "Mine?", "answer": "yes", "answer_doc": "fox.txt"}}
        out.write_text(json.dumps(edited))
        assert questions("make", animals, "--out", out, server=server) == 0
        assert (len(prompts(server)), rows(out)) == (5, edited)
        (animals / "ant.txt").write_text("About the ant. The ant of Kells weighs 1 stone.")
        (animals / "owl-2.txt").write_bytes((animals / "owl.txt").read_bytes())  # its twin has a question
        (animals / "bat.txt").unlink()
        capsys.readouterr()
        assert questions("make", animals, "--out", out, server=server) == 0
    assert (len(prompts(server)), list(rows(out))) == (6, ["0", "1", "2", "3", "4", "5"])
    assert {key: rows(out)[key] for key in edited} == edited
    assert rows(out)["5"]["answer_doc"] == "ant.txt"
    said = capsys.readouterr().out
    assert "6 documents in the folder, 4 have questions already and keep them, 1 asked about, 1 have questions" in said
    assert "documents that are twins, equal or nearly, 1:\n- 'owl-2.txt', 'owl.txt'\nof twins only the first" in said


def test_a_reply_that_cannot_be_used_is_asked_for_again_with_what_was_wrong(questions, rows, animals, out, capsys):
    def stumbling(asked):
        if animal_of(asked) == "fox":
            return Said("No.")
        return writer(asked) if "could not be used" in asked.prompt else Said('[{"question": "What?"}]')

    with loopback(stumbling) as server:
        assert questions("make", animals, "--out", out, server=server) == 1
    again = [asked.prompt for asked in prompts(server) if "could not be used" in asked.prompt]
    assert (len(prompts(server)), len(again)) == (10, 5)
    assert "item 1: `answer` is missing" in next(prompt for prompt in again if "fox" not in prompt)
    assert "'fox.txt': the reply cannot be read: there is no JSON like" in capsys.readouterr().out
    assert len(rows(out)) == 4
    with loopback(writer) as server:
        assert questions("make", animals, "--out", out, server=server) == 0
    assert [animal_of(asked) for asked in prompts(server)] == ["fox"]
    assert len(rows(out)) == 5


def test_several_questions_a_document_by_a_template_of_the_user(questions, rows, animals, out, tmp_path):
    template = tmp_path / "mine.toml"
    template.write_text('system = "You test."\nuser = "Give {{ count }} of {{ document }}"\n')

    def two(asked):
        pairs = [{"question": f"{animal_of(asked)} {n}?", "answer": n, "aliases": ["x"]} for n in range(2)]
        return Said(json.dumps({"pairs": pairs}))

    words = ("--template", template, "--per-document", 2, "--limit", 3, "--seed", 5)
    with loopback(two) as server:
        assert questions("make", animals, "--out", out, *words, server=server) == 0
        assert questions("make", animals, "--out", out, *words, server=server) == 0, "the limit counts what is there"
    assert prompts(server)[0].prompt.startswith("You test.\n\nGive 2 of About the ")
    assert (list(rows(out)), rows(out)["1"]["aliases"]) == (["0", "1", "2", "3", "4", "5"], ["x"])
    assert len({row["answer_doc"] for row in rows(out).values()}) == len(prompts(server)) == 3


def test_a_document_longer_than_the_window_is_shown_from_its_beginning_and_named(questions, animals, out, capsys):
    (animals / "owl.txt").write_text("About the owl. The owl of Kells weighs 3 stone. " + "It hoots again. " * 3000)
    with loopback(writer) as server:
        assert questions("make", animals, "--out", out, "--model-arg", "window=4000", server=server) == 0
    assert 8_000 < max(len(asked.prompt) for asked in prompts(server)) < 20_000
    said = capsys.readouterr().out
    assert "documents longer than the model's window, of which it saw the beginning, 1:\n- 'owl.txt'" in said


def test_gap_questions_need_no_model_and_go_on_too(questions, rows, animals, out, capsys):
    for number in range(12):
        (animals / f"{number}.png").write_bytes(b"x")
    make = ("make", animals, "--out", out, "--template", "gap")
    questions(*make, "--limit", 2)
    assert len(rows(out)) == 2
    questions(*make)
    before = rows(out)
    assert len(before) == 5
    assert "- and 2 more (--list-left-out shows all)" in capsys.readouterr().out
    (animals / "ant.txt").write_text("The very small ant of Kells carried 17 leaves over the wall in one single day.")
    (animals / "z.txt").write_text("Too short.")
    assert questions(*make, "--list-left-out") == 1
    assert {key: rows(out)[key] for key in before} == before
    assert [row["answer_doc"] for key, row in rows(out).items() if key not in before] == ["ant.txt"]
    said = capsys.readouterr().out
    assert "documents without a question, 1:\n- 'z.txt': no sentence can have a gap" in said
    assert "more (--list" not in said


def test_killed_it_goes_on_where_it_was(questions, rows, animals, out):
    with loopback(writer, latency_s=(0.1, 0.1)) as server:
        command = [sys.executable, "-m", "needlework", "questions", "make", str(animals), "--out", str(out)]
        command += ["--model", "openai:stub", "--base-url", server.url, "--concurrency", "1"]
        process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.DEVNULL)
        replies = out.with_name("q.replies.jsonl")
        while not (replies.is_file() and replies.read_text().count("\n") >= 2):
            assert process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait()
        known, before = replies.read_text().count("\n"), len(prompts(server))
        assert questions("make", animals, "--out", out, server=server) == 0
    assert known <= 4
    assert len(prompts(server)) - before == 5 - known
    assert len(rows(out)) == 5


def test_who_pipes_the_lines_to_head_has_the_file(animals, out):
    make = f"{sys.executable} -m needlework questions make {animals} --template gap --out {out}"
    subprocess.run(f"{make} | true", shell=True, check=False, cwd=ROOT, capture_output=True)
    assert out.exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--per-document", 0), "--per-document: '0': give a whole number from 1"),
        (("--template", "absent"), "--template: 'absent': cannot be read"),
        (("--template", "gap"), "--model: 'mock:perfect': --template gap asks no model"),
        (("--api-key-env", "sk-12345"), "--api-key-env: '...': is the name of an environment variable"),
        (("--model-arg", "window"), "--model-arg: 'window': write KEY=VALUE"),
        (("--model", "nothing"), "--model: 'nothing': use one of"),
        (("--model", "mock:wrong"), "has written no question that can be used"),
    ],
)
def test_what_cannot_be_used_is_one_line(questions, animals, out, capsys, words, said):
    given = () if "--model" in words else ("--model", "mock:perfect")
    assert questions("make", animals, "--out", out, *given, *words) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert not out.exists()


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
def test_a_template_that_cannot_be_used_says_why(questions, animals, tmp_path, capsys, content, said):
    (tmp_path / "t.toml").write_text(content)
    assert questions("make", animals, "--model", "mock:perfect", "--template", tmp_path / "t.toml") == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("name", ["factoid", "factoid-zh", "two-facts"])
def test_the_built_in_templates_show_the_document(questions, animals, out, name):
    with loopback(writer) as server:
        questions("make", animals, "--out", out, "--template", name, server=server)
    assert prompts(server)
    assert all("of Kells weighs" in asked.prompt and "{{" not in asked.prompt for asked in prompts(server))
