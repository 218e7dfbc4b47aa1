"""From a folder of documents to the report, on real servers: llama.cpp answers and embeds, nothing is planted."""

from __future__ import annotations

import json

import pytest

from tests.llama_server import embedding_server  # noqa: F401 - a fixture

FACTS = {
    "bridge": ("Of what stone is the bridge of Tarn built?", "red granite", "The bridge of Tarn is built of"),
    "inn": ("Who keeps the inn at Low Fell?", "Tilda Roe", "The inn at Low Fell is kept by"),
}
WEATHER = ("rain", "sun", "fog", "hail")


@pytest.fixture
def run(project):
    folder = project.pytester.mkdir("documents")
    for place, name in enumerate((*FACTS, "mill", "school", "orchard", "ferry", "well", "barn")):
        fact = f"{FACTS[name][2]} {FACTS[name][1]}. " if name in FACTS else ""
        week = " ".join(
            f"In week {week} the {name} had {place * 40 + week * 7} visitors, and {WEATHER[(week + place) % 4]}."
            for week in range(1, 9)
        )
        (folder / f"{name}.txt").write_text(f"About the {name}\n\n{fact}{week}", encoding="utf-8")
    rows = {
        str(n): {"question": asked, "answer": answer, "answer_doc": f"{name}.txt"}
        for n, (name, (asked, answer, _)) in enumerate(FACTS.items())
    }
    (project.pytester.path / "questions.json").write_text(json.dumps(rows), encoding="utf-8")
    project.asks("documents")
    given = ("--preset=own-documents", "--documents=documents", "--questions=questions.json", "--verify-prompts")
    return lambda *args, **options: project.run(*given, *args, **options)


def test_documents_are_asked_retrieved_and_reported(run, project, llama_server, embedding_server):  # noqa: F811
    pytest.importorskip("bm25s")
    once = ("--lengths=1040", "--depths=0", "--answer-budget=4", "--task=doc_size", "-k", "len260 and q0")
    once += ("--retriever=none,bm25,dense", "--chunk-size=200", "--chunk-overlap=20", "--retrieve=2")
    once += ("--embedder=openai:smollm2", f"--embedder-base-url={embedding_server}")
    once += (f"--base-url={llama_server}", "--tokenizer=smollm2", "--concurrency=2")
    result = run(*once, model="openai:smollm2")
    assert result.ret == 0
    records = {record["needle"]: record for record in project.records()}
    assert set(records) == {"q0", "q0_focused", "q0_bm25", "q0_dense"}
    for record in records.values():
        assert record["outcome"] not in ("error", "invalid", "skipped")
        assert record["response"]["prompt_tokens"] == record["prompt"]["tokens"]
    assert records["q0"]["prompt"]["needles"][0]["name"] == "bridge.txt"
    manifest = json.loads(project.file("manifest.json"))
    assert manifest["models"]["openai:smollm2"]["calibration chat user"] == "exact, +0 tokens"
    assert manifest["embedders"] == {"openai:smollm2": f"openai:smollm2 {embedding_server}"}
    told = json.loads(project.file("results.json"))["retrieval"]
    assert [(row["retriever"], row["recall_at_k"]["n"]) for row in told] == [("bm25", 1), ("dense", 1)]
    assert "Search in place of reading everything" in project.file("report.html")
