"""What a free sentence asks for in a true scene, as the scripted policy's own parser reads it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from agent_node.policies.scripted.commands import parse_command
from sim.tasks.judge import Goal, JudgedStation, held_ids
from sim.tasks.predicates import PlaceRelation
from tool_nodes.catalogue import load_catalogue
from tool_nodes.language.referring import refer
from tool_nodes.results import ToolError
from tool_nodes.types import ObjectView

OWN_READING = "the robot's own reading of the sentence, not independent"
TASK_GOAL = "the task's own goal"


@dataclass(frozen=True)
class Basis:
    """What an episode is judged against.

    Attributes:
        goal: None where the sentence asks for nothing that is there.
        source: Whose goal it is: OWN_READING or TASK_GOAL.
        problem: Why there is no goal; empty where there is one.
    """

    goal: Goal | None
    source: str
    problem: str = ""

    def document(self) -> dict[str, str]:
        """The basis as `result.json` has it."""
        return {"goal": str(self.goal) if self.goal else f"nothing: {self.problem}", "source": self.source}


def true_views(station: JudgedStation) -> list[ObjectView]:
    """The scene's objects as a perfect observer would describe them, in the order of `scene.objects`."""
    camera = station.scene_camera()
    T_camera_base = np.linalg.inv(camera.T_base_camera)
    width, height = camera.size
    views = []
    snapshot = station.world.snapshot()
    for placed in station.scene.objects:
        item = load_catalogue()[placed.item]
        position = snapshot.objects[placed.id].position_m
        x, y, z = (T_camera_base @ np.append(position, 1.0))[:3]
        u, v = (camera.K @ (x / z, y / z, 1.0))[:2]
        views.append(
            ObjectView(
                name=item.name,
                kind=item.kind,
                colour=item.colour,
                synonyms=tuple(item.synonyms),
                categories=tuple(item.categories),
                attributes=tuple(item.attributes),
                point=(float(u / width), float(v / height)),
                position_m=position,
                size_m=np.asarray(item.size_m, float),
                container=item.container,
            )
        )
    return views


def goal_from_text(text: str, station: JudgedStation) -> Basis:
    """What a sentence asks for in the true scene, as the scripted policy's own parser reads it.

    "Put it down" means what the gripper holds now. A parser that errs here errs in the policy too: where a task has a
    goal of its own, that is what to judge against.
    """
    views = true_views(station)
    ids = [placed.id for placed in station.scene.objects]
    try:
        command = parse_command(text)
        if command.target is None:
            targets = tuple(sorted(held_ids(station.world.snapshot())))
        else:
            targets = tuple(ids[i] for i in refer(command.target.text, views))
        references = tuple(ids[i] for phrase in command.references for i in refer(phrase.text, views))
    except ToolError as error:
        return Basis(None, OWN_READING, error.message)
    if not targets:
        return Basis(None, OWN_READING, "the command names no object, and the gripper held none at its start.")
    return Basis(Goal(targets, cast(PlaceRelation | None, command.relation), references), OWN_READING)
