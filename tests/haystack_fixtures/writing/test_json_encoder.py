"""The encoder that is kept writes what `json` writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.files import encoder_of

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
_OPTIONS = (
    json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True),
    json.JSONEncoder(allow_nan=False, separators=(",", ":")),
)


@given(_VALUES)
def test_every_value_is_written_as_json_writes_it(value: object) -> None:
    for options in _OPTIONS:
        assert encoder_of(options)(value) == options.encode(value)


def test_what_json_refuses_is_refused() -> None:
    encode = encoder_of(_OPTIONS[0])
    with pytest.raises(ValueError, match="not JSON compliant"):
        encode({"score": float("nan")})
    with pytest.raises(TypeError):
        encode([Path()])


def test_a_default_writes_what_json_cannot() -> None:
    assert encoder_of(json.JSONEncoder(default=str))({"path": Path("a")}) == '{"path": "a"}'


def test_a_json_without_its_c_encoder_is_taken_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json.encoder, "c_make_encoder", None)
    assert encoder_of(_OPTIONS[0])({"b": 1, "a": [2.5]}) == '{"a": [2.5], "b": 1}'
