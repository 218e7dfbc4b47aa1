"""What is kept of the facts that earlier sessions learnt."""

import json

import pytest

from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.results.records.manifest import Before, manifest, recipe_of, told_before, with_known

KNOWN = {
    "corpora": {"pydoc/en": {"sha256": "a"}},
    "models": {
        "openai:m": {
            "window": 32768, "window_source": "/v1/models", "server": "http://localhost", "server id": "m",
            "server version": "1", "calibration chat user": "exact, +0 tokens",
        }
    },
}  # fmt: skip


def model(learnt):
    return with_known(KNOWN, {"models": {"openai:m": learnt}})["models"]["openai:m"]


def test_what_is_not_learnt_anew_is_kept():
    assert with_known(KNOWN, {}) == KNOWN
    assert model({"window": None}) == KNOWN["models"]["openai:m"]
    assert with_known(KNOWN, {"corpora": {"pydoc/zh": {}}})["corpora"] == {"pydoc/en": {"sha256": "a"}, "pydoc/zh": {}}


def test_what_is_learnt_anew_counts():
    assert with_known(KNOWN, {"corpora": {"pydoc/en": {"sha256": "b"}}})["corpora"] == {"pydoc/en": {"sha256": "b"}}
    assert model({"window": 8192})["window"] == 8192


def test_what_one_server_says_of_itself_is_not_mixed_with_what_another_did():
    found = model({"server id": "other"})

    assert found["server id"] == "other"
    assert "server version" not in found
    assert found["server"] == "http://localhost"


def test_another_window_is_from_somewhere_else():
    assert "window_source" not in model({"window": 8192})
    assert model({"window": 32768})["window_source"] == "/v1/models"


@pytest.mark.parametrize(
    "learnt",
    [
        {"calibration chat user": "failed: no connection"},
        {"window": None, "window_source": "the server did not answer when asked"},
    ],
)
def test_a_server_that_is_away_says_nothing(learnt):
    assert model(learnt) == KNOWN["models"]["openai:m"]


def test_a_manifest_that_cannot_be_read_tells_nothing(tmp_path):
    path = tmp_path / "manifest.json"
    for text in ("", "[]", "[" * 100_000, '{"started": 7, "options": {}}'):
        path.write_text(text)
        assert told_before(path, "recipe", ["m"]) == Before()
    assert told_before(tmp_path / "none.json", "recipe", ["m"]) == Before()


@pytest.fixture
def told(tmp_path):
    """Read a manifest with these facts, for a run of the same options or of others."""
    path, settings = tmp_path / "manifest.json", resolve_settings({"model": ["mock:perfect"]}, {}, tmp_path)
    content = manifest(settings, argv=(), root=tmp_path, facts={}, started="a", ended="b", planned=1, recorded=1)

    def read(*models, same=True, **facts):
        path.write_text(json.dumps({**content, **facts}))
        return told_before(path, recipe_of(settings) if same else "another", models)

    return read


def test_a_run_with_other_options_gives_its_dates_and_what_is_known_of_the_same_models(told):
    facts = {"models": {"m": {"window": 8}, "gone": {}}, "corpora": {"c": {}}, "changed_facts": ["x: 1 / 2"]}

    assert told("m", "gone", **facts).facts == {name: facts[name] for name in ("models", "corpora")}
    assert told("m", "new", same=False, **facts) == Before("a", "b", {"models": {"m": {"window": 8}}})


def test_damaged_facts_are_left_out(told):
    found = told("m", models={"m": 7}, corpora={"c": {}}, prompts=[], changed_facts=["x: 1 / 2", 3], started=3)

    assert found == Before(None, "b", {"models": {}, "corpora": {"c": {}}}, ("x: 1 / 2",))
