"""Whole runs against servers: what is learnt of them, and what a run says of answers that prove nothing or change."""

import re
from contextlib import ExitStack
from dataclasses import replace
from hashlib import sha256

import pytest

from needlework.results.merge.command import main
from needlework.results.prompt import prompt_builder
from tests.loopback import Said, honest, loopback, mixed
from tests.native_servers import native_server, right

SERVED = {"model": "openai:gpt-4"}
RAW = ("--template=raw", "--concurrency=4")
_NEEDLES = re.compile(r"The \w+ code for .+? is (\d{7})\.")


def trials(requests):
    return [each for each in requests if each.path.endswith("/completions")]


@pytest.mark.parametrize(("most", "exit_code"), [("50", 0), ("49", 11)])
def test_as_many_errors_as_are_allowed_are_allowed(project, most, exit_code):
    """3 of 6 trials cannot be used: exactly 50 %."""

    def cut(request):
        return Said(honest(request).text, tokens=300) if len(request.prompt) > 2000 else honest(request)

    with loopback(cut) as server:
        result = project.run(*RAW, f"--base-url={server.url}", f"--max-errors={most}", **SERVED)
    assert result.ret == exit_code


@pytest.mark.parametrize(("window", "exit_code"), [(4096, 11), (500, 0)])
def test_what_a_server_refuses_below_the_window_that_it_tells_counts_as_an_error(project, window, exit_code):
    def small(request):
        error = b'{"error": {"message": "This model\'s maximum context length is 500 tokens"}}'
        return Said(raw=error, status=400) if len(request.prompt) > 2000 else honest(request)

    with loopback(small) as server:
        server.told["/v1/models"] = {"data": [{"id": "gpt-4", "meta": {"n_ctx": window}}]}
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
        output = project.run(*RAW, f"--base-url={server.url}", **SERVED).stdout.str()
        assert len(trials(server.requests)) == first
        assert "6 of 6 answers are from this run's journal" in output
        server.told["/props"]["model_path"] = "/other.gguf"
        output = project.run(*RAW, f"--base-url={server.url}", **SERVED).stdout.str()
        assert len(trials(server.requests)) == first + 6 + 2
        assert "6 of 6 answers were asked again: another server answers at this address" in output
    models = project.json("manifest.json")["models"]["openai:gpt-4"]
    assert models["server model_path"] == "/other.gguf"
    again = project.run(*RAW, f"--base-url={server.url}", **SERVED).stdout.str()  # the server is gone
    assert "none was asked now" in again


# -- lengths that a provider's own counter says, about ----------------------------------------------------------------

COUNTED = ("--tokenizer=server", "--verify-prompts", "--concurrency=1")


@pytest.mark.parametrize("provider", ["anthropic", pytest.param("google", marks=pytest.mark.slow)])
def test_lengths_are_about_what_the_provider_counts(project, provider):
    with native_server(provider) as server:
        given = (f"--base-url={server.url}", "--lengths=600,window", "--model-arg=window=3000")
        result = project.run(*COUNTED, *given, model=f"{provider}:mm")
    assert result.ret == 0, result.stdout.str()
    line = f"--lengths window: * tokens, the window of {provider}:mm, less the *% by which our counts may be off"
    result.stdout.fnmatch_lines([line])
    assert all(length == 600 or 2850 < length < 3000 for length in {each["length"] for each in project.records()})
    result.stdout.fnmatch_lines([f"{provider}:mm: lengths are approximate: a scaled tokenizer counts, *"])
    for record in project.records():
        prompt, served = record["prompt"], record["response"]["prompt_tokens"]
        assert prompt["tokens"] == pytest.approx(served, rel=0.03)
        assert 0 < prompt["tokens_error"] < 0.05
        assert "approximate_length" in record["details"]["flags"]
    (name,) = project.json("manifest.json")["tokenizers"]
    assert "o200k_base scaled, off by" in name
    for record in project.records():  # the server is away, and what it counted is kept with the run
        made = prompt_builder()(project.runs / "r", record["id"])
        assert sha256(made.text.encode()).hexdigest() == record["prompt"]["sha256"]


def test_a_provider_that_cuts_prompts_is_seen_by_counts_that_stop_growing(project):
    window = 800

    def cut(question):
        reply = right(question)
        return replace(reply, tokens=window) if len(question.prompt) > 4 * window else reply

    with native_server("anthropic", cut) as server:
        given = ("--lengths=600,1200,2400", "--depths=50", "--max-errors=100")
        result = project.run(*COUNTED, *given, "-n2", f"--base-url={server.url}", model="anthropic:mm")
    result.stdout.fnmatch_lines(["*one process, not -n 2: --concurrency 1 lets no more requests be in flight"])
    outcomes = {record["length"]: record["outcome"] for record in project.records()}
    assert outcomes[600] == "found"
    assert outcomes[2400] == "invalid"
    assert "the server counted 800 tokens of a prompt of about" in project.records()[-1]["why"]


# -- --server-id: servers at several addresses that are alike ---------------------------------------------------------

TWICE = (*RAW, "--repeats=2")
NAMED = (*TWICE, "--server-id=qwen on h100")


@pytest.fixture
def two(project, monkeypatch):
    monkeypatch.chdir(project.pytester.path)
    with ExitStack() as running:
        one, other = (running.enter_context(loopback(mixed)) for _ in range(2))
        yield one, other


def test_shards_that_ask_servers_of_their_own_are_one_run(project, two, monkeypatch):
    for number, server in enumerate(two, start=1):
        monkeypatch.setenv("NEEDLEWORK_BASE_URL", server.url)  # of each node
        project.run(f"--shard={number}/2", *NAMED, model="openai:gpt-4")
    counts = [server.asked.total() for server in two]

    assert main(["results/runs/r"]) == 0
    assert [sum(server.asked.total() for server in two), *counts] == [12, 6, 6]
    manifest = project.json("manifest.json")
    assert [part["servers"] for part in manifest["parts"]] == [[server.url] for server in two]
    project.run(*NAMED, f"--base-url={two[1].url}", model="openai:gpt-4")
    assert [server.asked.total() for server in two] == counts, "the merged run has every answer, whoever gave it"


def test_without_a_name_another_address_is_another_run(project, two, capsys):
    for number, server in enumerate(two, start=1):
        project.run(f"--shard={number}/2", f"--base-url={server.url}", *TWICE, model="openai:gpt-4")

    assert main(["results/runs/r"]) == 2
    output = capsys.readouterr().err
    assert f"base_url: {two[0].url} / {two[1].url}" in output
    assert "--server-id NAME, given to every shard" in output


# -- --stability: cells asked again -----------------------------------------------------------------------------------


def stability(project):
    return [each for record in project.records() for each in record["details"].get("stability", ())]


def line(result):
    return next((line for line in result.outlines if line.startswith("stability: ")), "")


@pytest.mark.parametrize("workers", ["-n0", pytest.param("-n2", marks=pytest.mark.slow)])
def test_a_steady_model_has_no_flips_in_the_same_cells_with_any_worker_count(project, workers):
    result = project.run("--stability=3", workers)

    assert {each["how"] for each in stability(project)} == {"warm", "batch"}
    assert "stability: 3 cells asked again 15 times (warm 3, batch 12): the text differed 0 times" in line(result)
    probed = [record["id"] for record in project.records() if record["details"].get("stability")]
    assert sorted(probed) == [
        "niah-len400-depth100-code-r0", "niah-len600-depth100-code-r0", "niah-len600-depth50-code-r0"
    ]  # fmt: skip


def test_flips_are_counted_and_named_and_kept_by_a_resumed_run(project):
    result = project.run("--stability=2", model="mock:unsteady")

    # Asked once, then warm, then four times together: the second, fourth and sixth answers differ.
    assert "the text differed 6 times, the score 6 times; niah-len" in line(result)
    assert all(record["outcome"] == "found" for record in project.records()), "the score is the first answer's"
    before = stability(project)
    assert "the text differed 6 times" in line(project.run("--stability=2", model="mock:unsteady"))
    assert stability(project) == before
    assert all(record["timing"]["replayed"] for record in project.records())


def test_with_compaction_a_server_is_asked_for_a_summary_and_then_on_that_alone(project):
    def forgetful(asked):
        """Summaries leave out whatever stands in the second half of the text."""
        if "Use at most" in asked.prompt:
            half = asked.prompt[: len(asked.prompt) // 2]
            return Said(f"SUMMARY {' '.join(_NEEDLES.findall(half))}".strip())
        value = _NEEDLES.search(asked.prompt)
        return Said(f"The code is {value[1]}." if value else "It does not say.")

    with loopback(forgetful) as server:
        options = ("--controls=compacted", "--depths=0,100", f"--base-url={server.url}")
        result = project.run(*RAW, *options, **SERVED)
    assert result.ret == 0, result.stdout.str()
    result.stdout.re_match_lines([r".*task +score %.* summary % +of whole %", r".*niah +100 .* 0 \(n 2\) "])
    summaries = [record for record in project.records() if record["needle"].endswith("_compacted")]
    assert {record["outcome"] for record in summaries} == {"refused"}
    assert {record["response"]["summary"] for record in summaries} == {"SUMMARY"}
    last = [asked.prompt for asked in server.requests if "no longer at hand:" in asked.prompt]
    assert len(last) == len(summaries) == 2
    assert all("Summary of a document" in prompt and len(prompt) < 400 for prompt in last)
    tasks = project.json("results.json")["tasks"]
    assert tasks[0]["compacted"] == {"n": 2, "mean": 0.0, "share": {"value": 0.0, "low": None, "high": None}}


def test_a_summary_of_a_conversation_is_followed_by_a_question_of_another_layout(project):
    """The server is first asked how it counts that layout, while the event loop has other requests."""
    project.asks("memory")
    with loopback(lambda _asked: Said("OK.")) as server:
        options = ("--task=memory", "--lengths=1000", "--controls=compacted", "-k=fact", "--language=en")
        result = project.pytester.runpytest_inprocess(
            *options, "--model=openai:gpt-4", f"--base-url={server.url}", "--run-name=r"
        )
    assert result.ret == 0, result.stdout.str()
    assert [record["response"].get("summary") for record in project.records()] == [None, "OK."]
    layouts = [
        [each["role"] for each in asked.body["messages"]] for asked in server.requests if "messages" in asked.body
    ]
    assert layouts[-1] == ["user"]
    assert any("assistant" in layout for layout in layouts)
