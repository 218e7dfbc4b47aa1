"""The server with planted faults, alone."""

import json
import subprocess
import sys
import urllib.request

from tests.faults.catalogue import CATALOGUE
from tests.faults.grid import ROOT

TEXT = "It rained. The gate code for the amber owl mill of Greyfell is 1234567. Nobody came. What is love? "
QUESTION = "What is the gate code for the amber owl mill of Greyfell? Answer in a few words."


def content(base_url):
    """Its answer to the question."""
    sent = json.dumps({"model": "oracle", "messages": [{"role": "user", "content": TEXT + QUESTION}]}).encode()
    with urllib.request.urlopen(f"{base_url}/chat/completions", sent, timeout=10) as answer:
        return json.load(answer)["choices"][0]["message"]["content"]


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
