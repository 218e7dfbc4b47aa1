"""A language model as the judge, on a real server."""

import json

import pytest

from tests.haystack_fixtures.models.served.planted_http import good, planted_server


def judged(project, server, *args, scorer="judge_evalscope"):
    return project.run(
        "--lengths=400", "--depths=0,100", f"--scorer={scorer}", "--judge=openai:judge",
        f"--judge-base-url={server.url}", *args, model="mock:perfect",
    )  # fmt: skip


def test_a_judge_sees_question_reference_and_answer_and_never_the_context(project):
    with planted_server() as server:
        server.plant(good('{"reasoning": "right", "verdict": 8}'))
        judged(project, server)
        records = project.records()

    assert {(record["score"], record["scorer"]) for record in records} == {(0.8, "judge_evalscope")}
    sent = [json.dumps(request) for request in server.requests]
    assert all(any(record["expected"][0] in each for each in sent) for record in records)
    assert max(map(len, sent)) < 3000


def test_a_verdict_that_cannot_be_read_is_an_error_and_no_score(project):
    with planted_server() as server:
        server.plant(good("I would say eight."))
        result = judged(project, server)

    assert {(r["outcome"], r["score"], r["error"]["kind"]) for r in project.records()} == {("error", None, "judge")}
    assert result.ret == 11


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


def test_replies_that_cannot_be_read_are_told_once_with_the_reason(project):
    with planted_server() as server:
        server.plant(good("I would say eight."))
        result = judged(project, server, scorer="judge_documents")

    result.stdout.fnmatch_lines(["2 of 2: the judge's replies cannot be read: no verdict in the reply: 'I would*"])
    assert "replies cannot be read" in (project.runs / "r" / "report.html").read_text(encoding="utf-8")


def test_a_run_again_asks_no_judge_again_and_after_unread_replies_only_the_judge(project):
    with planted_server() as server:
        server.plant(good("dunno"))
        judged(project, server, scorer="judge_documents")
        first = len(server.requests)
        server.plant(good("yes"))
        judged(project, server, scorer="judge_documents")
        second = len(server.requests)
        judged(project, server, scorer="judge_documents")

    assert (first, second, len(server.requests)) == (4, 6, 6)
    assert {record["score"] for record in project.records()} == {1.0}
    assert all(record["timing"]["replayed"] for record in project.records()[-2:])


def test_several_judges_decide_by_majority_and_their_agreement_is_told(project):
    with planted_server() as yes, planted_server() as no:
        yes.plant(good('{"correct": true}'))
        no.plant(good('{"correct": false}'))
        result = project.run(
            "--lengths=400", "--depths=0,100", "--scorer=judge_documents",
            "--judge=openai:a", "--judge=openai:a", "--judge=openai:b",
            f"--judge-base-url={yes.url}", f"--judge-base-url={no.url}", f"--judge-base-url={yes.url}",
        )  # fmt: skip

    assert {record["score"] for record in project.records()} == {1.0}
    result.stdout.fnmatch_lines(
        ["judges: all 3 agree on 0 % * of 2 answers*", "judges openai:a (1) and openai:b agree on 100 %*"]
    )


def test_a_prompt_of_ones_own_judges_and_another_text_is_another_recipe(project):
    prompt = project.pytester.path / "grade.txt"
    prompt.write_text("Question: {question}\nRight: {reference}\nSaid: {answer}\nGRADE: C or I", encoding="utf-8")
    with planted_server() as server:
        server.plant(good("GRADE: C"))
        judged(project, server, f"--judge-prompt={prompt}", scorer="judge_prompt")
        sent = json.dumps(server.requests[0])
        prompt.write_text("{question} {reference} {answer}: yes or no?", encoding="utf-8")
        judged(project, server, f"--judge-prompt={prompt}", scorer="judge_prompt")

    records = project.journal()
    assert "GRADE: C or I" in sent
    assert '"role": "system"' not in sent
    assert {record["scorer"] for record in records} == {"judge_prompt"}
    assert len({record["details"]["recipe"] for record in records}) == 2
    manifest = json.loads((project.runs / "r" / "manifest.json").read_text(encoding="utf-8"))
    assert len(manifest["options"]["judge_prompt_sha256"]) == 64


@pytest.mark.parametrize(
    ("text", "said"), [("", "is empty"), ("{question} {wrong}", "{wrong} is no placeholder"), (None, "No such file")]
)
def test_a_wrong_prompt_is_one_line(project, text, said):
    prompt = project.pytester.path / "grade.txt"
    if text is not None:
        prompt.write_text(text, encoding="utf-8")
    result = project.run("--judge=mock:perfect", f"--judge-prompt={prompt}")

    assert result.ret == 4
    assert said in result.stderr.str()


def test_evalscopes_preset_says_who_judges_and_takes_a_judge_where_there_is_one(project):
    few = ("--preset=evalscope", "--language=en", "--lengths=400", "--depths=0")
    told = project.run(*few)
    told.stdout.fnmatch_lines(["needlework: preset evalscope: as published, a language model judges*here match does*"])
    with planted_server() as server:
        server.plant(good('{"verdict": 7}'))
        project.run(*few, "--judge=openai:judge", f"--judge-base-url={server.url}")

    assert [record["scorer"] for record in project.records()][-1] == "judge_evalscope"


def test_a_model_that_judges_itself_is_told(project):
    result = project.run("--judge=mock:perfect", "--plan")

    result.stdout.fnmatch_lines(["needlework: the judge mock:perfect is the model under test: it judges itself*"])
