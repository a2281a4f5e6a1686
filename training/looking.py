"""E-ViC in miniature: by RL alone, from nothing, a policy learns that print is read in a crop and nowhere else.

    run_looking(Path("runs/looking"), seed=0)

The tools, the form of turns, the gated reward and the groups of 16 are the recipe's; tasks are `small_print`. What is
miniature is the policy: a table of log-odds, in what situation which of four moves. Its eyes are the simulator's
reader, which sees an overview of 1024 px and reads print of 9 px and more there: names of packages, no lot number.
E-ViC's own finding is what it is for: a mark anywhere pays as much as a look that tells nothing, so the gate alone
teaches a call, and only the answer's reward teaches the right one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from agent_node.calls import ToolCall
from agent_node.console.terminal import say
from agent_node.protocol import load_protocol
from agent_node.runs.folder import write_json
from sim.drawings.text_truth import SimTextReader
from sim.station import StationConfig
from tool_nodes import plain_json
from tool_nodes.files import NOTES_BYTES, read_file
from tool_nodes.results import ErrorCode, ToolError
from tool_nodes.toolbox.images import SessionImage
from tool_nodes.types import FloatArray
from training.advantages.grpo import grpo
from training.env.environment import Environment
from training.env.session import EpisodeSession
from training.recipes import recipe_named
from training.tasks.kinds import make_task
from training.tasks.question import QuestionTask

MOVES = ("zoom on what is asked for", "zoom on something else", "mark a point", "answer")
LOOKS = 3
"""Situations by calls so far: none, one, more [-]."""
SITUATIONS = 2 * LOOKS
"""And by whether a lot number has been read [-]."""
RATE = 2.0
"""Of the log-odds, for an advantage of 1 in every rollout [-]; chosen by hand."""
TURNS = 5
"""Assistant turns; E-ViC, 4.2."""
REGION = (0.03, 0.02, 0.29, 0.42)
"""What is zoomed in on: this far left of and above a name, so wide and high [picture]; a package of the shelf."""
PROGRESS, RESULT = "progress.json", "result.json"
"""Files of a run, in its folder."""

_KIND = "small_print"
_LOT = re.compile(r"\b([A-Z]\d-\d{4})\b")
_STREAM = 71
"""Keeps these random numbers apart from others of the same seed."""


@dataclass(frozen=True)
class LookingSettings:
    """What decides a run.

    Attributes:
        seed: Of tasks and samples.
        iterations: Updates.
        groups: Tasks of each.
        group: Rollouts of a task; E-ViC, 4.2.
        evaluated: Tasks of the validation split on which it is measured.

    Raises:
        ToolError: INVALID_ARGUMENT for a number below what makes sense.
    """

    seed: int = 0
    iterations: int = 12
    groups: int = 2
    group: int = 16
    evaluated: int = 12

    def __post_init__(self) -> None:
        for name, least in {"seed": 0, "iterations": 1, "groups": 1, "group": 2, "evaluated": 1}.items():
            if getattr(self, name) < least:
                raise ToolError(
                    ErrorCode.INVALID_ARGUMENT, f"{name} must be {least} or more, got {getattr(self, name)}."
                )


@dataclass(frozen=True)
class LookRollout:
    """One rollout.

    Attributes:
        steps: (situation, move) of each turn.
        reward: Of the recipe.
        right: The answer was the lot number.
    """

    steps: tuple[tuple[int, int], ...]
    reward: float
    right: bool


class LookingTasks:
    """Opens tasks of print, each with the picture that the policy's eyes read."""

    def __init__(self) -> None:
        self.protocol = load_protocol("evic")
        config = StationConfig(suites=("evic",), image_size=(160, 120), sleep=True)
        self._environment = Environment(config, turn_budget=TURNS, protocol=self.protocol, grader=recipe_named("evic"))
        self._eyes = SimTextReader()

    def group(
        self, seed: int, split: str, odds: FloatArray, rng: np.random.Generator, size: int
    ) -> Iterator[LookRollout]:
        """Rollouts of one task from one moment on; a single one takes the likeliest moves.

        Args:
            seed, split: Of the task.
            odds: Log-odds (SITUATIONS, MOVES).
            rng: Of the moves.
            size: Rollouts.
        """
        task = make_task(_KIND, seed, split)
        assert isinstance(task, QuestionTask)
        assert task.drawing is not None
        frame = task.drawing()
        shown = SessionImage(frame.rgb, frame)
        with self._environment.open(task, seed) as first:
            moment = first.save()
        for rollout in range(size):
            with self._environment.go_on(moment, rollout) as session:
                yield self._played(session, shown, task.asked[0], odds, rng if size > 1 else None)

    def close(self) -> None:
        """End the environment."""
        self._environment.close()

    def _played(
        self,
        session: EpisodeSession,
        shown: SessionImage,
        asked: str,
        odds: FloatArray,
        rng: np.random.Generator | None,
    ) -> LookRollout:
        names = {span.text: span.box for span in self._eyes.read(shown).value}
        steps: list[tuple[int, int]] = []
        lot = ""
        while not session.done:
            situation = min(len(steps), LOOKS - 1) + LOOKS * bool(lot)
            move = _chosen(odds[situation], rng)
            steps.append((situation, move))
            if MOVES[move] == "answer":
                session.say(self.protocol.render_turn("That is it.", (), lot or "unknown"))
                continue
            call = _call(MOVES[move], names, asked, shown.size)
            said = session.say(self.protocol.render_turn("I look closer.", [call]))
            if call.name == "image_zoom_in" and said.error_code is None:
                lot = self._lot(shown.cropped(*call.arguments["bbox_2d"])) or lot
        score = session.score()
        return LookRollout(tuple(steps), score.total, score.truth.success)

    def _lot(self, crop: SessionImage) -> str:
        found = _LOT.search(" ".join(span.text for span in self._eyes.read(crop).value))
        return found[1] if found else ""


def _chosen(odds: FloatArray, rng: np.random.Generator | None) -> int:
    if rng is None:
        return int(np.argmax(odds))
    return int(rng.choice(len(odds), p=shares(odds)))


def shares(odds: FloatArray) -> FloatArray:
    """Probabilities (..., MOVES) of log-odds."""
    weights = np.exp(odds - odds.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def _call(move: str, names: Mapping[str, Any], asked: str, size: tuple[int, int]) -> ToolCall:
    width, height = size
    if move == "mark a point":
        return ToolCall("draw_point", {"image_idx": 0, "points": [[width // 2, height // 2]]})
    others = sorted(name for name in names if name != asked)
    box = names.get(asked) if move == MOVES[0] or not others else names[others[0]]
    left, top = (0.0, 0.0) if box is None else (box[0] - REGION[0] * width, box[1] - REGION[1] * height)
    left, top = max(round(left), 0), max(round(top), 0)
    right, bottom = min(left + round(REGION[2] * width), width), min(top + round(REGION[3] * height), height)
    return ToolCall("image_zoom_in", {"image_idx": 0, "bbox_2d": [left, top, right, bottom]})


def improved(odds: FloatArray, groups: list[list[LookRollout]], rate: float = RATE) -> FloatArray:
    """One step of GRPO on the log-odds: the gradient of sum A_i log p over rollouts, by their number.

    Args:
        odds: (SITUATIONS, MOVES).
        groups: Rollouts, those of a task together.
        rate: Of the step.
    """
    gradient, chances = np.zeros_like(odds), shares(odds)
    for group in groups:
        for look, advantage in zip(group, grpo([look.reward for look in group]), strict=True):
            for situation, move in look.steps:
                gradient[situation] -= advantage * chances[situation]
                gradient[situation, move] += advantage
    return np.asarray(odds + rate * gradient / sum(map(len, groups)))


def run_looking(folder: Path, settings: LookingSettings | None = None) -> Mapping[str, Any]:
    """Train, with a line after each update; goes on where it was broken off, to the same numbers.

    Args:
        folder: A new one, or one of the same run.
        settings: What decides the run.

    Returns:
        What FOLDER/result.json holds: "log", a line an update; "greedy", {"right", "of"} of the validation split by the
        likeliest moves; "policy", situation -> move -> probability.

    Raises:
        ToolError: INVALID_ARGUMENT for a folder of another run or of other things; UNAVAILABLE where it cannot be
            written.
    """
    settings = settings or LookingSettings()
    odds, log = _claimed(folder, settings)
    tasks = LookingTasks()
    try:
        for iteration in range(len(log), settings.iterations):
            rng = np.random.default_rng((settings.seed, _STREAM, iteration))
            first = (settings.seed * settings.iterations + iteration) * settings.groups
            groups = [list(tasks.group(first + k, "train", odds, rng, settings.group)) for k in range(settings.groups)]
            odds = improved(odds, groups)
            log.append(_line(iteration, [look for group in groups for look in group]))
            say(
                "update {iteration}: reward {reward:.2f}, right {right:.0%}, first move a zoom {looked:.0%}".format(
                    **log[-1]
                )
            )
            write_json(folder / PROGRESS, {"settings": asdict(settings), "odds": odds.tolist(), "log": log})
        greedy = _measured(tasks, settings, odds)
    finally:
        tasks.close()
    policy = {_said(k): dict(zip(MOVES, np.round(row, 3).tolist(), strict=True)) for k, row in enumerate(shares(odds))}
    result = {"recipe": "evic", "seed": settings.seed, "greedy": greedy, "log": log, "policy": policy}
    write_json(folder / RESULT, result)
    say(f"right by the likeliest moves: {greedy['right']} of {greedy['of']}")
    return result


def _claimed(folder: Path, settings: LookingSettings) -> tuple[FloatArray, list[dict[str, Any]]]:
    """The log-odds and the log so far."""
    path = folder / PROGRESS
    if path.exists():
        try:
            there = plain_json.load(read_file(path, NOTES_BYTES, folder))
            if there["settings"] == asdict(settings):
                return np.array(there["odds"], float).reshape(SITUATIONS, len(MOVES)), list(there["log"])
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise ToolError(ErrorCode.INVALID_ARGUMENT, f"{path} cannot be read: choose a new folder.") from error
        raise ToolError(ErrorCode.INVALID_ARGUMENT, f"{folder} holds a run of other settings: choose a new folder.")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ToolError(ErrorCode.INVALID_ARGUMENT, f"{folder} holds other things: choose a new folder.")
    return np.zeros((SITUATIONS, len(MOVES))), []


def _line(iteration: int, looks: list[LookRollout]) -> dict[str, Any]:
    return {
        "iteration": iteration,
        "reward": float(np.mean([look.reward for look in looks])),
        "right": float(np.mean([look.right for look in looks])),
        "looked": float(np.mean([look.steps[0][1] == 0 for look in looks])),
        "turns": float(np.mean([len(look.steps) for look in looks])),
    }


def _measured(tasks: LookingTasks, settings: LookingSettings, odds: FloatArray) -> dict[str, int]:
    rng = np.random.default_rng(0)
    looks = [look for k in range(settings.evaluated) for look in tasks.group(k, "validation", odds, rng, 1)]
    return {"right": sum(look.right for look in looks), "of": len(looks)}


def _said(situation: int) -> str:
    calls = ("no call", "one call", "more calls")[situation % LOOKS]
    return f"{calls}, {'a' if situation >= LOOKS else 'no'} lot number read"
