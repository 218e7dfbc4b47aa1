"""`needlework serve PATH...`: pages for people, on this machine alone: rate answers, edit questions.

PATH: run folders, a folder of runs, prediction files (*.pred.jsonl), a jsonl file of documents, a file of questions.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from needlework.core.errors import InputError, OneLineParser, refuse
from needlework.core.settings import READ, READ_HELP
from needlework.results.records.run_folder import check_run_file

if TYPE_CHECKING:
    from needlework.results.web.app import Rebuild


_HOST = "127.0.0.1"
_PATIENCE_S = 2  # with requests that have not ended when the server is to end


def main(argv: Sequence[str], open_rebuild: Callable[[list[str]], Rebuild]) -> int:
    """Serve until Ctrl-C; returns the exit code: 0, or 2 after one line about what was wrong.

    `open_rebuild`: gives what builds prompts of recorded trials.
    """
    try:
        _serve(_parser().parse_args(argv), open_rebuild)
    except InputError as error:
        return refuse("serve", error)
    except KeyboardInterrupt:
        return 0
    return 0


def _own_state(first: Path) -> Path:
    place = state_place(first).absolute()
    if place.exists() or place.is_symlink():
        check_run_file(place)
    return place


def _parser() -> argparse.ArgumentParser:
    parser = OneLineParser(prog="needlework serve", description=__doc__)
    parser.add_argument("paths", type=Path, nargs="+", metavar="PATH", help="what to show")
    parser.add_argument("--documents", type=Path, metavar="DIR", help="folder that the questions are about")
    parser.add_argument(READ, action="append", default=[], metavar="PATH", help=READ_HELP)
    parser.add_argument("--port", type=int, default=8765, help="port on 127.0.0.1; 0: any that is free [8765]")
    parser.add_argument(
        "--state",
        type=Path,
        metavar="FILE",
        help=f"file that keeps what people say [{STATE} in the first PATH, or beside it where that is a file]",
    )
    parser.add_argument("--rate-questions", type=int, metavar="N", help="rate N questions, drawn by chance [all]")
    parser.add_argument(
        "--rate-contexts",
        type=int,
        default=1,
        metavar="N",
        help="rate each question of a run in N of the contexts (lengths, depths) that it was asked in [1]",
    )
    return parser


def _serve(options: argparse.Namespace, open_rebuild: Callable[[list[str]], Rebuild]) -> None:
    try:
        import uvicorn

        from needlework.results.web.app import build_app
        from needlework.results.web.guard import PARAMETER, VARIABLE, login_for
    except ImportError as error:
        raise InputError("serve", error.name or "", "not installed: pip install 'needlework[web]'") from None
    if not 0 <= options.port <= 65_535:
        raise InputError("--port", options.port, "give a port from 1 to 65535, or 0 for any that is free")
    for name in ("rate_questions", "rate_contexts"):
        if getattr(options, name) is not None and getattr(options, name) < 1:
            raise InputError(f"--{name.replace('_', '-')}", getattr(options, name), "give a number from 1 on")
    sources = replace(
        find_sources(options.paths, options.documents),
        rate_questions=options.rate_questions,
        rate_contexts=options.rate_contexts,
    )
    with _listening(options.port) as place:
        port = place.getsockname()[1]
        login, given = login_for(port, os.environ)
        app = build_app(
            sources,
            options.state.absolute() if options.state else _own_state(options.paths[0]),
            rebuild=open_rebuild(options.read),
            hosts=[f"{name}{end}" for name in (_HOST, "localhost") for end in _ends(port)],
            login=login,
        )
        end = "" if given else f"?{PARAMETER}={login.token}"
        how = f"with ?{PARAMETER}= and what {VARIABLE} says; " if given else ""
        print(f"http://{_HOST}:{port}/{end} ({how}this machine alone; Ctrl-C ends)", flush=True)
        config = uvicorn.Config(
            app,
            log_level="error",  # what others ask for is no news; a web page could fill the terminal
            ws="none",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_PATIENCE_S,
        )
        uvicorn.Server(config).run(sockets=[place])


def _ends(port: int) -> tuple[str, ...]:
    """How addresses with this port may end: browsers leave out that of HTTP."""
    return (f":{port}", "") if port == 80 else (f":{port}",)


def _listening(port: int) -> socket.socket:
    place = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        place.bind((_HOST, port))
        place.listen()
    except OSError as error:
        place.close()
        raise InputError(
            "--port", port, f"cannot be listened on ({error.strerror}); --port 0 takes a free one"
        ) from None
    return place


# Nothing outside these paths is ever read for a page.
STATE = "people.sqlite"
PREDICTIONS = ".pred.jsonl"
REFERENCES = ".ref.jsonl"
_KINDS = ("runs", "predictions", "annotated", "questions", "references")
_OF_A_RUN = ("journal.jsonl", "results.json")


@dataclass(frozen=True, slots=True)
class ServedFiles:
    """`runs`: folders. `predictions`, `annotated` (jsonl of documents), `questions`: files. All resolved and there.

    `references`: L-Eval's files of references that lie in a folder of predictions: models and documents more to rate.
    `documents`: the folder that the questions are about. `rate_questions`: how many are rated, all where it is none;
    `rate_contexts`: in how many contexts each question of a run is.
    """

    runs: tuple[Path, ...] = ()
    predictions: tuple[Path, ...] = ()
    annotated: tuple[Path, ...] = ()
    questions: tuple[Path, ...] = ()
    documents: Path | None = None
    references: tuple[Path, ...] = ()
    rate_questions: int | None = None
    rate_contexts: int = 1


def find_sources(paths: Sequence[Path], documents: Path | None) -> ServedFiles:
    """Tell the paths apart by what they hold. Raises `InputError` for a path that no page can show."""
    found: dict[str, list[Path]] = {name: [] for name in _KINDS}
    for path in paths:
        try:
            for kind, each in _kinds(path):
                if each.resolve() not in found[kind]:
                    found[kind].append(each.resolve())
        except OSError as error:
            raise InputError("PATH", error.filename or path, f"cannot be read ({error.strerror})") from None
    if documents is not None and not os.path.isdir(documents):  # noqa: PTH112 - no error where it may not be looked at
        raise InputError("--documents", documents, "is no folder; name the one that the questions are about")
    references = [each for each in found.pop("references") if each not in found["annotated"]]
    runs, predictions, annotated, questions = (tuple(each) for each in found.values())
    folder = documents and documents.resolve()
    return ServedFiles(runs, predictions, annotated, questions, folder, references=tuple(references))


def bytes_of(runs: Sequence[Path]) -> int:
    """How many bytes of records so many runs have: of each, its larger file of them."""
    files = [[run / name for name in _OF_A_RUN] for run in runs]
    return sum(max((file.stat().st_size for file in each if file.is_file()), default=0) for each in files)


def state_place(first: Path) -> Path:
    """Where what people say is kept: in the folder that was given first, or beside the file."""
    return (first if first.is_dir() else first.parent) / STATE


def _kinds(path: Path) -> Iterable[tuple[str, Path]]:
    if not path.exists():
        raise InputError("PATH", path, "does not exist; give run folders, prediction files, jsonl documents, questions")
    if path.is_dir():
        return _in_folder(path)
    if path.name.endswith(PREDICTIONS):
        return [("predictions", path)]
    if path.suffix == ".jsonl":
        return [(_kind_of_rows(path), path)]
    if path.suffix == ".json":
        return [("questions", path)]
    raise InputError("PATH", path, "is no run folder, .jsonl or .json file")


def _in_folder(path: Path) -> list[tuple[str, Path]]:
    if any((path / name).is_file() for name in _OF_A_RUN):
        return [("runs", path)]
    runs = [each for each in sorted(path.iterdir()) if any((each / name).is_file() for name in _OF_A_RUN)]
    predictions = sorted(path.rglob(f"*{PREDICTIONS}"))
    if not runs and not predictions:
        raise InputError("PATH", path, f"holds no run and no *{PREDICTIONS}")
    references = sorted(path.rglob(f"*{REFERENCES}")) if predictions else []
    found = {"runs": runs, "predictions": predictions, "references": references}
    return [(kind, each) for kind, paths in found.items() for each in paths]


def _kind_of_rows(path: Path) -> str:
    """Rows of predictions have a key that ends in `_pred`; others are documents."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            first: Any = json.loads(next((line for line in file if line.strip()), "null"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError("PATH", path, f"is no jsonl file ({error})") from None
    if not isinstance(first, dict):
        raise InputError("PATH", path, "has no rows that are objects")
    return "predictions" if "query" in first and any(key.endswith("_pred") for key in first) else "annotated"
