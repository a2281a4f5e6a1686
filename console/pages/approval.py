"""The card of the motion that waits for an approval: what will move, as it is hashed, and the operator's answer."""

from __future__ import annotations

import time
from typing import Any

from nicegui import events, run, ui

from toolhand.agent_node.pointed import PointedPoint
from toolhand.console.approving import ApprovalCard, Approvals, MotionTimeline
from toolhand.console.console_state import ConsoleState
from toolhand.console.pages.frame import PageContext
from toolhand.console.pages.slider import TimeSlider
from toolhand.console.robot import SpokenWords
from toolhand.tool_nodes.motion.approval import MotionRequest

LOOK_S = 0.1
"""How often a page looks whether another motion waits [s]: a tenth of a second is not noticed."""

HOLD_S = 1.5
"""How long the card of a motion stays that does not wait any more [s]: the second click of a double click would
else hit the camera image, which moves to its place."""

SAID_S = 10.0
"""How long it is said that a motion has gone without an answer [s]: what came of it is in the conversation."""

_SLIDER_STEPS = 200
"""Positions of the slider [-]: its length in pixels is about twice as many."""

ARM_S = 0.6
"""A card that has just appeared takes no approval for so long [s]: longer than a double click, which was meant for the
motion before. The style sheet keeps the mouse off its buttons for the same time."""

_KEY_STEP = 0.01
"""By how much an arrow key moves the point, as a share of the image; with Shift ten times as far."""

_CLICKED = """(event) => {
  const box = event.target.getBoundingClientRect();
  emit([(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height]);
}"""
"""Sends the point of the image, as shares of its size; a pointer has fractions of a pixel, a click has not."""


def approval_card(page: PageContext) -> None:
    """Draw the card into the page; it follows what waits. Pages that only observe have no buttons."""
    ui.add_head_html('<link rel="stylesheet" href="/assets/approval.css">')
    with ui.element("section").classes("approval").props('data-testid="approval-place" aria-live="polite"') as place:
        card = _Card(page, place)
    ui.timer(LOOK_S, card.look)


def point_reason(point: tuple[float, float], camera: str) -> str:
    """The reason of a rejection that names another object, in words that a policy reads."""
    return f"not this: the thing at ({point[0]:.3f}, {point[1]:.3f}) of the {camera} picture"


class _Card:
    """The card of one page."""

    def __init__(self, page: PageContext, place: ui.element) -> None:
        self._page = page
        self._place = place
        self._approvals: Approvals = page.approvals
        self._console_state: ConsoleState = page.console_state
        self._shown = ApprovalCard(None)
        self._operates = False
        self._gone_s = self._appeared_s = 0.0
        self._pointing = False
        self._point = (0.5, 0.5)
        self._left: ui.label | None = None
        self._said: ui.label | None = None
        self._mark: ui.element | None = None

    def look(self) -> None:
        """Draw anew what has changed since the last look."""
        card, operates, now_s = self._approvals.card, self._page.seat.operates, time.monotonic()
        if card.motion is None and self._shown.motion is not None:
            self._gone_s = self._gone_s or now_s
            if now_s - self._gone_s < HOLD_S:
                self._tell(card)
                return
            if card.answer:
                self._gone_s = 0.0
        elif card.motion is None and self._gone_s and now_s - self._gone_s > SAID_S:
            self._gone_s = 0.0
            self._place.clear()
        if card.motion is not self._shown.motion or operates is not self._operates:
            self._operates = operates
            before, self._shown = self._shown.motion, card
            if card.motion is not None and (before is None or before.request.hash != card.motion.request.hash):
                self._pointing, self._appeared_s, self._gone_s = False, now_s, 0.0
            self._draw(card)
        elif card is not self._shown:
            self._shown = card
            self._tell(card)
        if self._left is not None:
            self._left.set_text("" if card.answer else f"{self._approvals.left_s():.0f} s left")

    # -- drawing ----------------------------------------------------------------------------------

    def _draw(self, card: ApprovalCard) -> None:
        self._place.clear()
        self._left = self._mark = self._said = None
        with self._place:
            if card.motion is None:
                if card.said and not card.answer:
                    ui.label(card.said).classes("notice").props('data-testid="approval-said"')
                return
            with (
                ui.element("section")
                .classes("panel approval-card")
                .props('aria-label="A motion waits for approval" data-testid="approval-card"')
            ):
                self._draw_motion(card, card.motion.request)
            # Where the page is wide the card stands at its top, and somebody may be further down.
            ui.run_javascript("document.querySelector('.approval-card')?.scrollIntoView({block: 'nearest'})")

    def _tell(self, card: ApprovalCard) -> None:
        """Say what has come of the motion that is drawn; its image stays as it is, and its buttons are over."""
        if self._said is not None:
            self._said.set_text(card.said)
            self._said.set_visibility(True)
        self._place.classes("answered")

    def _draw_motion(self, card: ApprovalCard, request: MotionRequest) -> None:
        self._place.classes(remove="answered")
        running = self._console_state.running
        with ui.element("header"):
            ui.label("May the arm move?")
            self._left = ui.label("").classes("chip warn").props('data-testid="approval-left"')
        with ui.element("div").classes("panel-body approval-body"):
            meant = request.what if running is None else running.text
            title = ui.label(meant[:1].upper() + meant[1:]).classes("approval-for").props('data-testid="approval-for"')
            title.tag = "h2"
            if request.image is not None:
                self._draw_image(request)
            moment = self._draw_slider(request) if self._operates else None
            self._draw_numbers(card, request, moment)
        with ui.element("footer").classes("approval-foot"):
            self._said = ui.label(card.said).classes("notice").props('data-testid="approval-said"')
            self._said.set_visibility(bool(card.said))
            if not card.is_true:
                ui.label(
                    "The hash of this motion is not that of its legs: what is drawn is not what would run. "
                    "It cannot be approved."
                ).classes("notice bad").props('data-testid="approval-untrue"')
            elif card.may_be_answered and self._operates:
                self._draw_buttons(request)

    def _draw_numbers(self, card: ApprovalCard, request: MotionRequest, moment: ui.label | None) -> None:
        """The motion as it is hashed, folded away: who looks at the image needs none of it."""
        with ui.element("details").classes("approval-numbers").props('data-testid="approval-numbers"') as numbers:
            summary = ui.label(f"{len(request.steps)} steps in {request.duration_s:.1f} s, in numbers")
            summary.tag = "summary"
            ui.label(request.what).props('data-testid="approval-what"')
            with ui.element("ol").props('data-testid="approval-steps"'):
                for line in card.steps:
                    with ui.element("li"):
                        ui.label(line)
            if moment is not None:
                moment.move(numbers)
            ui.label(f"hash {request.hash}").classes("mono muted approval-hash").props(
                f'data-testid="approval-hash" title="{request.hash[:64]}"'
            )

    def _draw_image(self, request: MotionRequest) -> None:
        assert request.image is not None
        name = "The camera's picture with the planned path and the gripper at its end"
        with (
            ui.element("div")
            .classes("approval-picture")
            .style(f"--aspect: {request.image.shape[1] / request.image.shape[0]:.4f}")
            .props(f'tabindex=0 role="img" aria-label="{name}" data-testid="approval-picture"') as frame
        ):
            image = ui.element("img").props(f'src="/pictures/motion.jpg?hash={request.hash}" alt="" draggable=false')
            image.on("pointerup", lambda event: self._on_click(event, request), js_handler=_CLICKED)
            self._mark = ui.element("span").classes("cross")
            self._mark.set_visibility(False)
        frame.on("keydown", lambda event: self._on_key(event, request), ["key", "shiftKey"])

    def _draw_slider(self, request: MotionRequest) -> ui.label | None:
        """The slider that goes through the motion; the line that says where the arm then is, None without legs."""
        timeline = MotionTimeline(request)
        if not timeline.duration_s:
            return None
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

        name = "Time of the motion, for the arm in the 3D view"
        TimeSlider(name, "approval-slider", 0.0, timeline.duration_s, _SLIDER_STEPS, show)
        show(0.0)
        return where

    def _draw_buttons(self, request: MotionRequest) -> None:
        reason = (
            ui.input("Reason to reject, which the policy reads")
            .props('maxlength=200 dense outlined data-testid="approval-reason"')
            .classes("approval-reason")
        )
        with ui.element("div").classes("approval-buttons"):
            _button("Approve", "primary", "approve", lambda: self._answer(request, True, ""))
            _button("Reject", "danger", "reject", lambda: self._answer(request, False, reason.value or ""))
            if request.image is not None:
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
        self._draw(self._shown)
        self._show_point()
        with self._place:
            ui.run_javascript("document.querySelector('[data-testid=approval-picture]')?.focus()")

    async def _on_click(self, event: events.GenericEventArguments, request: MotionRequest) -> None:
        at = event.args
        if self._pointing and isinstance(at, list) and len(at) == 2 and all(isinstance(x, int | float) for x in at):
            await self._that_one((float(at[0]), float(at[1])), request)

    async def _on_key(self, event: events.GenericEventArguments, request: MotionRequest) -> None:
        if not self._pointing:
            return
        step = _KEY_STEP * (10 if event.args.get("shiftKey") else 1)
        moves = {"ArrowLeft": (-step, 0), "ArrowRight": (step, 0), "ArrowUp": (0, -step), "ArrowDown": (0, step)}
        key = event.args.get("key")
        if key in moves:
            x, y = (min(1.0, max(0.0, old + by)) for old, by in zip(self._point, moves[key], strict=True))
            self._point = x, y
            self._show_point()
        elif key == "Enter":
            await self._that_one(self._point, request)

    def _show_point(self) -> None:
        if self._mark is not None:
            self._mark.style(f"left: {100 * self._point[0]:.2f}%; top: {100 * self._point[1]:.2f}%")
            self._mark.set_visibility(True)

    async def _that_one(self, point: tuple[float, float], request: MotionRequest) -> None:
        """Reject, and have the command begin again with the object that was pointed at."""
        if not all(0.0 <= value <= 1.0 for value in point):
            return
        self._point, self._pointing = point, False
        self._show_point()
        running = self._console_state.running
        if await self._answer(request, False, point_reason(point, request.camera)) or running is None:
            return
        pointed = PointedPoint(point, request.camera, round(request.stamp * 1e9))
        self._console_state.say_instead(SpokenWords("not that: this one", running.session, (pointed,)))


def _button(text: str, kind: str, name: str, clicked: Any) -> None:
    button = ui.element("button").classes(f"button {kind}").props(f'type="button" data-testid="approval-{name}"')
    with button:
        ui.label(text)
    button.on("click", clicked)
