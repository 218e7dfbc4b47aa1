"""Files of a batch service: what is written, and what is made of what comes back."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.errors import InputError
from needlework.core.grid import Cell
from needlework.core.prompts import Needle
from needlework.models.model import Calibration
from needlework.models.served.batch import AnswerFiles, BatchTransport, RequestFiles, cell_id, request_line
from needlework.models.served.connection import ServedOptions, ServerOptions
from needlework.models.served.model import ServedModel
from tests.loopback import good
from tests.models.conftest import chat

CELL = Cell("niah", 400, 50.0, "code")
NEEDLE = Needle("code", "The door code is 4711023.", "What is the door code?", "4711023")


def body_of(text="It is 4711023.", tokens=None, **more):
    return good(text, tokens, model="m", **more)


def answered(custom_id, body, status=200):
    return json.dumps({"custom_id": custom_id, "response": {"status_code": status, "body": body}, "error": None})


def failed(custom_id, code, message):
    return json.dumps({"custom_id": custom_id, "response": None, "error": {"code": code, "message": message}})


@pytest.fixture
def request_(smol_tokenizer):
    return chat(smol_tokenizer, f"{NEEDLE.text} {NEEDLE.question}", cell=CELL, needles=(NEEDLE,), answer=NEEDLE.answer)


def answers(path, *lines):
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return AnswerFiles([str(path)])


def transport(tokenizer, files=None, **options):
    return BatchTransport("m", ServedOptions(**options), tokenizer, ServerOptions(batch=True, answers=files))


def model(tokenizer, files, **options):
    return ServedModel(transport(tokenizer, files, **options), tokenizer, ServerOptions(batch=True))


def test_a_line_is_a_request_whose_id_knows_the_whole_of_it(smol_tokenizer, request_):
    options = ServedOptions(seed=3)
    line = request_line("gpt-x", options, request_)
    assert list(line) == ["custom_id", "method", "url", "body"]
    assert (line["method"], line["url"]) == ("POST", "/v1/chat/completions")
    assert line["custom_id"].startswith(f"{cell_id(CELL)}-")
    assert len(line["custom_id"]) <= 64
    assert line["body"] == {
        "model": "gpt-x",
        "messages": [{"role": "user", "content": f"{NEEDLE.text} {NEEDLE.question}"}],
        "temperature": 0.0,
        "seed": 3,
        "max_completion_tokens": 16,
    }
    other = chat(smol_tokenizer, "Another prompt", cell=CELL)
    asked = [("n", options, request_), ("gpt-x", ServedOptions(temperature=1.0), request_), ("gpt-x", options, other)]
    assert len({line["custom_id"], *(request_line(*each)["custom_id"] for each in asked)}) == 4
    assert request_line("gpt-x", options, request_) == line
    assert request_line("d", ServedOptions(azure_api_version="2024-10-21"), request_)["url"] == "/chat/completions"


@given(sizes=st.lists(st.integers(1, 60), min_size=1, max_size=30), most=st.integers(1, 7))
def test_files_keep_to_the_limits_and_lose_nothing(tmp_path_factory, sizes, most):
    path = tmp_path_factory.mktemp("b") / "requests.jsonl"
    files = RequestFiles(path, most, 200)
    for size in sizes:
        files.write({"url": "/v1", "body": "x" * size}, "m")
    files.close()
    texts = [each.read_text() for each in files.files]
    assert all(len(text) <= 200 and text.count("\n") <= most for text in texts)
    assert [len(json.loads(line)["body"]) for text in texts for line in text.splitlines()] == sizes
    assert sorted(path.parent.iterdir()) == sorted(files.files)


def test_another_model_or_endpoint_begins_another_file_and_no_file_is_written_over(tmp_path):
    files = RequestFiles(tmp_path / "r.jsonl", 9, 30)
    for model_name, url in [("a", "/x"), ("a", "/x"), ("b", "/x"), ("b", "/y")]:
        files.write({"url": url}, model_name)
    files.close()
    assert [path.name for path in files.files] == ["r.jsonl", "r-2.jsonl", "r-3.jsonl"]
    (tmp_path / "r.jsonl").unlink()
    with pytest.raises(InputError, match="is there already"):
        RequestFiles(tmp_path / "r.jsonl", 9, 999)
    with pytest.raises(InputError, match="raise --batch-limits"):
        files.write({"url": "x" * 30}, "m")


@given(order=st.permutations(range(3)))
def test_a_whole_answer_counts_before_a_fault_in_any_order(tmp_path_factory, order):
    lines = [failed("a-1", "batch_expired", "late"), answered("a-1", body_of()), answered("a-1", {"error": {}}, 500)]
    files = answers(tmp_path_factory.mktemp("b") / "o.jsonl", *(lines[number] for number in order))
    assert (answer := files.get("a-1")) is not None
    assert answer.whole


def test_two_answers_lines_that_are_none_and_ids_of_others(tmp_path):
    two = [answered("a-1", body_of("one")), answered("a-1", body_of("two"))]
    bare = json.dumps({"custom_id": "b-2", "response": body_of()})  # as some runners write it, without an envelope
    files = answers(tmp_path / "o.jsonl", *two, '{"response": 1}', "{torn", answered("b-1", {}), bare)
    assert (answer := files.get("a-1")) is not None
    assert answer.body["choices"][0]["message"]["content"] == "one"
    assert (files.lines, files.spoilt, files.get("b-2").whole) == (6, 2, True)
    assert files.unknown({"a"}) == ["b-1", "b-2"]
    assert (files.has_cell("a"), files.has_cell("c")) == (True, False)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is empty"),
        ('{"custom_id": "a", "method": "POST", "url": "/v1", "body": {}}\n', "is no output file of a batch service"),
        ("a,b,c\n", "is no output file"),
    ],
)
def test_other_files_are_refused(tmp_path, text, why):
    (tmp_path / "e.jsonl").write_text(text)
    with pytest.raises(InputError, match=why):
        AnswerFiles([str(tmp_path / "e.jsonl")])
    if not text:  # an empty error file beside answers is usual
        (tmp_path / "o.jsonl").write_text(answered("a-1", body_of()))
        assert AnswerFiles([str(tmp_path / "e.jsonl"), str(tmp_path / "o.jsonl")]).lines == 1


def test_an_answer_is_checked_as_a_servers_is(tmp_path, smol_tokenizer, request_):
    shorts = [line["custom_id"] for line in transport(smol_tokenizer).lines(request_)][:2]
    lines = [answered(short, body_of("OK.", int(short.rpartition("-")[2]) + 7)) for short in shorts]
    tokens = request_.prompt.tokens + 7
    custom_id = request_line("m", ServedOptions(), request_)["custom_id"]
    lines.append(answered(custom_id, body_of(tokens=tokens, system_fingerprint="fp")))
    response = model(smol_tokenizer, answers(tmp_path / "o.jsonl", *lines)).respond(request_)
    assert (response.text, response.finish_reason, response.latency_s) == ("It is 4711023.", "stop", None)
    assert (response.prompt_tokens, response.fingerprint) == (tokens, "fp")
    assert response.calibration == Calibration("exact", 7)
    alone = model(smol_tokenizer, answers(tmp_path / "p.jsonl", lines[2])).respond(request_).calibration
    assert (alone.status, alone.why) == (
        "failed",
        "a short request failed: the files of --batch-in have no answers to the two short requests",
    )


def test_the_name_of_an_azure_deployment_says_nothing_of_its_model(tmp_path, smol_tokenizer, request_):
    line = answered(request_line("m", ServedOptions(), request_)["custom_id"], good("It is.", None, model="other"))
    files = answers(tmp_path / "o.jsonl", line)
    options = ({}, {"azure_api_version": "2024-10-21"})
    assert [model(smol_tokenizer, files, **each).respond(request_).flags for each in options] == [("other_model",), ()]


TOO_LONG = {"error": {"message": "maximum context length is 8192 tokens"}}


@pytest.mark.parametrize(
    ("line", "kind", "words"),
    [
        (answered("ID", {"error": {"message": "slow down"}}, 429), "rate_limit", "HTTP 429: slow down"),
        (failed("ID", "batch_expired", "not done in 24h"), "server", "batch has no answer: not done in 24h"),
        (answered("ID", {"choices": []}), "protocol", "no choices"),
        (answered("ID", None, 401), "client", "refuses the key"),
        (answered("OTHER", body_of()), "client", "no line of --batch-in answers this request"),
        (answered("ID", TOO_LONG, 400), "client", "context too long"),
    ],
)
def test_faults_are_errors_of_their_cell_alone(tmp_path, smol_tokenizer, request_, line, kind, words):
    files = answers(tmp_path / "o", line.replace("ID", request_line("m", ServedOptions(), request_)["custom_id"]))
    error = model(smol_tokenizer, files).respond(request_).error
    assert (error.kind, error.fatal, error.too_long) == (kind, False, "too long" in words)
    assert words in error.message
    if error.too_long:
        fits = model(smol_tokenizer, files, window=4000).respond(request_).error
        assert (fits.too_long, fits.kind) == (False, "server")
