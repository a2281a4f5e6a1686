"""Judges episodes on a recorded frame by the points that were named: nothing moves there, so nothing else is true.

| task | terms | true where |
|---|---|---|
| pick | `grasp_point` | the last grasp, which no placement follows, closes on a pixel of the target |
| pick and place | `grasp_point`, `place_point` | and it would stand as asked, let down at the last placement's point |
| a question | its own | as the task says: it needs no motion |

Whether the grasp would hold, and what would be pushed or toppled, is unknown. There are no stages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from toolhand.sim.mock.station import MockStation
from toolhand.sim.scene.scenes import Scene
from toolhand.sim.snapshot import ObjectState, Snapshot
from toolhand.sim.tasks.pick import PickTask
from toolhand.sim.tasks.place import PlaceTask
from toolhand.sim.tasks.predicates import PlaceRelation, relation_fault
from toolhand.sim.tasks.stages import let_down
from toolhand.sim.tasks.task import History, Score, Task, Transcript
from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.geometry import project, transform
from toolhand.tool_nodes.motion.targets import ray_to_base
from toolhand.tool_nodes.results import ToolError, invalid
from toolhand.tool_nodes.types import FloatArray

_ABOVE_M = 0.1
"""An object is taken to be let down from so far above its point [m]; any height that clears the table."""


def require_judgeable(task: Task) -> None:
    """Raises ToolError INVALID_ARGUMENT for a task whose truth a recorded frame cannot show."""
    if task.holds_s and not isinstance(_inner(task), PickTask | PlaceTask):
        raise invalid(
            f"Nothing moves in a recorded frame, so nobody can judge there: {task.goal}.",
            "Give it a pick, a pick and place, or a question; or take the backend physics.",
        )


def _inner(task: Task) -> Task:
    """The task of `toolhand.sim.tasks` that another one wraps under the name `task`; itself where it wraps none."""
    inner: Task = getattr(task, "task", task)
    return inner


class PointJudge:
    """Judges one episode.

    Args:
        station: Station that the robot works at.
        scene: Scene of its frame; the ids are indices of its objects.

    Attributes:
        before: The objects as the scene has them.
        sim_time_s: No time passes there [s].
    """

    sim_time_s = 0.0

    def __init__(self, station: MockStation, scene: Scene) -> None:
        self._frame, self._robot = station.recorded.frame, station.robot
        self._scene = scene
        objects = {}
        for placed in scene.objects:
            position = np.asarray(placed.position_m, float)
            objects[placed.id] = ObjectState(placed.id, position, placed.quat_wxyz, np.zeros(6), frozenset({"table"}))
        self.before = Snapshot(0.0, objects)

    def score(self, task: Task, transcript: Transcript) -> Score:
        """What came of it. Raises ToolError INVALID_ARGUMENT as `require_judgeable`."""
        require_judgeable(task)
        goal = _inner(task)
        if not isinstance(goal, PickTask | PlaceTask):
            return task.score(self._history(), transcript)
        motions = [record.result.facts for record in transcript.records if record.result.ok and record.result.facts]
        grasps = [k for k, facts in enumerate(motions) if "grasp_pose" in facts]
        places = [facts for facts in motions[grasps[-1] if grasps else 0 :] if _places(facts)]
        grasped = self._grasped(motions[grasps[-1]]["grasp_pose"]) if grasps else None
        right = grasped in goal.target_ids
        fault = "" if right else f"the last grasp closes on {grasped or 'nothing'}"
        if isinstance(goal, PickTask):
            if right and places:
                right, fault = False, "it was put down again"
            return Score({"grasp_point": right}, right, (fault,) if fault else ())
        missed = self._place_fault(goal, grasped, places[-1]) if grasped and places else "nothing was placed"
        terms = {"grasp_point": right, "place_point": right and missed is None}
        return Score(terms, all(terms.values()), tuple(why for why in (fault, missed) if why))

    def _history(self) -> History:
        """A world in which nothing ever moves."""
        poses = {name: np.zeros((0, 7)) for name in self.before.objects}
        return History(self._scene, self._frame.T_base_camera, self.before, np.zeros(0), poses, (), self.before)

    def _grasped(self, pose: Any) -> str | None:
        """Id of the object in the image where the jaws would close; None where there is none."""
        T = np.asarray(pose, float)
        between = T[:3, 3] + self._robot.gripper.hold_depth * T[:3, 2]
        at = project(between[None], self._frame.K)[0]
        width, height = self._frame.size
        if not np.isfinite(at).all() or self._frame.ids is None:
            return None
        u, v = np.rint(at).astype(int)
        if not (0 <= u < width and 0 <= v < height):
            return None
        index = int(self._frame.ids[v, u])
        return self._scene.objects[index].id if index >= 0 else None

    def _place_fault(self, task: PlaceTask, moved: str, facts: Mapping[str, Any]) -> str | None:
        """Why the object, let down at the point, would not stand as asked; None where it would."""
        try:
            point = self._point(facts)
        except ToolError as error:
            return error.message
        (x0, x1), (y0, y1) = workspace.TABLE_X, workspace.TABLE_Y
        if not (x0 <= point[0] <= x1 and y0 <= point[1] <= y1):
            return "the point is beside the table"
        relation: PlaceRelation = task.relation
        if relation == "anywhere":
            return None
        held = replace(self.before.objects[moved], position_m=point + np.array([0.0, 0.0, _ABOVE_M]))
        down = let_down(self._scene, held, self.before.objects[task.reference_ids[0]], relation)
        placed = {**self.before.objects, moved: down}
        return relation_fault(relation, moved, task.reference_ids, self._scene, placed, self._frame.T_base_camera)

    def _point(self, facts: Mapping[str, Any]) -> FloatArray:
        """Where it was to be placed, base frame [m]. Raises ToolError NO_DEPTH."""
        if "place_point_2d" in facts:
            return ray_to_base(self._frame, np.asarray(facts["place_point_2d"], float))
        return transform(self._frame.T_base_camera, np.asarray(facts["place_point_3d"], float)[None])[0]


def _places(facts: Mapping[str, Any]) -> bool:
    return "place_point_2d" in facts or "place_point_3d" in facts
