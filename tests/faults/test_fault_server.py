"""The server with planted faults, alone: what it reads, counts and tells."""

import json
import subprocess
import sys
import urllib.request

import pytest

from tests.faults.catalogue import CATALOGUE
from tests.faults.grid import ROOT
from tests.faults.oracle import read

TEXT = "It rained. The gate code for the amber owl mill of Greyfell is 1234567. Nobody came. What is love? "
QUESTION = "What is the gate code for the amber owl mill of Greyfell? Answer in a few words."


def ask(base_url, messages, **more):
    sent = json.dumps({"model": "oracle", "messages": messages, **more}).encode()
    with urllib.request.urlopen(f"{base_url}/chat/completions", sent, timeout=10) as answer:
        return dict(json.load(answer))


def content(base_url, text=TEXT + QUESTION):
    return str(ask(base_url, [{"role": "user", "content": text}])["choices"][0]["message"]["content"])


@pytest.mark.parametrize(
    ("prompt", "value", "answer"),
    [
        (TEXT + QUESTION, "1234567", "The gate code for the amber owl mill of Greyfell is 1234567."),
        (TEXT.replace(" code ", "\n code ") + QUESTION, "1234567", "The gate code"),
        ("It rained. " + QUESTION, "", "I'm sorry"),
        (TEXT, "", "I'm sorry"),
        ("天晴。云溪的门禁代码是7654321。云溪的门禁代码是什么？请回答。", "7654321", "云溪的门禁代码是7654321。"),
        ("天晴。云溪的门禁代码是什么？", "", "抱歉"),
        ("", "", "I'm sorry"),
        (
            "The first mark of this text is BC12. Rain. What are the first mark and the last mark of the text? Both.",
            "BC12, unknown",
            "BC12, unknown.",
        ),
        (TEXT + "What are the codes for these places: the amber owl mill of Greyfell; Bath?", "1234567, unknown", "1"),
        (
            "本文的第一个标记是BC12。雨。本文的最后一个标记是DF3。本文的第一个标记和最后一个标记分别是什么？",
            "BC12, DF3",
            "BC12",
        ),
    ],
)
def test_the_oracle_answers_from_the_prompt_and_from_nothing_else(prompt, value, answer):
    reading = read(prompt)

    assert reading.value == value
    assert reading.answer.startswith(answer)


def test_it_counts_what_it_saw_and_keeps_to_the_limit(desk):
    url = desk.base_url("truncates_head", "alone")
    whole = ask(url, [{"role": "user", "content": TEXT + QUESTION}])
    short = ask(url, [{"role": "user", "content": TEXT + QUESTION}], max_tokens=3)
    lost = ask(url, [{"role": "user", "content": TEXT + "It rained again. " * 200 + QUESTION}])

    assert "1234567" in whole["choices"][0]["message"]["content"]
    # Three tokens a message, one for its role, three that begin the reply.
    assert whole["usage"]["prompt_tokens"] == len(desk.tokenizer.encode(TEXT + QUESTION).ids) + 7
    assert (short["choices"][0]["finish_reason"], short["usage"]["completion_tokens"]) == ("length", 3)
    assert lost["usage"]["prompt_tokens"] == 600
    assert "1234567" not in lost["choices"][0]["message"]["content"]


def test_it_runs_alone_and_lists_its_faults():
    command = [sys.executable, "-m", "tests.faults.server"]
    listed = subprocess.run([*command, "--list"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert [line.split()[0 if line[:3].isspace() else 1] for line in listed.splitlines()] == list(CATALOGUE)
    command += ["--fault", "refuses", "--port", "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            assert content(url) == "I'm sorry, but I can't help with that."
            assert "1234567" in content(url.replace("/v1", "/honest/v1"))
        finally:
            process.terminate()
