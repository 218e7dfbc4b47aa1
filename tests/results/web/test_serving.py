"""The server as a process: how it starts, ends, and what is kept when it is killed."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from threading import Thread

import pytest

from needlework.results.web.app import VARIABLE
from tests.results.web.site import ROOT, TOKEN, served, write_predictions

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
_AT_ONCE_S = 8.0  # the server's own patience is 2 s; the rest is for a busy machine


@contextmanager
def server(*words):
    with served(*words) as (process, address):
        yield process, int(address.rstrip("/").rpartition(":")[2])


@pytest.fixture
def folder(tmp_path):
    return write_predictions(tmp_path / "answers", {"alpha": ["yes"]})


def cookie(port):
    return f"needlework-{port}={TOKEN}"


def rate(port, name):
    """Rate the only answer as somebody of this name; whether the server says that it is saved."""
    headers = {"Origin": f"http://127.0.0.1:{port}", "Cookie": f"{cookie(port)}; needlework-name={name}"}
    seen = re.search(r'name="seen" value="(\w+)"', _asked(port, "GET", "/rating/0", headers=headers)[1])
    assert seen
    form = f"seen={seen[1]}&comment=&rate=0:5"
    return _asked(port, "POST", "/rating/0/rate", form, {**headers, **FORM})[0] == 303


def _asked(port, method, path, body=None, headers=None):
    with closing(HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT")
@pytest.mark.parametrize("open_", ["half a request", "a page", "half a change"])
def test_ctrl_c_ends_it_whatever_a_browser_has_open(folder, open_):
    with server(folder) as (process, port):
        host = f"Host: 127.0.0.1:{port}\r\nCookie: {cookie(port)}\r\n"
        ours = f"Origin: http://127.0.0.1:{port}\r\n"
        sent = {
            "half a request": "GET / HT",
            "a page": f"GET / HTTP/1.1\r\n{host}\r\n",
            "half a change": f"POST /rating/show HTTP/1.1\r\n{host}{ours}Content-Length: 99\r\n\r\nseen=",
        }[open_]
        with socket.create_connection(("127.0.0.1", port)) as browser:
            browser.sendall(sent.encode())
            time.sleep(0.2)
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=_AT_ONCE_S)
    assert process.returncode == 0
    assert "Traceback" not in said


def test_what_was_told_to_be_saved_outlives_a_kill(folder):
    saved: list[str] = []

    def save(rater):
        for at in range(10_000):
            try:
                if rate(port, f"{rater}-{at}"):
                    saved.append(f"{rater}-{at}")
            except OSError:
                return

    with server(folder) as (process, port):
        savers = [Thread(target=save, args=(rater,)) for rater in range(3)]
        for each in savers:
            each.start()
        time.sleep(1.5)
        process.kill()
        for each in savers:
            each.join()
    content = json.loads((folder / "ratings.json").read_text("utf-8"))
    assert saved
    assert set(saved) <= {rater["name"] for rater in content["raters"]}


def test_two_servers_share_a_file_of_ratings(folder):
    with server(folder) as (_, one), server(folder) as (_, two):
        threads = [Thread(target=rate, args=(port, f"{port}-{at}")) for port in (one, two) for at in range(10)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    assert len(json.loads((folder / "ratings.json").read_text("utf-8"))["raters"]) == 20


@pytest.mark.parametrize("words", [("--port", "99999"), ("--state", "."), ("--state", "/dev/null/x")])
def test_what_cannot_be_served_is_refused_in_one_line(folder, words):
    command = [sys.executable, "-m", "needlework", "serve", str(folder), *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == 2
    assert done.stderr.startswith(("needlework serve: --port: ", "needlework serve: file: "))
    assert done.stderr.count("\n") == 1


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT")
def test_the_printed_address_opens_the_pages_and_no_websocket_does(folder):
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    command = [sys.executable, "-m", "needlework", "serve", str(folder), "--port", "0"]
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        found = re.match(r"http://127\.0\.0\.1:(\d+)(/\?token=[\w-]{32}) ", process.stdout.readline())
        assert found
        with closing(HTTPConnection("127.0.0.1", int(found[1]), timeout=10)) as connection:
            connection.request("GET", found[2])
            answer = connection.getresponse()
            assert answer.status == 303
            assert "HttpOnly" in answer.headers["set-cookie"]
        upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
        for origin in ("http://evil.test", f"http://127.0.0.1:{found[1]}"):
            with closing(HTTPConnection("127.0.0.1", int(found[1]), timeout=10)) as connection:
                connection.request("GET", "/", headers={**upgrade, "Origin": origin, "Sec-WebSocket-Key": "a" * 24})
                answer = connection.getresponse()
                assert answer.status == 403
                assert answer.headers["x-frame-options"] == "DENY"
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=_AT_ONCE_S)[1] == ""  # the terminal is not filled by others
