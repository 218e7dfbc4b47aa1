"""A run that the last version began, and that was killed, goes on: `last_version/` has its files."""

import shutil
from pathlib import Path

from needlework.results.files.read_run import read_run
from needlework.results.records.journal import read_rulings, read_waiting, stored_answers

BEGUN = Path(__file__).parent / "last_version"
CELLS = ("--lengths=400,600", "--depths=0,50,100", "--controls=absent,focused", "--repeats=2")


def test_its_answers_are_not_asked_again(project):
    shutil.copytree(BEGUN, project.runs / "r")
    project.pytester.runpytest_inprocess(*CELLS, "--model=mock:sleep=0.4", "--run-name=r", "--concurrency=4")
    records = project.records()

    assert len(records) == 18
    assert sum(record["timing"]["worker"] == "main" for record in records) == 18
    answered = {line.key for line in (*read_run(BEGUN).records, *read_waiting(BEGUN))}
    assert len(answered) == 12
    latencies = {line.key: line.timing.latency_s for line in read_waiting(BEGUN)}
    for record in records:
        if record["key"] in answered:
            assert record["timing"]["latency_s"] == latencies[record["key"]], "asked again"


def test_its_records_are_read_as_a_run():
    run = read_run(BEGUN)

    assert [record.outcome for record in run.records] == ["found"] * 5
    assert run.planned == 18


def test_a_judges_ruling_that_waited_is_found(tmp_path):
    lines = (BEGUN / "answers-1.jsonl").read_text().splitlines()
    key = lines[0].split('"')[3]
    score = (
        '{"name":"judge","version":1,"value":0.5,"verdict":"partial","answer":"a","why":"","details":{"ruling":"c"}}'
    )
    (tmp_path / "answers-2.jsonl").write_text(f'{lines[0]}\n{{"key":"{key}","outcome":"ruled","score":{score}}}\n')
    stored = stored_answers([], read_waiting(tmp_path), read_rulings(tmp_path))[key]

    assert not stored.replayed
    assert (stored.scored.scorer, stored.scored.scorer_version) == ("judge", 1)
    assert (stored.scored.score, stored.scored.outcome, stored.scored.read_as) == (0.5, "partial", "a")
    assert stored.scored.details.score == {"ruling": "c"}
