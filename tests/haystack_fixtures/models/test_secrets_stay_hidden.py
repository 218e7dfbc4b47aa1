"""Keys, headers and passwords reach the server and nothing else."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from needlework.core.errors import InputError
from needlework.core.redact import redactor, url_secrets, without_credentials
from needlework.models.model import Request
from needlework.models.served.connection import ServerOptions, address, served_options
from needlework.models.served.model import ServedModel, transport_of
from needlework.models.tokenizers.tokenizer import Tokenizer
from tests.haystack_fixtures.models.served.planted_http import Answer, PlantedServer, good

KEY = "sk-live-0123456789abcdef"


def test_a_key_is_sent_and_never_shown(
    planted: PlantedServer,
    mock_tokenizer: Tokenizer,
    chat: Callable[..., Request],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    monkeypatch.setenv("MY_HEADER", "top-secret-header")
    echo = f"Incorrect API key provided: {KEY}, header top-secret-header, also sk-live-****cdef, Bearer {KEY}"
    planted.plant(
        Answer(401, {"error": {"message": echo}}),
        Answer(400, f"<p>{echo}</p>", kind="text/html"),
        Answer(body=f"hi {echo}"),
    )
    connection = ServerOptions(planted.url, "MY_KEY", retries=0)
    args = {"header.X-Auth": "ENV:MY_HEADER"}
    options = served_options(args)
    model = ServedModel(transport_of("openai", "m", args, connection), mock_tokenizer, connection)
    responses = [model.respond(chat(mock_tokenizer, "Hello?")) for _ in range(3)]
    assert planted.headers[0]["x-auth"] == "top-secret-header"
    assert KEY in planted.headers[0]["authorization"]
    assert responses[0].error is not None
    assert responses[0].error.fatal
    where = address(connection, options)
    shown = (
        " ".join(map(repr, (responses, model, model.identity, connection, options, where, redactor([KEY]))))
        + caplog.text
    )
    for secret in (KEY, "top-secret", "cdef", "0123456789"):
        assert secret not in shown


def test_a_password_in_the_address_is_used_and_never_shown(
    planted: PlantedServer, mock_tokenizer: Tokenizer, chat: Callable[..., Request]
) -> None:
    planted.plant(Answer(403, {"error": {"message": "user and passw0rd are wrong"}}))
    connection = ServerOptions(planted.url.replace("://", "://user:passw0rd@"), "NO_SUCH_KEY")
    model = ServedModel(transport_of("openai", "m", {}, connection), mock_tokenizer, connection)
    response = model.respond(chat(mock_tokenizer, "Hello?"))
    assert planted.headers[0]["authorization"].startswith("Basic ")
    assert model.identity["server"] == planted.url
    assert "passw0rd" not in repr((response, connection, model.identity))


def test_a_missing_key_is_refused_except_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_dummy_keys_do_not_eat_words() -> None:
    assert redactor(["", "a", None]).clean("a banana") == "a banana"
    assert redactor(["abcd-efgh"]).clean("x abcd-efgh y") == "x *** y"
    assert url_secrets("http://u:p%40ss@h/v1?key=k") == ("u", "p%40ss", "key=k", "k", "u:p@ss", "p@ss")
    assert without_credentials("http://u:p@h:8/v1?key=k") == "http://h:8/v1"


def test_answers_are_not_touched(
    planted: PlantedServer, mock_tokenizer: Tokenizer, chat: Callable[..., Request]
) -> None:
    planted.plant(good("The code is sk-abcdef123."))
    connection = ServerOptions(planted.url)
    model = ServedModel(transport_of("openai", "m", {}, connection), mock_tokenizer, connection)
    assert model.respond(chat(mock_tokenizer, "Hello?")).text == "The code is sk-abcdef123."
