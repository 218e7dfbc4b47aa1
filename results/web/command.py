"""`needlework serve PATH...`: pages for people, on this machine alone: rate answers, edit questions.

PATH: run folders, a folder of runs, prediction files (*.pred.jsonl), a jsonl file of documents, a file of questions.
"""

from __future__ import annotations

import argparse
import os
import socket
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from needlework.haystack_fixtures.command_line import OneLineParser, refuse
from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.settings.places import READ, READ_HELP
from needlework.results.records.run_file import check_run_file
from needlework.results.web.sources import STATE, find_sources, state_place

if TYPE_CHECKING:
    from needlework.results.web.page import Rebuild

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
        from needlework.results.web.login import PARAMETER, VARIABLE, login_for
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
