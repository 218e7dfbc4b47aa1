"""`needlework serve PATH...`: pages for people, on this machine alone: rate answers, edit questions.

PATH: run folders, a folder of runs, prediction files (*.pred.jsonl), a jsonl file of documents, a file of questions.
"""

import argparse
import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from needlework.core.errors import InputError, OneLineParser, number_from, run_command
from needlework.core.settings import READ, READ_HELP
from needlework.results.files.read_run import file_of_run
from needlework.results.prompt import prompt_builder

PREDICTIONS = ".pred.jsonl"
RATINGS = "ratings.json"
_HOST = "127.0.0.1"


class ServedFiles(Struct, frozen=True):
    """The files that pages show and write; nothing else is ever read but what lies in these folders."""

    ratings: Path  # the file of ratings
    runs: tuple[Path, ...] = ()  # folders
    predictions: tuple[Path, ...] = ()
    annotated: tuple[Path, ...] = ()  # jsonl files of documents
    questions: tuple[Path, ...] = ()
    documents: Path | None = None  # the folder that the questions are about
    rate_questions: int | None = None  # how many are rated, all where it is none


def main(argv: Sequence[str]) -> int:
    """Serve until Ctrl-C; returns the exit code: 0, or 2 after one line about what was wrong."""
    options = _parser().parse_args(argv)
    with suppress(KeyboardInterrupt):
        return run_command("serve", lambda: _serve(options))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = OneLineParser(prog="needlework serve", description=__doc__)
    add = parser.add_argument
    add("paths", type=Path, nargs="+", metavar="PATH", help="what to show")
    add("--documents", type=Path, metavar="DIR", help="folder that the questions are about")
    add(READ, action="append", default=[], metavar="PATH", help=READ_HELP)
    add("--port", type=int, default=8765, help="port on 127.0.0.1; 0: any that is free [8765]")
    state = f"file of ratings [{RATINGS} in the first PATH, or beside it where that is a file]"
    add("--state", type=Path, metavar="FILE", help=state)
    add("--rate-questions", type=number_from(1), metavar="N", help="rate N questions, drawn by chance [all]")
    return parser


def _serve(options: argparse.Namespace) -> None:
    try:
        import uvicorn

        from needlework.results.web.app import PARAMETER, VARIABLE, build_app, choose_token
    except ImportError as error:
        raise InputError("serve", error.name or "", "not installed: pip install 'needlework[web]'") from None
    sources = find_sources(options.paths, options.documents, options.state, options.rate_questions)
    token, is_chosen = choose_token(os.environ)
    try:
        listener = socket.create_server((_HOST, options.port))
    except (OSError, OverflowError) as error:
        remedy = f"cannot be listened on ({error}); --port 0 takes a free one"
        raise InputError("--port", options.port, remedy) from None
    with listener:
        port = listener.getsockname()[1]
        app = build_app(sources, rebuild=prompt_builder(options.read), token=token, cookie=f"needlework-{port}")
        end = "" if is_chosen else f"?{PARAMETER}={token}"
        hint = f"with ?{PARAMETER}= and the token in {VARIABLE}; " if is_chosen else ""
        print(f"http://{_HOST}:{port}/{end} ({hint}this machine alone; Ctrl-C ends)", flush=True)
        config = uvicorn.Config(
            app,
            log_level="error",  # a web page that asks us could fill the terminal
            ws="none",
            server_header=False,
            timeout_graceful_shutdown=2,  # seconds
        )
        uvicorn.Server(config).run(sockets=[listener])


def find_sources(
    paths: Sequence[Path], documents: Path | None, ratings: Path | None = None, rate_questions: int | None = None
) -> ServedFiles:
    """Tell the paths apart by their names. Raises `InputError` for a path that no page can show."""
    kinds: dict[str, dict[Path, None]] = {}  # resolved paths, each once
    for path in paths:
        for kind, file in _files_of(path):
            kinds.setdefault(kind, {})[file.resolve()] = None
    if documents is not None and not documents.is_dir():
        raise InputError("--documents", documents, "is no folder; name the one that the questions are about")
    return ServedFiles(
        ratings=(ratings or (paths[0] if paths[0].is_dir() else paths[0].parent) / RATINGS).absolute(),
        **{kind: tuple(kinds.get(kind, ())) for kind in ("runs", "predictions", "annotated", "questions")},
        documents=documents and documents.resolve(),
        rate_questions=rate_questions,
    )


def _files_of(path: Path) -> Iterator[tuple[str, Path]]:
    """The files of a path, each with its kind. Raises `InputError`, `OSError`."""
    if not path.exists():
        raise InputError("PATH", path, "does not exist; give run folders, prediction files, jsonl documents, questions")
    if not path.is_dir():
        endings = {PREDICTIONS: "predictions", ".jsonl": "annotated", ".json": "questions"}
        kind = next((kind for ending, kind in endings.items() if path.name.endswith(ending)), "")
        if not kind:
            raise InputError("PATH", path, "is no run folder, .jsonl or .json file")
        yield kind, path
        return
    runs = [folder for folder in (path, *sorted(path.iterdir())) if file_of_run(folder)]
    is_run = runs[:1] == [path]
    predictions = [] if is_run else sorted(path.rglob(f"*{PREDICTIONS}"))
    if not runs and not predictions:
        raise InputError("PATH", path, f"holds no run and no *{PREDICTIONS}")
    yield from (("runs", folder) for folder in (runs[:1] if is_run else runs))
    yield from (("predictions", file) for file in predictions)
