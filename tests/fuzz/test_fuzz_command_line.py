"""Junk on the real command line: exit code 4 and one line, or a run that ends."""

import random

import pytest

from needlework.haystack_fixtures.configuration.option_table import OPTIONS
from tests.fuzz.junk import ODD_WORDS, SEED, bounded, check_line
from tests.plugin.conftest import project

__all__ = ["project"]
WORDS = [word for word in ODD_WORDS if "\0" not in word and len(word) < 4000 and word not in ("/", "~", ".", "..")]
# What these words may start is not the options' business: whole presets, every model there is.
LARGE = {"preset": ("quick",), "run_name": (), "task": ()}


@pytest.mark.parametrize(
    "number", [*range(16), *(pytest.param(number, marks=pytest.mark.slow) for number in range(16, 200))]
)
def test_junk(number, project, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none-at-all")
    chance = random.Random(f"{SEED} {number}")
    option = chance.choice([option for option in OPTIONS if not option.flag])
    word = chance.choice([word for word in WORDS if word not in LARGE.get(option.key, ())])
    with bounded(60):
        result = project.run(f"--{option.name}={word}", "--timeout=1", "--retries=0")

    everything = result.stdout.str() + result.stderr.str()
    assert "Traceback" not in everything, (option.name, word)
    assert "INTERNALERROR" not in everything, (option.name, word)
    assert result.ret in (0, 1, 2, 4, 5, 10, 11), (option.name, word)
    if result.ret == 4:
        (line,) = [line for line in result.stderr.str().splitlines() if line.startswith("ERROR: ")]
        check_line(line)
        assert not project.runs.exists()
