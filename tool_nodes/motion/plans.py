"""Plans that were shown to somebody and may be run later, as long as they still fit the world."""

from __future__ import annotations

import uuid
from collections import OrderedDict
from dataclasses import dataclass

import numpy as np

from tool_nodes.motion.manipulation import GraspPlan, PlacePlan
from tool_nodes.motion.targets import HeldObject
from tool_nodes.results import ErrorCode, ToolError
from tool_nodes.types import FloatArray, Frame

KEPT = 8
SAME_CONFIGURATION = 0.01
"""The arm counts as moved when a joint is further away than this [rad]."""

CHANGED_DEPTH = 0.015
CHANGED_BLOCKS = 2
BLOCK_PX = 8
"""The scene counts as changed when more than CHANGED_BLOCKS squares of BLOCK_PX pixels lie further away or nearer than
CHANGED_DEPTH [m]; the median over a square leaves no noise."""

Plan = GraspPlan | PlacePlan


@dataclass(frozen=True)
class _Kept:
    plan: Plan
    frame: Frame
    q: FloatArray
    held: HeldObject | None


class PlanBook:
    """The newest plans, each by an id, to be run once."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    def keep(self, plan: Plan, frame: Frame, q: FloatArray, held: HeldObject | None) -> str:
        """Remember a plan that was made with this picture, configuration (7,) [rad] and held object; its id."""
        plan_id = uuid.uuid4().hex
        self._kept[plan_id] = _Kept(plan, frame, q, held)
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return plan_id

    def take(self, plan_id: str, kind: type[Plan], frame: Frame, q: FloatArray, held: HeldObject | None) -> Plan:
        """The plan of an id, which is forgotten, if the world is as it was; arguments as of `keep`, but now.

        Raises:
            ToolError: INVALID_ARGUMENT for an id that is not known; PLAN_FAILED where something has changed.
        """
        kept = self._kept.get(plan_id)
        if kept is None or not isinstance(kept.plan, kind):
            raise ToolError(
                ErrorCode.INVALID_ARGUMENT,
                f"No plan of this action has the plan_id {plan_id[:64]!r}; the newest {KEPT} are kept, and run once.",
                "Plan anew.",
            )
        del self._kept[plan_id]
        if float(np.abs(kept.q - q).max()) > SAME_CONFIGURATION or kept.held is not held:
            raise ToolError(ErrorCode.PLAN_FAILED, "The arm has moved since the plan was made.", "Plan anew.")
        if changed(kept.frame, frame):
            raise ToolError(ErrorCode.PLAN_FAILED, "The scene has changed since the plan was made.", "Plan anew.")
        return kept.plan


def changed(before: Frame, after: Frame) -> bool:
    """True if two pictures of one camera show different scenes."""
    if before.depth.shape != after.depth.shape or not np.allclose(before.T_base_camera, after.T_base_camera, atol=1e-3):
        return True
    difference = np.abs(_blocks(before) - _blocks(after))
    return int((difference > CHANGED_DEPTH).sum()) > CHANGED_BLOCKS


def _blocks(frame: Frame) -> FloatArray:
    """Median depth of squares of pixels [m]; unknown depth counts as 0."""
    h, w = (size - size % BLOCK_PX for size in frame.depth.shape)
    depth = np.nan_to_num(frame.depth[:h, :w]).reshape(h // BLOCK_PX, BLOCK_PX, w // BLOCK_PX, BLOCK_PX)
    blocks: FloatArray = np.median(depth.transpose(0, 2, 1, 3).reshape(h // BLOCK_PX, w // BLOCK_PX, -1), axis=-1)
    return blocks
