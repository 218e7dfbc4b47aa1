"""Batch files: what a run writes, what comes back, and that the results are those of a server."""

import json
from pathlib import Path

from tests.batch_runner import run_batch
from tests.loopback import Said, honest, loopback

MODEL = "openai:gpt-4"
KEY = "sk-planted-batch-key-4711"
RAW = "--template=raw"


def out(project, file, *more, name="r"):
    return project.run(f"--batch-out={file}", RAW, *more, model=MODEL, name=name)


def back(project, *files, more=(), name="r"):
    return project.run(*(f"--batch-in={file}" for file in files), RAW, *more, model=MODEL, name=name)


def answered(server_url, file, tag=""):
    return run_batch(Path(file), server_url, Path(f"out{tag}.jsonl"), Path(f"err{tag}.jsonl"))


def lines(file):
    return [json.loads(line) for line in Path(file).read_text(encoding="ascii").splitlines()]


def comparable_part(record):
    """A record without what two runs of the same thing may differ in, and without what the server's address changes."""
    details = {name: value for name, value in record["details"].items() if name != "recipe"}
    return {name: value for name, value in record.items() if name not in ("timing", "key")} | {"details": details}


def test_a_batch_gives_the_records_of_a_server(project, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with loopback() as server:
        wrote = out(project, "q.jsonl")
        assert answered(server.url, "q.jsonl") == (8, 0)
        result = back(project, "out.jsonl", "err.jsonl")
        project.run(RAW, f"--base-url={server.url}", model=MODEL, name="served")
    assert (wrote.ret, result.ret) == (0, 0)
    wrote.stdout.fnmatch_lines(
        ["batch-out: 8 requests of 6 cells, *", "  q.jsonl (0.0 MB)", "*the same command with --batch-in*"]
    )
    served, batched = project.records("served"), project.records()
    assert [comparable_part(record) for record in batched] == [comparable_part(record) for record in served]
    assert project.json("manifest.json")["models"][MODEL]["calibration raw user Answer:"] == ("exact, +0 tokens")
    files = [path for path in Path.cwd().rglob("*") if path.is_file()]
    assert not [path for path in files if KEY.encode() in path.read_bytes()]


def test_a_second_batch_has_what_the_first_missed(project):
    def flaky(request):
        if request.value and len(request.prompt) > 2000:
            return Said(raw=b'{"error": {"message": "boom"}}', status=500)
        return honest(request)

    with loopback(flaky) as server:
        out(project, "q1.jsonl")
        assert answered(server.url, "q1.jsonl", "1") == (5, 3)
        first = back(project, "out1.jsonl", "err1.jsonl", more=("--gate=score >= 0.5", "--max-errors=60"))
        assert [record["outcome"] for record in project.records()] == ["found"] * 3 + ["error"] * 3
        assert first.ret == 1
        out(project, "q2.jsonl")
        assert len(lines("q2.jsonl")) == 3 + 2
    with loopback() as server:
        answered(server.url, "q2.jsonl", "2")
    second = back(project, "out2.jsonl", more=("--gate=score >= 0.5",))
    assert second.ret == 0
    assert [record["outcome"] for record in project.records()] == ["found"] * 6
    second.stdout.fnmatch_lines(["*pass  all  1.000*"])
    out(project, "q3.jsonl").stdout.fnmatch_lines(["batch-out: nothing is written*"])
    assert not Path("q3.jsonl").exists()


def test_a_part_of_the_answers_is_a_part_of_the_run(project):
    with loopback() as server:
        out(project, "q.jsonl")
        answered(server.url, "q.jsonl")
    all_lines = Path("out.jsonl").read_text().splitlines()
    some = [line for line in all_lines if "calibration" in line] + [
        line for line in all_lines if "calibration" not in line
    ][:2]
    stray = json.dumps({"custom_id": "of-another-run", "response": {"status_code": 200, "body": {}}, "error": None})
    Path("some.jsonl").write_text("\n".join([*some, *some, stray, "torn{"]) + "\n")
    result = back(project, "some.jsonl", more=("--gate=score >= 0.1",))
    result.stdout.fnmatch_lines(
        [
            "batch-in: 1 of 10 lines cannot be read*",
            "batch-in: 1 answers are to no request of this run, such as 'of-another-run'",
            "batch-in: 4 of 6 cells have no answer yet*",
            "*interrupted after 2 of 6 trials",
        ]
    )
    assert (result.ret, len(project.records())) == (11, 2)
    Path("stray.jsonl").write_text(stray)
    nothing = back(project, "stray.jsonl", name="other")
    assert nothing.ret == 4
    assert "is it the answer to another --batch-out?" in nothing.stderr.str()


def test_both_questions_of_a_trial_are_in_the_batch(project):
    """L-Eval's sci_fi asks twice: about the document's world, and about ours."""
    tree, question = "The pear tree stood behind the mill. " * 40, "The mill is haunted, True or False?"
    asked = {"input": tree, "instructions": [question], "outputs": ["True [fact: False]"], "evaluation": "exam"}
    project.pytester.mkdir("data")
    Path("data/sci_fi.jsonl").write_text(json.dumps(asked))
    project.asks("leval")
    given = ("--preset=leval-closed", "--task=leval_sci_fi", "--leval-data=data", "--lengths=1200")
    with loopback(lambda asked: Said("True" if tree[:40] in asked.prompt else "False")) as server:
        out(project, "q.jsonl", *given)
        answered(server.url, "q.jsonl")
    back(project, "out.jsonl", more=given)
    (record,) = project.records()
    assert (record["response"]["text"], record["score"]) == ("True [fact: False]", 1)
