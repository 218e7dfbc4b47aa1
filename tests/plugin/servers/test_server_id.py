"""Servers at several addresses that are alike: `--server-id` names them, and shards of theirs are one run."""

import json
from contextlib import ExitStack

import pytest

from needlework.results.merge.command import main
from tests.loopback import loopback, mixed

ASK = ("--template=raw", "--concurrency=4", "--repeats=2")
NAMED = (*ASK, "--server-id=qwen on h100")


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
    asked = [server.asked.total() for server in two]

    assert main(["results/runs/r"]) == 0
    assert [sum(server.asked.total() for server in two), *asked] == [12, 6, 6]
    manifest = json.loads(project.file("manifest.json"))
    assert [part["servers"] for part in manifest["parts"]] == [[server.url] for server in two]
    project.run(*NAMED, f"--base-url={two[1].url}", model="openai:gpt-4")
    assert [server.asked.total() for server in two] == asked, "the merged run has every answer, whoever gave it"


def test_without_a_name_another_address_is_another_run(project, two, capsys):
    for number, server in enumerate(two, start=1):
        project.run(f"--shard={number}/2", f"--base-url={server.url}", *ASK, model="openai:gpt-4")

    assert main(["results/runs/r"]) == 2
    told = capsys.readouterr().err
    assert f"base_url: {two[0].url} / {two[1].url}" in told
    assert "--server-id NAME, given to every shard" in told
