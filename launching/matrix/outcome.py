"""What the runs of a matrix come to: the comparison with the first, its files, and the exit code."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from needlework.haystack_fixtures.errors import InputError
from needlework.launching.matrix.child import Ended
from needlework.launching.matrix.file import Matrix
from needlework.results.compare.several import Several, several, write_several
from needlework.results.files.read_run import Run, read_run

MISSING = 3
_FIRST_OF = (1, 11, 10, MISSING)


def outcome(matrix: Matrix, ended: Mapping[str, Ended]) -> Several:
    """Read what the runs have written, and compare it."""
    runs = {each.label: _run(matrix.folder / each.folder) for each in matrix.configurations}
    return several(runs, {label: each.why for label, each in ended.items()})


def write(matrix: Matrix, found: Several, ended: Mapping[str, Ended]) -> list[Path]:
    """Write the comparison's files into the matrix's folder; return their paths."""
    links = {
        each.label: f"../{each.folder}/report.html"
        for each in matrix.configurations
        if (matrix.folder / each.folder / "report.html").is_file()
    }
    facts = {
        each.label: {
            "run": each.folder,
            "exit_code": ended[each.label].code if each.label in ended else None,
            "seconds": round(ended[each.label].seconds, 1) if each.label in ended else None,
        }
        for each in matrix.configurations
    }
    return write_several(found, matrix.folder / "comparison", title=matrix.name, links=links, facts=facts)


def exit_code(found: Several, ended: Mapping[str, Ended], *, fail_if_worse: bool) -> int:
    """1 where a configuration is shown worse, if that is asked, or a gate failed; 11, 10 as its gates say; 3 where a
    configuration has not run to its end; else 0.
    """
    codes = {each.code if each.code in (0, 1, 10, 11) else MISSING for each in ended.values()}
    if fail_if_worse and found.is_one_worse:
        codes.add(1)
    return next((code for code in _FIRST_OF if code in codes), 0)


def _run(folder: Path) -> Run | None:
    try:
        return read_run(folder)
    except InputError:
        return None
