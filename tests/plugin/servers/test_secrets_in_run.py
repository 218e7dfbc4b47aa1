"""A planted key is sent to the server and is nowhere else: not in a file, not on the terminal, not in an error.

The server here is the worst one: whatever it is sent, it says again, in the answer, in the reasoning and in its errors,
as it came, percent-encoded, in base64 and escaped as in JSON.
"""

from __future__ import annotations

import base64
import html
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from tests.loopback import Loopback, Said, loopback

KEY = 'q7+/x"<&%-planted-key-0931'
HEADER = 'hdr\\"planted+value/5150&=x'
FIELD = "field+planted/7788=body"
USER, PASSWORD = "planted-user-77", "p@ss/w:rd+planted 88"
TOKEN = "query+planted/99%zz"
PROXY_USER, PROXY_PASSWORD = "planted-proxy-55", "pr0xy/planted 66"
SECRETS = (KEY, HEADER, FIELD, USER, PASSWORD, TOKEN, PROXY_USER, PROXY_PASSWORD)
FRAGMENT = 10  # so many characters of a secret in a row are a leak too: errors are cut somewhere


def forms(text):
    """How a secret looks to whoever reads a file: as it is, quoted, in base64 wherever it begins, escaped."""
    encoded = text.encode()
    looks = {text, quote(text), quote(text, safe=""), quote_plus(text), html.escape(text), repr(text)[1:-1]}
    looks |= {json.dumps(text)[1:-1], json.dumps(json.dumps(text))[3:-3]}
    for shift in range(3):
        # What stands before and after it decides the first and the last characters: they are left out.
        middle = base64.b64encode(b"\0" * shift + encoded).decode().rstrip("=")[2:-1]
        looks |= {middle, middle.translate(str.maketrans("+/", "-_"))}
    return {form for form in looks if form}


def echo(request):
    """Everything that a request carried, in every form."""
    carried = [*request.headers.values(), request.path, *map(str, request.body.values())]
    carried = [part for part in carried if part != request.prompt] + [
        part[7:] for part in carried if part[:7] == "Bearer "
    ]
    return "\n".join(form for part in carried for form in sorted(forms(part)))


def answering(request):
    """A right answer with the echo behind it."""
    text = echo(request)
    return Said(
        f"The code is {request.value}.\n{text}",  # of so long an answer the beginning is kept
        finish_reason="stop" if len(request.prompt) % 2 else text,
        message={"reasoning_content": text},
        fields={"id": text, "model": text, "system_fingerprint": text},
    )


def refusing(status, before=""):
    """An error whose message is the echo, with this text before it."""

    def say(request):
        return Said(raw=json.dumps({"error": {"message": before + echo(request)}}).encode(), status=status)

    return say


def rubbish(request):
    """Status 200, and no JSON."""
    return Said(raw=("<html>" + "x" * (160 + len(request.prompt) % 40) + echo(request)).encode(), kind="text/html")


BEHAVIOURS = {
    "answers": (answering, (0, 1, 10)),
    "401": (refusing(401), (2, 11)),
    "500": (refusing(500), (11,)),
    "400, cut": (refusing(400, "x" * 282 + KEY), (11,)),  # of a message 300 characters are kept
    "rubbish": (rubbish, (11,)),
}


def arguments(way, url):
    body = f"--model-arg=extra_body={json.dumps({'api_key': FIELD, 'top_k': 1})}"
    if way == "key and header":
        return [f"--base-url={url}", "--api-key-env=PLANTED_KEY", f"--model-arg=header.X-Auth={HEADER}", body]
    login = f"{USER}:{quote(PASSWORD, safe='')}@"
    host = url.removeprefix("http://").removesuffix("/v1")
    proxy = f"http://{PROXY_USER}:{quote(PROXY_PASSWORD, safe='')}@{host}"
    address = f"{url.replace('://', f'://{login}')}?token={quote(TOKEN, safe='')}"
    return [f"--base-url={address}", f"--model-arg=proxy={proxy}", body]


@dataclass
class Planted:
    """A project whose command line, environment and server are full of secrets."""

    project: Any
    server: Loopback

    def run(self, way, *args):
        """Run it; nothing that is left has a secret."""
        result = self.project.run(
            *arguments(way, self.server.url), "--tokenizer=tiktoken:cl100k_base", "--depths=0,50", "--lengths=400",
            "--retries=0", "--max-errors=5", "--junitxml=junit.xml", "--benchmark-json=bench.json",
            "--log-file=log.txt", "--log-file-level=DEBUG", "-vv", "--showlocals", "--tb=long",
            "--gate=score >= 0.5", *args, model="openai:m",
        )  # fmt: skip
        texts = {"stdout": result.stdout.str(), "stderr": result.stderr.str()}
        for path in Path(self.project.pytester.path).rglob("*"):
            if path.is_file():
                texts[str(path)] = path.read_bytes().decode("utf-8", "replace")
        leaks = [(name, secret, _leak(text, secret)) for name, text in texts.items() for secret in SECRETS]
        assert [leak for leak in leaks if leak[2]] == []
        return result


def _leak(text, secret):
    """The part of a secret that is in a text: any form of it whole, or ten characters in a row."""
    whole = next((form for form in forms(secret) if len(form) >= FRAGMENT and form in text), "")
    parts = (secret[i : i + FRAGMENT] for i in range(len(secret) - FRAGMENT + 1))
    return whole or next((part for part in parts if part in text), "")


@pytest.fixture
def planted(project, monkeypatch):
    monkeypatch.setenv("PLANTED_KEY", KEY)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(project.pytester.path / "summary.md"))
    with loopback() as server:
        yield Planted(project, server)


@pytest.mark.parametrize(
    ("way", "behaviour"),
    [
        *(("key and header", behaviour) for behaviour in BEHAVIOURS),
        *(("address and proxy", behaviour) for behaviour in ("answers", "500")),
    ],
)
def test_no_secret_is_in_what_a_run_leaves(planted, way, behaviour):
    planted.server.say, status = BEHAVIOURS[behaviour]
    result = planted.run(way)

    assert result.ret in status
    request = [each for each in planted.server.requests if each.path.partition("?")[0].endswith("/completions")][-1]
    sent = " ".join(request.headers.values()) + str(request.body)
    assert (KEY in sent and HEADER in sent) if way == "key and header" else "Basic " in sent
    assert FIELD in sent
    if behaviour == "answers":
        # Around so much that is no language, the rule may not know; that there is an answer is seen.
        assert {record["outcome"] for record in planted.project.records()} <= {"found", "unclear"}


JUDGE = ("--judge=openai:judge", "--scorer=judge_evalscope")


@pytest.mark.parametrize(
    ("behaviour", "more"),
    [
        *(pytest.param(name, ["-n2"], marks=pytest.mark.slow) for name in ("answers", "500")),
        ("answers", JUDGE),
        ("rubbish", JUDGE),
    ],
)
def test_nor_under_workers_or_when_a_judge_says_it_again(planted, behaviour, more):
    planted.server.say, _ = BEHAVIOURS[behaviour]
    planted.run("key and header", *more)


def test_nor_when_a_test_of_the_users_fails(planted):
    planted.server.say = answering
    planted.project.test_does(
        "exchange = generate(cell)",
        "score = assert_scored(exchange)",
        "raise ValueError(settings, model, exchange)",
        more_fixtures="settings, model, haystack, pytestconfig",
    )
    assert planted.run("key and header").ret == 1


@pytest.mark.parametrize(
    "wrong",
    [
        f"--model-arg=header.Authorization {HEADER}",
        f"--api-key-env={KEY}",
        f'--model-arg=extra_body={{"api_key": "{FIELD}"',
        f"--base-url=htp://{USER}:pass@host/v1?key={TOKEN}",
        f"--base-url={USER}:{TOKEN}@host",
        f"--model-arg=proxy=socks://{PROXY_USER}:{TOKEN}@host",
        f"--judge-base-url=htp://{USER}:pass@host/v1?key={TOKEN}",
    ],
)
def test_nor_in_a_refused_value(planted, wrong):
    planted.run("key and header", wrong, *JUDGE)
