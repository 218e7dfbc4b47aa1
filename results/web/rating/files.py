"""An annotator's ratings as files, to download or written beside the answers. They name the models."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from needlework.results.web.rating.desk import Desk
from needlework.results.web.rating.export import KINDS, export, file_name, write
from needlework.results.web.replies import changing, told


def file_routes(desk: Desk) -> list[Route]:
    """Files of one annotator."""
    path = "/of/{annotator:int}/files/{kind}"
    return [Route(path, partial(_download, desk)), changing(path, partial(_write, desk))]


def _download(desk: Desk, request: Request) -> Response:
    name, content = _file(desk, request)
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}"}
    return Response(content, media_type="application/jsonl", headers=headers)


def _write(desk: Desk, request: Request, body: Mapping[str, Any]) -> Response:
    name, content = _file(desk, request)
    path = desk.folder() / name
    if not write(path, content, over=body.get("over") is True):
        return told({"error": f"{name} is there already, with other content", "exists": True}, 409)
    return told({"path": str(path)})


def _file(desk: Desk, request: Request) -> tuple[str, bytes]:
    annotator = desk.annotator(request)
    kind = KINDS.get(request.path_params["kind"])
    if kind is None:
        raise HTTPException(404, "there is no such file")
    if annotator.shown is None:
        raise HTTPException(403, "the files name the models: show the results first")
    return file_name(kind, annotator), export(kind, desk.items, desk.seed, annotator, desk.marks(annotator))
