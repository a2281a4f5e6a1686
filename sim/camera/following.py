"""A camera that stays right when other objects stand on the table; its noise can begin anew, or go on from a moment."""

from __future__ import annotations

from dataclasses import replace

import mujoco
import numpy as np

from toolhand.sim.camera.ray import CameraModel, CameraState, StampedCamera, camera_pose, make_camera
from toolhand.sim.camera.sensor import SensorModel, calibrated, latency_of, unit_of
from toolhand.sim.scene.scenes import Scene
from toolhand.sim.world import World
from toolhand.tool_nodes import geometry
from toolhand.tool_nodes.ports import Camera
from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.types import FloatArray, Frame


class FollowingCamera:
    """A camera of a world as it is now: it is made again with the world's model.

    Args:
        renderer: Name of the renderer, see `toolhand.sim.camera.ray.make_camera`.
        world: World that the camera sees.
        model: Calibration and pose.
        scene: Scene whose objects the ids mean in frames without labels; frames taken after other objects were put into
            the world carry labels. Its lamp lights the images.
        sensor: Sensor model applied to the ideal image.

    Raises:
        ToolError: See `toolhand.sim.camera.ray.make_camera`.
    """

    def __init__(
        self, renderer: str, world: World, model: CameraModel, scene: Scene, seed: int, sensor: SensorModel
    ) -> None:
        self._renderer, self._world, self._camera_model, self._scene = renderer, world, model, scene
        self._seed, self._sensor = seed, sensor
        self._labelled: tuple[Frame, Frame] | None = None
        self._late: tuple[Frame, Frame] | None = None
        self._make()

    def _make(self) -> None:
        world = self._world
        self._seen = world.model
        self._unit = unit_of(self._sensor, self._seed, self._camera_model.name)
        # What the camera sees is of a moment before; where there is no latency, it is the world itself.
        self._past = mujoco.MjData(world.model) if latency_of(self._unit) else world.data
        lamp = np.asarray(self._scene.light_position_m)
        index = world.body_index
        self._camera: Camera = make_camera(
            self._renderer,
            world.model,
            self._past,
            self._camera_model,
            index,
            sensor=self._sensor,
            seed=self._seed,
            lamp_position=lamp,
        )

    def capture(self) -> Frame:
        """See ports.Camera."""
        if self._world.model is not self._seen:
            self._make()
        self._look_back()
        frame = self._posed(self._camera.capture())
        objects = self._world.scene.objects
        if [placed.item for placed in objects] == [placed.item for placed in self._scene.objects]:
            return frame
        if self._labelled is None or self._labelled[0] is not frame:
            self._labelled = (
                frame,
                replace(frame, labels=tuple(placed.asset.name for placed in objects)),
            )
        return self._labelled[1]

    def _look_back(self) -> None:
        """Take over what the world was when the image was taken, at the time of now."""
        world, past = self._world, self._past
        if past is not world.data:
            past.qpos[:], past.time = qpos_before(world, latency_of(self._unit)), world.time
            past.mocap_pos[:], past.mocap_quat[:] = world.data.mocap_pos, world.data.mocap_quat

    def _posed(self, frame: Frame) -> Frame:
        """The late image with the pose of now: drivers stamp an image when it arrives."""
        world, model = self._world, self._camera_model
        if self._past is world.data or model.body is None or np.array_equal(self._past.qpos, world.data.qpos):
            return frame
        now = mujoco.MjData(world.model)
        now.qpos[:] = world.data.qpos
        mujoco.mj_kinematics(world.model, now)
        _, T_base_camera = calibrated(self._unit, model.K, camera_pose(world.model, now, model))
        if self._late is None or self._late[0] is not frame:
            self._late = frame, replace(frame, T_base_camera=geometry.carried(T_base_camera))
        return self._late[1]

    def reset(self, seed: int) -> None:
        """Be as a new one with this seed; what never moves need not be drawn again."""
        self._seed = seed
        delayed = latency_of(self._unit) > 0.0
        self._unit = unit_of(self._sensor, seed, self._camera_model.name)
        alike = delayed == (latency_of(self._unit) > 0.0)
        if isinstance(self._camera, StampedCamera) and self._world.model is self._seen and alike:
            self._camera.reset(seed)
        else:
            self._make()

    def save(self) -> CameraState:
        """What its next images depend on. Raises ToolError INVALID_ARGUMENT for a camera that cannot tell."""
        return self._stamped().save()

    def restore(self, state: CameraState) -> None:
        """Go on from a saved state, once its world has. Raises ToolError INVALID_ARGUMENT as `save`."""
        if state.seed != self._seed:
            self.reset(state.seed)
        camera = self._stamped()
        self._look_back()
        camera.restore(state)

    def _stamped(self) -> StampedCamera:
        if self._world.model is not self._seen:
            self._make()
        if not isinstance(self._camera, StampedCamera):
            raise invalid(
                f"A camera of the renderer {self._renderer!r} cannot be saved: only subclasses of "
                "toolhand.sim.camera.ray.StampedCamera can.",
            )
        return self._camera


def qpos_before(world: World, latency_s: float) -> FloatArray:
    """The positions (nq,) so long ago [s]: the newest logged ones that are as old, or the oldest of the log."""
    if not latency_s or not world.log:
        return world.data.qpos
    old = [qpos for time, qpos in world.log if time <= world.time - latency_s]
    return old[-1] if old else world.log[0][1]
