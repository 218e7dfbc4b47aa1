"""What heatmaps and rows are called, in the words of a person who has documents or hidden facts."""

from __future__ import annotations

from needlework.results.html.texts import on_one_line
from needlework.results.records.tests_of_cells import task_of
from needlework.results.statistics.panels import Panel

_TASKS = {
    "doc_position": "your documents, by place",
    "doc_size": "your documents, by size",
    "doc_absent": "your documents, no answer in them",
}
_ASKED = {
    "questions": "all documents",
    "questions_bm25": "what BM25 search finds",
    "questions_dense": "what embedding search finds",
    "questions_absent": "answer document left out",
    "questions_near": "the most similar document in its place",
}


def task_title(task: str) -> str:
    """A task by the name that people read."""
    return on_one_line(_TASKS.get(task_of(task), task))


def asked_title(panel: Panel) -> str:
    """What the questions of a panel are about."""
    return on_one_line(_ASKED.get(panel.needle, panel.needle) if task_of(panel.task) in _TASKS else panel.needle)


def panel_title(panel: Panel, models: int) -> str:
    """`model · task · what is asked about`; the model only where there are several."""
    parts = (panel.model if models > 1 else "", task_title(panel.task), asked_title(panel))
    return on_one_line(" · ".join(part for part in parts if part))
