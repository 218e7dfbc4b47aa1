"""The commands that stand on pages, and the machine on which they can be typed."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PAGES = ("README.md", "README.zh.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")))
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_PROGRAMS = ("pytest", "needlework", "make", "pip")


def blocks(page):
    """Language and text of each fenced block of a page."""
    yield from _FENCE.findall((ROOT / page).read_text(encoding="utf-8"))


def commands(page):
    """The commands of a page: lines that begin with one of our programs, joined where they end with a backslash.

    Their words are as the shell would read them, the comment behind them left out.
    """
    for language, text in blocks(page):
        if language not in ("", "sh", "bash", "console"):
            continue
        for line in text.replace("\\\n", " ").splitlines():
            try:
                words = shlex.split(line.removeprefix("$ "), comments=True)
            except ValueError:
                continue  # output that has a quotation mark
            while words and re.fullmatch(r"[A-Z_]+=\S*", words[0]):
                words = words[1:]
            if words and words[0] in _PROGRAMS and (line[0] != " " or line.lstrip().startswith("$")):
                yield [word for word in words if word != "&"]


def files(page):
    """Name and text of the files that a page shows: blocks whose first line names one in a comment."""
    for _, text in blocks(page):
        named = re.match(r"# ([\w-]+\.(?:toml|py|jsonl|json))\b", text)
        if named:
            yield named[1], text


def copy_checkout(folder):
    """What a clone of this checkout would hold, with what is not committed yet."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in listed.stdout.splitlines():
        path = ROOT / name
        if not name.startswith(("tests/", "perf/", "docs/images/")) and (path.is_file() or path.is_symlink()):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, folder / name, follow_symlinks=False)  # the package has links to folders
