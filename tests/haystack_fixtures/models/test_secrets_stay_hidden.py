"""Which keys are needed, and what is hidden; `tests/plugin/servers/test_secrets_in_run.py` has whole runs."""

import pytest

from needlework.core.errors import InputError
from needlework.core.redact import redactor, url_secrets, without_credentials
from needlework.models.served.connection import ServerOptions, address, served_options
from needlework.models.served.model import ServedModel, transport_of
from tests.haystack_fixtures.models.served.planted_http import good


def test_a_missing_key_is_refused_except_on_this_machine(monkeypatch):
    monkeypatch.delenv("MY_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    options = served_options({})
    assert not address(ServerOptions("http://127.0.0.1:8000/v1", "MY_KEY"), options).key
    for url in (None, "https://example.org/v1"):
        with pytest.raises(InputError, match="MY_KEY"):
            address(ServerOptions(url, "MY_KEY"), options)
    with pytest.raises(InputError, match="--base-url") as caught:
        address(ServerOptions("user:passw0rd@host:80", "MY_KEY"), options)
    assert "passw0rd" not in str(caught.value)


def test_dummy_keys_do_not_eat_words():
    assert redactor(["", "a", None]).clean("a banana") == "a banana"
    assert redactor(["abcd-efgh"]).clean("x abcd-efgh y") == "x *** y"
    assert url_secrets("http://u:p%40ss@h/v1?key=k") == ("u", "p%40ss", "key=k", "k", "u:p@ss", "p@ss")
    assert without_credentials("http://u:p@h:8/v1?key=k") == "http://h:8/v1"


def test_answers_are_not_touched(planted, mock_tokenizer, chat):
    planted.plant(good("The code is sk-abcdef123."))
    connection = ServerOptions(planted.url)
    model = ServedModel(transport_of("openai", "m", {}, connection), mock_tokenizer, connection)
    assert model.respond(chat(mock_tokenizer, "Hello?")).text == "The code is sk-abcdef123."
