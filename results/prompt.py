"""`needlework prompt RUN CELL`: make the prompt of a recorded trial again, byte for byte, from the run's manifest."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from needlework.haystack_fixtures.asking.reconstruct import Rebuilder, RebuiltPrompt, Started, sent_as_messages
from needlework.haystack_fixtures.asking.reconstruct import rebuild as rebuild_trial
from needlework.haystack_fixtures.command_line import OneLineParser, refuse
from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.trials.trial import Trial
from needlework.results.records.manifest import settings_of
from needlework.results.records.run_folder import MANIFEST

MESSAGES = "The server was sent its messages, and puts the marks of its own template around them"
MARKED = "; U+FDD0 stands before each mark here, since a document may hold the words of one as text"


def main(argv: Sequence[str]) -> int:
    """Print the prompt to standard output. Exit code 1 when it is not the recorded one, which is then not printed, or
    when no hash of it was recorded; 2 when it cannot be made."""
    parser = OneLineParser(prog="needlework prompt", description=__doc__)
    parser.add_argument("run", type=Path, metavar="RUN", help="folder of the run")
    parser.add_argument("cell", metavar="CELL", help="its id, such as niah-len4000-depth50-code-r0")
    options = parser.parse_args(argv)
    try:
        record = _record(options.run, options.cell)
        trial = rebuild(_json(options.run / MANIFEST), record["id"])
    except InputError as error:
        return refuse("prompt", error)
    made, recorded = trial.prompt.text_sha256, record["prompt"].get("sha256")
    if recorded and recorded != made:
        print(
            f"needlework prompt: what can be made now is not the prompt that was sent: sha256 {made[:16]}, recorded "
            f"{str(recorded)[:16]}; the corpus, needles, tokenizer or version differs (see manifest.json)",
            file=sys.stderr,
        )
        return 1
    sys.stdout.buffer.write(trial.prompt.text.encode("utf-8", "surrogatepass"))
    sys.stdout.flush()
    if not recorded:
        print("needlework prompt: unchecked: the trial ended before its hash was recorded", file=sys.stderr)
    elif sent_as_messages(record["model"], record["prompt"].get("template")):
        marked = MARKED if "\ufdd0<|" in trial.prompt.text else ""
        print(f"needlework prompt: {MESSAGES}{marked}", file=sys.stderr)
    return 0 if recorded else 1


class PromptsOfRuns:
    """Builds prompts of recorded trials, found by the folder of their run. Threads may share it."""

    def __init__(self) -> None:
        self._rebuild = Rebuilder()

    def __call__(self, run: Path, cell_id: str) -> RebuiltPrompt:
        """Build the prompt of a cell of the run in this folder. Raises `InputError`."""
        return self._rebuild(_started(_json(run / MANIFEST)), cell_id)


def rebuild(manifest: Mapping[str, Any], cell_id: str) -> Trial:
    """Build the trial of a cell of the run that a manifest describes. Raises `InputError`."""
    return rebuild_trial(_started(manifest), cell_id)


def _started(manifest: Mapping[str, Any]) -> Started:
    folder = manifest.get("folder")
    return Started(settings_of(manifest), folder if isinstance(folder, str) else None)


def _record(run: Path, cell_id: str) -> dict[str, Any]:
    wanted = cell_id.partition("[")[2].rstrip("]") or cell_id
    records = {str(record.get("id")): record for record in _json(run / "results.json").get("records", [])}
    if wanted not in records:
        near = get_close_matches(wanted, records, n=1) or list(records)[:1]
        raise InputError("CELL", cell_id, f"{run / 'results.json'} has no such cell; it has {', '.join(near)}, ...")
    return dict(records[wanted])


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError("RUN", path, f"cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise InputError("RUN", path, f"is not JSON ({error})") from None
    if not isinstance(content, dict):
        raise InputError("RUN", path, "is not a file of a run")
    return content
