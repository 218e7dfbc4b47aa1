"""docs/ as a site: each page is in menu and README, no network is needed, and its words are those of the code."""

import os
import re
import subprocess
import sys
import time

import pytest

from needlework.results.statistics.panels import OUTCOMES
from tests.chromium import chromium_driver
from tests.source import ROOT, python_files, text_of

DOCS = ROOT / "docs"
PAGES = {path.name for path in DOCS.glob("*.md")}


def test_every_page_is_in_the_menu_and_in_the_readme():
    menu = set(re.findall(r"- (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE))
    assert menu == PAGES
    listed = set(re.findall(r"\]\(docs/([\w-]+\.md)", (ROOT / "README.md").read_text(encoding="utf-8")))
    assert PAGES - listed == {"index.md"}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("mkdocs", reason="mkdocs-material is not installed (pip install -e '.[dev]')")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "prefix dict" not in done.stderr
    return folder


@pytest.mark.slow
def test_no_link_leads_nowhere_and_nothing_is_loaded_from_elsewhere(site):
    for page in site.glob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"""<(?:script|link|img)\b[^>]*(?:src|href)="?https?://""", text), page.name


@pytest.mark.slow
def test_search_works_on_a_page_that_is_opened_as_a_file(site, tmp_path):
    found = "return [...document.querySelectorAll('.md-search-result__link')].map(each => each.href)"
    with chromium_driver(tmp_path) as driver:
        driver.get((site / "index.html").as_uri())
        driver.execute_script("document.querySelector('[data-md-toggle=search]').click()")
        driver.find_element("css selector", "input.md-search__input").send_keys("censored")
        until = time.monotonic() + 60
        while not (links := driver.execute_script(found)) and time.monotonic() < until:
            time.sleep(0.1)
    assert any("ci.html" in each for each in links), links


def test_every_outcome_is_explained():
    table = (DOCS / "glossary.md").read_text(encoding="utf-8").split("| outcome | meaning |")[1].split("\n\n")[0]
    named = {
        name
        for row in table.splitlines()
        for name in re.findall(r"`([a-z]+)`", row.split("|")[1] if "|" in row else "")
    }
    assert named >= set(OUTCOMES)
    assert named - set(OUTCOMES) <= {"unclear"}


def test_the_types_of_the_architecture_page_are_classes():
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    table = page.split("## The types")[1].split("\n## ")[0]
    names = {name for row in table.splitlines() if row.startswith("| `") for name in re.findall(r"`([A-Z]\w+)`", row)}
    code = "\n".join(map(text_of, python_files()))
    assert [name for name in sorted(names) if not re.search(rf"^class {name}\b", code, re.MULTILINE)] == []
    assert 12 <= len(names) <= 20
