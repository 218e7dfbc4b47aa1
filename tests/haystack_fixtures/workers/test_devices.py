"""Where copies of a local model can stand."""

import pytest

from needlework.core import devices
from needlework.core.devices import Gpus, free_cores, gpus, places


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
    assert gpus({"CUDA_VISIBLE_DEVICES": visible}).names == found


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
    assert places(args, Gpus(available)) == expected


@pytest.mark.parametrize("variable", ["HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"])
def test_amds_variables_are_read_as_cudas_is(variable):
    assert gpus({variable: "1,2"}) == Gpus(("1", "2"), variable)


def test_amds_driver_is_looked_at_where_there_is_no_nvidia_smi(tmp_path, monkeypatch):
    for node, number in enumerate(("0", "51110", "6771")):
        (tmp_path / str(node)).mkdir()
        (tmp_path / str(node) / "gpu_id").write_text(f"{number}\n")
    monkeypatch.setattr(devices, "_AMD_NODES", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert gpus({}) == Gpus(("0", "1"), "HIP_VISIBLE_DEVICES")


@pytest.mark.parametrize(
    ("cards", "per_worker", "expected"),
    [
        (("0", "1", "2", "3"), 2, ("0,1", "2,3")),
        (("4", "5", "6"), 2, ("4,5",)),
        (("0",), 2, (None,)),
    ],
)
def test_a_model_that_is_spread_has_a_copy_for_each_group_of_cards(cards, per_worker, expected):
    assert places({"device_map": "auto"}, Gpus(cards), per_worker) == expected


def test_there_is_always_a_core():
    assert free_cores() >= 1
