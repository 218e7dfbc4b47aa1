"""A site of the pages for people, and a browser for it."""

import json
import os
import re
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from threading import Thread
from typing import Any

import httpx2
import pytest
import uvicorn

from needlework.results.web.app import PARAMETER, VARIABLE, build_app
from needlework.results.web.command import find_sources
from tests.chromium import Page
from tests.results.builders import write_rows

TOKEN = "token-of-the-tests"
DOCUMENTS = {
    "harbour.txt": "The lighthouse of Port Elin was built in 1874.\n\nIts keeper, Mara Voss, kept a grey cat.",
    "copy of harbour.txt": "The lighthouse of Port Elin was built in 1874. Its keeper, Mara Voss, kept a grey cat!",
    "letters.txt": "In a letter the keeper of a lighthouse writes to Mara Voss about storms.",
    "mills.txt": "The mill of Port Elin was built in 1874, too; no lighthouse.",
}
QUESTIONS: dict[str, dict[str, Any]] = {
    "0": {
        "question": "When was the lighthouse of Port Elin built?", "answer": "1874", "answer_doc": "harbour.txt",
        "status": "review", "reasons": ["ambiguous: mills.txt"], "mine": {"kept": [1.50, None]},
        "also_in": ["mills.txt"], "twins": ["copy of harbour.txt"],
    },
    "1": {"question": "Who kept a cat?", "answer": ["Mara Voss", "Voss"], "answer_doc": "harbour.txt"},
    "3": {"question": "What did the letter say?", "answer": "storms", "answer_doc": "lost.txt"},
}  # fmt: skip


def write_predictions(folder, models, **more):
    """A prediction file for each model, with its answers to questions 0, 1, 2 ..."""
    for name, answers in models.items():
        rows = enumerate(answers)
        about = [{"query": f"question {at}?", "gt": f"reference {at}", f"{name}_pred": text} for at, text in rows]
        write_rows(folder / f"{name}.pred.jsonl", [row | more for row in about])
    return folder


def write_questions(folder, rows=QUESTIONS):
    """A questions file, and its documents."""
    (folder / "documents").mkdir(parents=True, exist_ok=True)
    for name, text in DOCUMENTS.items():
        (folder / "documents" / name).write_text(text, encoding="utf-8")
    path = folder / "q.checked.json"
    path.write_text(json.dumps(rows), encoding="ascii")
    return path, folder / "documents"


def never(_run, _id):
    raise AssertionError


class Site:
    """A browser that is logged in, and has told its person's name."""

    def __init__(self, address, person="Ann"):
        self.address = address
        cookies = {"needlework-name": person}
        self.client = httpx2.Client(
            base_url=address, cookies=cookies, headers={"origin": address}, trust_env=False, verify=False
        )
        self.client.get(f"/?token={TOKEN}")

    def page(self, path, status=200):
        answer = self.client.get(path, headers={"accept": "text/html"})
        assert answer.status_code == status, answer.text
        return unescape(answer.text)

    def post(self, path, fields, status=303):
        """Send a form; the address that it leads to, or the one line of what was wrong."""
        answer = self.client.post(path, data=dict(fields))
        assert answer.status_code == status, answer.text
        return answer.headers.get("location") or answer.text

    def form(self, path):
        """The hidden fields of a page's form."""
        return dict(re.findall(r'type="hidden" name="(\w+)" value="(.*?)"', self.page(path)))


@contextmanager
def opened(*paths, documents=None, state=None, rebuild=never):
    """Serve paths; `state`: beside the first unless it is named."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        sources = find_sources(paths, documents, state or paths[0].parent / "ratings.json")
        app = build_app(sources, rebuild=rebuild, token=TOKEN, cookie="needlework-test")
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical", ws="none", lifespan="off"))
        thread = Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        site = Site(f"http://{address}")
        try:
            yield site
        finally:
            site.client.close()
            server.should_exit = True
            thread.join()


ROOT = Path(__file__).parents[3]


@contextmanager
def served(*words, port="0"):
    """The process on these paths and options, and its address, `http://127.0.0.1:PORT/`; its token is the tests'."""
    command = [sys.executable, "-m", "needlework", "serve", *map(str, words), "--port", port]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, VARIABLE: TOKEN},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line.startswith("http://127.0.0.1:"):
                process.kill()
                pytest.fail(f"needlework serve: {line}{process.communicate()[1]}")
            yield process, line.split()[0]
        finally:
            process.kill()


_PATIENCE_S = 60.0


class Chrome(Page):
    """A browser with one page open."""

    def __init__(self, driver):
        super().__init__(driver)
        self._known: set[str] = set()

    def open(self, address, *, width=1280, height=900, dark=False):
        """Go to an address, in a window of so many CSS pixels; 320 wide is 1280 at 400 % zoom."""
        self.look(width=width, height=height, dark=dark)
        site = "/".join(address.split("/", 3)[:3])
        if address.startswith("http:") and site not in self._known:
            self._known.add(site)
            self.driver.get(f"{site}/?{PARAMETER}={TOKEN}")  # the address that a server prints
            self.driver.add_cookie({"name": "needlework-name", "value": "Ann"})
        self.driver.get(address)

    def until(self, script, *arguments):
        """Wait until the script gives something, and return it; an `AssertionError` after a minute."""
        end = time.monotonic() + _PATIENCE_S
        while not (found := self.ask(script, *arguments)):
            assert time.monotonic() < end, f"not within {_PATIENCE_S:.0f} s: {script}"
            time.sleep(0.02)
        return found

    def log(self):
        """What the console has said since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser")]
