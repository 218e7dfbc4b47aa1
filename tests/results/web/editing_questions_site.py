"""The review page without a browser: questions about documents, and what a browser would send."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from needlework.results.web.app import build_app
from needlework.results.web.command import find_sources
from tests.results.web.signed_in import HOST, LOGIN, signed_in

HEADERS = {"x-needlework-token": "t", "origin": f"http://{HOST}", "content-type": "application/json"}
DOCUMENTS = {
    "harbour.txt": "The lighthouse of Port Elin was built in 1874.\n\nIts keeper, Mara Voss, kept a grey cat.",
    "copy of harbour.txt": "The lighthouse of Port Elin was built in 1874. Its keeper, Mara Voss, kept a grey cat!",
    "letters.txt": "In a letter the keeper of a lighthouse writes to Mara Voss about storms.",
    "mills.txt": "The mill at Dunne was built in 1874, too.",
    "灯塔.txt": "林海的灯塔建于一八七四年。守塔人养了一只猫。",
}
QUESTIONS: dict[str, dict[str, Any]] = {
    "0": {
        "question": "When was the lighthouse of Port Elin built?",
        "answer": "1874",
        "answer_doc": "harbour.txt",
        "status": "review",
        "reasons": ["ambiguous: mills.txt"],
        "support": 1.0,
        "also_in": ["mills.txt"],
        "mine": {"kept": [1.50, None]},
    },
    "1": {"question": "Who kept a cat?", "answer": ["Mara Voss", "Voss"], "answer_doc": "harbour.txt"},
    "2": {"question": "守塔人养了什么？", "answer": "一只猫", "aliases": ["猫"], "answer_doc": "灯塔.txt"},
    "3": {"question": "What did the letter say?", "answer": "storms", "answer_doc": "lost.txt"},
}


def write_questions(path: Path, rows: Mapping[str, Any] = QUESTIONS) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(rows), encoding="ascii")
    return path


def write_documents(folder: Path, documents: Mapping[str, str] = DOCUMENTS) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in documents.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


class Site:
    """The app over a questions file, with its state beside it."""

    def __init__(self, questions: Path, documents: Path | None = None) -> None:
        def rebuild(_run: Path, _id: str) -> Any:
            raise AssertionError

        self.questions = questions
        sources = find_sources([questions], documents)
        app = build_app(
            sources, questions.parent / "people.sqlite", rebuild=rebuild, hosts=(HOST,), login=LOGIN, token="t"
        )
        self.client = signed_in(app)

    def get(self, path: str, status: int = 200, **words: Any) -> Any:
        answer = self.client.get(f"/editing/0/{path}", params=words)
        assert answer.status_code == status, answer.text
        return answer.json()

    def post(self, path: str, body: Mapping[str, Any], status: int = 200) -> Any:
        answer = self.client.post(f"/editing/0/{path}", content=json.dumps({"since": 0, **body}), headers=HEADERS)
        assert answer.status_code == status, answer.text
        return answer.json()

    def decide(self, by: str, key: str, verdict: str, *, http: int = 200, **more: Any) -> Any:
        """Decide on a pair as a page would that has just been loaded."""
        told = self.get("pairs")
        about = next((pair["about"] for pair in told["pairs"] if pair["key"] == key), "")
        said = told["states"].get(key, {"opinions": []})["opinions"]
        seen = next((each["number"] for each in said if each["by"] == by), 0)
        reason = "unclear" if verdict == "reject" else ""
        body = {"by": by, "key": key, "about": about, "status": verdict, "reason": reason, "pair": None, "seen": seen}
        return self.post("decide", {**body, **more}, http)

    def opinions(self, key: str) -> list[tuple[str, str]]:
        """Who says what of a pair now."""
        said = self.get("pairs")["states"].get(key, {"opinions": []})["opinions"]
        return [(each["by"], each["status"]) for each in said]

    def write(self, by: str, replace: str | None = None) -> Any:
        return self.post("write", {"by": by, "replace": replace})

    @property
    def reviewed(self) -> dict[str, Any]:
        """The reviewed file."""
        path = self.questions.with_name("q.reviewed.json")
        rows: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return rows
