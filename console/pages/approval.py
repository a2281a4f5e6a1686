"""The card of the motion that waits for an approval: what will move, as it is hashed, and the operator's answer."""

from __future__ import annotations

import time
from typing import Any

from nicegui import events, run, ui

from agent_node.pointed import PointedPoint
from console.approving import ApprovalCard, Approvals, MotionTimeline
from console.hub import Hub
from console.pages.frame import PageContext
from console.robot import SpokenWords
from tool_nodes.motion.approval import MotionRequest

LOOK_S = 0.1
"""How often a page looks whether another motion waits [s]: a tenth of a second is not noticed."""

HOLD_S = 1.5
"""How long the card of a motion stays that does not wait any more [s]: the second click of a double click would
else hit the camera picture, which moves to its place."""

ARM_S = 0.6
"""A card that has just appeared takes no approval for so long [s]: longer than a double click, which was meant for the
motion before. The style sheet keeps the mouse off its buttons for the same time."""

_KEY_STEP = 0.01
"""By how much an arrow key moves the point, as a share of the picture; with Shift ten times as far."""

_MARK = (
    '<line x1="{u}" y1="{top}" x2="{u}" y2="{bottom}" stroke="white" stroke-width="{w2}"/>'
    '<line x1="{left}" y1="{v}" x2="{right}" y2="{v}" stroke="white" stroke-width="{w2}"/>'
    '<circle cx="{u}" cy="{v}" r="{r}" fill="none" stroke="white" stroke-width="{w2}"/>'
    '<circle cx="{u}" cy="{v}" r="{r}" fill="none" stroke="#d00030" stroke-width="{w}"/>'
)
"""The point that is chosen, in pixels of the picture; made of numbers only."""


def approval_card(page: PageContext) -> None:
    """Draw the card into the page; it follows what waits. Pages that only observe have no buttons."""
    ui.add_head_html('<link rel="stylesheet" href="/assets/approval.css">')
    with ui.element("section").classes("approval").props('data-testid="approval-place" aria-live="polite"') as place:
        card = _Card(page, place)
    ui.timer(LOOK_S, card.look)


def point_reason(point: tuple[float, float], camera: str) -> str:
    """The reason of a rejection that names another thing, in words that a policy reads."""
    return f"not this: the thing at ({point[0]:.3f}, {point[1]:.3f}) of the {camera} picture"


class _Card:
    """The card of one page."""

    def __init__(self, page: PageContext, place: ui.element) -> None:
        self._page = page
        self._place = place
        self._approvals: Approvals = page.approvals
        self._hub: Hub = page.hub
        self._shown: ApprovalCard | None = None
        self._operates = False
        self._gone_s = self._appeared_s = 0.0
        self._pointing = False
        self._point = (0.5, 0.5)
        self._left: ui.label | None = None
        self._picture: ui.interactive_image | None = None

    def look(self) -> None:
        """Draw anew what has changed since the last look."""
        card, operates, now_s = self._approvals.card, self._page.seat.operates, time.monotonic()
        if card.motion is None and self._shown is not None and self._shown.motion is not None:
            self._gone_s = self._gone_s or now_s
            if now_s - self._gone_s < HOLD_S:
                return
        self._gone_s = 0.0
        if card is not self._shown or operates is not self._operates:
            self._operates = operates
            before = None if self._shown is None else self._shown.motion
            self._shown = card
            if before is None or card.motion is None or before.request.hash != card.motion.request.hash:
                self._pointing, self._appeared_s = False, now_s
            self._draw(card)
        if self._left is not None:
            self._left.set_text(f"{self._approvals.left_s():.0f} s left")

    # -- drawing ----------------------------------------------------------------------------------

    def _draw(self, card: ApprovalCard) -> None:
        self._place.clear()
        self._left = self._picture = None
        with self._place:
            if card.motion is None:
                if card.said:
                    ui.label(card.said).classes("notice").props('data-testid="approval-said"')
                return
            with ui.element("div").classes("panel").props('data-testid="approval-card"'):
                self._draw_motion(card, card.motion.request)

    def _draw_motion(self, card: ApprovalCard, request: MotionRequest) -> None:
        with ui.element("header"):
            ui.label("May the arm move?")
            self._left = ui.label("").classes("chip warn").props('data-testid="approval-left"')
        with ui.element("div").classes("panel-body approval-body"):
            with ui.element("div").classes("approval-look"):
                if request.picture is not None:
                    self._draw_picture(request)
                self._draw_slider(request)
            with ui.element("div").classes("approval-words"):
                running = self._hub.running
                if running is not None:
                    ui.label(f"For: {running.text}").classes("muted").props('data-testid="approval-for"')
                ui.label(request.what).classes("approval-what").props('data-testid="approval-what"')
                with ui.element("ol").props('data-testid="approval-steps"'):
                    for line in card.steps:
                        with ui.element("li"):
                            ui.label(line)
                if card.said:
                    kind = "good" if card.answer == "approved" else ""
                    ui.label(card.said).classes(f"notice {kind}").props('data-testid="approval-said"')
                if not card.is_true:
                    ui.label(
                        "The hash of this motion is not that of its legs: what is drawn is not what would run. "
                        "It cannot be approved."
                    ).classes("notice bad").props('data-testid="approval-untrue"')
                elif card.may_be_answered and self._operates:
                    self._draw_buttons(request)
                ui.label(f"hash {request.hash}").classes("mono muted approval-hash").props(
                    f'data-testid="approval-hash" title="{request.hash[:64]}"'
                )

    def _draw_picture(self, request: MotionRequest) -> None:
        name = "The camera's picture with the planned path and the gripper at its end"
        with (
            ui.element("div")
            .classes("approval-picture")
            .props(f'tabindex=0 role="img" aria-label="{name}" data-testid="approval-picture"') as frame
        ):
            self._picture = ui.interactive_image(
                f"/pictures/motion.jpg?hash={request.hash}",
                on_mouse=lambda event: self._on_click(event, request),
                events=["click"],
                cross=False,
            )
        frame.on("keydown", lambda event: self._on_key(event, request), ["key", "shiftKey"])

    def _draw_slider(self, request: MotionRequest) -> None:
        timeline = MotionTimeline(request)
        if not timeline.duration_s:
            return
        where = ui.label("").classes("mono muted approval-where").props('data-testid="approval-where"')

        def show(value: object) -> None:
            if not isinstance(value, int | float):  # a browser may send what it likes
                return
            time_s = min(max(0.0, float(value)), timeline.duration_s)
            moment = timeline.at(time_s)
            self._page.view.preview(self._page.seat.name, time_s)
            degrees = " ".join(str(round(57.29577951308232 * q)) for q in moment.positions.values())
            jaws = "" if moment.opening_m is None else f", jaws {1000 * moment.opening_m:.0f} mm"
            where.set_text(f"{time_s:.2f} s, step {moment.step}: joints {degrees} degrees{jaws}")

        ui.slider(
            min=0.0,
            max=timeline.duration_s,
            step=timeline.duration_s / 200,
            value=0.0,
            on_change=lambda event: show(event.value),
        ).props('aria-label="Time of the motion" data-testid="approval-slider"')
        show(0.0)

    def _draw_buttons(self, request: MotionRequest) -> None:
        reason = (
            ui.input("Reason to reject, which the policy reads")
            .props('maxlength=200 dense outlined data-testid="approval-reason"')
            .classes("approval-reason")
        )
        with ui.element("div").classes("approval-buttons"):
            _button("Approve", "primary", "approve", lambda: self._answer(request, True, ""))
            _button("Reject", "danger", "reject", lambda: self._answer(request, False, reason.value or ""))
            if request.picture is not None:
                _button("Not this: that one", "", "that-one", lambda: self._begin_pointing(request))
        if self._pointing:
            ui.label(
                "Click in the picture on the thing that is meant; or move the mark with the arrow keys and press Enter."
            ).classes("notice").props('data-testid="approval-pointing"')

    # -- answering --------------------------------------------------------------------------------

    async def _answer(self, request: MotionRequest, approve: bool, reason: str) -> str:
        """Answer the motion that this card shows."""
        if approve and time.monotonic() - self._appeared_s < ARM_S:
            return "This motion has just appeared; look at it first."
        refusal = await run.io_bound(self._approvals.answer, self._page.seat.name, request.hash, approve, reason)
        with self._place:  # the button that was pressed may be gone
            if refusal:
                ui.notify(refusal, type="warning")
        self.look()
        return refusal or ""

    def _begin_pointing(self, request: MotionRequest) -> None:
        self._pointing, self._point = True, (0.5, 0.5)
        if self._shown is not None:
            self._draw(self._shown)
        self._mark(request)
        with self._place:
            ui.run_javascript("document.querySelector('[data-testid=approval-picture]')?.focus()")

    async def _on_click(self, event: events.MouseEventArguments, request: MotionRequest) -> None:
        if self._pointing and request.picture is not None:
            height, width = request.picture.shape[:2]
            await self._that_one((event.image_x / width, event.image_y / height), request)

    async def _on_key(self, event: events.GenericEventArguments, request: MotionRequest) -> None:
        if not self._pointing:
            return
        step = _KEY_STEP * (10 if event.args.get("shiftKey") else 1)
        moves = {"ArrowLeft": (-step, 0), "ArrowRight": (step, 0), "ArrowUp": (0, -step), "ArrowDown": (0, step)}
        key = event.args.get("key")
        if key in moves:
            x, y = (min(1.0, max(0.0, old + by)) for old, by in zip(self._point, moves[key], strict=True))
            self._point = x, y
            self._mark(request)
        elif key == "Enter":
            await self._that_one(self._point, request)

    def _mark(self, request: MotionRequest) -> None:
        if self._picture is None or request.picture is None:
            return
        height, width = request.picture.shape[:2]
        u, v, r = self._point[0] * width, self._point[1] * height, width / 40
        self._picture.set_content(
            _MARK.format(u=u, v=v, r=r, left=u - r, right=u + r, top=v - r, bottom=v + r, w=width / 400, w2=width / 200)
        )

    async def _that_one(self, point: tuple[float, float], request: MotionRequest) -> None:
        """Reject, and have the command begin again with the thing that was pointed at."""
        if not all(0.0 <= value <= 1.0 for value in point):
            return
        self._point, self._pointing = point, False
        self._mark(request)
        running = self._hub.running
        if await self._answer(request, False, point_reason(point, request.camera)) or running is None:
            return
        pointed = PointedPoint(point, request.camera, round(request.stamp * 1e9))
        self._hub.say_instead(SpokenWords("not that: this one", running.session, (pointed,)))


def _button(text: str, kind: str, name: str, clicked: Any) -> None:
    button = ui.element("button").classes(f"button {kind}").props(f'type="button" data-testid="approval-{name}"')
    with button:
        ui.label(text)
    button.on("click", clicked)
