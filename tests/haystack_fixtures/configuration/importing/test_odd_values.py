"""Whatever values a configuration has, it becomes a preset or one line."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from needlework.haystack_fixtures.configuration.importing.imported import preset_text, short
from needlework.haystack_fixtures.configuration.importing.written import import_file
from needlework.haystack_fixtures.configuration.peer_names import NAMES
from needlework.haystack_fixtures.errors import InputError

odd = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 10**7),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", "a", "\x7f\n", "Chinese", "1:2"]),
    st.lists(st.sampled_from(["x", 1, 2.5, None, [1]]), max_size=3),
    st.dictionaries(
        st.sampled_from(["models", "strategy", "a", "model_id"]), st.sampled_from(["b", 3, []]), max_size=2
    ),
)
named = st.dictionaries(st.sampled_from([*NAMES, "judge", "generation_config", "abbr", "new"]), odd, max_size=5)


def becomes_a_preset_or_a_line(file: Path) -> None:
    try:
        found = import_file(file)
    except InputError as error:
        told = str(error)
    else:
        told = "".join(map(str, found.lines))
        tables = tomllib.loads(preset_text("mine", "odd", found.suites))
        assert len(tables["mine"]["suite"]) == len(found.suites) > 0
    assert "\n" not in told


@settings(max_examples=120, deadline=None)
@given(task=named, arguments=odd | named, extra=odd | named)
def test_a_task_of_evalscope(tmp_path_factory, task: dict[str, Any], arguments: Any, extra: Any) -> None:
    if isinstance(arguments, dict):
        arguments = arguments | {"extra_params": extra}
    file = tmp_path_factory.getbasetemp() / "task.json"
    file.write_text(
        json.dumps({"datasets": ["needle_haystack"]} | task | {"dataset_args": {"needle_haystack": arguments}})
    )
    becomes_a_preset_or_a_line(file)


@settings(max_examples=120, deadline=None)
@given(dataset=named, length=odd, depth=odd, models=odd | st.lists(named, max_size=2))
def test_a_data_set_of_opencompass(tmp_path_factory, dataset: Any, length: Any, depth: Any, models: Any) -> None:
    each = dataset | {"length": length, "depth": depth}
    file = tmp_path_factory.getbasetemp() / "config.py"
    file.write_text(
        "from opencompass.datasets.cdme.cdme import CDMEDataset\n"
        f"datasets = [dict({each!r}, type=CDMEDataset)]\nmodels = {models!r}\n"
    )
    becomes_a_preset_or_a_line(file)


def test_values_that_hold_themselves_many_times_take_no_time(tmp_path):
    file = tmp_path / "config.py"
    file.write_text(
        "from opencompass.datasets.cdme.cdme import CDMEDataset\nx = [1]\n"
        + "x = [x, x, x, x]\n" * 60
        + "datasets = [dict(type=CDMEDataset, length=1000, depth=0, needle=x, infer_cfg=x, new={1: x, 'a': x})]\n"
    )
    becomes_a_preset_or_a_line(file)
    file.write_text(
        "from evalscope import TaskConfig\nx = [1]\n"
        + "x = [x, x, x, x]\n" * 60
        + "TaskConfig(datasets=['needle_haystack'], model=x, limit=x, judge={'models': x, 'a': x},"
        " dataset_args={'needle_haystack': {'needles': x, 'extra_params': {'language': x}}},"
        " generation_config={'b': x})\n"
    )
    becomes_a_preset_or_a_line(file)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ([], "[]"),
        (["a"], '["a"]'),
        ([1, 2], "[1, 2]"),
        ([1, 2, 3, 4], "[1, 2, 3, 4]"),
        (range(1, 7), "[1, 2, 3, ... 6]"),
    ],
)
def test_a_list_is_shown_with_each_of_its_parts_once(value: Any, shown: str) -> None:
    assert short(value) == shown
