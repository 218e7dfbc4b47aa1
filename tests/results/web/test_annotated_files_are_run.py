"""L-Eval's loop on a file of one's own: a pair is added on the page, the export is run, exported and scored."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import needlework

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
ROW = {
    "input": "The keeper of the lighthouse at Skagen was Mette Holm. The wind came from the west. " * 20,
    "instructions": ["Who kept the lighthouse?"],
    "outputs": ["Mette Holm"],
    "evaluation": "f1",
}


def test_from_the_page_to_the_numbers(chrome, serve, tmp_path, capsys):
    source = tmp_path / "harbour.jsonl"
    source.write_text(json.dumps(ROW) + "\n", encoding="utf-8")
    chrome.open(f"{serve(source)}jsonl/0/0")
    chrome.press("+", "Where did the wind come from?", "\ue004", "the west")  # Tab
    chrome.driver.switch_to.active_element.send_keys("\ue009\ue007")  # Ctrl+Enter
    chrome.until("return document.getElementById('notice').textContent === 'saved'")
    cleaned = tmp_path / "harbour.cleaned.jsonl"
    assert json.loads(cleaned.read_text("utf-8"))["outputs"] == ["Mette Holm", "the west"]

    words = ("--leval-data", str(cleaned), "--lengths=1200", "--model=mock:perfect", f"--results-dir={tmp_path}")
    command = [sys.executable, "-m", "pytest", "benchmarks", *words, "--run-name=r"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120, check=False)
    assert "2 scored" in done.stdout, done.stdout + done.stderr
    run = str(tmp_path / "r")
    assert needlework.main(["leval-export", run]) == 0
    assert needlework.main(["score", "leval", f"{run}/leval"]) == 0
    assert capsys.readouterr().out.count("2 of 2") == 2
