"""`needlework import-config FILE`: a published system's configuration as a preset of ours, and what became of it."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from needlework.haystack_fixtures.command_line import OneLineParser, refuse
from needlework.haystack_fixtures.configuration.importing.imported import Imported, preset_text
from needlework.haystack_fixtures.configuration.importing.written import import_file
from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.writing.whole_files import write_whole


def main(argv: Sequence[str]) -> int:
    """Run the command; returns the exit code: 0, or 2 after one line about what was wrong."""
    options = _parser().parse_args(argv)
    try:
        imported = import_file(options.file)
        text = preset_text(_name(options.file), f"{imported.system}, from {options.file.name}", imported.suites)
        if options.out:
            write_whole(options.out, text.encode("utf-8"))
    except InputError as error:
        return refuse("import-config", error)
    except OSError as error:
        return refuse("import-config", InputError("--out", options.out, error.strerror or "cannot be written"))
    out = sys.stdout if options.out else sys.stderr
    if not options.out:
        print(text, end="")
        sys.stdout.flush()
    print(*_told(options.file, imported), f"run it: {_command(options.out, imported)}", sep="\n", file=out)
    return 0


def _told(path: Path, imported: Imported) -> list[str]:
    count = len(imported.suites)
    suites = f"{count} {'suite' if count == 1 else 'suites'}"
    return [f"{path.name} ({imported.system}): {suites}", *(f"  {line}" for line in imported.lines)]


def _command(out: Path | None, imported: Imported) -> str:
    words = ["pytest", "benchmarks", "--preset", str(out or "FILE.toml"), *imported.options]
    if "--model" not in words:
        words += ["--model", "SPEC"]
    elif "--tokenizer" not in words and not _has_a_known_tokenizer(words[words.index("--model") + 1]):
        words += ["--tokenizer", "FOLDER"]  # the model's own: lengths are exact by it
    return shlex.join(words)


def _has_a_known_tokenizer(model: str) -> bool:
    """Whether a model brings its tokenizer, or is one of OpenAI's that tiktoken knows."""
    from tiktoken.model import encoding_name_for_model

    kind, _, name = model.partition(":")
    if kind != "openai":
        return True
    try:
        return bool(encoding_name_for_model(name))
    except KeyError:
        return False


def _name(path: Path) -> str:
    """A name for the preset: of what the file's name has."""
    return re.sub(r"[^a-z0-9]+", "-", path.stem.lower()).strip("-") or "imported"


def _parser() -> argparse.ArgumentParser:
    parser = OneLineParser(
        prog="needlework import-config",
        description="Turn a published configuration into a preset of ours: OpenCompass's Python files (CDME,"
        " NeedleBench), and EvalScope's needle_haystack as YAML, JSON, Python or its command line. The file is read,"
        " never run. Each line of the report says what became of a setting: same, different, not here, unread.",
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="the configuration: .py, .yaml, .json, .sh")
    parser.add_argument("--out", type=Path, metavar="FILE.toml", help="where to write (default: to standard output)")
    return parser
