"""The pages of trainings: curves of their numbers, several overlaid; groups of rollouts, rewards and conversations."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nicegui import ui

from toolhand.console.history.chart import chart, swatch
from toolhand.console.history.curves import (
    TrainingFolder,
    TrainingLog,
    find_trainings,
    read_log,
    smoothed,
    training_folder,
)
from toolhand.console.history.rollouts import GROUPS_OF_A_PAGE, RolloutEntry, RolloutGroup, group_names, read_group
from toolhand.console.pages import parts
from toolhand.console.pages.frame import PageContext
from toolhand.console.pages.routes import address
from toolhand.tool_nodes.results import ToolError

MOST_OVERLAID = 6
"""Trainings in one chart: as many as there are colours."""
_MOST_CHARTS = 24
"""Numbers that are drawn."""
_FIRST = ("success", "reward", "held_out", "loss", "held_out_loss", "accuracy", "entropy", "kl")
"""Numbers that are drawn before the others."""
_MOST_MESSAGES = 200
"""Messages of a conversation that are drawn: three for each turn of a usual budget, and more."""
_SMOOTHING = 0.6
"""Weight of what was before where curves are smoothed; as TensorBoard has it."""


def training_page(page: PageContext) -> None:
    """Fill the page."""
    parts.with_style()
    root, chosen = page.settings.training_dir, parts.asked_all("run")
    smooth = parts.asked("smooth") == "1"

    def read() -> tuple[list[TrainingFolder], list[tuple[str, TrainingLog]], list[str]]:
        logs: list[tuple[str, TrainingLog]] = []
        problems: list[str] = []
        found = find_trainings(root)
        trainings = [folder.name for folder in found if folder.kind == "training"]
        names = chosen or trainings[:1]
        if len(names) > MOST_OVERLAID:
            problems.append(f"The first {MOST_OVERLAID} of {len(names)} trainings are drawn.")
        for name in names[:MOST_OVERLAID]:
            try:
                log = read_log(training_folder(root, name, "training").path)
            except ToolError as error:
                problems.append(error.message)
            else:
                logs.append((name, log))
                problems += [f"{name}: {log.problem}"] if log.problem else []
        return found, logs, problems

    parts.filled(read, lambda found: _draw(*found, smooth))


def _draw(
    found: Sequence[TrainingFolder], logs: Sequence[tuple[str, TrainingLog]], problems: Sequence[str], smooth: bool
) -> None:
    drawn = [name for name, _ in logs]
    if not found:
        parts.say("There are no trainings yet: `toolhand train` writes them with --out.", testid="no-trainings")
    for problem in problems:
        parts.say(problem, "warn", "problem")
    with ui.element("div").classes("training"):
        with ui.element("section").classes("panel training-list"):
            with parts.form("/training", "trainings"):
                for folder in found:
                    if folder.kind == "training":
                        _tick("run", folder.name, folder.name, folder.name in drawn)
                _tick("smooth", "1", "smooth the curves", smooth)
                parts.submit("Draw", "draw")
            for folder in found:
                if folder.kind == "rollouts":
                    target = address("/training/rollouts", folder=folder.name)
                    parts.link(f"rollouts: {folder.name}", target, "rollouts-link", "rollouts-link")
        with ui.element("section").classes("charts"):
            with ui.element("ul").classes("legend").props('data-testid="legend"'):
                for index, name in enumerate(drawn):
                    with ui.element("li"):
                        ui.html(swatch(index), sanitize=False)
                        parts.words(name[:100])
            for metric in _metrics(logs):
                _draw_chart(metric, logs, smooth)


def _metrics(logs: Sequence[tuple[str, TrainingLog]]) -> list[str]:
    names = list(dict.fromkeys(name for _, log in logs for name in log.curves))
    order = {name: place for place, name in enumerate(_FIRST)}
    return sorted(names, key=lambda name: order.get(name, len(order)))[:_MOST_CHARTS]


def _draw_chart(metric: str, logs: Sequence[tuple[str, TrainingLog]], smooth: bool) -> None:
    curves = []
    for name, log in logs:
        points = log.curves[metric].points if metric in log.curves else ()
        curves.append((name, smoothed(points, _SMOOTHING) if smooth else points))
    with ui.element("figure").classes("panel").props('data-testid="chart"'):
        parts.words(metric, "panel-title", "figcaption")
        # SVG by a template that escapes all names: see toolhand.console.history.chart.
        ui.html(chart(metric, curves, logs[0][1].counter), sanitize=False)
        last = (f"{name[:60]}: {points[-1][1]:.4g}" for name, points in curves if points)
        parts.words("last: " + ", ".join(last), "muted", "p")


def _tick(name: str, value: str, text: str, ticked: bool) -> None:
    with ui.element("label").classes("tick-field"):
        box = ui.element("input").classes("tick")
        box.props.update({"type": "checkbox", "name": name, "value": value})
        if ticked:
            box.props["checked"] = True
        parts.words(text[:120])


def rollouts_page(page: PageContext) -> None:
    """Fill the page of a collection of rollouts, or of one of its groups."""
    parts.with_style()
    root, name, group = page.settings.training_dir, parts.asked("folder"), parts.asked("group")
    first = parts.number(parts.asked("first"))
    parts.words(f"Rollouts of {name[:200]}", classes="title", tag="h2")

    def read() -> tuple[Path, list[RolloutGroup], int]:
        folder = training_folder(root, name, "rollouts").path
        if group:
            return folder, [read_group(folder, group)], 1
        names = group_names(folder)
        return folder, [read_group(folder, each) for each in names[first : first + GROUPS_OF_A_PAGE]], len(names)

    def draw(found: tuple[Path, list[RolloutGroup], int]) -> None:
        _, groups, count = found
        for each in groups:
            if each.problem:
                parts.say(each.problem, "warn", "problem")
        if group:
            parts.link("All groups", address("/training/rollouts", folder=name), "button small")
            for rollout in groups[0].rollouts:
                _draw_rollout(name, rollout)
            return
        with ui.element("ol").classes("run-list").props('data-testid="groups"'):
            for each in groups:
                _draw_group(name, each)
        parts.pages("/training/rollouts", first, GROUPS_OF_A_PAGE, count, folder=name)

    parts.filled(read, draw)


def _draw_group(folder: str, group: RolloutGroup) -> None:
    rewards = group.rewards
    with ui.element("li").classes("run"):
        done = sum(rollout.done for rollout in group.rollouts)
        parts.words(f"{done} of {len(group.rollouts)} done", f"chip {'good' if done else 'bad'}")
        target = address("/training/rollouts", folder=folder, group=group.name)
        parts.link(group.text[:300] or group.name, target, "run-task", "group-link")
        parts.words(group.name, "muted mono")
        spread = f"reward {min(rewards):.3g} to {max(rewards):.3g}, mean {sum(rewards) / len(rewards):.3g}"
        parts.words(spread if rewards else "no rewards", "muted")


def _draw_rollout(folder: str, rollout: RolloutEntry) -> None:
    with ui.element("details").classes("panel").props('data-testid="rollout"'):
        with ui.element("summary").classes("panel-title"):
            parts.words(rollout.id, "mono")
            parts.words("done" if rollout.done else rollout.ended or "not done", f"chip {_kind(rollout)}")
            reward = "no reward" if rollout.reward is None else f"reward {rollout.reward:.3g}"
            terms = ", ".join(f"{name} {value:.3g}" for name, value in list(rollout.terms.items())[:12])
            parts.words(f"{reward} ({terms}); {rollout.turns} turns, {rollout.calls} calls", "muted")
        with ui.element("div").classes("panel-body conversation"):
            for message in rollout.messages[:_MOST_MESSAGES]:
                with ui.element("div").classes("message"):
                    parts.words(message.role or "?", "muted mono", "p")
                    shown = message.text if message.role != "system" else f"{message.text[:400]} ..."
                    parts.words(shown, "step-text", "p")
                    if message.image:
                        image = ui.element("img")
                        source = address("/history/rollouts/pictures", message.image, folder=folder)
                        image.props.update({"src": source, "alt": "Picture of the message", "loading": "lazy"})
            if len(rollout.messages) > _MOST_MESSAGES:
                parts.say(f"The first {_MOST_MESSAGES} of {len(rollout.messages)} messages are shown.")


def _kind(rollout: RolloutEntry) -> str:
    return "good" if rollout.done else "bad"
