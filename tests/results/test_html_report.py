"""`report.html` without a browser: structure, escaping, size, bytes."""

from __future__ import annotations

import json
import re
import time
from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from haystack_fixtures.cells import Cell
from results.html_report import html_text, write_html
from results.palette import color_of
from results.records import UNSCORED, Record
from results.summary import OUTCOMES

MakeRecord = Callable[..., Record]
VOID = frozenset({"meta", "link", "br", "hr", "img", "input"})
EVIL = "<img src=x onerror=alert(1)></script><!--<script>\x00\x1b[31m\x1b]0;title\x07\ud800\u202e\u2028\u2029]]>&amp;"


class Page(HTMLParser):
    """What is in a page; an element that is not closed in its turn is an error."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.contents: list[tuple[str, str]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), f"an attribute twice in {tag}"
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, tag
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.contents.append((self.open[-1] if self.open else "", data))

    def tags(self) -> list[str]:
        return [tag for tag, _ in self.elements]

    def inside(self, tag: str) -> list[str]:
        return [data for at, data in self.contents if at == tag]

    def data(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self.inside("script")[0])
        return content

    def trials(self) -> list[dict[str, Any]]:
        """The rows as the script reads them."""
        data = self.data()
        middle = 3 + len(data["shared"])
        return [
            {name: data["values"][number] for name, number in zip(data["shared"], row[3:middle], strict=True)}
            | dict(zip(data["own"], row[middle:], strict=True))
            for row in data["rows"]
        ]


def grid(make_record: MakeRecord, columns: int, rows: int, **fields: Any) -> list[Record]:
    """`columns` x `rows` trials with prompt facts and hashes as runs have them; the far middle is wrong."""
    records = []
    for column in range(columns):
        for row in range(rows):
            depth = 100.0 * row / max(1, rows - 1)
            found = column < columns / 2 or not rows / 3 < row < rows * 2 / 3
            name = f"{column}-{row}"
            digest = sha256(name.encode()).hexdigest()
            case = Cell("niah", 1000 * (column + 1), depth, "code").id
            record = make_record(
                length=1000 * (column + 1),
                depth=depth,
                outcome="found" if found else "wrong",
                key=digest,
                why="the answer has the value" if found else "the value is not in the answer",
                reference={"answers": ["4711"]},
                prompt={
                    "tokens": 1000 * column + 980,
                    "context_tokens": 1000 * column + 900,
                    "slack": 1,
                    "template": "chat",
                    "sha256": digest,
                    "filler_sha256": digest[::-1],
                    "flags": [],
                    "needles": [
                        {"name": "code", "requested": depth, "depth": depth, "tokens_before": 99 * row, "tokens": 12}
                    ],
                },
                response={"text": f"It is {'4711' if found else name}.", "finish_reason": "stop", "prompt_tokens": 980},
                id=case,
                nodeid=f"benchmarks/test_niah.py::test_niah[{case}]",
                timing={"latency_s": 0.25 + column / 777, "ttft_s": 0.1 + row / 777, "attempts": 1, "worker": "gw0"},
            )
            record.update(fields)  # type: ignore[typeddict-item]
            records.append(record)
    return records


def one_of_each(make_record: MakeRecord) -> list[Record]:
    return [
        make_record(length=1000 * (number + 1), outcome=outcome, response={"text": f"text of {outcome}"})
        for number, outcome in enumerate(OUTCOMES)
    ]


def texts_in(value: object) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from texts_in(item)


def test_one_file_that_needs_nothing_else(make_record: MakeRecord, tmp_path: Path) -> None:
    path = tmp_path / "deep" / "report.html"
    write_html(path, one_of_each(make_record), title="Nightly <run>", statistics=["drop 3 % <b>"])
    text = path.read_text(encoding="utf-8")
    page = Page(text)

    assert text.startswith("<!doctype html>\n")
    assert not {"link", "img", "iframe", "object", "base"} & set(page.tags())
    assert not any({"src", "style"} & attributes.keys() for _, attributes in page.elements)
    assert all(str(attributes["href"]).startswith("#") for _, attributes in page.elements if "href" in attributes)
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)
    assert "url(" not in text
    assert "Nightly <run>" in page.inside("bdi")
    assert "drop 3 % <b>" in page.inside("bdi")
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    named = [attributes.get("aria-labelledby") for _, attributes in page.elements if "aria-labelledby" in attributes]
    assert set(named) <= set(ids)


def test_the_policy_allows_exactly_the_script_and_the_style_sheet(make_record: MakeRecord) -> None:
    page = Page(html_text([make_record()], title="x"))
    [policy] = [a["content"] for tag, a in page.elements if tag == "meta" and "http-equiv" in a]
    digests = [
        b64encode(sha256(s.encode()).digest()).decode() for s in (page.inside("script")[1], *page.inside("style"))
    ]

    assert policy == (
        f"default-src 'none'; script-src 'sha256-{digests[0]}'; style-src 'sha256-{digests[1]}'; "
        "base-uri 'none'; form-action 'none'"
    )


def test_scores_stand_in_the_page_without_a_script(make_record: MakeRecord) -> None:
    records = [*one_of_each(make_record), make_record(length=1000, outcome="wrong", repeat=1)]
    page = Page(html_text(records, title="x"))
    cells = page.inside("td")
    looks = [str(a.get("class")) for tag, a in page.elements if tag == "td" and "class" in a]

    assert page.tags().count("noscript") == 1
    assert cells[:3] == ["50", "50", "0"]  # the first means
    assert [letter for letter in cells if letter in "c!sE"][:4] == ["c", "!", "s", "E"]
    assert {"c50", "c0", *UNSCORED} <= set(looks)
    assert "21.4" in page.inside("b")
    for name in UNSCORED:
        assert f" {name}" in [item.rstrip() for item in page.inside("li")]


def test_colours_are_those_of_the_pictures(make_record: MakeRecord) -> None:
    style = Page(html_text([make_record()], title="x")).inside("style")[0]

    for value in (0, 37, 100):
        assert f".c{value}{{background-color:#{bytes(color_of(value / 100)).hex()};" in style


def test_every_fact_of_a_trial_is_in_the_details(make_record: MakeRecord) -> None:
    record = make_record(
        id="niah-len1000-depth50-code-r0",
        outcome="wrong",
        why="no match",
        answer="final",
        response={"text": "full text", "reasoning": "thoughts", "finish_reason": "length", "prompt_tokens": 979},
        details={"flags": ["odd"]},
        reference={"answers": ["4711"]},
        prompt={
            "tokens": 980,
            "slack": 2,
            "sha256": "a" * 64,
            "template": "chat",
            "needles": [{"name": "n", "requested": 50.0, "depth": 49.9, "tokens_before": 7, "tokens": 3}],
        },
    )
    error = make_record(outcome="error", repeat=1, response={}, error={"kind": "timeout", "message": "120 s"})
    page = Page(html_text([record, error], title="x"))
    wrong, failed = page.trials()

    assert wrong["outcome"] == "wrong"
    assert (wrong["text"], wrong["answer"], wrong["reasoning"]) == ("full text", "final", "thoughts")
    assert (wrong["expected"], wrong["question"], wrong["why"]) == (["4711"], "What is the code?", "no match")
    assert (wrong["scorer"], wrong["score"]) == ("match version 1", 0.0)
    assert (wrong["tokens"], wrong["slack"], wrong["server_tokens"], wrong["sha256"]) == (980, 2, 979, "a" * 64)
    assert wrong["needles"] == [["n", 50.0, 49.9, 7, 3]]
    assert json.loads(wrong["prompt"]) == {"template": "chat"}
    assert json.loads(wrong["details"]) == {"flags": ["odd"]}
    assert (wrong["finish_reason"], wrong["latency_s"], wrong["attempts"]) == ("length", 0.25, 1)
    assert wrong["id"] == ["niah", "code", ""]
    assert (failed["error"], failed["score"], failed["text"]) == (["timeout", "120 s"], None, None)
    assert page.data()["stats"][0] == [1, 0, 0, 79.3, [0, 0, 1, 0, 0, 0, 0, 0, 0, 1]]


def test_nothing_that_a_model_says_becomes_markup(make_record: MakeRecord) -> None:
    fields = dict.fromkeys(("model", "task", "needle", "why", "question", "answer", "scorer", "id", "key"), EVIL)
    hostile = make_record(
        **fields,
        expected=[EVIL],
        response={"text": EVIL, "reasoning": EVIL},
        error={"kind": EVIL, "message": EVIL},
        details={EVIL: [EVIL]},
    )
    text = html_text([hostile], title=EVIL, statistics=[EVIL])
    page, plain = Page(text), Page(html_text([make_record()], title="x", statistics=["y"]))

    assert page.tags().count("script") == plain.tags().count("script") == 2
    assert "img" not in page.tags()
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\ud800-\udfff]", text)
    [trial] = page.trials()
    assert trial["text"].startswith("<img src=x onerror=alert(1)></script><!--<script>⟨U+0000⟩⟨U+001B⟩[31m")
    assert "⟨U+202E⟩" in trial["text"]
    assert text.encode()


def test_ten_megabytes_of_text_are_cut_with_a_mark(make_record: MakeRecord) -> None:
    response = {"text": "begin " + "<" * 10_000_000 + " end"}
    began = time.monotonic()
    text = html_text([make_record(outcome="wrong", response=response)], title="x")
    head, left_out, tail = Page(text).trials()[0]["text"]

    assert time.monotonic() - began < 5
    assert len(text) < 500_000
    assert head.startswith("begin <<<")
    assert tail.endswith("<<< end")
    assert len(head) + left_out + len(tail) == len(response["text"])
    assert "Texts of 1 trial are cut to 20,000 characters" in text


def test_ten_thousand_cells_fit_into_three_megabytes(make_record: MakeRecord) -> None:
    records = grid(make_record, 100, 100)
    began = time.monotonic()
    text = html_text(records, title="x")
    page = Page(text)

    assert time.monotonic() - began < 20
    assert len(text.encode()) < 3_000_000
    assert sum(tag == "td" for tag in page.tags()) > 10_100
    assert len(page.data()["rows"]) == 10_000


def test_the_middle_of_equal_cells_goes_first_and_the_page_says_so(make_record: MakeRecord) -> None:
    records = grid(make_record, 30, 12)
    for number, record in enumerate(records):
        record["response"] = {"text": f"{number} " + "word " * 300}
    limit = 250_000
    text = html_text(records, title="x", limit_bytes=limit)
    page = Page(text)
    rows = page.data()["rows"]
    kept = {(row[1], row[2]) for row in rows}

    assert limit * 0.9 < len(text.encode()) < limit
    assert 0 < len(rows) < len(records)
    assert "from the middle of many equal cells first" in text
    assert f"Details of {len(records) - len(rows)} of 360 trials are left out" in text
    assert {(column, row) for column in (0, 29) for row in range(12)} <= kept  # the ends of every row
    assert {(column, row) for column in (14, 15) for row in range(5, 8)} <= kept  # where found turns into wrong
    assert (15, 0) not in kept
    assert any(isinstance(trial["text"], list) for trial in page.trials())


def test_scores_are_complete_even_without_room_for_any_trial(make_record: MakeRecord) -> None:
    page = Page(html_text(grid(make_record, 5, 5), title="x", limit_bytes=1))

    assert page.data()["rows"] == []
    assert len(page.inside("td")) > 30


def test_equal_records_give_equal_bytes_in_any_order(make_record: MakeRecord) -> None:
    records = [*grid(make_record, 6, 5), *one_of_each(make_record)]
    tight = 70_000

    for limit in (3_000_000, tight):
        first, second = (html_text(each, title="x", limit_bytes=limit) for each in (records, records[::-1]))
        assert first == second


def test_no_records_is_a_page_too() -> None:
    assert "No trials were recorded" in html_text([], title="empty")


def test_records_of_older_files_may_lack_fields(make_record: MakeRecord) -> None:
    needed = ("model", "task", "needle", "length", "depth", "repeat", "outcome", "score")
    bare: Any = {name: value for name, value in make_record().items() if name in needed}
    odd: Any = bare | {"repeat": 1, "prompt": [1], "expected": "x", "error": "gone", "timing": None, "question": 7}

    assert [trial["outcome"] for trial in Page(html_text([bare, odd], title="x")).trials()] == ["found", "found"]


def test_panels_are_compared_only_where_there_are_several(make_record: MakeRecord) -> None:
    one = Page(html_text([make_record()], title="x"))
    two = Page(html_text([make_record(), make_record(model="通义千问", depth=None)], title="x"))

    assert [attributes["class"] for tag, attributes in one.elements if tag == "table"].count("rates overview") == 0
    assert [attributes["class"] for tag, attributes in two.elements if tag == "table"].count("rates overview") == 1
    assert "通义千问 · niah · code" in two.inside("bdi")
    assert "all" in two.inside("th")


@pytest.fixture(scope="module")
def structure(make_record: MakeRecord) -> Sequence[str]:
    return Page(html_text([make_record()], title="x", statistics=["y"])).tags()


ANY = st.text(st.characters(codec=None), max_size=40)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(ANY, min_size=12, max_size=12))
def test_any_text_in_any_field_changes_texts_only(
    make_record: MakeRecord, structure: Sequence[str], texts: list[str]
) -> None:
    names = ("model", "task", "needle", "why", "question", "answer", "scorer", "id", "nodeid", "key")
    record = make_record(
        **dict(zip(names, texts, strict=False)),
        expected=texts[:2],
        response={"text": texts[10], "finish_reason": texts[3]},
        prompt={"sha256": texts[4], "needles": [{"name": texts[5]}], "note": texts[6]},
        timing={"worker": texts[7]},
        details={texts[8]: texts[9]},
    )
    text = html_text([record], title=texts[11], statistics=texts[:1])
    page = Page(text)

    assert text.encode()
    assert page.tags() == structure
    assert len(page.trials()) == 1
    assert not any(
        re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", each) for each in texts_in(page.data()["values"])
    )
