"""Stand-ins for tokenizers that are not public: scaled to counts, as those of a server (`--tokenizer server`)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.errors import InputError
from needlework.models.served.connection import ServerOptions
from needlework.models.tokenizers.tokenizer import ScaledTokenizer, fitted, load_tokenizer, tiktoken_tokenizer
from needlework.pipeline.token_counter import served_tokenizer
from tests.loopback import Said, loopback
from tests.native_servers import native_server

INNER = tiktoken_tokenizer("cl100k_base")
SCALES = [
    {"words": 1.0, "digits": 1.0, "scripts": 1.0},
    {"words": 1.3, "digits": 2.4, "scripts": 0.7},
    {"words": 0.4, "digits": 0.9, "scripts": 1.9},
]
TEXT = "The ferry to Ærø left at 06:45 with 38 crates of tea. 红房子在河边，门牌是 4711。 " * 40


def scaled(number):
    return ScaledTokenizer("x", INNER, SCALES[number], 0.01)


def test_a_scale_of_one_is_the_tokenizer_itself():
    found, known = scaled(0).encode(TEXT), INNER.encode(TEXT)
    assert found.ids.tolist() == known.ids.tolist()
    assert found.starts.tolist() == known.starts.tolist()


@pytest.mark.parametrize("number", range(len(SCALES)))
@given(text=st.text(max_size=200) | st.sampled_from([TEXT, TEXT[7:90]]))
def test_every_text_comes_back_and_begins_at_its_beginning(number, text):
    text = text.encode("utf-8", "replace").decode()
    found = scaled(number).encode(text)
    assert scaled(number).decode([]) == ""
    made = scaled(number)
    assert made.decode(made.encode(text).ids.tolist()) == INNER.decode(INNER.encode(text).ids.tolist())
    assert len(found.ids) == len(found.starts)
    assert (np.diff(found.starts) >= 0).all()
    assert not text or found.starts[0] == 0


@pytest.mark.parametrize("number", range(len(SCALES)))
def test_counts_of_parts_add_up(number):
    """What a token counts for does not depend on its neighbours."""
    made = scaled(number)
    sentence, other = "The ferry left at noon.", " Rain fell on the quay."
    both = len(made.encode(sentence + other).ids)
    assert abs(both - len(made.encode(sentence).ids) - len(made.encode(other).ids)) <= 1


KINDS = {
    "words": "The ferry left at noon, and rain fell on the quay. " * 60,
    "digits": " ".join(str(7919 * n) for n in range(400)),
    "scripts": "红房子在河边，门是蓝色的，窗前有一棵梨树。" * 60,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("times", [0.8, 1.0, 1.27, 3.1])
def test_a_fit_counts_its_own_text_rightly(kind, times):
    text = KINDS[kind]
    wanted = round(times * len(INNER.encode(text).ids))
    scale = dict.fromkeys(("words", "digits", "scripts"), 1.0)
    scale[kind] = fitted(INNER, text, wanted, kind, scale)
    assert len(ScaledTokenizer("x", INNER, scale, 0.0).encode(text).ids) == pytest.approx(wanted, rel=0.07)


def test_another_scale_is_another_tokenizer():
    assert len({scaled(number).fingerprint for number in range(len(SCALES))}) == len(SCALES)
    assert scaled(1).fingerprint == scaled(1).fingerprint


PROSE = "The keeper of the lighthouse wrote down every ship that passed, and the colour of its sails. " * 20


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
