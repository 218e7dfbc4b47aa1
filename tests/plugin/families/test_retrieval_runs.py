"""Whole runs with retrievers, on two documents of ours in L-Eval's layout."""

import re
import subprocess
import sys

import pytest

from tests.haystack_fixtures.retrieval.embeddings import embeddings
from tests.loopback import loopback
from tests.plugin.families.test_leval_runs import row
from tests.published_rows import written

pytest.importorskip("bm25s")
FILLER = "Nothing happened that day, and nobody wrote it down. "
TREE = f"{FILLER * 30}\n\nThe pear tree stood behind the mill.\n\n{FILLER * 30}"
FERRY = f"{FILLER * 30}\n\nThe ferry ran on Thursdays.\n\n{FILLER * 30}"
KEY = "sk-planted-embedder-key-4711"


@pytest.fixture
def run(project, monkeypatch):
    tree = ["Where did the pear tree stand?\nA. behind the mill\nB. by the church"]
    ferry = ["On which day did the ferry run?\nA. Mondays\nB. Thursdays", "What ran?\nA. ferry\nB. bus"]
    rows = [row(TREE, tree, ["A"]), row(FERRY, ferry, ["B", "A"])]
    written(project.pytester.mkdir("data") / "tpo.jsonl", rows)
    project.asks("leval")
    monkeypatch.setenv("NEEDLEWORK_CACHE", str(project.pytester.mkdir("cache")))
    monkeypatch.setenv("EMBEDDER_KEY", KEY)
    given = ("--preset=leval-closed", "--task=leval_tpo", "--leval-data=data", "--lengths=1200")
    given += ("--chunk-size=300", "--chunk-overlap=50", "--retrieve=2", "--embedder-api-key-env=EMBEDDER_KEY")
    return lambda *args, **options: project.run(*given, *args, **options)


def test_each_retriever_is_asked_beside_the_documents_and_told_in_a_table(run, project):
    with loopback(embeddings) as server:
        result = run("--retriever=none,bm25,dense", "--embedder=openai:words", f"--embedder-base-url={server.url}")
    result.stdout.fnmatch_lines(
        ["mock:perfect · leval_tpo · questions_bm25", "  task * retriever * score % * whole % * words % * tokens"]
    )
    records = {record["needle"]: record for record in project.records()}
    assert len(records) == 9
    assert "retrieval" not in records["doc0_q0"]["prompt"]
    for arm in ("bm25", "dense"):
        facts = records[f"doc1_q0_{arm}"]["prompt"]["retrieval"]
        assert facts["retriever"] == arm
        assert facts["answer_recall"] == 1
        assert facts["hits"][0]["document"] == "doc1"
        assert "The ferry ran on Thursdays." in FERRY[facts["hits"][0]["start"] : facts["hits"][0]["end"]]
        assert records[f"doc1_q0_{arm}"]["score"] == 1
    rows = project.json("results.json")["retrieval"]
    assert [(row["retriever"], row["score"]["n"], row["paired"]["difference"]["mean"]) for row in rows] == [
        ("bm25", 3, 0.0),
        ("dense", 3, 0.0),
    ]
    assert "retrieval_answer_recall" in project.file("results.csv").splitlines()[0]
    assert "Search in place of reading everything" in project.file("report.html")
    assert project.json("manifest.json")["embedders"] == {"openai:words": f"openai:words {server.url}"}


def test_a_plan_counts_the_chunks_and_not_the_documents(run, project):
    planned = run("--retriever=bm25", "--plan", "--retrieve=1")
    (counted,) = re.findall(r"in all: .* requests?, ([\d,]+) prompt tokens", planned.stdout.str())
    run("--retriever=bm25", "--retrieve=1")
    sent = sum(record["prompt"]["tokens"] for record in project.records())
    assert 0.5 * sent < int(counted.replace(",", "")) < 2 * sent


def test_an_arms_prompt_is_made_again_without_the_embedder_and_no_file_has_its_key(run, project):
    with loopback(embeddings) as server:
        url = server.url.replace("http://", "http://me:planted-password@")
        run("--retriever=none,bm25,dense", "--embedder=openai:words", f"--embedder-base-url={url}")
        assert server.requests[0].headers["authorization"].startswith(("Bearer", "Basic"))
    for arm in ("bm25", "dense"):
        cell = f"leval_tpo-len1200-depthall-doc1_q0_{arm}-r0"
        words = ["prompt", str(project.runs / "r"), cell, "--read", str(project.pytester.path)]
        done = subprocess.run(
            [sys.executable, "-m", "needlework", *words],
            capture_output=True, check=False, cwd=project.pytester.path,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert b"The ferry ran on Thursdays." in done.stdout
    for path in [*project.runs.rglob("*"), *(project.pytester.path / "cache").rglob("*")]:
        if path.is_file():
            content = path.read_bytes()
            assert KEY.encode() not in content, path
            assert b"planted-password" not in content, path
