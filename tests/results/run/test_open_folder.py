"""What a run's folder says while its session lasts."""

import json
from contextlib import closing

import pytest
from msgspec.structs import replace

from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.results.run.open_folder import OpenFolder, Selected

FACTS = {"models": {"mock:perfect": {"window": 8}}}


@pytest.fixture
def folder(tmp_path):
    settings = replace(resolve_settings({"model": ["mock:perfect"]}, {}, tmp_path), results_dir=tmp_path)
    return lambda: OpenFolder(settings, tmp_path / "r", tmp_path, Selected())


def told(folder):
    return json.loads((folder.path / "manifest.json").read_text())


def test_what_is_learnt_of_a_model_is_in_the_manifest_at_once(folder):
    with closing(folder()) as session:
        session.open()
        assert "models" not in told(session)
        session.learn(FACTS)

        assert told(session)["models"] == FACTS["models"]
        assert told(session)["ended"] is None


def test_what_is_known_already_is_not_written_again(folder):
    with closing(folder()) as session:
        session.open()
        session.learn(FACTS)
        (session.path / "manifest.json").unlink()
        session.learn(FACTS)
        session.learn({})

        assert not (session.path / "manifest.json").exists()


def test_what_a_killed_session_has_learnt_is_known_to_the_next(folder, make_record):
    with closing(folder()) as killed:
        killed.open()
        killed.learn(FACTS)
        killed.keep(make_record(details={"recipe": killed.recipe}))
    with closing(folder()) as session:
        session.open()

        assert session.facts["models"] == FACTS["models"]
        assert told(session)["started"] == told(killed)["started"]
        assert told(session)["recorded"] == 1
