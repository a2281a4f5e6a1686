"""A camera that stays right when other things stand on the table; its noise can begin anew, or go on from a moment."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sim.camera.ray import CameraModel, CameraState, StampedCamera, make_camera
from sim.camera.sensor import SensorModel
from sim.scene.scenes import Scene
from sim.world import World
from tool_nodes.ports import Camera
from tool_nodes.results import invalid
from tool_nodes.types import Frame


class FollowingCamera:
    """A camera of a world as it is now: it is made again with the world's model.

    Args:
        renderer: Name of the renderer, see `sim.camera.ray.make_camera`.
        world: World that the camera sees.
        model: Calibration and pose.
        scene: Scene whose objects the ids mean in frames without labels; frames taken after other things were put into
            the world carry labels. Its lamp lights the pictures.
        seed: Seed of the sensor.
        sensor: Sensor model applied to the ideal picture.

    Raises:
        ToolError: See `sim.camera.ray.make_camera`.
    """

    def __init__(
        self, renderer: str, world: World, model: CameraModel, scene: Scene, seed: int, sensor: SensorModel
    ) -> None:
        self._renderer, self._world, self._camera_model, self._scene = renderer, world, model, scene
        self._seed, self._sensor = seed, sensor
        self._labelled: tuple[Frame, Frame] | None = None
        self._make()

    def _make(self) -> None:
        world = self._world
        self._seen = world.model
        lamp = np.asarray(self._scene.light_position_m)
        index = world.body_index
        self._camera: Camera = make_camera(
            self._renderer,
            world.model,
            world.data,
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
        frame = self._camera.capture()
        things = self._world.scene.objects
        if [placed.item for placed in things] == [placed.item for placed in self._scene.objects]:
            return frame
        if self._labelled is None or self._labelled[0] is not frame:
            self._labelled = (
                frame,
                replace(frame, labels=tuple(placed.asset.name for placed in things)),
            )
        return self._labelled[1]

    def reset(self, seed: int) -> None:
        """Be as a new one with this seed; what never moves need not be drawn again."""
        self._seed = seed
        if isinstance(self._camera, StampedCamera) and self._world.model is self._seen:
            self._camera.reset(seed)
        else:
            self._make()

    def save(self) -> CameraState:
        """What its next pictures depend on. Raises ToolError INVALID_ARGUMENT for a camera that cannot tell."""
        return self._stamped().save()

    def restore(self, state: CameraState) -> None:
        """Go on from a saved state, once its world has. Raises ToolError INVALID_ARGUMENT as `save`."""
        camera = self._stamped()
        self._seed = state.seed
        camera.restore(state)

    def _stamped(self) -> StampedCamera:
        if self._world.model is not self._seen:
            self._make()
        if not isinstance(self._camera, StampedCamera):
            raise invalid(
                f"A camera of the renderer {self._renderer!r} cannot be saved: only subclasses of "
                "sim.camera.ray.StampedCamera can.",
            )
        return self._camera
