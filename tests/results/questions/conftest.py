"""Folders of documents, and the command as a user calls it."""

import json

import pytest

import needlework

ANIMALS = ("owl", "bat", "fox", "hedgehog", "badger")


@pytest.fixture
def animals(tmp_path):
    """Five documents, one fact each."""
    folder = tmp_path / "animals"
    folder.mkdir()
    for number, name in enumerate(ANIMALS):
        text = f"About the {name}.\n\nThe {name} of Kells weighs {number + 3} stone and sleeps in a {name} house."
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def questions():
    """Call `needlework questions`, with a server as the model where one is given."""

    def call(*words, server=None):
        reached = ["--model", "openai:stub", "--base-url", server.url] if server else []
        return needlework.main(["questions", *map(str, words), *reached])

    return call


@pytest.fixture
def rows():
    """The rows of a question file."""

    def read(path):
        return json.loads(path.read_text(encoding="utf-8"))

    return read
