"""A path that meets something between the points that its planner checked is asked for once more, with more room."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from toolhand.tool_nodes.motion.collision import Checker
from toolhand.tool_nodes.motion.limits import between
from toolhand.tool_nodes.motion.scene_model import SceneModels
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import CollisionScene, FloatArray, Trajectory

CUT_OFF = 0.002
"""What cubics between samples 0.1 s apart may leave a path by [m]: 1.1 mrad in the middle of a swing, 0.5 m from the
joint, and rounded up to the clearance of the embedded planner's search."""


def with_room(
    q: FloatArray, scene: CollisionScene, models: SceneModels, ask: Callable[[CollisionScene], Trajectory]
) -> Trajectory:
    """A path from q (n,) among obstacles, which are larger by the second time where it meets one after all.

    Args:
        q: Where it begins [rad].
        scene: Obstacles.
        models: Models of scenes.
        ask: Plans among obstacles.

    Raises:
        ToolError: What `ask` raises.
    """
    path = ask(scene)
    if Checker(models.of(scene), q).path_free(between(path)):
        return path
    try:
        return ask(replace(scene, margin=scene.margin + CUT_OFF))
    except ToolError as error:
        if error.code is not ErrorCode.PLAN_FAILED:
            raise
        return path  # the check of all planners' answers says what it meets
