"""Shards: together they are the run and none shares a haystack; where copies of a local model can stand."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core import devices
from needlework.core.devices import Gpus, Shard, divided, free_cores, gpus, places, shard_named, shared_out
from needlework.core.grid import Cell

ROOT = Path(__file__).parents[2]
CELLS = st.lists(
    st.builds(
        Cell,
        task=st.sampled_from(["niah", "chain", "leval_qa"]),
        length=st.sampled_from([500, 4000, 32_768, 131_072]),
        depth=st.sampled_from([None, 0.0, 50.0, 99.104]),
        needle=st.sampled_from(["code", "code_absent", "doc3_q1", "doc3_q2", "doc4_q1"]),
        repeat=st.integers(0, 3),
        model=st.sampled_from(["", "one", "two"]),
    ),
    max_size=60,
)


def cost(cell):
    return cell.length * (32_768 + cell.length)


@given(CELLS, st.integers(1, 9), st.randoms())
def test_shards_are_all_cells_split_no_haystack_are_fair_and_the_same_in_any_order(cells, of, chance):
    tests = dict(enumerate(cells))
    parts = [divided(Shard(number, of), tests, [cell.id for cell in cells]) for number in range(1, of + 1)]
    assert sorted(test for mine, _ in parts for test in mine) == sorted(tests)
    assert {division.counts for _, division in parts} == {tuple(len(mine) for mine, _ in parts)}
    assert len({division.selection for _, division in parts}) == 1

    shards_of = {}
    for number, (mine, _) in enumerate(parts):
        for test in mine:
            shards_of.setdefault(tests[test].haystack_id, set()).add(number)
    assert all(len(numbers) == 1 for numbers in shards_of.values())

    shares, units = shared_out(cells, of), {}
    for cell in set(cells):
        units[cell.haystack_id] = units.get(cell.haystack_id, 0) + cost(cell)
    loads = [sum(units[unit] for unit, owner in shares.items() if owner == number) for number in range(1, of + 1)]
    assert max(loads) <= sum(loads) / of + max(units.values(), default=0)

    shuffled = list(cells)
    chance.shuffle(shuffled)
    assert shared_out(shuffled, of) == shares


def test_long_prompts_weigh_more_than_their_tokens():
    cells = [Cell("niah", 131_072, 50, "code", repeat) for repeat in range(2)]
    cells += [Cell("niah", 16_384, 50, "code", repeat) for repeat in range(16)]
    of_long = {unit: number for unit, number in shared_out(cells, 3).items() if "131072" in unit}

    assert sorted(of_long.values()) == [1, 2]
    assert {number for unit, number in shared_out(cells, 3).items() if "16384" in unit} == {3}


def test_every_process_divides_alike():
    program = (
        "from needlework.core.grid import Cell\n"
        "from needlework.core.devices import shared_out\n"
        "cells = [Cell('niah', n, d, 'code', r) for n in (500, 900, 901) for d in (0, 50) for r in range(5)]\n"
        "print(sorted(shared_out(cells, 4).items()))"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", program], cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True, text=True, check=True,
        ).stdout
        for hash_seed in ("0", "1")
    }  # fmt: skip
    assert len(told) == 1


def test_tests_without_a_cell_are_run_by_the_first_shard_and_are_no_trials():
    tests = {"plain": None, "asks": Cell("niah", 500, 50, "code")}
    first, division = divided(Shard(1, 2), tests, ["asks"])
    second, _ = divided(Shard(2, 2), tests, ["asks"])

    assert (first, second) == ({"plain", "asks"}, frozenset())
    assert division.counts == (1, 0)
    # Tests of one cell stay together.
    cells = [Cell("niah", 500, 50, "code", repeat) for repeat in range(4)]
    mine, _ = divided(Shard(1, 3), {(name, cell): cell for name in "ab" for cell in cells}, [])
    assert {cell for name, cell in mine if name == "a"} == {cell for name, cell in mine if name == "b"}


def test_a_shard_has_a_name():
    assert shard_named("2/4") == Shard(2, 4)
    assert (shard_named("2/4").name, str(shard_named("2/4"))) == ("2-of-4", "2 of 4")


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
