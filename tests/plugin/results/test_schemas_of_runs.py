"""`results.json` and `summary.json` of runs of every kind are what their schemas say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import needlework
from tests.published_rows import longbench_row, mrcr_row, written

pytest.importorskip("jsonschema")

OWN = ("--preset=own-documents", "--documents=documents", "--questions=questions.json", "--lengths=2400")
LEVAL = ("--preset=leval-closed", "--task=leval_tpo", "--leval-data=data", "--lengths=1200")
# family that is asked, options
RUNS = {
    "gates": ("niah", ("--gate=score >= 0.9",)),
    "adaptive": ("niah", ("--adaptive=quick",)),
    "errors": ("niah", ("--judge=mock:perfect", "--scorer=judge_documents")),
    "no answer": ("niah", ("--model=mock:error=timeout",)),
    "controls": ("niah", ("--task=niah", "--controls=focused")),
    "two models": ("niah", ("--model=mock:perfect",)),
    "families": ("multivalue", ("--preset=families", "--task=multivalue", "--lengths=600")),
    "conversations": ("mrcr", ("--preset=mrcr-offline", "--task=mrcr", "--lengths=4000", "--limit=4")),
    "published rows": ("openai_mrcr", ("--preset=openai-mrcr", "--data=m.jsonl")),
    "several rules": ("longbench_v2", ("--preset=longbench-v2", "--data=l.json", "--lengths=300")),
    "L-Eval": ("leval", LEVAL),
    "retrieval": ("leval", (*LEVAL, "--chunk-size=300", "--chunk-overlap=50", "--retrieve=2", "--retriever=bm25")),
    "own documents": ("documents", OWN),
    "vote": ("documents", (*OWN, "--task=doc_position", "--vote=3")),
}


@pytest.fixture
def inputs(project) -> None:
    """Documents with a question, L-Eval's form, and rows of published data sets."""
    folder = Path(project.pytester.mkdir("documents"))
    for number in range(30):
        market = " ".join(f"In month {month} the market sold {month * number + 4} baskets." for month in range(1, 10))
        founder = "Town 3 was founded by Ida Prell. " if number == 3 else ""
        (folder / f"town{number}.txt").write_text(f"Town {number}\n\n{founder}{market}", encoding="utf-8")
    row = {"question": "Who founded Town 3?", "answer": "Ida Prell", "answer_doc": "town3.txt"}
    (project.pytester.path / "questions.json").write_text(json.dumps({"0": row}), encoding="utf-8")
    text = "The pear tree stood behind the mill. " * 40
    task = {"input": text, "instructions": ["Which?\nA. oak\nB. pear"], "outputs": ["B"], "evaluation": "exam"}
    (Path(project.pytester.mkdir("data")) / "tpo.jsonl").write_text(json.dumps(task), encoding="utf-8")
    written(project.pytester.path / "m.jsonl", [mrcr_row(number) for number in range(3)])
    written(project.pytester.path / "l.json", [longbench_row(number, 10 + 100 * number) for number in range(3)])


@pytest.mark.parametrize("kind", RUNS)
def test_real_runs_are_what_the_schemas_say(project, inputs, kind, capsys):
    if kind in ("retrieval", "own documents"):
        pytest.importorskip("bm25s")
    family, given = RUNS[kind]
    project.asks(family)
    project.run(*given, model="mock:middle")

    valid(project, capsys)


@pytest.mark.slow
def test_an_embedded_models_run_is_what_the_schemas_say(project, capsys):
    pytest.importorskip("torch")
    project.run("--lengths=500", "--depths=0", model="smollm2")
    valid(project, capsys)


def test_a_merged_run_is_what_the_schemas_say(project, capsys):
    for shard in ("1/2", "2/2"):
        project.run(f"--shard={shard}", model="mock:middle")
    assert needlework.main(["merge", str(project.runs / "r")]) == 0
    valid(project, capsys)


def valid(project, capsys) -> None:
    """Both files of the run are valid, and there is something in them."""
    assert project.records()
    capsys.readouterr()
    for kind in ("results", "summary"):
        assert needlework.main(["schema", kind, str(project.runs / "r")]) == 0, capsys.readouterr().out
