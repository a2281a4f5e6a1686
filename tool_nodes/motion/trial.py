"""The first motion of an arm that nobody has moved yet: a little way straight up and back, always asked about."""

from __future__ import annotations

from dataclasses import replace

from toolhand.tool_nodes.geometry import shifted
from toolhand.tool_nodes.motion.guard import Mode, recorded
from toolhand.tool_nodes.motion.moves import GuardedMoves
from toolhand.tool_nodes.motion.plans import TrialPlan
from toolhand.tool_nodes.types import CollisionScene, LinearGoal

TRIAL_M = 0.02
"""Length of the first motion, straight up [m]: seen from two metres away, and shorter than the fingers are high."""

_TRIAL_SPEED = 0.2
"""Share of the allowed speed of the first motion [-]: a person can press the emergency stop during it."""


class GuardedTrials(GuardedMoves):
    """Tries the arm; arguments and errors as of `Manipulator`."""

    _last_scene: CollisionScene

    def try_motion(self) -> float:
        """Move the gripper straight up by `TRIAL_M` and back to where it was, once a person has approved.

        Returns:
            Height that was measured at the top, above where the motion began [m].

        Raises:
            ToolError: IK_FAILED, PLAN_FAILED, OUT_OF_WORKSPACE or NOT_APPROVED before anything moved; EXECUTION_FAILED,
                CONTROLLER_FAULT, STOPPED.
        """
        with self.job(), self.guard.at_least(Mode.ASK):
            plan = self._plan_trial()
            with self._permit(plan):
                up, back = plan.legs
                self._follow(up, "the way up")
                height = self._kinematics.fk(self._arm.state().q)[2, 3] - self._kinematics.fk(up.q[0])[2, 3]
                self._follow(back, "the way back")
        return float(height)

    @recorded("plan the first motion")
    def _plan_trial(self) -> TrialPlan:
        self._on_stage("planning")
        # Whatever stands around the hand, straight up leads away from it.
        scene = replace(self._last_scene, boxes=(), attached=())
        q = self._arm.state().q
        T = self._kinematics.fk(q)
        raised = shifted(T, (0.0, 0.0, TRIAL_M))
        up = self._plan(q, LinearGoal(raised), scene, _TRIAL_SPEED)
        back = self._plan(up.q[-1], LinearGoal(T), scene, _TRIAL_SPEED)
        return TrialPlan((up, back), raised, self._camera.capture())
