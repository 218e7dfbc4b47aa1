"""Where copies of a local model can stand."""

import pytest

from needlework.haystack_fixtures.workers.devices import free_cores, gpus, places


@pytest.mark.parametrize(
    ("visible", "found"),
    [
        ("0,1", ("0", "1")),
        ("3", ("3",)),
        ("", ()),
        ("-1", ()),
        ("0,-1,2", ("0",)),
        ("GPU-a, GPU-b", ("GPU-a", "GPU-b")),
    ],
)
def test_the_callers_own_list_is_the_whole_of_it(visible, found):
    assert gpus({"CUDA_VISIBLE_DEVICES": visible}) == found


@pytest.mark.parametrize(
    ("args", "available", "expected"),
    [
        ({}, (), (None,)),
        ({}, ("0", "1"), ("0", "1")),
        ({"device": "cuda"}, ("2",), ("2",)),
        ({"device": "cuda:1"}, ("0", "1"), (None,)),
        ({"device": "cpu"}, ("0", "1"), (None,)),
        ({"device_map": "auto"}, ("0", "1"), (None,)),
    ],
)
def test_one_copy_a_gpu_and_one_on_a_cpu(args, available, expected):
    assert places(args, available) == expected


def test_there_is_always_a_core():
    assert free_cores() >= 1
