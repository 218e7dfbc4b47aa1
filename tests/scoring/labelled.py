"""Answers with the label of a careful reader, or with the verdict that `match` gives them, from `data`."""

import json
import tomllib
from pathlib import Path

from needlework.scoring.scores import Reference

DATA = Path(__file__).parent / "data"
LABELS = {"found": "+", "partial": "~", "unclear": "?"}
SETS = (
    ("answers.txt", ""),
    ("more_answers.txt", ""),
    ("first_sight.txt", "realistic"),
    ("first_sight.txt", "hard"),
    ("fresh_answers.txt", "realistic"),
    ("fresh_answers.txt", "hard"),
    ("unseen_answers.txt", "realistic"),
    ("unseen_answers.txt", "hard"),
    ("plain_answers.txt", "realistic"),
)


def labelled(name, *, kind=""):
    """Label, reference and answer of each line of a file, or of one `kind` of them."""
    references, reference, heading = _references(), Reference(()), ""
    for line in (DATA / name).read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            heading, _, key = (part.strip() for part in line.strip("[]").split("|"))
            reference = references[key]
        elif line[:2] in ("+ ", "- ", "~ ", "? ") and kind in ("", heading):
            yield line[0], reference, line[2:].replace("\\n", "\n")


def judged():
    """Scorer, verdict, reference and answer of each line of `verdicts.txt`; an answer in quotes is JSON."""
    references, reference, scorer = _references(), Reference(()), ""
    for line in (DATA / "verdicts.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            key, _, scorer = line.strip("[]").partition(" | ")
            reference = references[key]
        elif line and not line.startswith("#"):
            verdict, _, answer = line.partition(" ")
            yield scorer or "match", verdict, reference, json.loads(answer) if answer.startswith('"') else answer


def _references():
    tables = tomllib.loads((DATA / "references.toml").read_text(encoding="utf-8"))
    return {
        key: Reference(**{field: tuple(value) if isinstance(value, list) else value for field, value in table.items()})
        for key, table in tables.items()
    }
