"""How a run was made, as its report tells it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from needlework.results.statistics.run_facts import command_words, run_facts

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(("started", "commit", "command", "pace", "models", "versions"))
MANIFEST = {
    "started": "2026-11-22T22:08:52+00:00",
    "commit": "6c8c3e2",
    "command": ["__main__.py", "benchmarks", "--repeats", "2", "--fresh", "-k", "len500 and en", "--run-name=x"],
    "pace": {"trials": 25, "seconds": 50},
    "models": {"m": {"spec": "m", "window": 8192, "rope_scaling": {"factor": 2}, "dtype": "float32", "kernels": None}},
    "versions": {"torch": "2.13.0"},
}


def test_facts_that_a_reader_asks_for_come_first_and_in_one_line() -> None:
    facts = run_facts(MANIFEST, "step1000")
    assert facts.seconds == 2.0
    assert facts.models[0].short == "window 8,192 tokens · float32 · rope_scaling {'factor': 2}"
    assert [name for name, _ in facts.models[0].facts] == ["window", "dtype", "rope_scaling", "spec"]


def test_the_next_command_goes_on_under_the_runs_name() -> None:
    facts = run_facts(MANIFEST, "step1000")
    assert command_words(facts, 5) == "pytest benchmarks -k 'len500 and en' --repeats 5 --run-name step1000"
    assert command_words(run_facts({**MANIFEST, "command": ["ipykernel"]}, "x"), 5) == ""


@given(manifest=st.dictionaries(NAMES, VALUES))
def test_any_manifest_can_be_read(manifest: dict[str, object]) -> None:
    assert run_facts(manifest, "x").name == "x"
