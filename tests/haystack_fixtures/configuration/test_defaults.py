"""Defaults that the docs and the systems' own pages promise."""

from __future__ import annotations

from pathlib import Path

import pytest

from needlework.haystack_fixtures.configuration.peer_names import EVALSCOPE, LLMTEST, translated
from needlework.haystack_fixtures.configuration.resolve import resolve_settings

RUN = {
    "concurrency": 8,
    "retries": 4,
    "timeout": 120.0,
    "max_errors": 5.0,
    "seed": 0,
    "stability": 0,
    "heatmap_colors": "viridis",
    "adaptive_bar": ("85.6",),
}
QUICK = {
    "lengths": (512, 1000, 2000, 3000, 4000),
    "depths": (0.0, 25.0, 50.0, 75.0, 100.0),
    "repeats": 1,
    "template": "chat",
    "question_position": "end",
    "length_buffer": 0,
    "thinking_budget": 0,
}


def test_a_run_without_options_has_the_documented_defaults(tmp_path: Path) -> None:
    settings = resolve_settings({}, {}, tmp_path)
    assert {name: getattr(settings, name) for name in RUN} == RUN
    assert {name: getattr(settings.suites[0], name) for name in QUICK} == QUICK


@pytest.mark.parametrize(
    ("peer", "lengths", "depths"), [(LLMTEST, "1000:16000:35", "0:100:35"), (EVALSCOPE, "1000:32000:10", "0:100:10")]
)
def test_a_published_range_without_its_number_has_the_systems_own(peer: str, lengths: str, depths: str) -> None:
    table = {"context_lengths_min": 1000, "document_depth_percent_min": 0}
    values = translated("file", table, peer=peer).values
    assert (values["lengths"], values["depths"]) == (lengths, depths)
