"""A run's judges are asked for several answers at once, before these are scored in their tests' turns."""

import threading

import pytest

from tests.loopback import Said, loopback

CELLS = 6
SEVERAL = 3
REPLY = '{"reasoning": "right", "verdict": 8}'


def together(count=SEVERAL):
    """Replies when so many are asked for; nothing at all where they do not come."""
    barrier = threading.Barrier(count)

    def say(_asked):
        barrier.wait(20)
        return Said(REPLY)

    return say


def judged(judge, *more, at_once=SEVERAL):
    asked = ("--scorer=judge_evalscope", "--judge=openai:judge", f"--judge-base-url={judge.url}", "--retries=0")
    return (*asked, f"--concurrency={at_once}", *more)


def scores(project, name="r"):
    return [(record["id"], record["score"]) for record in project.records(name)]


@pytest.mark.parametrize("model", ["mock:perfect", "mock:sleep=0.01", "openai:gpt-4"])
def test_as_many_answers_as_concurrency_says_are_judged_at_once(project, model):
    with loopback(together()) as judge, loopback() as server:
        project.run(*judged(judge, f"--base-url={server.url}"), model=model)

        assert [score for _, score in scores(project)] == [0.8] * CELLS
        assert (len(judge.requests), judge.most_in_flight) == (CELLS, SEVERAL)
        assert not list((project.runs / "r").glob("answers-*"))


def test_a_finished_run_is_judged_now_from_its_stored_answers(project):
    with loopback(together()) as judge, loopback() as server:
        to_model = f"--base-url={server.url}"
        project.run(to_model, model="openai:gpt-4")
        asked = len(server.requests)
        project.run(*judged(judge, to_model), model="openai:gpt-4")

        assert [score for _, score in scores(project)] == [0.8] * CELLS
        assert (len(server.requests), len(judge.requests)) == (asked, CELLS)


def test_a_judge_is_not_asked_of_what_tests_score_by_a_rule(project):
    project.pytester.makepyfile(
        test_needles="""
        import pytest

        @pytest.mark.cells("niah")
        def test_niah(cell, generate, assert_scored):
            assert_scored(generate(cell), scorer="match")
        """
    )
    with loopback() as judge:
        project.run(*judged(judge), model="mock:sleep=0.01")

        assert judge.requests == []


def test_no_reply_is_paid_twice_when_the_run_ends_early(project):
    project.pytester.makepyfile(
        test_needles="""
        import time
        from pathlib import Path
        import pytest

        def ruled():
            return sum(path.read_text().count('"ruled"') for path in Path("results/runs/r").glob("answers-*"))

        @pytest.mark.cells("niah")
        def test_niah(cell, generate, assert_scored, request):
            assert_scored(generate(cell))
            until = time.monotonic() + 20
            while ruled() < 6 and time.monotonic() < until:
                time.sleep(0.01)
            request.session.shouldstop = "that will do"
        """
    )
    with loopback(together()) as judge:
        project.run(*judged(judge))
        assert len(project.records()) == 1
        project.asks("niah")
        project.run(*judged(judge))
        project.run(*judged(judge), name="whole")

        assert len(judge.requests) == 2 * CELLS
    early, whole = project.records(), project.records("whole")
    for record in (*early, *whole):
        del record["timing"]
    assert early == whole


def test_a_question_to_a_judge_that_hangs_stops_no_other(project):
    """Further answers come, or are there already, and are judged while one test waits for its judge."""
    cells, first, got = 8 * CELLS, threading.Lock(), []

    def hangs_once(_asked):
        if first.acquire(blocking=False):
            with judge.changed:
                got.append(judge.changed.wait_for(lambda: len(judge.requests) == cells, 20))
        return Said('{"reasoning": "[[8]]", "verdict": 8}')

    with loopback(hangs_once) as judge, loopback() as server:
        words = (*judged(judge, f"--base-url={server.url}"), "--repeats=8")
        project.run(*words, model="openai:gpt-4")
        assert got == [True]
        judge.requests.clear()
        first.release()
        project.run(*words, "--scorer=judge_llmtest", model="openai:gpt-4")

        assert got == [True, True]
        assert [score for _, score in scores(project)] == [0.8] * cells
        assert server.asked.total() == cells
