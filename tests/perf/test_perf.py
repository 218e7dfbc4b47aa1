"""`make gpu`, as far as it goes without a card; the verdict of `make perf` on aims that are met and missed."""

import subprocess
import sys

import pytest

from perf import gpu
from perf.report import table, verdict


@pytest.mark.slow
def test_a_machine_without_a_card_says_so_in_one_line(monkeypatch, capsys):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert gpu.main([]) == 0
    assert "sees no card here; nothing was run" in capsys.readouterr().out


def test_prompts_of_one_length_share_their_beginnings():
    first, second, *_ = gpu.prompts_of(100)
    assert len(first) == len(second) == 100
    assert list(first[:8]) == list(second[:8])
    assert list(first) != list(second)


@pytest.mark.slow
def test_the_script_itself_on_a_cpu():
    done = subprocess.run([sys.executable, "-m", "perf.gpu", "--cpu-tiny"], capture_output=True, text=True, check=True)
    assert "tiny: 5 of 5 answers are those of generate (float32, batched)" in done.stdout
    rows = [line.split(" | ") for line in done.stdout.splitlines() if line.startswith("| tiny")]
    assert [row[1] for row in rows] == ["64", "256"]
    for row in rows:
        prompt_tokens, computed = (int(row[at].replace(",", "")) for at in (3, 4))
        assert computed < prompt_tokens


def row(what, ours, *, peer=None, target=None, more=False, unit="CPU s"):
    return {
        "what": what, "ours": ours, "peer": peer, "peer_name": "evalscope" if peer else "", "unit": unit,
        "target": target, "more": more, "note": "",
    }  # fmt: skip


def test_met_and_missed_aims_are_counted():
    rows = [
        row("cold", 0.2, peer=1.8, target=8),
        row("cached", 0.15, peer=1.8, target=20),
        row("loading", 2.4, target=3),
        row("prefill", 200, peer=250, target=1.25, more=True, unit="tokens/s"),
        row("memory", 278, unit="MiB"),
    ]
    assert verdict(rows) == "2 of 4 aims met; missed: cached (12x, wanted 20x); prefill (0.8x, wanted 1.25x)"
    assert verdict(rows[:1]) == "1 of 1 aims met"
    assert "| cached | 0.15 CPU s | evalscope 1.8 CPU s | 12x | >= 20x | **no** |" in table(rows)
