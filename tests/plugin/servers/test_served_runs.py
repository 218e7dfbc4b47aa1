"""Whole runs against a server: what is learnt of it, and what a run says of answers that prove nothing."""

import json

import pytest

from tests.loopback import Said, honest, loopback

SERVED = {"model": "openai:gpt-4"}
RAW = ("--template=raw", "--concurrency=4")


def trials(asked):
    return [each for each in asked if each.path.endswith("/completions")]


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_a_run_learns_once_how_the_server_counts(project, workers):
    with loopback() as server:
        result = project.run(*RAW, f"--base-url={server.url}", workers, **SERVED)
    assert result.ret == 0, result.stdout.str()
    assert [record["outcome"] for record in project.records()] == ["found"] * 6
    assert len(trials(server.requests)) == 6 + 2
    told = json.loads(project.file("manifest.json"))["models"]["openai:gpt-4"]
    assert told["window"] is None
    assert told["window_source"] == "the server does not tell"
    assert told["calibration raw user Answer:"] == "exact, +0 tokens"


@pytest.mark.parametrize(("most", "exit_code"), [("51", 0), ("50", 0), ("49", 11)])
def test_as_many_errors_as_are_allowed_are_allowed(project, most, exit_code):
    """3 of 6 trials cannot be used: exactly 50 %."""

    def cut(asked):
        return Said(honest(asked).text, tokens=300) if len(asked.prompt) > 2000 else honest(asked)

    with loopback(cut) as server:
        result = project.run(*RAW, f"--base-url={server.url}", f"--max-errors={most}", **SERVED)
    assert result.ret == exit_code


@pytest.mark.parametrize(("told", "exit_code"), [(4096, 11), (500, 0)])
def test_what_a_server_refuses_below_the_window_that_it_tells_counts_as_an_error(project, told, exit_code):
    def small(asked):
        error = b'{"error": {"message": "This model\'s maximum context length is 500 tokens"}}'
        return Said(raw=error, status=400) if len(asked.prompt) > 2000 else honest(asked)

    with loopback(small) as server:
        server.told["/v1/models"] = {"data": [{"id": "gpt-4", "meta": {"n_ctx": told}}]}
        result = project.run(*RAW, f"--base-url={server.url}", **SERVED)
    outcomes = [(record["length"], record["outcome"]) for record in project.records()]
    assert outcomes == [(400, "found")] * 3 + [(600, "skipped")] * 3
    assert result.ret == exit_code
    line = "skipped below the window: 3, from length 600 on, where 4096 tokens are told:"
    assert (line in result.stdout.str()) is (exit_code == 11)


def test_answers_of_another_server_at_the_same_address_are_asked_again(project, monkeypatch):
    monkeypatch.delenv("PYTEST_XDIST_TESTRUNUID", raising=False)  # these are runs of their own, not one run's workers
    with loopback() as server:
        server.told["/props"] = {"total_slots": 4, "model_path": "/m.gguf"}
        project.run(*RAW, f"--base-url={server.url}", **SERVED)
        first = len(trials(server.requests))
        told = project.run(*RAW, f"--base-url={server.url}", **SERVED).stdout.str()
        assert len(trials(server.requests)) == first
        assert "6 of 6 answers are from this run's journal" in told
        server.told["/props"]["model_path"] = "/other.gguf"
        told = project.run(*RAW, f"--base-url={server.url}", **SERVED).stdout.str()
        assert len(trials(server.requests)) == first + 6 + 2
        assert "6 of 6 answers were asked again: another server answers at this address" in told
    models = json.loads(project.file("manifest.json"))["models"]["openai:gpt-4"]
    assert models["server model_path"] == "/other.gguf"
    again = project.run(*RAW, f"--base-url={server.url}", **SERVED).stdout.str()  # the server is gone
    assert "none was asked now" in again
