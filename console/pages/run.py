"""The page of one run: how it ended, its recording over time, its report, and the same once more in the simulator."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nicegui import ui

from toolhand.agent_node.runs.again import FROM_THE_BEGINNING
from toolhand.agent_node.runs.index import RESULT_FILE, read_result
from toolhand.console.history.again import command_again
from toolhand.console.history.replay import RunReplay, ShownStep
from toolhand.console.history.shared import SharedHistory, history_of
from toolhand.console.history_routes import REPORT_FILE
from toolhand.console.pages import parts
from toolhand.console.pages.frame import PageContext
from toolhand.console.pages.routes import address
from toolhand.console.pages.slider import TimeSlider
from toolhand.tool_nodes.results import ToolError

STEPS_OF_A_PAGE = 100
"""Steps that are listed at once."""
_SLIDER_STEPS = 500
"""Moments of a recording that the slider shows [-]: more than it has pixels on a phone."""
_FOLLOW_S = 0.3
"""How often the output of a run that is carried out again is looked at [s]."""
_SHOWN: tuple[str, ...] = (
    *("answer", "error_code", "truth", "began", "wall_s", "policy", "protocol", "scene", "seed", "perception"),
    *("robot", "approval", "transport", "version", "steps", "command"),
)
"""Entries of result.json that are shown, in this order."""
_NAMES = {"wall_s": "wall time [s]", "truth": "simulator's judgement", "error_code": "error"}
_NAMES |= {"steps": "further parts, in folders of it", "command": f"to run it again, {FROM_THE_BEGINNING}"}


def run_page(page: PageContext) -> None:
    """Fill the page."""
    parts.with_style()
    name, history = parts.asked("run"), history_of(page.settings)

    def read() -> tuple[Path, Mapping[str, Any], str, RunReplay | None]:
        folder = history.run_folder(name)
        problems, result, replay = [], {}, None
        try:
            result = dict(read_result(folder / RESULT_FILE))
        except ToolError as error:
            problems.append(error.message.replace(f"{folder}/", ""))
        try:
            replay = history.replay(name)
        except ToolError as error:
            problems.append(error.message.replace(f"{folder}/", ""))
        return folder, result, " ".join(problems), replay

    def draw(found: tuple[Path, Mapping[str, Any], str, RunReplay | None]) -> None:
        folder, result, problem, replay = found
        _Run(page, history, name, folder, result, problem, replay).draw()

    parts.filled(read, draw)


class _Run:
    def __init__(
        self,
        page: PageContext,
        history: SharedHistory,
        name: str,
        folder: Path,
        result: Mapping[str, Any],
        problem: str,
        replay: RunReplay | None,
    ) -> None:
        self._page, self._history, self._name, self._folder = page, history, name, folder
        self._result, self._problem, self._replay = result, problem, replay
        self._first = 0
        self._shown_to = 0

    def draw(self) -> None:
        """Draw the page."""
        task = self._result.get("said") or self._result.get("task")
        said = task if isinstance(task, str) else self._replay.command if self._replay else ""
        parts.words(said[:1000] or self._name, "title", "h2", "task")
        success = self._result.get("success")
        kind, end = ("good", "done") if success is True else ("bad", "not done") if success is False else ("warn", "?")
        with ui.element("p").classes("chips"):
            parts.words(end, f"chip {kind}", testid="end")
            parts.words(self._name, "mono muted")
        if self._problem:
            parts.say(self._problem, "warn", "problem")
        parts.facts((_NAMES.get(key, key.replace("_", " ")), _value(key, self._result.get(key))) for key in _SHOWN)
        self._draw_actions()
        if self._replay is not None:
            with ui.element("section").classes("panel").props('aria-label="Recording"'):
                parts.words("Recording", "panel-title", "header")
                with ui.element("div").classes("panel-body"):
                    self._draw_replay(self._replay)
        self._draw_report()

    # -- what can be done with it -----------------------------------------------------------------

    def _draw_actions(self) -> None:
        with ui.element("div").classes("chips"):
            with parts.form("/compare", "compare-with"):
                for value, kind in ((self._name, "hidden"), ("", "text")):
                    box = ui.element("input")
                    box.props.update({"name": "run", "value": value, "type": kind, "aria-label": "Another run"})
                    box.props["placeholder"] = "another run"
                parts.submit("Compare")
            again = parts.words("Run again in the simulator", "button", "button", "again")
            again.props["type"] = "button"
            again.on("click", self._again)
            cancel = parts.words("End it", "button small", "button", "again-cancel")
            cancel.props["type"] = "button"
            cancel.on("click", self._cancel)
            cancel.set_visibility(False)
        self._said = parts.say("", testid="again-said")
        self._said.set_visibility(False)
        self._output = parts.words("", "output mono", "pre", "again-output")
        self._output.props('tabindex=0 role="region" aria-label="Output of the command"')
        self._output.set_visibility(False)
        self._cancel_button = cancel
        ui.timer(_FOLLOW_S, self._follow)

    def _again(self) -> None:
        try:
            self._page.seat.require_operator()
            settings = self._page.settings
            self._history.rerun.start(self._name, command_again(self._result, settings.runs_dir, settings.keep_runs))
        except ToolError as error:
            self._say(f"{error.message} {error.hint}".strip(), "bad")
            return
        self._shown_to = 0
        self._say(
            f"It runs in a simulator of its own, {FROM_THE_BEGINNING}: the robot of the graph does not move.", "good"
        )

    def _cancel(self) -> None:
        try:
            self._page.seat.require_operator()
        except ToolError as error:
            self._say(error.message, "bad")
            return
        self._history.rerun.cancel()

    def _say(self, text: str, kind: str) -> None:
        self._said.classes(replace=f"notice {kind}")
        self._said.set_text(text)
        self._said.set_visibility(True)

    def _follow(self) -> None:
        rerun = self._history.rerun
        if rerun.of != self._name:
            return
        self._cancel_button.set_visibility(rerun.running)
        lines = rerun.lines()
        if lines and lines[-1][0] != self._shown_to:
            self._shown_to = lines[-1][0]
            self._output.set_text("\n".join(line for _, line in lines))
            self._output.set_visibility(True)

    # -- the recording ----------------------------------------------------------------------------

    def _draw_replay(self, replay: RunReplay) -> None:
        if replay.problem:
            parts.say(replay.problem, "warn", "damaged")
        with ui.element("div").classes("replay"):
            with ui.element("div").classes("replay-now"):
                self._image = ui.element("img").classes("replay-picture")
                self._image.props.update({"alt": "What the robot saw", "data-testid": "replay-picture"})
                self._no_image = parts.say("", testid="replay-no-picture")
                self._now = parts.words("", "mono", "p", "replay-time")
                self._slider = TimeSlider(
                    "Time of the run", "replay-slider", replay.begin_s, replay.end_s, _SLIDER_STEPS, self._show
                )
                self._joints = parts.words("", "mono muted", "p", "replay-joints")
                self._step = parts.words("", "", "p", "replay-step")
            with ui.element("div").classes("replay-steps"):
                with parts.scrolling("Steps of the run", "steps-window"):
                    self._list = ui.element("ol").classes("steps").props('data-testid="steps"')
                with ui.element("nav").classes("pages").props('aria-label="Steps"'):
                    for text, by in (("Earlier steps", -STEPS_OF_A_PAGE), ("Later steps", STEPS_OF_A_PAGE)):
                        button = parts.words(text, "button small", "button", text.split()[0].lower())
                        button.props["type"] = "button"
                        button.on("click", lambda by=by: self._turn(by))
        self._show_steps()
        failed = next((step.time_s for step in replay.steps(0, STEPS_OF_A_PAGE) if step.failed), replay.end_s)
        self._slider.go(failed)

    def _turn(self, by: int) -> None:
        assert self._replay is not None
        last = max(0, len(self._replay) - 1) // STEPS_OF_A_PAGE * STEPS_OF_A_PAGE
        self._first = min(max(0, self._first + by), last)
        self._show_steps()

    def _show_steps(self) -> None:
        assert self._replay is not None
        self._list.clear()
        with self._list:
            for step in self._replay.steps(self._first, STEPS_OF_A_PAGE):
                self._draw_step(step)

    def _draw_step(self, step: ShownStep) -> None:
        with ui.element("li").classes(f"step {step.kind}{' bad' if step.failed else ''}").props('data-testid="step"'):
            time = parts.words(f"{step.time_s:.2f} s", "button small mono", "button")
            time.props["type"] = "button"
            time.on("click", lambda: self._slider.go(step.time_s))
            parts.words(f"{step.index} {step.kind}", "muted mono")
            parts.words(step.title, "step-title")
            parts.words(step.text[:1000], "step-text")

    def _show(self, time_s: float) -> None:
        assert self._replay is not None
        moment = self._replay.moment(time_s)
        self._now.set_text(f"{moment.time_s:.2f} s of {self._replay.begin_s:.2f} to {self._replay.end_s:.2f} s")
        joints = (f"{name} {_degrees(at)}" for name, at in list(moment.joints.items())[:20])
        self._joints.set_text(", ".join(joints) or "No joint states are recorded yet.")
        step = None if moment.step is None else self._replay.step(moment.step)
        self._step.set_text("" if step is None else f"{step.kind} {step.title}: {step.text[:1000]}")
        problem = "" if moment.image is not None else "No picture is recorded yet."
        try:  # as the browser will ask for the image: the run may be gone, or another, since this page was drawn
            replay = self._history.replay(self._name)
            if moment.image is not None:
                replay.image(moment.image)
        except ToolError as error:
            problem = error.message.replace(f"{self._folder}/", "")
        self._image.set_visibility(not problem)
        self._no_image.set_visibility(bool(problem))
        self._no_image.set_text(problem)
        if not problem and moment.image is not None:
            self._image.props["src"] = address("/history/runs", self._name, "pictures", str(moment.image))

    def _draw_report(self) -> None:
        with ui.element("details").classes("panel"):
            parts.words("Report: unfold", "panel-title", "summary", "report-open")
            if not (self._folder / REPORT_FILE).is_file():
                parts.say("This run has no report.", "warn", "no-report")
                return
            frame = ui.element("iframe").classes("report")
            frame.props.update(
                {"sandbox": "", "title": "Report of the run", "loading": "lazy", "data-testid": "report"}
            )
            frame.props["src"] = address("/history/runs", self._name, "report")


def _degrees(at: float) -> str:
    return f"{math.degrees(at):.1f}°" if math.isfinite(at) else "not a number"


def _value(key: str, value: Any) -> str:
    if value is None or value == "":
        return ""
    if key == "began" and isinstance(value, str):
        return parts.local_time(value)
    if isinstance(value, str | int | float | bool):
        return str(value)[:1000]
    try:
        return json.dumps(value, ensure_ascii=False)[:1000]
    except (TypeError, ValueError, RecursionError):
        return ""
