"""The vectors of the answers that vote by them, made as a run ends."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from needlework.haystack_fixtures.errors import printable
from needlework.haystack_fixtures.session.answer_vectors import answer_vectors, voting_embedder
from needlework.haystack_fixtures.settings.settings import Settings
from needlework.results.records.answer_vectors import write_vectors
from needlework.results.records.record import Record
from needlework.results.records.samples import OWN_DOCUMENTS


def write_answer_vectors(folder: Path, settings: Settings, records: Sequence[Record]) -> list[str]:
    """Write the vectors of a run's answers into its folder, where they vote by them. Returns why there are none, if so:
    the answers are there, and vote by words.
    """
    try:
        if (embedder := voting_embedder(settings)) is not None:
            own = (record for record in records if record["task"] in OWN_DOCUMENTS)
            texts = [text for record in own if isinstance(text := record["response"].get("text"), str)]
            write_vectors(folder, embedder.name, answer_vectors(embedder, texts))
    except Exception as error:  # noqa: BLE001 - whatever a library or a server raises
        return [f"votes are by words, for want of vectors: {printable(error)}"]
    return []
