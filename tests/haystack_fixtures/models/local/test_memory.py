"""What memory there is for a local model."""

import pytest
import torch

from needlework.models.local.memory import available_bytes

GIB = 2**30


@pytest.fixture
def two_cards(monkeypatch):
    """A card that is nearly free and one that another program uses: planted, since tests run where there is none."""
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda each: ((70 * GIB, 20 * GIB)[int(each)], 80 * GIB))


@pytest.mark.usefixtures("two_cards")
def test_a_spread_model_has_as_much_of_every_card_as_the_fullest_has():
    free, where = available_bytes("cuda", spread=True)
    assert free == 40 * GIB
    assert where == "2 cards, the fullest with 20.00 GiB,"


def test_where_there_is_no_card_it_is_main_memory(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    free, where = available_bytes("cpu", spread=True)
    assert free > 0
    assert where == "this machine"
