"""`needlework serve PATH...`: pages for people, on this machine alone: rate answers, edit questions.

PATH: run folders, a folder of runs, prediction files (*.pred.jsonl), a jsonl file of documents, a file of questions.
"""

from __future__ import annotations

import argparse
import os
import socket
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

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
        help=f"file of ratings [{STATE} in the first PATH, or beside it where that is a file]",
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
    with _listening(options.port) as listener:
        port = listener.getsockname()[1]
        login, is_chosen = login_for(port, os.environ)
        app = build_app(
            sources,
            options.state.absolute() if options.state else _state_beside(options.paths[0]),
            rebuild=open_rebuild(options.read),
            hosts=[f"{name}{end}" for name in (_HOST, "localhost") for end in (f":{port}", *[""] * (port == 80))],
            login=login,
        )
        end = "" if is_chosen else f"?{PARAMETER}={login.token}"
        how = f"with ?{PARAMETER}= and what {VARIABLE} says; " if is_chosen else ""
        print(f"http://{_HOST}:{port}/{end} ({how}this machine alone; Ctrl-C ends)", flush=True)
        config = uvicorn.Config(
            app,
            log_level="error",  # what others ask for is no news; a web page could fill the terminal
            ws="none",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_PATIENCE_S,
        )
        uvicorn.Server(config).run(sockets=[listener])


def _listening(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((_HOST, port))
        listener.listen()
    except OSError as error:
        listener.close()
        raise InputError(
            "--port", port, f"cannot be listened on ({error.strerror}); --port 0 takes a free one"
        ) from None
    return listener


# Nothing outside these paths is ever read for a page.
STATE = "ratings.json"
PREDICTIONS = ".pred.jsonl"
REFERENCES = ".ref.jsonl"
_KINDS = ("runs", "predictions", "annotated", "questions")
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
    references: tuple[Path, ...] = ()
    documents: Path | None = None
    rate_questions: int | None = None
    rate_contexts: int = 1


def find_sources(paths: Sequence[Path], documents: Path | None) -> ServedFiles:
    """Tell the paths apart by their names. Raises `InputError` for a path that no page can show."""
    kinds: dict[str, dict[Path, None]] = {}  # resolved paths, each once
    for path in paths:
        try:
            for kind, each in _kinds(path):
                kinds.setdefault(kind, {})[each.resolve()] = None
        except OSError as error:
            raise InputError("PATH", error.filename or path, f"cannot be read ({error.strerror})") from None
    if documents is not None and not os.path.isdir(documents):  # noqa: PTH112 - no error where it may not be looked at
        raise InputError("--documents", documents, "is no folder; name the one that the questions are about")
    runs, predictions, annotated, questions = (tuple(kinds.get(kind, ())) for kind in _KINDS)
    references = tuple(path for path in kinds.get("references", ()) if path not in annotated)
    return ServedFiles(runs, predictions, annotated, questions, references, documents and documents.resolve())


def _state_beside(first: Path) -> Path:
    """The file of ratings: in the folder that was given first, or beside the file. Raises `InputError` for a link."""
    path = ((first if first.is_dir() else first.parent) / STATE).absolute()
    if path.exists() or path.is_symlink():
        check_run_file(path)
    return path


def _kinds(path: Path) -> Iterable[tuple[str, Path]]:
    if not path.exists():
        raise InputError("PATH", path, "does not exist; give run folders, prediction files, jsonl documents, questions")
    if path.is_dir():
        return _in_folder(path)
    endings = {PREDICTIONS: "predictions", ".jsonl": "annotated", ".json": "questions"}
    kind = next((kind for ending, kind in endings.items() if path.name.endswith(ending)), "")
    if not kind:
        raise InputError("PATH", path, "is no run folder, .jsonl or .json file")
    return [(kind, path)]


def _in_folder(path: Path) -> list[tuple[str, Path]]:
    runs = [each for each in (path, *sorted(path.iterdir())) if any((each / name).is_file() for name in _OF_A_RUN)]
    if runs[:1] == [path]:
        return [("runs", path)]
    predictions = sorted(path.rglob(f"*{PREDICTIONS}"))
    if not runs and not predictions:
        raise InputError("PATH", path, f"holds no run and no *{PREDICTIONS}")
    references = sorted(path.rglob(f"*{REFERENCES}")) if predictions else []
    kinds = {"runs": runs, "predictions": predictions, "references": references}
    return [(kind, each) for kind, paths in kinds.items() for each in paths]
