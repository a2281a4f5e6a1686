"""Makes a task of a free sentence, as the scripted policy's own parser reads it in the true scene."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, cast

import numpy as np

from agent_node.policies.scripted.commands import parse_command
from sim.scene.scenes import Scene
from sim.tasks.judge import JudgedStation
from sim.tasks.predicates import PlaceRelation
from sim.tasks.task import History, Score, Task, Transcript, held_ids
from sim.tasks.tasks import task_of
from tool_nodes.language.referring import refer
from tool_nodes.results import ToolError
from tool_nodes.types import ObjectView

OWN_READING = "the robot's own reading of the sentence, not independent"


@dataclass(frozen=True)
class UnreadTask:
    """A sentence that asks for nothing that is there; nothing that is done about it is right.

    Attributes:
        text: What the operator says.
        scene: The table before.
        problem: Why it has no meaning here.
    """

    text: str
    scene: Scene
    problem: str
    source: str = OWN_READING
    holds_s: ClassVar[tuple[float, ...]] = (0.1,)

    @property
    def goal(self) -> str:
        """See Task."""
        return f"nothing: {self.problem}"

    def score(self, history: History, transcript: Transcript) -> Score:
        """See Task."""
        return Score({"picked": False}, False, ("the command means nothing in this scene",))


def true_views(station: JudgedStation) -> list[ObjectView]:
    """The scene's objects as a perfect observer would describe them, in the order of `scene.objects`."""
    camera = station.scene_camera()
    T_camera_base = np.linalg.inv(camera.T_base_camera)
    width, height = camera.size
    views = []
    snapshot = station.world.snapshot()
    for placed in station.scene.objects:
        item = placed.asset
        position = snapshot.objects[placed.id].position_m
        x, y, z = (T_camera_base @ np.append(position, 1.0))[:3]
        u, v = (camera.K @ (x / z, y / z, 1.0))[:2]
        views.append(item.seen((float(u / width), float(v / height)), position, np.asarray(item.size_m, float)))
    return views


def task_from_text(text: str, station: JudgedStation) -> Task:
    """The task of a free sentence in the true scene, as the scripted policy's own parser reads it.

    "Put it down" means what the gripper holds now. A parser that errs here errs in the policy too, so the task says
    that its goal is the robot's own reading: where a task was there before its sentence, use that one.
    """
    scene = station.scene
    views = true_views(station)
    ids = [placed.id for placed in scene.objects]
    try:
        command = parse_command(text)
        if command.target is None:
            targets = tuple(sorted(held_ids(station.world.snapshot())))
            named = {ids[i] for i in refer(command.held_as.text, views)} if command.held_as else set(targets)
            if targets and not named & set(targets):
                return UnreadTask(text, scene, "what the gripper holds is called otherwise.")
        else:
            targets = tuple(ids[i] for i in refer(command.target.text, views))
        references = tuple(ids[i] for phrase in command.references for i in refer(phrase.text, views))
    except ToolError as error:
        return UnreadTask(text, scene, error.message)
    if not targets:
        return UnreadTask(text, scene, "the command names no object, and the gripper held none at its start.")
    most = {"in": 1, "on": 1, "between": 2}.get(command.relation or "", len(references))
    if len(references) != most:
        return UnreadTask(
            text, scene, f"a place {command.relation} something is one to {most}, not to {len(references)}."
        )
    if command.relation == "in" and not scene.find(references[0]).asset.container:
        return UnreadTask(text, scene, f"nothing fits in the {scene.find(references[0]).item}.")
    task = task_of(text, scene, targets, cast(PlaceRelation | None, command.relation), references)
    return replace(task, source=OWN_READING)
