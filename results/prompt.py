"""`needlework prompt RUN CELL`: make the prompt of a recorded trial again, byte for byte, from the run's manifest.

No server is asked, no environment variable is read, and no file outside the run's folder but installed texts and what
`--read` names.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

from needlework.core.errors import InputError, OneLineParser, run_command
from needlework.core.prompts import Prompt
from needlework.core.record import Record, record_of
from needlework.core.settings import READ, READ_HELP, Places
from needlework.pipeline.reconstruct import StoredRun, StoredTrials, rebuild, sent_as_messages
from needlework.results.records.manifest import settings_of, start_of
from needlework.results.records.run_folder import MANIFEST, read_run_json

MESSAGES = "The server was sent its messages, and puts the marks of its own template around them"
MARKED = "; U+FDD0 stands before each mark here, since a document may hold the words of one as text"


def main(argv: Sequence[str]) -> int:
    """Print the prompt to standard output. Exit code 1 when it is not the recorded one, which is then not printed, or
    when no hash of it was recorded; 2 when it cannot be made."""
    parser = OneLineParser(prog="needlework prompt", description=__doc__)
    parser.add_argument("run", type=Path, metavar="RUN", help="folder of the run")
    parser.add_argument("cell", metavar="CELL", help="its id, such as niah-len4000-depth50-code-r0")
    parser.add_argument(READ, action="append", default=[], metavar="PATH", help=READ_HELP)
    options = parser.parse_args(argv)
    return run_command("prompt", lambda: _print_prompt(options.run, options.cell, options.read))


def _print_prompt(run: Path, cell: str, named: Sequence[str]) -> int:
    record = _record(run, cell)
    trial = rebuild(stored_run(run, named), record.id, record.prompt.retrieval)
    made, recorded = trial.prompt.text_sha256, record.prompt.sha256
    note = ""
    if recorded and recorded != made:
        note = f"what can be made now is not the prompt that was sent: sha256 {made[:16]}, recorded {recorded[:16]}; "
        note += "the corpus, needles, tokenizer or version differs (see manifest.json)"
    else:
        sys.stdout.buffer.write(trial.prompt.text.encode("utf-8", "surrogatepass"))
        sys.stdout.flush()
        if not recorded:
            note = "unchecked: the trial ended before its hash was recorded"
        elif sent_as_messages(record.model, record.prompt.template):
            note = MESSAGES + (MARKED if "\ufdd0<|" in trial.prompt.text else "")
    if note:
        print(f"needlework prompt: {note}", file=sys.stderr)
    return 0 if recorded == made else 1


class PromptsOfRuns:
    """Builds prompts of recorded trials. `named`: files outside the runs to read. Threads may share it."""

    def __init__(self, named: Sequence[str] = ()) -> None:
        self._named = tuple(named)
        self._open = lru_cache(2)(StoredTrials)  # people rate answers of several runs in turn
        self._turn = Lock()

    def __call__(self, run: Path, cell_id: str) -> Prompt:
        """Build the prompt of a cell of the run in this folder. Raises `InputError`."""
        stored = stored_run(run, self._named)
        retrieves = any("retriever" in suite.family for suite in stored.settings.suites)
        retrieval = _record(run, cell_id).prompt.retrieval if retrieves else None
        with self._turn:
            return self._open(stored).build(cell_id, retrieval).prompt


def stored_run(run: Path, named: Sequence[str] = ()) -> StoredRun:
    """The run in a folder, as its manifest describes it. `named`: paths of `--read`. Raises `InputError`."""
    return stored_of(_json(run / MANIFEST), run, named)


def stored_of(manifest: Mapping[str, Any], run: Path, named: Sequence[str] = ()) -> StoredRun:
    """The run in a folder with this manifest. Raises `InputError`."""
    calibrations = manifest.get("calibrations")
    places = Places(run.resolve(), start_of(manifest), tuple(named))
    return StoredRun(settings_of(manifest), places, calibrations if isinstance(calibrations, dict) else {})


def _record(run: Path, cell_id: str) -> Record:
    file = run / "results.json"
    content, name = _json(file).get("records"), cell_id.partition("[")[2].rstrip("]") or cell_id
    rows = content if isinstance(content, list) else []
    records = {str(row.get("id")): row for row in rows if isinstance(row, dict)}
    if name not in records:
        near = get_close_matches(name, records, n=1) or list(records)[:1]
        has = f"it has {near[0]}, ..." if near else "it has none"
        raise InputError("CELL", cell_id, f"{file} has no such cell; {has}")
    try:
        return record_of(records[name])
    except ValueError as error:
        raise InputError("RUN", file, f"the record of {name} is none: {error}") from None


def _json(path: Path) -> dict[str, Any]:
    try:
        content = read_run_json(path)
    except (OSError, ValueError, RecursionError) as error:
        why = f"cannot be read ({error.strerror})" if isinstance(error, OSError) else f"is not JSON ({error})"
        raise InputError("RUN", path, why) from None
    if not isinstance(content, dict):
        raise InputError("RUN", path, "is not a file of a run")
    return content
