"""`--load 1,8`: the same trials with so many requests in flight, each load against the first."""

import json

import pytest

from tests.loopback import Said, honest, loopback


@pytest.mark.slow
def test_a_server_that_loses_needles_above_four_requests_is_shown_worse_there(project):
    project.asks("niah")

    def say(asked):
        crowded = asked.is_trial and server.in_flight > 4
        return Said("I do not see any code.") if crowded else honest(asked)

    with loopback(say, (0.05, 0.1)) as server:
        options = (f"--base-url={server.url}", "--tokenizer=tiktoken:cl100k_base", "--repeats=12", "--gate=not worse")
        result = project.run("--load=1,4,16", *options, model="openai:gpt-4", process=True)

    assert result.ret == 1, "the gate fails"
    rows = [r"  1 .* the first ", r"  4 .* no difference shown ", r"  16 .* worse "]
    result.stdout.re_match_lines(["Under load", *rows])
    folder = project.runs / "r" / "comparison"
    content = json.loads((folder / "comparison.json").read_text(encoding="utf-8"))["configurations"]
    assert [(each["configuration"], each["verdict"]) for each in content] == [
        ("load 1", None), ("load 4", "no difference shown"), ("load 16", "worse"),
    ]  # fmt: skip
    assert "Under load" in (folder / "report.html").read_text(encoding="utf-8")
    assert "Worse with 16 in flight" in (folder / "load.svg").read_text(encoding="utf-8")
    manifest = json.loads((project.runs / "r" / "load_16" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["options"]["concurrency"] == 16
