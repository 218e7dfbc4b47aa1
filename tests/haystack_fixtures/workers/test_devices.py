"""Where copies of a local model can stand."""

import pytest

from needlework.core import devices
from needlework.core.devices import Gpus, free_cores, gpus, places


@pytest.mark.parametrize(
    ("environment", "found"),
    [
        ({"CUDA_VISIBLE_DEVICES": "0,1"}, Gpus(("0", "1"))),
        ({"CUDA_VISIBLE_DEVICES": ""}, Gpus(())),
        ({"CUDA_VISIBLE_DEVICES": "-1"}, Gpus(())),
        ({"CUDA_VISIBLE_DEVICES": "0,-1,2"}, Gpus(("0",))),
        ({"CUDA_VISIBLE_DEVICES": "GPU-a, GPU-b"}, Gpus(("GPU-a", "GPU-b"))),
        ({"HIP_VISIBLE_DEVICES": "1,2"}, Gpus(("1", "2"), "HIP_VISIBLE_DEVICES")),
        ({"ROCR_VISIBLE_DEVICES": "1,2"}, Gpus(("1", "2"), "ROCR_VISIBLE_DEVICES")),
    ],
)
def test_the_callers_own_list_is_the_whole_of_it(environment, found):
    assert gpus(environment) == found


@pytest.mark.parametrize(
    ("args", "available", "per_worker", "expected"),
    [
        ({}, (), 1, (None,)),
        ({}, ("0", "1"), 1, ("0", "1")),
        ({"device": "cuda"}, ("2",), 1, ("2",)),
        ({"device": "cuda:1"}, ("0", "1"), 1, (None,)),
        ({"device": "cpu"}, ("0", "1"), 1, (None,)),
        ({"device_map": "auto"}, ("0", "1"), 1, (None,)),
        ({"device_map": "auto"}, ("0", "1", "2", "3"), 2, ("0,1", "2,3")),
        ({"device_map": "auto"}, ("4", "5", "6"), 2, ("4,5",)),
        ({"device_map": "auto"}, ("0",), 2, (None,)),
    ],
)
def test_one_copy_a_gpu_or_group_of_them_and_one_on_a_cpu(args, available, per_worker, expected):
    assert places(args, Gpus(available), per_worker) == expected


def test_amds_driver_is_looked_at_where_there_is_no_nvidia_smi(tmp_path, monkeypatch):
    for node, number in enumerate(("0", "51110", "6771")):
        (tmp_path / str(node)).mkdir()
        (tmp_path / str(node) / "gpu_id").write_text(f"{number}\n")
    monkeypatch.setattr(devices, "_AMD_NODES", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert gpus({}) == Gpus(("0", "1"), "HIP_VISIBLE_DEVICES")


def test_there_is_always_a_core():
    assert free_cores() >= 1
