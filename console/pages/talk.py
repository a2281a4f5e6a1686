"""The page on which the robot is spoken to: conversation, camera image that is pointed at, approvals, 3D view."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.responses import Response
from nicegui import Client, background_tasks, ui
from nicegui.events import GenericEventArguments

from toolhand.agent_node.events import OperatorAnswer
from toolhand.agent_node.pointed import MOST_POINTS, PointedPoint
from toolhand.console.console_state import ConsoleState
from toolhand.console.pages.approval import approval_card
from toolhand.console.pages.frame import PageContext
from toolhand.console.robot import SpokenWords
from toolhand.tool_nodes.results import ToolError, invalid

COMPONENT = Path(__file__).parents[1] / "assets" / "talk.js"
_TOGETHER_S = 0.02
"""Changes within this time are sent together [s]; far below what is noticed."""
_SHOWN_S = 3.0
"""A page that has not shown what it was sent for so long is not waited for [s]."""
_LOOK_S = 1.0
"""How often it is looked whether the robot can be reached [s]."""
_HOST = socket.gethostname()[:60]


def talk_page(page: PageContext) -> None:
    """Fill the page.

    Args:
        page: Settings, state and seat of the page.
    """
    view = TalkView(page)
    with view:
        approval_card(page)
    scene_panel(page)
    page.seat.on_change(view.changed.set)
    ui.timer(_LOOK_S, view.changed.set)


def add_talk_routes(app: FastAPI, console_state: ConsoleState) -> None:
    """Add the route of the images that tools have shown.

    Args:
        app: Gets it.
        console_state: Has the images.
    """

    @app.get("/talk/pictures/{number}.jpg")
    async def image(number: int) -> Response:
        data = console_state.image(number)
        if data is None:
            return Response(status_code=404)
        return Response(data, media_type="image/jpeg", headers={"Cache-Control": "private, max-age=3600"})


class TalkView(ui.element, component=COMPONENT):  # type: ignore[call-arg]
    """The conversation of one page, which follows the hub.

    Args:
        page: Settings, state and seat of the page.

    Attributes:
        changed: Is set, in the page's loop, when there may be something new.
    """

    def __init__(self, page: PageContext) -> None:
        super().__init__()
        self._page, self._console_state = page, page.console_state
        self.changed = asyncio.Event()
        entries = self._console_state.entries()
        self._shown = entries[-1].number if entries else 0
        self._state = self._state_now()
        self._props["first"] = [asdict(entry) for entry in entries]
        self._props["begun"] = self._state
        for name in ("say", "point", "candidate", "cancel", "go_on", "drop"):
            self.on(name, lambda event, name=name: self._act(name, event))
        loop = asyncio.get_running_loop()

        def changed() -> None:
            loop.call_soon_threadsafe(self.changed.set)

        close = self._console_state.listen(changed)
        following = background_tasks.create(self._follow(ui.context.client), name="talk")

        def end() -> None:
            close()
            following.cancel()

        ui.context.client.on_delete(end)

    async def _follow(self, client: Client) -> None:
        """Send what is new, as soon as it is and the page has shown what came before: a slow page gets more at once."""
        await client.connected()
        while True:
            await self.changed.wait()
            self.changed.clear()
            with contextlib.suppress(
                TimeoutError
            ):  # it has lost its connection, and gets what was sent when it is back
                await self._push()
            await asyncio.sleep(_TOGETHER_S)

    async def _push(self) -> None:
        entries, state = self._console_state.entries(self._shown), self._state_now()
        if not entries and state == self._state:
            return
        self._shown = entries[-1].number if entries else self._shown
        self._state = state
        await self.run_method("hear", [asdict(entry) for entry in entries], state, timeout=_SHOWN_S)

    def _state_now(self) -> dict[str, Any]:
        console_state, graph, question = (
            self._console_state,
            self._console_state.robot.state(),
            self._console_state.question,
        )
        running = console_state.running
        return {
            "operates": self._page.seat.operates,
            "reachable": graph.reachable,
            "sentence": graph.sentence,
            "running": "" if running is None else running.text,
            "cancelling": console_state.cancelling,
            "held_back": console_state.held_back,
            "waiting": [{"number": each.number, "text": each.said.text} for each in console_state.waiting],
            "question": None
            if question is None
            else {
                "number": question.number,
                "text": question.text,
                "candidates": [{"label": each.label, "point": each.point} for each in question.candidates],
            },
        }

    # -- what the operator does -----------------------------------------------------------------

    def _act(self, name: str, event: GenericEventArguments) -> None:
        """Do what the page asks for, where it operates; what is refused is said on the page alone."""
        try:
            self._page.seat.require_operator()
            match name:
                case "say":
                    self._say(event.args)
                case "point":
                    self._note(_pointed([event.args])[0])
                case "candidate":
                    self._choose(event.args)
                case "cancel":
                    self._console_state.cancel()
                case "go_on":
                    self._console_state.go_on()
                case "drop":
                    self._console_state.drop_waiting(_whole(event.args) or None)
        except ToolError as error:
            self.run_method("refuse", str(error))

    def _say(self, sent: Any) -> None:
        if not isinstance(sent, Mapping) or not isinstance(sent.get("text"), str):
            raise invalid("Say something.")
        session = f"console:{_HOST}:{os.getpid()}:{self._page.seat.tab}"
        self._console_state.say(SpokenWords(sent["text"], session, _pointed(sent.get("pointed", ()))))
        self.run_method("took")

    def _note(self, pointed: PointedPoint) -> None:
        """Have the robot look at once whether the scene still is as in the image that was pointed at."""
        if pointed.point is not None:
            jpeg = self._page.images.sent(pointed.camera, pointed.stamp_ns)
            self._console_state.robot.note_point(pointed.point, jpeg)

    def _choose(self, sent: Any) -> None:
        question = self._console_state.question
        if question is None or not isinstance(sent, Mapping) or _whole(sent.get("number")) != question.number:
            raise invalid("That question does not wait any more.")
        index = _whole(sent.get("index"))
        if not 0 <= index < len(question.candidates):
            raise invalid(f"There is no number {index + 1}.")
        point = question.candidates[index].point
        answer = OperatorAnswer(f"number {index + 1}") if point is None else OperatorAnswer(point=point)
        self._console_state.answer(question.number, answer)


def _whole(value: Any) -> int:
    """A whole number that a page has sent; -1 for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else -1


def _pointed(sent: Any) -> tuple[PointedPoint, ...]:
    """Points that a page has sent. Raises ToolError INVALID_ARGUMENT for what are none."""
    if not isinstance(sent, Sequence) or isinstance(sent, str) or len(sent) > MOST_POINTS:
        raise invalid(f"At most {MOST_POINTS} points go with a sentence.")
    return tuple(_point(k, each) for k, each in enumerate(sent, 1))


def _point(number: int, sent: Any) -> PointedPoint:
    point = sent.get("point") if isinstance(sent, Mapping) else None
    stamp = str(sent.get("stamp", "")) if isinstance(sent, Mapping) else ""
    numbers = isinstance(point, Sequence) and len(point) == 2 and all(isinstance(x, int | float) for x in point)
    if not numbers or not isinstance(point, Sequence) or len(stamp) > 20 or not (stamp == "" or stamp.isdecimal()):
        raise invalid("A point is (x, y) of a picture, and the stamp of that picture.")
    camera = sent.get("camera", "scene")
    return PointedPoint((float(point[0]), float(point[1])), str(camera), int(stamp or 0), str(number))


def scene_panel(page: PageContext) -> None:
    """Draw a button that shows the 3D view; without WebGL it says so, and the images have all of it."""
    ui.add_head_html('<link rel="stylesheet" href="/assets/scene.css"><script src="/assets/scene.js" defer></script>')
    with ui.element("section").classes("panel scene").props('data-testid="view"'):
        with ui.element("header"):
            ui.label("3D view")
            with (
                ui.element("button")
                .classes("button small scene-show")
                .props('type="button" hidden aria-expanded="false" data-testid="view-show"')
            ):
                ui.label("Show")
            with (
                ui.element("a")
                .classes("button small scene-window")
                .props('href="/scene/" target="_blank" rel="noopener" hidden data-testid="view-window"')
            ):
                ui.label("Own window")
        ui.element("div").classes("scene-place").props('data-testid="view-place"')
        _notice(
            "scene-apart",
            "view-apart",
            "This browser draws 3D without a graphics card. It may stand still while it begins, so that the view has a "
            "window of its own.",
        )
        _notice(
            "scene-without",
            "view-without-webgl",
            "This browser has no WebGL, so that there is no 3D view. The layers of the camera picture show all of "
            "it: thing, grasp, path and place of a motion, obstacles, free space and depth.",
        )


def _notice(name: str, test_id: str, text: str) -> None:
    with ui.element("p").classes(f"notice {name}").props(f'hidden data-testid="{test_id}"'):
        ui.label(text)
