"""Options with junk for their values, and servers that send anything at all: a clear line, or what can be used."""

import json
import random
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from needlework.core.options import key_value
from needlework.core.settings import OPTIONS
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.tasks.catalogue import grid
from needlework.models.event_loop import event_loop
from needlework.models.local.memory import local_options
from needlework.models.model import Request
from needlework.models.served.connection import ServerOptions, served_options
from needlework.models.served.model import ServedModel, transport_of
from needlework.models.specs import check_model, parse_spec
from needlework.models.tokenizers.tokenizer import load_tokenizer
from needlework.results.gates.gate import parse_gate
from needlework.results.records.manifest import recipe_of
from needlework.results.records.run_folder import run_folder
from tests.fuzz.junk import ODD_VALUES, ODD_WORDS, ROUNDS, SEED, bounded, check_line, complaint, damaged, junk, swapped
from tests.loopback import HttpAnswer, http_server
from tests.models.conftest import make_prompt
from tests.plugin.conftest import project

RUNNABLE = 2_000  # cells; more are not unfolded here


@cache
def check_spec(spec, words, connection):
    parse_spec(spec)
    check_model(spec, dict(word.split("=", 1) for word in words), connection, None)


def use(resolved):
    """What a run does with its settings before it asks anything."""
    recipe_of(resolved)
    run_folder(resolved)
    for text in resolved.gate:
        parse_gate(text)
    connection = ServerOptions(resolved.base_url, resolved.api_key_env, resolved.timeout, resolved.retries)
    for spec in resolved.model:
        check_spec(spec, resolved.model_arg, connection)
    if sum(len(suite.lengths) * len(suite.depths) * suite.repeats for suite in resolved.suites) < RUNNABLE:
        grid(resolved)


def resolve(options, ini=None):
    use(resolve_settings(options, ini or {}, Path("/nowhere")))


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_every_odd_word_for_every_option(option):
    for word in ODD_WORDS:
        line = complaint(partial(resolve, {option.key: [word] if option.repeatable else word}))
        if line and option.key not in ("config", "preset", "language", "task"):
            assert option.name in line or option.key in line or word.strip()[:1] in line, line


@given(st.dictionaries(st.sampled_from(OPTIONS), junk, min_size=1, max_size=4))
def test_junk_for_several_options_at_once(chosen):
    options = {option.key: [word] if option.repeatable else word for option, word in chosen.items()}
    complaint(lambda: resolve(options))
    complaint(lambda: resolve({}, {key: value for key, value in options.items() if key != "config"}))


@example(table={"": ""})
@given(
    table=st.dictionaries(
        st.sampled_from(OPTIONS).map(lambda o: o.name) | junk, junk | st.lists(junk, max_size=3), max_size=4
    )
)
def test_junk_in_a_configuration_file(tmp_path, table):
    path = tmp_path / "config.toml"
    lines = [f"{json.dumps(name)} = {json.dumps(value)}\n" for name, value in table.items()]
    path.write_bytes("".join(lines).encode("utf-8", "surrogatepass"))
    complaint(lambda: resolve({"config": str(path)}))


@given(st.lists(junk, max_size=3))
def test_model_arguments(words):
    def read():
        args = dict(str(key_value("--model-arg", word)).split("=", 1) for word in words)
        complaint(partial(local_options, args))
        complaint(partial(served_options, args))

    complaint(read)


__all__ = ["project"]
WORDS = [word for word in ODD_WORDS if "\0" not in word and len(word) < 4000 and word not in ("/", "~", ".", "..")]
# What these words may start is not the options' business: whole presets, every model there is.
LARGE = {"preset": ("quick",), "run_name": (), "task": ()}


@pytest.mark.parametrize(
    "number", [*range(8), *(pytest.param(number, marks=pytest.mark.slow) for number in range(8, 200))]
)
def test_junk(number, project, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none-at-all")
    chance = random.Random(f"{SEED} {number}")
    option = chance.choice([option for option in OPTIONS if not option.flag])
    word = chance.choice([word for word in WORDS if word not in LARGE.get(option.key, ())])
    with bounded(60):
        result = project.run(f"--{option.name}={word}", "--timeout=1", "--retries=0")

    everything = result.stdout.str() + result.stderr.str()
    assert "Traceback" not in everything, (option.name, word)
    assert "INTERNALERROR" not in everything, (option.name, word)
    assert result.ret in (0, 1, 2, 4, 5, 10, 11), (option.name, word)
    if result.ret == 4:
        (line,) = [line for line in result.stderr.str().splitlines() if line.startswith("ERROR: ")]
        check_line(line)
        assert not project.runs.exists()


ANSWER: dict[str, Any] = {
    "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m", "system_fingerprint": "fp",
    "choices": [
        {"index": 0, "finish_reason": "stop", "logprobs": None,
         "message": {"role": "assistant", "content": "It is 4711.", "reasoning_content": "Hm.", "refusal": None}}
    ],
    "usage": {
        "prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12, "prompt_tokens_details": {"cached_tokens": 3},
        "completion_tokens_details": {"reasoning_tokens": 2},
    },
    "timings": {"cache_n": 1, "prompt_n": 6, "predicted_n": 5},
}  # fmt: skip
CHUNKS: list[dict[str, Any]] = [
    {"id": "c1", "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]},
    {"id": "c1", "choices": [{"index": 0, "delta": {"reasoning_content": "Hm."}}]},
    {"id": "c1", "choices": [{"index": 0, "delta": {"content": "It is 4711."}}]},
    {"id": "c1", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    {"id": "c1", "choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 5}},
]
ERROR = {"error": {"message": "too many requests", "type": "rate", "code": 429, "param": None}}


EVENTS = "text/event-stream"


def events(chunks):
    return b"".join(f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks) + b"data: [DONE]\n\n"


@pytest.fixture(scope="module")
def request_():
    tokenizer = load_tokenizer("tiktoken:cl100k_base")
    return Request(make_prompt(tokenizer, "What is the code?"), "raw", answer_budget=16)


def check(response):
    json.dumps(response.text), json.dumps(response.reasoning)
    if response.error is not None:
        assert response.error.message.isprintable()
        assert len(response.error.message) < 1000
        return
    assert isinstance(response.text, str)
    assert isinstance(response.reasoning, str)
    assert response.finish_reason is None or len(response.finish_reason) < 1000
    for kind in ("prompt", "completion", "cached", "reasoning"):
        count = getattr(response, f"{kind}_tokens")
        assert count is None or (isinstance(count, int) and 0 <= count < 10**13)


def ask(replies, request):
    left = iter(replies)
    with http_server(lambda _request: next(left, HttpAnswer({}))) as url:
        for stream in ("true", "false"):
            args, connection = {"window": "4000", "stream": stream}, ServerOptions(f"{url}/v1", timeout_s=1, retries=0)
            for _ in range(len(replies) // 2):
                transport = transport_of("openai", "m", args, connection)
                model = ServedModel(transport, load_tokenizer("tiktoken:cl100k_base"), connection)
                with bounded(30):
                    check(event_loop().wait(model._respond(request)))
                model.close()


def test_damaged_answers_and_answers_of_other_types(request_):
    chance = random.Random(SEED)
    whole = (
        HttpAnswer(json.dumps(ANSWER)), HttpAnswer(events(CHUNKS), kind=EVENTS),
        HttpAnswer(json.dumps(ERROR), 400),
    )  # fmt: skip
    replies = [replace(reply, body=damaged(reply.data, chance)) for reply in whole for _ in range(8 * ROUNDS)]
    for _ in range(8 * ROUNDS):
        chunks = swapped(CHUNKS, chance)
        replies += [
            HttpAnswer(json.dumps(swapped(ANSWER, chance))),
            HttpAnswer(events(chunks if isinstance(chunks, list) else [chunks]), kind=EVENTS),
            HttpAnswer(json.dumps(swapped(ERROR, chance)), chance.choice((400, 401, 403, 404, 429, 500, 503))),
        ]
    ask(replies, request_)


def test_odd_bodies_and_heads(request_):
    deep = b"[" * 100_000 + b"]" * 100_000
    bodies = [
        b"", b"null", b"[]", b"{}", b'""', b"1", b"NaN", deep, b'{"choices": ' + deep + b"}", b"\xff\xfe", b"\0" * 1000,
        b'{"choices": [{"text": ' + b'"x' * 5000, json.dumps({"choices": [{"text": "x" * 5_000_000}]}).encode(),
        b'{"usage": {"prompt_tokens": ' + b"9" * 4000 + b'}, "choices": [{"text": "x"}]}',
        b'{"usage": {"prompt_tokens": 1e999}, "choices": [{"text": "x"}]}',
    ]  # fmt: skip
    bodies += [json.dumps({"choices": [{"text": value}], "usage": value}).encode() for value in ODD_VALUES]
    replies = [HttpAnswer(body) for body in bodies]
    replies += [HttpAnswer(b"data: " + body + b"\n\ndata: [DONE]\n\n", kind=EVENTS) for body in bodies]
    replies += [HttpAnswer(b"", 429, headers={"Retry-After": value}) for value in ("1e999", "nan")]
    more = ({"X": "y" * 200_000}, {"Content-Encoding": "gzip"}, {"Location": "http://127.0.0.1:9/\x1b[2J"})
    replies += [HttpAnswer(b"x", status, headers=each) for status, each in zip((200, 200, 301), more, strict=True)]
    ask([*replies, *(HttpAnswer(b"x", status) for status in (100, 101, 204, 999))], request_)
