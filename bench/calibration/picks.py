"""Picks by a scene camera whose pose is calibrated, beside the same picks by its true pose."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from toolhand.bench.grasp.calls import grasp_by_tools
from toolhand.sim.camera.ray import CameraModel
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.station import Station, StationConfig
from toolhand.tool_nodes.geometry import carried
from toolhand.tool_nodes.ports import Camera
from toolhand.tool_nodes.types import FloatArray, Frame

_LIFTED_M = 0.03
"""An object whose origin has risen by this is lifted [m]; a round figure above what a nudge does."""


@dataclass(frozen=True)
class PickJob:
    """A scene, and the calibration.

    Attributes:
        seed: Seed of scene and station.
        offset: (16,) true camera to calibrated camera (4, 4), row by row.
    """

    seed: int
    offset: tuple[float, ...]


@dataclass(frozen=True)
class PickRecord:
    """Why each pick failed; "" where the object is in the hand by the simulator's truth."""

    seed: int
    true: str
    calibrated: str


class _Believed:
    """A camera whose images are true, and whose pose is the calibrated one."""

    def __init__(self, camera: Camera, offset: FloatArray) -> None:
        self._camera, self._offset = camera, offset
        self._last: tuple[Frame, Frame] | None = None

    def capture(self) -> Frame:
        """See ports.Camera; the same image gives the same frame."""
        frame = self._camera.capture()
        if self._last is None or self._last[0] is not frame:
            self._last = frame, replace(frame, T_base_camera=carried(frame.T_base_camera @ self._offset))
        return self._last[1]


class _CalibratedStation(Station):
    """A station whose scene camera is where a calibration says."""

    offset = np.eye(4)

    def make_camera(self, model: CameraModel) -> Camera:
        """See Station."""
        camera = super().make_camera(model)
        return _Believed(camera, self.offset) if model.name == "scene" else camera


def pick(job: PickJob) -> PickRecord:
    """Pick the same object of the same scene twice."""
    offset = np.reshape(job.offset, (4, 4))
    return PickRecord(job.seed, _pick(job.seed, np.eye(4)), _pick(job.seed, offset))


def _pick(seed: int, offset: FloatArray) -> str:
    scene = generate_scene(seed)
    index = int(np.random.default_rng((seed, 4)).integers(len(scene.objects)))
    kind = type("CalibratedStation", (_CalibratedStation,), {"offset": offset})
    station: Station = kind(scene, StationConfig(seed=seed))
    item = scene.objects[index].id
    before = station.world.snapshot().objects[item].position_m[2]
    error = grasp_by_tools(station, index)
    if error is not None:
        return str(error.code)
    now = station.world.snapshot().objects[item]
    held = "gripper" in now.touching and now.position_m[2] > before + _LIFTED_M
    return "" if held else "not in the hand"
