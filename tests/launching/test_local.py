"""Processes of this machine."""

from __future__ import annotations

import pytest

from needlework.cluster.launch import places
from needlework.core.devices import Gpus


def cards(*names):
    return Gpus(names)


def test_one_process_a_card():
    assert places(cards("0", "1"), 1, None, 16) == [{"CUDA_VISIBLE_DEVICES": "0"}, {"CUDA_VISIBLE_DEVICES": "1"}]
    assert places(Gpus(("3",), "HIP_VISIBLE_DEVICES"), 1, None, 16) == [{"HIP_VISIBLE_DEVICES": "3"}]


def test_cards_by_groups_and_none_shared():
    assert [each["CUDA_VISIBLE_DEVICES"] for each in places(cards(*"01234"), 2, None, 16)] == ["0,1", "2,3"]
    assert len(places(cards(*"01234"), 2, 1, 16)) == 1
    assert places(cards("0"), 2, None, 16) == []


@pytest.mark.parametrize(("found", "each"), [(cards(), 1), (cards("0"), 0)])
def test_without_cards_the_cores_are_shared(found, each):
    assert places(found, each, None, 4) == [{"OMP_NUM_THREADS": "1"}] * 4
    assert places(found, each, 2, 8) == [{"OMP_NUM_THREADS": "4"}] * 2
