"""Servers at several addresses that are alike: `--server-id` names them, and shards of theirs are one run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from needlework.results.merge.command import main
from tests.loopback import Loopback, loopback, mixed
from tests.plugin.conftest import Project

ASK = ("--template=raw", "--concurrency=4", "--repeats=2")
NAMED = (*ASK, "--server-id=qwen on h100")


@pytest.fixture
def two(project: Project, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Loopback, Loopback]]:
    monkeypatch.chdir(project.pytester.path)
    with ExitStack() as running:
        one, other = (running.enter_context(loopback(mixed)) for _ in range(2))
        yield one, other


def shard(project: Project, number: int, server: Loopback, *words: str) -> None:
    result = project.run(f"--shard={number}/2", f"--base-url={server.url}", *words, model="openai:gpt-4")
    assert result.ret == 0, result.stdout.str()


def test_shards_that_ask_servers_of_their_own_are_one_run(project: Project, two: tuple[Loopback, Loopback]) -> None:
    for number, server in enumerate(two, start=1):
        shard(project, number, server, *NAMED)
    asked = [server.asked.total() for server in two]

    assert main(["results/runs/r"]) == 0
    assert [sum(server.asked.total() for server in two), *asked] == [12, 6, 6]
    manifest = json.loads(project.file("manifest.json"))
    assert [part["servers"] for part in manifest["parts"]] == [[server.url] for server in two]
    project.run(*NAMED, f"--base-url={two[1].url}", model="openai:gpt-4")
    assert [server.asked.total() for server in two] == asked, "the merged run has every answer, whoever gave it"


def test_without_a_name_another_address_is_another_run(project, two, capsys):
    for number, server in enumerate(two, start=1):
        shard(project, number, server, *ASK)

    assert main(["results/runs/r"]) == 2
    told = capsys.readouterr().err
    assert f"base_url: {two[0].url} / {two[1].url}" in told
    assert "--server-id NAME, given to every shard" in told


@pytest.mark.parametrize(
    ("told", "refused"),
    [
        ([("/v1/models", "max_model_len", 8192), ("/v1/models", "max_model_len", 4096)], "window: 8192 / 4096"),
        ([("/props", "model_path", "a.gguf"), ("/props", "model_path", "b.gguf")], "model_path: a.gguf / b.gguf"),
        ([("/props", "total_slots", 4), ("/props", "total_slots", 8)], ""),
    ],
    ids=["another window", "another model file", "as many slots as it likes"],
)
def test_servers_that_say_that_they_differ_are_not_merged(project, two, capsys, told, refused):
    for number, (server, (path, name, value)) in enumerate(zip(two, told, strict=True), start=1):
        entry = {name: value}
        server.told[path] = {"data": [{"id": "gpt-4", **entry}]} if path == "/v1/models" else entry
        shard(project, number, server, *NAMED)

    assert main(["results/runs/r"]) == (2 if refused else 0)
    assert refused in capsys.readouterr().err


def test_a_shard_whose_calibration_failed_is_no_other_server(project, two):
    for number, server in enumerate(two, start=1):
        shard(project, number, server, *NAMED)
    path = project.runs / "r/shards/2-of-2/manifest.json"
    path.write_text(path.read_text().replace('"exact, +0 tokens"', '"failed: a short request failed"'))

    assert main(["results/runs/r"]) == 0


def test_the_address_may_come_from_the_environment(project, two, monkeypatch):
    monkeypatch.setenv("NEEDLEWORK_BASE_URL", two[0].url)
    project.run(*ASK, model="openai:gpt-4")
    assert two[0].asked.total() == 12
    project.run(*ASK, f"--base-url={two[1].url}", model="openai:gpt-4", name="other")

    assert two[1].asked.total() == 12, "the command line comes first"


def test_a_name_for_no_server_is_told(project):
    result = project.run("--server-id=mine", "--plan", model="smollm2")

    result.stdout.fnmatch_lines(["needlework: --server-id is not used: the model runs here; it names a server"])
