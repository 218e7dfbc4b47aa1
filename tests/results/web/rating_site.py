"""The rating page without a browser: files to rate, and what a browser would send."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from needlework.results.web.app import build_app
from needlework.results.web.command import find_sources
from tests.results.web.signed_in import HOST, LOGIN, signed_in

HEADERS = {"x-needlework-token": "t", "origin": f"http://{HOST}"}


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="ascii")
    return path


def predictions(folder: Path, models: Mapping[str, Sequence[str]], **more: Any) -> list[Path]:
    """A prediction file for each model, with its answers to questions 0, 1, 2 ..."""
    return [
        write_rows(
            folder / f"{name}.pred.jsonl",
            [
                {"query": f"question {at}?", "gt": f"reference {at}", f"{name}_pred": text, **more}
                for at, text in enumerate(answers)
            ],
        )
        for name, answers in models.items()
    ]


def never(_run: Path, _id: str) -> Any:
    raise AssertionError


class Site:
    """The app over some paths, its state in the folder `state`."""

    def __init__(self, *paths: Path, state: Path, rebuild: Callable[[Path, str], Any] = never) -> None:
        app = build_app(find_sources(paths, None), state, rebuild=rebuild, hosts=(HOST,), login=LOGIN, token="t")
        self.client = signed_in(app)

    def page(self, path: str) -> str:
        answer = self.client.get(f"/rating{path}", headers={"accept": "text/html"})
        assert answer.status_code == 200, answer.text
        return answer.text

    def get(self, path: str) -> Any:
        return self.client.get(f"/rating{path}").json()

    def post(self, path: str, body: Mapping[str, Any], status: int = 200) -> Any:
        # As a browser writes it: half a surrogate pair is an escape.
        answer = self.client.post(
            f"/rating{path}", content=json.dumps(body), headers={**HEADERS, "content-type": "application/json"}
        )
        assert answer.status_code == status, answer.text
        return answer.json()

    def begin(self, name: str) -> int:
        return int(self.post("/begin", {"name": name})["annotator"])

    def rate(self, annotator: int, place: int, answer: int, rating: int | None, *, comment: str = "") -> Any:
        seen = self.get(f"/of/{annotator}/items/{place}")["answers"][answer]["seen"]
        body = {"place": place, "answer": answer, "rating": rating, "comment": comment, "seen": seen}
        return self.post(f"/of/{annotator}/rate", body)

    def rate_by(self, annotator: int, marks: Mapping[str, int]) -> None:
        """Rate every answer by its text."""
        for place in range(len(self.get(f"/of/{annotator}/items/0")["states"])):
            for at, answer in enumerate(self.get(f"/of/{annotator}/items/{place}")["answers"]):
                self.rate(annotator, place, at, marks[answer["text"]])
