"""Your own camera and your own arm, for the nodes of a graph: a class with the methods of the port, chosen by name.

    python examples/14_your_own_camera.py

You will see:

    the camera looks at a wall, 0.8 m away
    the arm says: the brakes are on
"""

from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from toolhand.tool_nodes.geometry import intrinsics, look_at
from toolhand.tool_nodes.results import unavailable
from toolhand.tool_nodes.stop_latch import StopLatch, StopWatch
from toolhand.tool_nodes.types import ArmState, Frame, GripperOutcome, MotionOutcome, MotionStatus, Trajectory


class WallCamera:
    """A camera in front of a grey wall, 0.8 m away."""

    def __init__(self, camera: str = "scene") -> None:  # "scene" or "wrist"
        self._camera = camera

    def capture(self) -> Frame:
        """See ports.Camera."""
        rgb, depth = np.full((240, 320, 3), 128, np.uint8), np.full((240, 320), 0.8, np.float32)
        T_base_camera = look_at([1.0, 0.0, 0.5], [0.2, 0.0, 0.5])
        return Frame(rgb, depth, intrinsics(300.0, 320, 240), T_base_camera, 0.0, self._camera)


class BrakedArm:
    """An arm whose brakes are on: it measures its joints and refuses every motion."""

    def __init__(self, joints: Any, latch: StopLatch) -> None:
        self._joints, self._latch = joints, latch

    def state(self) -> ArmState:
        """See ports.Arm."""
        reading = self._joints.wait_for(lambda reading: True, 5.0)
        if reading is None:
            raise unavailable("No joint states came within 5 s.")
        state: ArmState = reading.state
        return state

    def follow(self, trajectory: Trajectory) -> MotionOutcome:
        """See ports.Arm."""
        return MotionOutcome(MotionStatus.FAILED, "the brakes are on")

    def move_gripper(self, opening_m: float) -> GripperOutcome:
        """See ports.Arm."""
        return GripperOutcome(MotionStatus.FAILED, self.state().opening_m, False, "the brakes are on")

    def rest(self, seconds: float) -> MotionOutcome:
        """See ports.Arm."""
        return MotionOutcome(MotionStatus.FAILED, "the brakes are on")

    def stop(self) -> None:
        """See ports.Arm."""
        self._latch.set()

    def reset_stop(self) -> None:
        """See ports.Arm."""
        self._latch.clear()

    def job(self) -> AbstractContextManager[StopWatch]:
        """See ports.Arm."""
        return self._latch.job()


if __name__ == "__main__":
    print(f"the camera looks at a wall, {WallCamera().capture().depth.mean():.1f} m away")
    print("the arm says:", BrakedArm(None, StopLatch("")).rest(1.0).message)
