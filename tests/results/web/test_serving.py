"""The server: whom it answers, what a browser is told with every answer, how it starts and ends."""

import json
import re
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Thread

import httpx2
import pytest

from needlework.results.web.app import VARIABLE
from tests.results.builders import refusal
from tests.results.web.site import ROOT, TOKEN, Site, opened, served, write_predictions

FORM = {"content-type": "application/x-www-form-urlencoded"}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = write_predictions(tmp_path_factory.mktemp("guard") / "p", {"alpha": ["yes"]})
    with opened(folder) as site:
        yield site


@pytest.fixture
def stranger(site):
    """Another account of this machine: it finds the port, and has no cookie."""
    with httpx2.Client(base_url=site.address, headers={"origin": site.address}, trust_env=False) as client:
        yield client


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        *((method, "/rating/show", 405) for method in ("GET", "PUT", "DELETE", "PATCH", "OPTIONS")),
        *(("GET", f"/static/{name}", 404)
          for name in ("../app.py", "%2e%2e/app.py", "..%2fapp.py", "%2fetc/passwd", "app.js%00.css", "")),
    ],
)  # fmt: skip
def test_nothing_changes_by_another_method_and_nothing_else_is_static(site, method, path, status):
    assert site.client.request(method, path).status_code == status


@pytest.mark.parametrize(
    "host", ["evil.test", "evil.test:80", "127.0.0.1.evil.test", "127.0.0.1@evil.test", "[::1]", ""]
)
def test_a_name_that_is_made_to_point_here_opens_nothing(site, host):
    assert site.client.get("/", headers={"host": host}).status_code == 400


@pytest.mark.parametrize(
    "changed",
    [{"origin": "http://evil.test"}, {"origin": "null"}, {"origin": ""}, {"sec-fetch-site": "cross-site"},
     {"origin": "http://127.0.0.1:1", "sec-fetch-site": "same-site"}],
)  # fmt: skip
def test_changes_come_from_our_own_pages_alone(site, changed):
    assert site.client.post("/rating/show", headers={**FORM, **changed}).status_code == 403
    assert site.client.post("/rating/show", headers=FORM).status_code == 303


def test_every_answer_tells_the_browser_to_run_nothing_of_others(site):
    fault = f"/rating/{'9' * 5000}"  # more digits than Python takes for a number
    for path, status in (("/", 200), ("/static/app.js", 200), ("/nowhere", 404), (fault, 500)):
        answer = site.client.get(path)
        assert answer.status_code == status
        assert answer.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
        assert answer.headers["cache-control"] == "no-store"
    assert "this is a fault of Needlework (ValueError)" in site.page(fault, 500)
    assert "Traceback" not in site.page(fault, 500)


@pytest.mark.parametrize("path", ["/", "/rating/", "/rating/results", "/nowhere", f"/?token={TOKEN}x", "/?token="])
def test_without_the_token_there_is_nothing_to_see(stranger, path):
    answer = stranger.get(path, headers={"accept": "text/html"})
    assert answer.status_code == 403
    assert "with everything after the" in answer.text
    assert TOKEN not in answer.text
    assert stranger.get(path).text.startswith("open the address with ?token=")
    assert stranger.post("/rating/show", headers=FORM).status_code == 403


def test_the_token_is_taken_out_of_the_address_for_a_cookie(stranger):
    answer = stranger.get(f"/rating/?late=1&token={TOKEN}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/rating/?late=1")
    assert all(word in answer.headers["set-cookie"].lower() for word in ("httponly", "samesite=strict"))
    assert stranger.get("/rating/").status_code == 200
    elsewhere = stranger.get(f"{stranger.base_url}//evil.test/?token={TOKEN}".replace("///", "//"))
    assert elsewhere.headers["location"] == "/evil.test/"


def test_the_cookie_of_another_port_opens_nothing(stranger):
    for name, value in (("needlework-1", TOKEN), ("needlework-test", f"{TOKEN}x"), ("needlework-test", "ü")):
        assert stranger.get("/rating/", headers={"cookie": f"{name}={value}".encode()}).status_code == 403


def test_a_name_is_asked_for_first_and_leads_back(site):
    new = Site(site.address, "")
    assert "<h1>Your name</h1>" in new.page("/rating/")
    assert new.post("/rating/show", {}, 400).startswith("name:")
    assert new.post("/name", {"name": " ", "back": "/"}, 400).startswith("name:")
    assert new.post("/name", {"name": "Zoë 灯", "back": "//evil.test/"}) == "/evil.test/"
    new.client.cookies.delete("needlework-name", domain="")
    assert 'value="Zoë 灯"' in new.page("/rating/")


_PATIENCE_S = 120.0  # the server's own patience is 2 s; the rest is for a busy machine


@pytest.fixture
def folder(tmp_path):
    return write_predictions(tmp_path / "answers", {"alpha": ["yes"]})


def rate(address, name):
    """Rate the only answer as somebody of this name."""
    site = Site(address.rstrip("/"), name)
    site.post("/rating/0/rate", {"seen": site.form("/rating/0")["seen"], "comment": "", "rate": "0:5"})


@pytest.mark.parametrize("open_", ["half a request", "a page", "half a change"])
def test_ctrl_c_ends_it_whatever_a_browser_has_open(folder, open_):
    with served(folder) as (process, address):
        port = httpx2.URL(address).port
        host = f"Host: 127.0.0.1:{port}\r\nCookie: needlework-{port}={TOKEN}\r\n"
        ours = f"Origin: http://127.0.0.1:{port}\r\n"
        sent = {
            "half a request": "GET / HT",
            "a page": f"GET / HTTP/1.1\r\n{host}\r\n",
            "half a change": f"POST /rating/show HTTP/1.1\r\n{host}{ours}Content-Length: 99\r\n\r\nseen=",
        }[open_]
        with socket.create_connection(("127.0.0.1", port)) as browser:
            browser.sendall(sent.encode())
            time.sleep(0.2)  # most often it has read this by then; it ends as well where it has not
            process.send_signal(signal.SIGINT)
            _, printed = process.communicate(timeout=_PATIENCE_S)
    assert process.returncode == 0
    assert "Traceback" not in printed


def test_what_was_told_to_be_saved_outlives_a_kill(folder):
    saved: list[str] = []

    def save(rater):
        with suppress(httpx2.TransportError):  # the server is gone
            for at in range(10_000):
                rate(address, f"{rater}-{at}")
                saved.append(f"{rater}-{at}")

    with served(folder) as (process, address):
        savers = [Thread(target=save, args=(rater,)) for rater in range(3)]
        for each in savers:
            each.start()
        until = time.monotonic() + _PATIENCE_S
        while len(saved) < 30:
            assert time.monotonic() < until
            time.sleep(0.01)
        process.kill()
        for each in savers:
            each.join()
    content = json.loads((folder / "ratings.json").read_text("utf-8"))
    assert set(saved) <= {rater["name"] for rater in content["raters"]}


def test_two_servers_share_a_file_of_ratings(folder):
    with served(folder) as (_, one), served(folder) as (_, two):
        names = [(address, f"{number}-{at}") for number, address in enumerate((one, two)) for at in range(10)]
        with ThreadPoolExecutor(20) as pool:
            list(pool.map(lambda words: rate(*words), names))
    assert len(json.loads((folder / "ratings.json").read_text("utf-8"))["raters"]) == 20


@pytest.mark.parametrize(
    ("option", "value", "problem"),
    [("--port", "99999", "--port: "), ("--state", ".", "file: "), ("--state", "/dev/null/x", "file: ")],
)
def test_what_cannot_be_served_is_refused_in_one_line(folder, capsys, option, value, problem):
    assert refusal(capsys, "serve", folder, option, value).startswith(f"needlework serve: {problem}")


def test_the_printed_address_opens_the_pages_and_no_websocket_does(folder, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    command = [sys.executable, "-m", "needlework", "serve", str(folder), "--port", "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = re.match(r"(http://127\.0\.0\.1:\d+)(/\?token=[\w-]{32}) ", process.stdout.readline())
        assert found
        answer = httpx2.get(found[1] + found[2], trust_env=False)
        assert answer.status_code == 303
        assert "HttpOnly" in answer.headers["set-cookie"]
        upgrade = {"connection": "Upgrade", "upgrade": "websocket", "sec-websocket-version": "13"}
        for origin in ("http://evil.test", found[1]):
            words = {**upgrade, "origin": origin, "sec-websocket-key": "a" * 24}
            answer = httpx2.get(found[1], headers=words, trust_env=False)
            assert answer.status_code == 403
            assert answer.headers["x-frame-options"] == "DENY"
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=_PATIENCE_S)[1] == ""  # the terminal is not filled by others
