"""Files and commands: runs and rows on disk, what a command prints, and how it refuses."""

import json

import needlework
from needlework.results.files.json_files import write_json
from needlework.results.statistics.run_report import run_report
from tests.results.new_record import new_record


def write_run(folder, records, *, planned=None, manifest=None):
    write_json(folder / "results.json", run_report(list(records), planned=planned))
    if manifest is not None:
        (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return folder


def write_rows(path, rows):
    """Write JSON lines; a row that is text stays as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def run_of(folder, right=12, *, failed=0, day=0, **options):
    """Write a run of 12 samples at 1000 and 4000 tokens: the first `right` are right, the first `failed` trials errors.

    `day`: on which it began; `planned`, `manifest` as of `write_run`, other options are fields of the records.
    """
    error = {"outcome": "error", "scorer": "", "scorer_version": 0}
    manifest = options.pop("manifest", {"started": f"2026-01-{day:02}T00:00:00+00:00"} if day else None)
    planned = options.pop("planned", None)
    cells = [(length, repeat) for length in (1000, 4000) for repeat in range(12)]
    records = [
        new_record(
            **{"length": length, "repeat": repeat, "outcome": "found" if repeat < right else "wrong"}
            | (error if at < failed else {})
            | options
        )
        for at, (length, repeat) in enumerate(cells)
    ]
    return write_run(folder, records, planned=planned, manifest=manifest)


def exit_code(*words):
    """What a command ends with, complaints of its options too."""
    try:
        return needlework.main([str(word) for word in words])
    except SystemExit as ended:
        return int(str(ended.code))


def output(capsys, *words, code=0):
    """What a command prints that ends with this code."""
    assert exit_code(*words) == code
    return capsys.readouterr().out


def refusal(capsys, *words):
    """The line with which a command refuses: the only one, and nothing is printed before it."""
    assert exit_code(*words) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    return printed.err
