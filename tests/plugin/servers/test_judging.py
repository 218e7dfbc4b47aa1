"""A language model as the judge, on a real server."""

import json
import threading

import pytest

from tests.loopback import Said, good, loopback
from tests.plugin.conftest import without_timing


def judged(project, server, *args, scorer="judge_evalscope"):
    return project.run(
        "--lengths=400", "--depths=0,100", f"--scorer={scorer}", "--judge=openai:judge",
        f"--judge-base-url={server.url}", *args, model="mock:perfect",
    )  # fmt: skip


def test_replies_that_cannot_be_read_are_errors_and_only_the_judge_is_asked_again(project):
    with loopback() as server:
        server.plant(good("I would say eight."))
        result = judged(project, server, scorer="judge_documents")
        first = len(server.requests)

        assert {(r["outcome"], r["score"], r["error"]["kind"]) for r in project.records()} == {("error", None, "judge")}
        assert result.ret == 11
        result.stdout.fnmatch_lines(["2 of 2: the judge's replies cannot be read: no verdict in the reply: 'I would*"])
        assert "replies cannot be read" in project.file("report.html")

        server.plant(good("yes"))
        judged(project, server, scorer="judge_documents")
        second = len(server.requests)
        judged(project, server, scorer="judge_documents")
        assert (first, second, len(server.requests)) == (4, 6, 6)
    assert {record["score"] for record in project.records()} == {1.0}
    assert all(record["timing"]["replayed"] for record in project.records()[-2:])


def test_several_judges_decide_by_majority_and_their_agreement_is_told(project):
    with loopback() as yes, loopback() as no:
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
    with loopback() as server:
        server.plant(good("GRADE: C"))
        judged(project, server, f"--judge-prompt={prompt}", scorer="judge_prompt")
        sent = json.dumps(server.requests[0].body)
        prompt.write_text("{question} {reference} {answer}: yes or no?", encoding="utf-8")
        judged(project, server, f"--judge-prompt={prompt}", scorer="judge_prompt")

    records = project.journal()
    assert "GRADE: C or I" in sent
    assert '"role": "system"' not in sent
    assert {record["scorer"] for record in records} == {"judge_prompt"}
    assert len({record["details"]["recipe"] for record in records}) == 2
    assert len(project.json("manifest.json")["options"]["judge_prompt_sha256"]) == 64


def test_a_run_says_who_judges_where_that_is_not_as_published_or_the_model_itself(project):
    few = ("--preset=evalscope", "--language=en", "--lengths=400", "--depths=0")
    project.run(*few).stdout.fnmatch_lines(
        ["needlework: preset evalscope: as published, a language model judges*here match does*"]
    )
    with loopback() as server:
        server.plant(good('{"verdict": 7}'))
        project.run(*few, "--judge=openai:judge", f"--judge-base-url={server.url}")

    assert [record["scorer"] for record in project.records()][-1] == "judge_evalscope"
    project.run("--judge=mock:perfect", "--plan").stdout.fnmatch_lines(
        ["needlework: the judge mock:perfect is the model under test: it judges itself*"]
    )


# -- several answers at once, before they are scored in their tests' turns ----------------------------------------

CELLS = 6
SEVERAL = 3
PATIENCE_S = 120  # for what always comes, however busy the machine is
REPLY = '{"reasoning": "right", "verdict": 8}'


def together():
    """Replies when so many are asked for; nothing at all where they do not come."""
    barrier = threading.Barrier(SEVERAL)

    def say(_asked):
        barrier.wait(PATIENCE_S)
        return Said(REPLY)

    return say


def at_once(judge, *more):
    options = ("--scorer=judge_evalscope", "--judge=openai:judge", f"--judge-base-url={judge.url}", "--retries=0")
    return (*options, f"--concurrency={SEVERAL}", *more)


def scores(project):
    return [record["score"] for record in project.records()]


@pytest.mark.parametrize("model", ["mock:perfect", "mock:sleep=0.01", "openai:gpt-4"])
def test_as_many_answers_as_concurrency_says_are_judged_at_once(project, model):
    with loopback(together()) as judge, loopback() as server:
        project.run(*at_once(judge, f"--base-url={server.url}"), model=model)

        assert scores(project) == [0.8] * CELLS
        assert (len(judge.requests), judge.most_in_flight) == (CELLS, SEVERAL)
        assert not list((project.runs / "r").glob("answers-*"))


def test_a_judge_is_not_asked_of_what_tests_score_by_a_rule(project):
    project.test_does("assert_scored(generate(cell), scorer='match')")
    with loopback() as judge:
        project.run(*at_once(judge), model="mock:sleep=0.01")

        assert judge.requests == []


def test_no_reply_is_paid_twice_when_the_run_ends_early(project):
    project.test_does(
        "assert_scored(generate(cell))",
        f"stored, until = pathlib.Path('results/runs/r'), time.monotonic() + {PATIENCE_S}",
        "ruled = lambda: sum(path.read_text().count('\"judge_evalscope\"') for path in stored.glob('answers-*'))",
        "while ruled() < 6:",
        "    time.sleep(0.01)",
        "    assert time.monotonic() < until",
        "request.session.shouldstop = 'that will do'",
        more_fixtures="request",
        imports="pathlib, time",
    )
    with loopback(together()) as judge:
        project.run(*at_once(judge))
        assert len(project.records()) == 1
        project.asks("niah")
        project.run(*at_once(judge))
        project.run(*at_once(judge), name="whole")

        assert len(judge.requests) == 2 * CELLS
    assert without_timing(project.records()) == without_timing(project.records("whole"))


def test_a_question_to_a_judge_that_hangs_stops_no_other(project):
    """Further answers come, or are there already, and are judged while one test waits for its judge."""
    cells, first, got = 8 * CELLS, threading.Lock(), []

    def hangs_once(_asked):
        if first.acquire(blocking=False):
            with judge.changed:
                got.append(judge.changed.wait_for(lambda: len(judge.requests) == cells, PATIENCE_S))
        return Said('{"reasoning": "[[8]]", "verdict": 8}')

    with loopback(hangs_once) as judge, loopback() as server:
        words = (*at_once(judge, f"--base-url={server.url}"), "--repeats=8")
        project.run(*words, model="openai:gpt-4")
        assert got == [True]
        judge.requests.clear()
        first.release()
        project.run(*words, "--scorer=judge_llmtest", model="openai:gpt-4")

        assert got == [True, True]
        assert scores(project) == [0.8] * cells
        assert server.asked.total() == cells
