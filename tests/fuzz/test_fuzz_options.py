"""Every option with junk for its value, also on the real command line: a clear line, or settings that can be used."""

import json
import random
from functools import cache, partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.options import key_value
from needlework.haystack_fixtures.configuration.option_table import OPTIONS
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.tasks.catalogue import grid
from needlework.models.local.memory import local_options
from needlework.models.served.connection import ServerOptions, served_options
from needlework.models.specs import check_model_args, parse_spec
from needlework.results.gates.gate import parse_gate
from needlework.results.records.manifest import recipe_of
from needlework.results.records.run_folder import run_folder
from tests.fuzz.junk import ODD_WORDS, SEED, bounded, check_line, complaint, junk
from tests.plugin.conftest import project

RUNNABLE = 2_000  # cells; more are not unfolded here


@cache
def check_model(spec, words, connection):
    parse_spec(spec)
    check_model_args(spec, dict(word.split("=", 1) for word in words), connection)


def use(resolved):
    """What a run does with its settings before it asks anything."""
    recipe_of(resolved)
    run_folder(resolved)
    for text in resolved.gate:
        parse_gate(text)
    connection = ServerOptions(resolved.base_url, resolved.api_key_env, resolved.timeout, resolved.retries)
    for spec in resolved.model:
        check_model(spec, resolved.model_arg, connection)
    if sum(len(suite.lengths) * len(suite.depths) * suite.repeats for suite in resolved.suites) < RUNNABLE:
        grid(resolved)


def resolve(options, ini=None):
    use(resolve_settings(options, ini or {}, Path("/nowhere")))


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_every_odd_word_for_every_option(option):
    for word in ODD_WORDS:
        line = complaint(partial(resolve, {option.key: [word] if option.repeatable else word}))
        if line and option.key not in ("config", "preset", "language", "task"):
            assert option.name in line or option.key in line or word.strip()[:1] in line, line


@given(st.dictionaries(st.sampled_from(OPTIONS), junk, min_size=1, max_size=4))
def test_junk_for_several_options_at_once(chosen):
    options = {option.key: [word] if option.repeatable else word for option, word in chosen.items()}
    complaint(lambda: resolve(options))
    complaint(lambda: resolve({}, {key: value for key, value in options.items() if key != "config"}))


@given(
    st.dictionaries(
        st.sampled_from(OPTIONS).map(lambda o: o.name) | junk, junk | st.lists(junk, max_size=3), max_size=4
    )
)
def test_junk_in_a_configuration_file(tmp_path, table):
    path = tmp_path / "config.toml"
    lines = [f"{json.dumps(name)} = {json.dumps(value)}\n" for name, value in table.items()]
    path.write_bytes("".join(lines).encode("utf-8", "surrogatepass"))
    complaint(lambda: resolve({"config": str(path)}))


@given(st.lists(junk, max_size=3))
def test_model_arguments(words):
    def read():
        args = dict(str(key_value("--model-arg", word)).split("=", 1) for word in words)
        complaint(partial(local_options, args))
        complaint(partial(served_options, args))

    complaint(read)


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
