"""A language model as the judge, on a real server."""

import json

import pytest

from tests.haystack_fixtures.models.served.planted_http import Answer, good, planted_server


def judged(project, server, *args, scorer="judge_evalscope"):
    return project.run(
        "--lengths=400", "--depths=0,100", f"--scorer={scorer}", "--judge=openai:judge",
        f"--judge-base-url={server.url}", *args, model="mock:perfect",
    )  # fmt: skip


def test_a_judge_sees_question_reference_and_answer_and_never_the_context(project):
    with planted_server() as server:
        server.plant(good('{"reasoning": "right", "verdict": 8}'))
        judged(project, server)
        (record, _) = project.records()

    assert (record["score"], record["scorer"]) == (0.8, "judge_evalscope")
    sent = json.dumps(server.requests[0])
    assert record["expected"][0] in sent
    assert len(sent) < 3000


def test_llmtests_judge(project):
    with planted_server() as server:
        server.plant(good("Rating: [[10]]"))
        judged(project, server, scorer="judge_llmtest")

    assert {record["score"] for record in project.records()} == {1.0}


def test_a_verdict_that_cannot_be_read_is_an_error_and_no_score(project):
    with planted_server() as server:
        server.plant(good("I would say eight."))
        result = judged(project, server)

    assert {(r["outcome"], r["score"], r["error"]["kind"]) for r in project.records()} == {("error", None, "judge")}
    assert result.ret == 11


def test_a_judge_that_cannot_be_reached_is_an_error_too(project):
    with planted_server() as server:
        server.plant(Answer(status=400, body={"error": {"message": "no such model"}}))
        judged(project, server)

    assert {record["error"]["kind"] for record in project.records()} == {"judge"}


def test_a_judging_scorer_without_a_judge_is_one_line(project):
    result = project.run("--scorer=judge_evalscope")

    assert result.ret == 4
    assert "give --judge SPEC" in result.stderr.str()


@pytest.mark.parametrize("judge", ["nosuch", "openai:gpt", "mock:no-such-behaviour"])
def test_a_judge_that_can_never_answer_is_refused_before_the_first_cell(project, judge, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    result = project.run(f"--judge={judge}", "--scorer=judge_evalscope")

    assert result.ret == 4
    assert not (project.runs / "r" / "results.json").exists()
