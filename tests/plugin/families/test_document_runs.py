"""Runs on documents of the user's: a folder and a file of questions, made here."""

import json
import re
from hashlib import sha256

import pytest

import needlework
from tests.loopback import Said, loopback

TOWNS = ("Arle", "Brask", "Corvo", "Dunmere", "Eskdale", "Fenwick", "Garrow", "Holt")
FOUNDERS = ("Ida Prell", "Jonas Quist")


@pytest.fixture
def run(project):
    """`run(*options)`: preset own-documents on thirty documents, with questions about two of them."""
    folder = project.pytester.mkdir("documents")
    for n in range(30):
        town = f"{TOWNS[n % 8]} {n}"
        said = " ".join(
            f"In month {month} the market of {town} sold {month * n + 4} baskets." for month in range(1, 10)
        )
        founder = f"{town} was founded by {FOUNDERS[n]}. " if n < len(FOUNDERS) else ""
        (folder / f"town{n}.txt").write_text(f"{town}\n\n{founder}{said}", encoding="utf-8")
    (folder / ".hidden.txt").write_text("Not for the run.", encoding="utf-8")
    rows = {
        str(n): {"question": f"Who founded {TOWNS[n]} {n}?", "answer": FOUNDERS[n], "answer_doc": f"town{n}.txt"}
        for n in range(len(FOUNDERS))
    }
    (project.pytester.path / "questions.json").write_text(json.dumps(rows), encoding="utf-8")
    project.asks("documents")
    given = ("--preset=own-documents", "--documents=documents", "--questions=questions.json", "--verify-prompts")
    return lambda *args, **options: project.run(*given, "--lengths=2400", *args, **options)


def arms(records):
    """How many records there are of each task and arm."""
    found = {}
    for record in records:
        reference = record["reference"]
        at = (record["task"], reference["arm"], reference.get("retriever", ""))
        found[at] = found.get(at, 0) + 1
    return found


def test_the_preset_asks_by_position_size_retrieval_and_absence(run, project, capsysbinary):
    pytest.importorskip("bm25s")
    run("--depths=0,100")
    records = project.records()
    assert arms(records) == {
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
    manifest = json.loads(project.file("manifest.json"))
    ((path, questions),) = manifest["questions"].items()
    assert path == "questions.json"
    digest = sha256((project.pytester.path / path).read_bytes()).hexdigest()
    assert questions == {"questions": 2, "reviewed": False, "sha256": digest}
    assert manifest["left_out_documents"] == {".hidden.txt": "hidden"}
    # Each kind of prompt is made again byte for byte.
    read = ("--read", str(project.pytester.path))
    for task in ("doc_position", "doc_size", "doc_absent"):
        for needle in {record["needle"][2:] for record in records if record["task"] == task}:
            cell = next(each for each in records if each["task"] == task and each["needle"] == f"q0{needle}")
            assert needlework.main(["prompt", str(project.runs / "r"), cell["id"], *read]) == 0
            assert cell["question"].encode() in capsysbinary.readouterr().out


def test_a_size_that_one_question_does_not_fit_is_asked_of_none(run, project):
    long = project.pytester.path / "documents" / "town1.txt"
    long.write_text(long.read_text(encoding="utf-8") + " Nothing else is known of this town." * 60, encoding="utf-8")
    result = run("--task=doc_size", "--retriever=none", "--lengths=2400")
    result.stdout.fnmatch_lines(["*left out, too short: doc_size at 600 (from *: --lengths *)*"])
    sizes = {}
    for record in project.records():
        sizes.setdefault(record["needle"], set()).add(record["length"])
    assert sizes["q0"] == sizes["q1"] == {1200, 1800, 2400}
    assert sizes["q0_focused"] == {600}


def test_a_question_whose_document_does_not_fit_is_left_out_and_named(run, project):
    long = project.pytester.path / "documents" / "town1.txt"
    long.write_text(long.read_text(encoding="utf-8") + " Nothing else is known of this town." * 250, encoding="utf-8")
    result = run("--lengths=1200", "--retriever=none,bm25", "--controls=focused")
    result.stdout.fnmatch_lines(
        ["*left out, 2 questions whose document does not fit: q1 about 'town1.txt', q0 with *(all fit from *)*"]
    )
    asked = {(record["task"], record["needle"]) for record in project.records()}
    assert {needle.partition("_")[0] for _, needle in asked} == {"q0"}
    assert {task for task, _ in asked} == {"doc_position", "doc_size", "doc_absent"}
    assert ("doc_absent", "q0_near") not in asked
    result.stdout.fnmatch_lines(["*of one question on your documents right*"])


def test_one_line_where_something_is_missing(project):
    project.asks("documents")
    result = project.run("--preset=own-documents", "--retriever=none")
    result.stderr.fnmatch_lines(["*--documents: '': doc_position asks about documents of yours: name their folder*"])
    result = project.run("--task=doc_position")
    result.stderr.fnmatch_lines(["*--preset own-documents has it*"])


def test_a_folder_is_enough(project):
    folder = project.pytester.mkdir("documents")
    for n, town in enumerate(TOWNS * 3):
        told = " ".join(
            f"The market of {town} {n} sold {7 * n + month} baskets in month {month}." for month in range(9)
        )
        (folder / f"{n}.txt").write_text(f"The town of {town} {n} was founded by {town}a Quist{n} on a hill. {told}")
    (folder / "scan.txt").write_text(" ")
    (folder / ".hidden").write_text("x")
    project.asks("documents")
    given = ("--preset=own-documents", "--documents=documents", "--task=doc_position", "--lengths=1k", "--depths=50")
    project.run("-qv", *given).stdout.fnmatch_lines(
        ["--documents documents: 24 documents are read, not 'scan.txt': it is blank; 1 more (-v lists all)"]
    )
    project.run(*given, "-v").stdout.fnmatch_lines(
        ["--documents documents: 24 documents are read, not 'scan.txt': it is blank; '.hidden': hidden"]
    )
    records = project.records()
    assert len(records) == 20
    assert {record["outcome"] for record in records} == {"found"}
    assert "gap" in json.loads(project.file("manifest.json"))["questions"]


@pytest.fixture
def towns(project):
    """Twelve documents, and the options that have a model write questions about them."""
    folder = project.pytester.mkdir("documents")
    for n in range(12):
        told = " ".join(f"The market of Arle {n} sold {7 * n + month} baskets in month {month}." for month in range(9))
        (folder / f"{n}.txt").write_text(f"Arle {n} was founded by Quist {n}. {told}")
    project.asks("documents")
    given = ["--preset=own-documents", "--documents=documents", "--task=doc_position", "--lengths=800", "--depths=50"]
    return [*given, "--questions-model=openai:writer"]


def writer(asked):
    """Asks who founded a town."""
    town, founder = re.search(r"(Arle \d+) was founded by (Quist \d+)", asked.prompt).groups()
    return Said(json.dumps([{"question": f"Who founded {town}?", "answer": founder}]))


def written(server):
    """How many documents the writer was shown."""
    return sum("messages" in asked.body for asked in server.requests)


def test_a_model_writes_the_questions_once_and_the_run_asks_them(project, towns, capsysbinary):
    with loopback(writer) as server:
        towns.append(f"--questions-model-base-url={server.url}")
        planned = project.run(*towns, "--plan")
        planned.stdout.fnmatch_lines(["*openai:writer has written no questions yet: these are as many with gaps*"])
        assert not (project.runs / "r").exists()
        assert written(server) == 0
        found = project.run(*towns)
        found.stdout.fnmatch_lines(["questions: openai:writer writes one about each of 12 documents, kept in *.json"])
        records = project.records()
        project.run(*towns, "-n2")
        assert written(server) == 12
    assert len(records) == len(project.journal()) == 12
    assert {record["outcome"] for record in records} == {"found"}
    assert records[0]["reference"]["question"] == "Who founded Arle 0?"
    questions = project.runs / "r" / "questions.json"
    (told,) = json.loads(project.file("manifest.json"))["questions"].items()
    digest = sha256(questions.read_bytes()).hexdigest()
    assert told == (
        str(questions), {"questions": 12, "reviewed": False, "sha256": digest, "written_by": "openai:writer"}
    )  # fmt: skip
    assert (
        needlework.main(["prompt", str(project.runs / "r"), records[3]["id"], "--read", str(project.pytester.path)])
        == 0
    )
    assert records[3]["question"].encode() in capsysbinary.readouterr().out


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--questions=x.json",), "there is a file of questions already: leave out --questions, or this"),
        (("--shard=1/2",), "shards need one file of questions: write it before, needlework questions make"),
        (("--questions-model-base-url=http://127.0.0.1:9/v1",), "start the server or mend --questions-model-base-url"),
        (("--questions-model-api-key-env=sk-1234567",), "is the name of an environment variable"),
    ],
)
def test_a_writer_that_cannot_write_is_one_line(project, towns, more, said):
    result = project.run(*towns, *more)
    result.stderr.fnmatch_lines([f"*--questions-model*{said}*"])
    assert result.ret == 4
