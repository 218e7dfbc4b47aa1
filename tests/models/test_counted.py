"""`--tokenizer server`: a counter is asked a handful of times, and its counts are met."""

import pytest

from needlework.core.errors import InputError
from needlework.models.served.connection import ServerOptions
from needlework.models.tokenizers.tokenizer import load_tokenizer
from needlework.pipeline.token_counter import served_tokenizer
from tests.loopback import Said, loopback
from tests.native_servers import native_server

PROSE = "The keeper of the lighthouse wrote down every ship that passed, and the colour of its sails. " * 20


@pytest.mark.parametrize("provider", ["anthropic", "google"])
def test_a_providers_counter_is_met_within_what_is_said(provider, tmp_path):
    with native_server(provider) as server:
        found = served_tokenizer(f"{provider}:mm", {}, ServerOptions(base_url=server.url), tmp_path)
        asked = server.counted
    known = load_tokenizer("tiktoken:cl100k_base")  # what the server counts with
    assert asked <= 16
    assert 0 < found.error < 0.03
    assert "by its counter" in found.name
    for text in (PROSE, "Its number is 4711023, not 38. " * 30):
        assert len(found.encode(text).ids) == pytest.approx(len(known.encode(text).ids), rel=0.05)


def test_without_a_counter_usage_counts(tmp_path):
    with loopback() as server:
        found = served_tokenizer("openai:m", {}, ServerOptions(base_url=server.url), tmp_path)
        asked = len([each for each in server.requests if each.path.endswith("/chat/completions")])
    assert "by usage" in found.name
    assert 0 < found.error < 0.03
    assert asked <= 16


def test_a_server_that_counts_nothing_is_one_line(tmp_path):
    def uncounted(asked):
        return Said(raw=b'{"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]}')

    with loopback(uncounted) as server, pytest.raises(InputError, match="the server counts no tokens"):
        served_tokenizer("openai:m", {}, ServerOptions(base_url=server.url), tmp_path)
    with pytest.raises(InputError, match="a batch service counts nothing"):
        served_tokenizer("openai:m", {}, ServerOptions(batch=True), tmp_path)
    with pytest.raises(InputError, match="is behind no server that could count"):
        served_tokenizer("mock:perfect", {}, ServerOptions(), tmp_path)


def test_what_is_known_of_a_provider_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr("needlework.pipeline.token_counter.is_loopback", lambda url: False)
    with native_server("anthropic") as server:
        connection = ServerOptions(base_url=server.url)
        first = served_tokenizer("anthropic:mm", {}, connection, tmp_path)
        asked = server.counted
        again = served_tokenizer("anthropic:mm", {}, connection, tmp_path)
        assert server.counted == asked
    assert first.fingerprint == again.fingerprint


@pytest.mark.slow
def test_llama_cpps_counter(llama_server, tmp_path):
    found = served_tokenizer("openai:any", {}, ServerOptions(base_url=llama_server), tmp_path)
    known = load_tokenizer("tiktoken:cl100k_base")
    assert "by its counter" in found.name
    assert found.error < 0.05
    assert len(found.encode(PROSE).ids) == pytest.approx(len(known.encode(PROSE).ids), rel=0.15)
