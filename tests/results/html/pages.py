"""A reader of our pages, and records to fill them with."""

import json
import zlib
from base64 import b64decode
from hashlib import sha256
from html.parser import HTMLParser
from itertools import product
from typing import Any

from needlework.results.statistics.panels import OUTCOMES
from tests.results.builders import new_record

VOID = frozenset({"meta", "link", "br", "hr", "img", "input"})
EVIL = "<img src=x onerror=alert(1)></script><!--<script>\x00\x1b[31m\x1b]0;title\x07\ud800\u202e\u2028\u2029]]>&amp;"


class Page(HTMLParser):
    """What is in a page; an element that is not closed in its turn is an error."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.contents: list[tuple[str, str]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert len({name for name, _ in attrs}) == len(attrs), f"an attribute twice in {tag}"
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open, tag
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.contents.append((self.open[-1] if self.open else "", data))

    def tags(self):
        return [tag for tag, _ in self.elements]

    def inside(self, tag):
        return [data for at, data in self.contents if at == tag]

    def data(self):
        content: dict[str, Any] = json.loads(self.inside("script")[0])
        return content

    def details(self):
        """The packed part, unpacked as the script does it."""
        packed = "".join(self.inside("script")[1:-1])
        return json.loads(zlib.decompress(b64decode(packed))) if packed else []

    def trials(self):
        """The trials as the script reads them."""
        return [trial for row in self.pairs() for trial in row if trial is not None]

    def pairs(self):
        """The trials of each row: one in a run's page, two in a comparison's."""
        return [row[3:] for row in self.details()]


def grid(columns, rows):
    """`columns` x `rows` trials, each with a hash, which cannot be packed; the far middle is wrong."""
    records = []
    for column, row in product(range(columns), range(rows)):
        depth, digest = 100.0 * row / (rows - 1), sha256(f"{column}-{row}".encode()).hexdigest()
        found = column < columns / 2 or not rows / 3 < row < rows * 2 / 3
        at = {"length": 1000 * (column + 1), "depth": depth, "outcome": "found" if found else "wrong"}
        needle = {"depth": depth, "before": digest, "text": "The code is 4711.", "after": digest[::-1]}
        prompt = {"tokens": 980, "sha256": digest, "needles": [needle]}
        records.append(new_record(**at, key=digest, prompt=prompt))
    return records


def one_of_each():
    return [
        new_record(length=1000 * (number + 1), outcome=outcome, response={"text": f"text of {outcome}"})
        for number, outcome in enumerate(OUTCOMES)
    ]


def hostile(text, **fields):
    """A record with this text in each field that is shown."""
    names = ("model", "task", "needle", "why", "question", "answer", "scorer", "id", "nodeid", "key")
    needle = {"name": text, "depth": 50.0, "before": text, "text": text, "after": text}
    structured = {
        "expected": [text],
        "response": {"text": text, "reasoning": text, "finish_reason": text},
        "error": {"kind": text, "message": text},
        "details": {"flags": [text], "score": {text: [text]}},
        "reference": {text: text},
        "prompt": {"tokens": 1, "template": text, "sha256": text, "needles": [needle]},
        "timing": {"worker": text},
    }
    return new_record(**dict.fromkeys(names, text) | structured | fields)


def texts_in(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from texts_in(item)
