"""Runs of L-Eval's tasks, on two documents of ours in its layout."""

import pytest

import needlework
from tests.published_rows import written

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
    run("-k", "sci_fi", name="wrong", model="mock:error=timeout")
    (failed,) = project.records("wrong")
    assert failed["outcome"] == "error"


def test_what_is_cut_is_told_and_what_may_not_be_cut_is_skipped(run, project):
    run("--lengths=800", "-k", "tpo")
    assert {record["outcome"] for record in project.records()} == {"found"}
    for record in project.records():
        assert record["prompt"]["flags"] == ["truncated"]
        assert 0 < record["prompt"]["truncated"] < 1
    run("--lengths=800", "-k", "tpo", "--no-truncate", name="whole")
    assert {record["outcome"] for record in project.records("whole")} == {"skipped"}


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
    exported, scored = (part for part in capsys.readouterr().out.split("L-Eval, ")[1:])
    assert exported.splitlines()[2] == scored.splitlines()[2]
    assert "3 of 3" in scored
    read = ("--read", str(project.pytester.path))
    assert needlework.main(["prompt", str(run), "leval_harbour_cleaned-len1200-depthall-doc1_q0-r0", *read]) == 0
    assert "Thursdays" in capsys.readouterr().out
