"""`needlework prompt RUN CELL`: make the prompt of a recorded trial again, byte for byte, from the run's manifest."""

from __future__ import annotations

import json
import sys
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, chdir, nullcontext
from dataclasses import dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from threading import Lock
from typing import Any, Literal, get_args, get_origin, get_type_hints

from needlework.haystack_fixtures.asking.engine import Engine
from needlework.haystack_fixtures.cache import default_cache_dir
from needlework.haystack_fixtures.command_line import OneLineParser, refuse
from needlework.haystack_fixtures.configuration.own_values import own_from_tables
from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.grid.cells import Cell, parse_id
from needlework.haystack_fixtures.settings.option_values import key_value
from needlework.haystack_fixtures.settings.settings import Settings, Suite
from needlework.haystack_fixtures.trials.trial import Trial

_MOST = 10**12
_ENGINES_KEPT = 2  # two runs are looked at beside each other


def main(argv: Sequence[str]) -> int:
    """Print the prompt to standard output. Exit code 1 when it is not the recorded one, which is then not printed, or
    when no hash of it was recorded; 2 when it cannot be made."""
    parser = OneLineParser(prog="needlework prompt", description=__doc__)
    parser.add_argument("run", type=Path, metavar="RUN", help="folder of the run")
    parser.add_argument("cell", metavar="CELL", help="its id, such as niah-len4000-depth50-code-r0")
    options = parser.parse_args(argv)
    try:
        record = _record(options.run, options.cell)
        trial = rebuild(_json(options.run / "manifest.json"), record["id"])
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
    return 0 if recorded else 1


@dataclass(frozen=True, slots=True)
class RebuiltPrompt:
    """A prompt's text, with the hash that its record should have.

    `needles`: name, start and end in characters of the text. `context`: start and end of what stands around them.
    """

    text: str
    sha256: str
    context: tuple[int, int]
    needles: tuple[tuple[str, int, int], ...]


class Rebuilder:
    """Builds prompts of recorded trials one after another; what the trials of a run share is opened once.

    Threads may share it: one builds at a time, since options may name files from where a run was started.
    """

    def __init__(self) -> None:
        self._turn = Lock()
        self._engines: OrderedDict[str, Engine] = OrderedDict()

    def __call__(self, run: Path, cell_id: str) -> RebuiltPrompt:
        """Build the prompt of a cell of the run in this folder. Raises `InputError`."""
        manifest = _json(run / "manifest.json")
        cell = _cell(cell_id)
        with self._turn, _there(manifest.get("folder")):
            prompt = _trial(self._engine(manifest), cell).prompt
        needles = tuple((needle.name, needle.start, needle.end) for needle in prompt.placed)
        return RebuiltPrompt(prompt.text, prompt.text_sha256, prompt.context, needles)

    def _engine(self, manifest: Mapping[str, Any]) -> Engine:
        key = json.dumps([manifest.get("folder"), manifest.get("suites"), manifest.get("options")])
        engine = self._engines.pop(key, None) or Engine(settings_of(manifest), default_cache_dir())
        self._engines[key] = engine
        if len(self._engines) > _ENGINES_KEPT:
            self._engines.popitem(last=False)[1].close()
        return engine


def rebuild(manifest: Mapping[str, Any], cell_id: str) -> Trial:
    """Build the trial of a cell of the run that a manifest describes. Raises `InputError`."""
    cell = _cell(cell_id)
    with _there(manifest.get("folder")):
        engine = Engine(settings_of(manifest), default_cache_dir())
        try:
            return _trial(engine, cell)
        finally:
            engine.close()


def _cell(cell_id: str) -> Cell:
    cell = parse_id(cell_id)
    if cell is None:
        raise InputError("CELL", cell_id, "write it like niah-len4000-depth50-code-r0")
    return cell


def _trial(engine: Engine, cell: Cell) -> Trial:
    try:
        return engine.trial(cell)
    except KeyError:
        raise InputError("CELL", cell.id, "is not a cell of this run") from None


def _there(folder: object) -> AbstractContextManager[None]:
    """Where the run was started, if that is still there: options may name files from there."""
    return chdir(folder) if isinstance(folder, str) and "\0" not in folder and Path(folder).is_dir() else nullcontext()


def settings_of(manifest: Mapping[str, Any]) -> Settings:
    """The settings that a manifest tells. Raises `InputError`."""
    try:
        options = manifest["options"]
        suites = tuple(
            Suite(**_typed(Suite, suite), own=own_from_tables(options, suite)) for suite in manifest["suites"]
        )
        if not suites or not all(suite.repeats for suite in suites):
            raise TypeError("it has no cells")
        settings = Settings(suites=suites, **_typed(Settings, options))
        for word in settings.model_arg:
            key_value("manifest.json", word)
        return settings
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError("manifest.json", error, "is not a manifest of this version") from None


def _typed(kind: type, values: Mapping[str, Any]) -> dict[str, Any]:
    hints = get_type_hints(kind)
    known = {field.name for field in fields(kind)} - {"own"}
    typed: dict[str, Any] = {}
    for name in known & values.keys():
        value = values[name]
        value = tuple(value) if isinstance(value, list) else Path(value) if hints[name] is Path else value
        if not _fits(value, hints[name]):
            raise InputError("manifest.json", f"{name}: {value!r}", "is not a manifest of this version")
        typed[name] = value
    return typed


def _fits(value: object, hint: Any) -> bool:
    """Whether a value is of a field's type; a grid has at least one length and one depth, and no negative number."""
    origin, inside = get_origin(hint), get_args(hint)
    if origin is tuple:
        numbers = inside[0] in (int, float)
        return isinstance(value, tuple) and all(_fits(part, inside[0]) for part in value) and bool(value or not numbers)
    if origin is Literal:
        return value in inside
    if inside:  # a union
        return any(_fits(value, part) for part in inside)
    if hint in (int, float) and isinstance(value, (int, float)) and not isinstance(value, bool):
        return 0 <= value < _MOST and (hint is float or isinstance(value, int))
    if isinstance(value, str):
        return hint is str and value == value.encode("utf-8", "replace").decode()  # no half of a surrogate pair
    return type(value) is hint or (isinstance(hint, type) and hint is not int and isinstance(value, hint))


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
