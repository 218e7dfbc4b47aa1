"""Runs of L-Eval's tasks, with retrievers, of NeedleBench and rows of data sets, and on documents of the user's."""

import json
import re
import shlex
from collections import Counter
from hashlib import sha256

import pytest

import needlework
from needlework.results.rescore import main as rescore
from tests.loopback import embeddings, good, loopback
from tests.published_rows import graph_row, longbench_row, written

TREE, FERRY = "The pear tree stood behind the mill. " * 40, "The ferry ran on Thursdays only. " * 40
NO_FILE = "is no file and no folder: give jsonl files of L-Eval's form, your copy of its data, or hf:L4NLP/LEval"
STATEMENT = "The mill is haunted, True or False? Answer this question based on the world described in the document."


def row(text, questions, answers, evaluation="exam"):
    return {"input": text, "instructions": questions, "outputs": answers, "evaluation": evaluation}


@pytest.fixture
def run(project):
    folder = project.pytester.mkdir("data")
    choices = ["Which?\nA. oak\nB. pear", "Where?\nA. mill\nB. church"]
    written(folder / "tpo.jsonl", [row(TREE, choices, ["B", "A"]), row(FERRY, ["When?"], ["C"])])
    written(folder / "sci_fi.jsonl", [row(TREE, [STATEMENT], ["True [fact: False]"])])
    project.asks("leval")
    given = ("--preset=leval-closed", "--task=leval_tpo,leval_sci_fi", "--leval-data=data", "--lengths=1200")
    return lambda *args, **options: project.run(*given, *args, **options)


def test_questions_of_a_task_are_one_panel(run, project, pictures):
    result = run()
    result.stdout.fnmatch_lines(["mock:perfect · leval_sci_fi · questions", "mock:perfect · leval_tpo · questions"])
    assert [(r["id"], r["outcome"]) for r in project.records()] == [
        ("leval_sci_fi-len1200-depthall-doc0_q0-r0", "found"),
        ("leval_tpo-len1200-depthall-doc0_q0-r0", "found"),
        ("leval_tpo-len1200-depthall-doc0_q1-r0", "found"),
        ("leval_tpo-len1200-depthall-doc1_q0-r0", "found"),
    ]
    assert [each.name for each in (project.runs / "r").glob("*.png")] == ["tasks-mock_perfect.png"]
    assert "leval_tpo" in project.file("report.html")


@pytest.mark.parametrize("model", ["mock:perfect", "mock:sleep=0.01"], ids=["in batches", "ahead"])
def test_the_second_answer_of_sci_fi_is_stored_with_the_first(run, project, model):
    run("-k", "sci_fi", model=model)
    (record,) = project.records()
    assert record["response"]["text"] == "The answer is True. [fact: The answer is False.]"
    assert record["score"] == 1


def test_what_is_asked_twice_is_not_probed_for_stability(run, project):
    for _ in range(2):
        run("-k", "sci_fi", "--stability=9")
        (record,) = project.journal()
        assert record["response"]["text"].endswith("[fact: The answer is False.]")
        assert not record["details"].get("stability")


def test_without_data_one_line_names_the_option(project, run):
    project.pytester.mkdir("empty")
    no_task = "has no tpo.jsonl (leval_tpo), sci_fi.jsonl (leval_sci_fi); add it"
    for folder, problem in (("nowhere", NO_FILE), ("empty", no_task)):
        lines = [line for line in run(f"--leval-data={folder}").stderr.lines if line.startswith("ERROR")]
        assert lines == [f"ERROR: --leval-data: {folder!r}: {problem}"]


def test_a_file_of_ones_own_is_run_exported_and_scored(project, capsys):
    tree = row(TREE, ["Which?", "Where?"], ["a pear tree", "the mill"], "f1")
    written(project.pytester.path / "Harbour.cleaned.jsonl", [tree, row(FERRY, ["When?"], ["on Thursdays"], "f1")])
    project.asks("leval")
    project.run("--leval-data=Harbour.cleaned.jsonl", "--lengths=1200")
    assert [r["task"] for r in project.records()] == ["leval_harbour_cleaned"] * 3
    run = project.runs / "r"
    assert needlework.main(["leval-export", str(run)]) == 0
    assert needlework.main(["score", "leval", str(run / "leval")]) == 0
    assert re.search(r"harbour_cleaned +f1 +61.11 +61.11 .* 3 of 3", capsys.readouterr().out)
    read = ("--read", str(project.pytester.path))
    assert needlework.main(["prompt", str(run), "leval_harbour_cleaned-len1200-depthall-doc1_q0-r0", *read]) == 0
    assert "Thursdays" in capsys.readouterr().out


pytest.importorskip("bm25s")
FILLER = "Nothing happened that day, and nobody wrote it down. "
LONG_TREE = f"{FILLER * 30}\n\nThe pear tree stood behind the mill.\n\n{FILLER * 30}"
LONG_FERRY = f"{FILLER * 30}\n\nThe ferry ran on Thursdays.\n\n{FILLER * 30}"
KEY = "sk-planted-embedder-key-4711"


@pytest.fixture
def run_retrievers(project, monkeypatch):
    tree = ["Where did the pear tree stand?\nA. behind the mill\nB. by the church"]
    ferry = ["On which day did the ferry run?\nA. Mondays\nB. Thursdays", "What ran?\nA. ferry\nB. bus"]
    rows = [row(LONG_TREE, tree, ["A"]), row(LONG_FERRY, ferry, ["B", "A"])]
    written(project.pytester.mkdir("data") / "tpo.jsonl", rows)
    project.asks("leval")
    monkeypatch.setenv("NEEDLEWORK_CACHE", str(project.pytester.mkdir("cache")))
    monkeypatch.setenv("EMBEDDER_KEY", KEY)
    given = ("--preset=leval-closed", "--task=leval_tpo", "--leval-data=data", "--lengths=1200")
    given += ("--chunk-size=300", "--chunk-overlap=50", "--retrieve=2", "--embedder-api-key-env=EMBEDDER_KEY")
    return lambda *args, **options: project.run(*given, *args, **options)


def test_each_retriever_is_asked_beside_the_documents_and_told_in_a_table(run_retrievers, project):
    with loopback(embeddings) as server:
        url = server.url.replace("http://", "http://me:planted-password@")
        result = run_retrievers("--retriever=none,bm25,dense", "--embedder=openai:words", f"--embedder-base-url={url}")
        assert server.requests[0].headers["authorization"].startswith(("Bearer", "Basic"))
    result.stdout.fnmatch_lines(
        ["mock:perfect · leval_tpo · questions_bm25", "  task * retriever * score % * whole % * words % * tokens*"]
    )
    records = {record["needle"]: record for record in project.records()}
    assert len(records) == 9
    assert "retrieval" not in records["doc0_q0"]["prompt"]
    for arm in ("bm25", "dense"):
        facts = records[f"doc1_q0_{arm}"]["prompt"]["retrieval"]
        assert facts["retriever"] == arm
        assert facts["answer_recall"] == 1
        assert facts["hits"][0]["document"] == "doc1"
        assert "The ferry ran on Thursdays." in LONG_FERRY[facts["hits"][0]["start"] : facts["hits"][0]["end"]]
        assert records[f"doc1_q0_{arm}"]["score"] == 1
    rows = project.json("results.json")["retrieval"]
    of_arms = [(row["retriever"], row["score"]["n"], row["paired"]["difference"]["mean"]) for row in rows]
    assert of_arms == [("bm25", 3, 0.0), ("dense", 3, 0.0)]
    assert "retrieval_answer_recall" in project.file("results.csv").splitlines()[0]
    assert "Search in place of reading everything" in project.file("report.html")
    assert project.json("manifest.json")["embedders"] == {"openai:words": f"openai:words {server.url}"}
    for path in [*project.runs.rglob("*"), *(project.pytester.path / "cache").rglob("*")]:
        assert not path.is_file() or not re.search(f"{KEY}|planted-password".encode(), path.read_bytes()), path


def test_a_plan_counts_the_chunks_and_not_the_documents(run_retrievers, project):
    planned = run_retrievers("--retriever=bm25", "--plan", "--retrieve=1")
    (counted,) = re.findall(r"in all: .* requests?, ([\d,]+) prompt tokens", planned.stdout.str())
    run_retrievers("--retriever=bm25", "--retrieve=1")
    sent = sum(record["prompt"]["tokens"] for record in project.records())
    assert 0.5 * sent < int(counted.replace(",", "")) < 2 * sent


# -- canaries, NeedleBench's presets, rows of published data sets ---------------------------------------------------


def test_a_model_that_saw_everything_gives_both_canaries_and_runs_with_and_without_do_not_mix(project):
    project.run("--canary", "--save-prompts")
    records = project.records()
    assert {record["outcome"] for record in records} == {"found"}
    for record in records:
        assert "canaries_found" in record["details"]["flags"]
        names = [needle["name"] for needle in record["prompt"]["needles"]]
        assert (names[0], names[-1]) == ("canary_start", "canary_end")
        text = project.file(f"prompts/{record['key']}.txt")
        assert text.index("first mark of this text") < text.index("code for") < text.rindex("last mark of this text")

    project.run()
    assert not any("canaries_found" in record["details"]["flags"] for record in project.records())
    assert len(project.journal()) == 12


def test_needlebenchs_rows_are_told_everywhere(project, capsys):
    project.asks("niah", "parallel", "needlebench")
    preset = ("--preset=needlebench-v2-4k", "--language=en", "--lengths=1k", "--depths=0,100", "--repeats=1")
    project.run(*preset).stdout.fnmatch_lines(
        ["mock:perfect · needlebench-v2-4k (not as published: lengths, depths, corpus, repeats)", "    S-RT-EN: 100 %*"]
    )
    (table,) = project.json("results.json")["needlebench"]
    rows = {row["name"]: row for row in table["rows"]}
    assert (rows["M-RS-EN"]["value"], rows["M-RS-EN"]["n"]) == (1, 8)
    assert (rows["Overall"]["value"], rows["Overall"]["missing"][0]) == (None, "S-RT-ZH")
    assert rescore([str(project.runs / "r"), "--scorer", "match"]) == 0
    assert "    3-Needle-EN: " in capsys.readouterr().out


@pytest.fixture
def run_rows(project):
    project.asks("openai_mrcr", "graphwalks", "longbench_v2")

    def start(preset, rows, *args):
        data = written(project.pytester.path / "rows.jsonl", rows)
        return project.run(f"--preset={preset}", f"--data={data}", *args)

    return start


def test_a_table_of_groups_with_every_rule_beside_ours(run_rows, project):
    result = run_rows(
        "longbench-v2", [longbench_row(number, 10 + 100 * number) for number in range(6)], "--lengths=300"
    )
    result.stdout.fnmatch_lines(["mock:perfect · longbench_v2 · 6 answers", "*overall*100*", "*text cut*"])
    overall = project.json("results.json")["field"][0]["groups"][0]
    assert overall["others"] == {"authors": 1.0, "evalscope": 1.0}
    assert overall["corrected"]["value"] == 1


GRAPHS = [graph_row(1), graph_row(2, edges=900)]


def test_rows_that_do_not_fit_are_skipped_and_told(run_rows, project):
    result = run_rows("graphwalks", GRAPHS, "--lengths=8192,65536", "--answer-budget=64", "--model-arg=window=4096")
    result.stdout.fnmatch_lines(["*skipped, in no mean: 1 of 2 rows"])
    assert [record["outcome"] for record in project.records()] == ["found", "skipped"]


def test_rows_beyond_the_lengths_are_counted_and_none_at_all_is_one_line(run_rows, project):
    run_rows("graphwalks", GRAPHS, "--lengths=8192").stdout.fnmatch_lines(["*not asked: 1"])
    assert [record["length"] for record in project.records()] == [8192]
    facts = project.json("manifest.json")["data_sets"]["GraphWalks"]
    assert (facts["chosen"], facts["over_lengths"]) == (2, 1)
    run_rows("graphwalks", GRAPHS, "--lengths=64").stderr.fnmatch_lines(
        ["*--lengths: '64': all 2 rows of GraphWalks are longer: the shortest has about*"]
    )


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
def run_documents(project, folder):
    """`run_documents(*options)`: preset own-documents, with questions about two of the documents."""
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


def test_the_preset_asks_by_position_size_retrieval_and_absence(run_documents, project, capsysbinary):
    pytest.importorskip("bm25s")
    run_documents("--depths=0,100")
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


def test_a_question_whose_document_does_not_fit_is_left_out_and_named(run_documents, project, folder):
    path = folder / "town1.txt"
    path.write_text(path.read_text() + " Nothing else is known of this town." * 250)
    result = run_documents("--lengths=1200", "--retriever=none,bm25", "--controls=focused")
    result.stdout.fnmatch_lines(
        ["*left out, 3 questions whose document does not fit: q1 about 'town1.txt', q0_focused about *, q0 with *"]
    )
    cells = {(record["task"], record["needle"]) for record in project.records()}
    assert {needle.partition("_")[0] for _, needle in cells} == {"q0"}
    assert {task for task, _ in cells} == {"doc_position", "doc_size", "doc_absent"}
    assert ("doc_absent", "q0_near") not in cells
    result.stdout.fnmatch_lines(["*of 1 question on your documents right*"])


def test_the_command_that_is_printed_shows_the_prompt_of_a_miss(run_documents, project, capsys, monkeypatch):
    result = run_documents("--task=doc_position", "--depths=50", model="mock:wrong")
    text = "\n".join(result.outlines)
    command = text[text.index("needlework prompt ") :].replace(" \\\n", " ").splitlines()[0].partition(" prints ")[0]
    assert "--read documents" in command
    assert "--read questions.json" in command
    monkeypatch.chdir(project.pytester.path)
    assert needlework.main(shlex.split(command)[1:]) == 0
    assert "Who founded" in capsys.readouterr().out


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


def test_documents_that_are_fewer_than_the_window_are_all_asked_about_in_one_length(run_documents, project):
    result = run_documents("--lengths=window", "--depths=50", "--retriever=none", "--model-arg=window=50000")
    result.stdout.fnmatch_lines(
        ["--lengths window: *00 tokens, what the documents fill; the window of mock:perfect has 50,000"]
    )
    records = project.records()
    assert {record["outcome"] for record in records} == {"found"}
    (length,) = {record["length"] for record in records if record["task"] != "doc_size"}
    assert length % 100 == 0
    # All but the last of the others, which is shortened, are there whole.
    assert min(len(each["reference"]["documents"]) for each in records if each["task"] == "doc_position") >= 29


def test_a_vote_is_counted_and_counted_again(project, run_documents, pictures):
    result = run_documents("--task=doc_position", "--vote=3", "--depths=0,25,100", model="mock:middle")
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


def test_a_judge_decides_and_the_rule_is_recorded_too(project, run_documents, capsys):
    with loopback() as server:
        server.plant(good('{"reason": "it is the name", "correct": false}'))
        judge = ("--scorer=judge_documents", "--judge=openai:judge", f"--judge-base-url={server.url}")
        run_documents("--task=doc_position,doc_absent", "--depths=0,25,100", *judge)
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
