"""`report.html` is one file that needs nothing else, whatever it is made from."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from msgspec import to_builtins

from needlework.core.record import record_of
from needlework.results.html.report import html_text, write_html
from needlework.results.statistics.run_report import run_report
from needlework.results.style import ColorsName, color_of
from tests.results.html.pages import MakeRecord, Page, grid, one_of_each


def test_one_file_that_needs_nothing_else(make_record: MakeRecord, tmp_path: Path) -> None:
    path = tmp_path / "deep" / "report.html"
    write_html(path, run_report(one_of_each(make_record), notes=["drop 3 % <b>"]), title="Nightly <run>")
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
    page = Page(html_text(run_report([make_record()]), title="x"))
    [policy] = [a["content"] for tag, a in page.elements if tag == "meta" and "http-equiv" in a]
    script, style = (
        b64encode(sha256(text.encode()).digest()).decode()
        for text in (page.inside("script")[-1], *page.inside("style"))
    )

    assert policy == (
        f"default-src 'none'; script-src 'sha256-{script}'; style-src 'sha256-{style}'; "
        "base-uri 'none'; form-action 'none'"
    )


@pytest.mark.parametrize("colors", ["safe", "field"])
def test_colours_are_those_of_the_pictures(make_record: MakeRecord, colors: ColorsName) -> None:
    style = Page(html_text(run_report([make_record()]), title="x", colors=colors)).inside("style")[0]

    for value in (0, 37, 100):
        assert f".c{value}{{background-color:#{bytes(color_of(value / 100, colors)).hex()};" in style


def test_equal_records_give_equal_bytes_in_any_order(make_record: MakeRecord) -> None:
    records = [*grid(make_record, 6, 5), *one_of_each(make_record)]
    tight = 63_000

    for limit in (3_000_000, tight):
        first, second = (html_text(run_report(each), title="x", limit_bytes=limit) for each in (records, records[::-1]))
        assert first == second
    assert "Shortened." in second


def test_no_records_is_a_page_too() -> None:
    assert "No trials were recorded" in html_text(run_report([]), title="empty")


def test_records_of_older_files_may_lack_fields(make_record: MakeRecord) -> None:
    needed = ("model", "task", "needle", "length", "depth", "repeat", "outcome", "score")
    bare: Any = {name: value for name, value in to_builtins(make_record()).items() if name in needed}

    [trial] = Page(html_text(run_report([record_of(bare)]), title="x")).trials()
    assert trial["outcome"] == "found"
