"""Who answers at an address: the same server gives the same signs, one that was started otherwise others."""

from __future__ import annotations

from typing import Any

import pytest

from needlework.models.served.errors import UnreachableError
from needlework.models.served.probes import fingerprint, who_answers

LLAMA_CPP = {
    "http://h/v1/models": {"data": [{"id": "m", "created": 1, "meta": {"n_ctx": 4096, "size": 9}}]},
    "http://h/props": {
        "total_slots": 4,
        "model_path": "/m.gguf",
        "chat_template": "x" * 999,
        "default_generation_settings": {"n_ctx": 1024, "id_task": 7},
    },
}


def asked(told: dict[str, Any]) -> dict[str, str]:
    return who_answers(lambda url, _body=None, _wait_s=5.0: told.get(url), "http://h/v1", "m")


def test_what_can_change_answers_is_told_and_nothing_that_changes_by_itself() -> None:
    told = asked(LLAMA_CPP)
    assert told["n_ctx"] == "1024"
    assert told["total_slots"] == "4"
    assert told["chat_template"].startswith("sha256 ")
    assert "created" not in told


@pytest.mark.parametrize(
    ("field", "value"),
    [("total_slots", 1), ("model_path", "/other.gguf"), ("chat_template", "y" * 999), ("build_info", "b2")],
)
def test_another_configuration_is_another_server(field: str, value: object) -> None:
    other = LLAMA_CPP | {"http://h/props": LLAMA_CPP["http://h/props"] | {field: value}}
    assert fingerprint(asked(other)) != fingerprint(asked(LLAMA_CPP))
    assert fingerprint(asked(LLAMA_CPP)) == fingerprint(asked(LLAMA_CPP))


def test_a_server_that_is_silent_or_gone_has_no_signs() -> None:
    def gone(*_: object) -> object:
        raise UnreachableError("nobody")

    assert fingerprint(asked({})) == fingerprint(who_answers(gone, "http://h/v1", "m")) == ""
