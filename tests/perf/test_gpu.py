"""`make gpu`, as far as it goes without a card."""

import subprocess
import sys

import pytest

from perf import gpu


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
