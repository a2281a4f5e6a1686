"""Reports and images of the history over plain HTTP. What others wrote comes with a policy of its own: no scripts."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from toolhand.agent_node.runs.report import with_images
from toolhand.console.history.benches import gallery_image
from toolhand.console.history.curves import training_folder
from toolhand.console.history.folders import file_in
from toolhand.console.history.rollouts import rollout_image
from toolhand.console.history.shared import SharedHistory
from toolhand.tool_nodes.files import MIB, read_file
from toolhand.tool_nodes.results import ToolError, invalid

REPORT_FILE = "report.html"
_LONGEST_REPORT = 64 * MIB
"""Longest report that is shown [bytes]; one has less than four."""
REPORT_POLICY = (
    "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'; "
    "frame-ancestors 'self'"
)
"""Content policy of a report: no script, no request, no form, and an origin of its own."""
_IMAGE_POLICY = "sandbox; default-src 'none'; frame-ancestors 'none'"


def add_history_routes(app: FastAPI, history: SharedHistory) -> None:
    """Add the routes of reports and images."""

    def report(request: Request) -> Response:
        folder = history.run_folder(request.path_params["run"])
        try:
            content = read_file(file_in(folder, REPORT_FILE, "report"), _LONGEST_REPORT, folder)
        except OSError as error:
            raise invalid(f"The report cannot be read: {error.strerror}.") from error
        room = _LONGEST_REPORT

        def image(path: str) -> bytes:
            nonlocal room
            data = read_file(folder / path, room, folder)
            room -= len(data)
            return data

        content = with_images(content, image)
        return _answer(content, "text/html; charset=utf-8", REPORT_POLICY)

    def run_image(request: Request) -> Response:
        replay = history.replay(request.path_params["run"])
        kind, data = replay.image(_index(request.path_params["index"]))
        return _answer(data, kind, _IMAGE_POLICY)

    def bench_image(request: Request) -> Response:
        file, name = request.path_params["file"], request.path_params["name"]
        out = next((found.out for found in history.benches.results() if found.file == file), "")
        kind, data = gallery_image(out, name, history.roots)
        return _answer(data, kind, _IMAGE_POLICY)

    def rollout(request: Request) -> Response:
        folder = training_folder(history.settings.training_dir, request.query_params.get("folder", ""), "rollouts")
        return _answer(rollout_image(folder.path, request.path_params["name"]), "image/png", _IMAGE_POLICY)

    for path, build in (
        ("/history/runs/{run}/report", report),
        ("/history/runs/{run}/pictures/{index}", run_image),
        ("/history/benches/{file}/pictures/{name}", bench_image),
        ("/history/rollouts/pictures/{name}", rollout),
    ):
        app.add_route(path, _refusing(build), ["GET"])


def _refusing(build: Any) -> Any:
    """The route, with an error as one sentence."""

    async def route(request: Request) -> Response:
        try:
            answer: Response = await run_in_threadpool(build, request)
            return answer
        except ToolError as error:
            headers = {"content-security-policy": _IMAGE_POLICY, "x-content-type-options": "nosniff"}
            return PlainTextResponse(error.message, 404, headers)

    return route


def _answer(content: bytes, kind: str, policy: str) -> Response:
    headers = {"content-security-policy": policy, "x-content-type-options": "nosniff", "cache-control": "no-store"}
    return Response(content, 200, headers, media_type=kind)


def _index(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise invalid("A picture has a number.")
    return int(text)
