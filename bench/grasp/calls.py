"""The calls of a grasp by the tools alone, without an agent, and what the simulator knows of an image and the hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from toolhand.sim.station import CameraWithoutIds, Station
from toolhand.sim.world import World
from toolhand.tool_nodes.perception.masks import inner_point
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.toolbox.toolbox import CallRecord, Session
from toolhand.tool_nodes.types import FloatArray, Frame

SEGMENT, COMPUTE, EXECUTE = "sam2.segment_from_point", "grasp_generator.compute_grasp", "robot.execute_grasp"
"""Names of the tools whose calls are measured."""
LOOK = "robot.look_closer"
"""Name of the tool that takes the second view."""


def middle_of(ids: NDArray[np.int32], index: int) -> tuple[float, float] | None:
    """Normalized point (x, y) in the middle of the visible pixels of an object, farthest from their outline; None where
    hidden.

    Args:
        ids: (H, W) indices of objects.
    """
    mask = ids == index
    return inner_point(mask) if mask.any() else None


def in_hand(world: World, item: str) -> FloatArray:
    """Pose (4, 4) of an object in the robot's tip frame [m]."""
    hand, body = (world.data.body(name) for name in (world.robot.tip_frame, item))
    R = hand.xmat.reshape(3, 3).T
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R @ body.xmat.reshape(3, 3), R @ (body.xpos - hand.xpos)
    return T


def true_ids(station: Station, frame: Frame) -> NDArray[np.int32]:
    """(H, W) index into `station.world.scene.objects` of what each pixel of an image truly shows, -1 elsewhere.

    Args:
        station: Where the image was taken.
        frame: One of its latest images, as the tools have it.
    """
    camera = station.wrist_camera if frame.camera == "wrist" else station.camera
    ids = (camera.with_ids(frame) if isinstance(camera, CameraWithoutIds) else frame).ids
    if ids is None:
        raise ToolError(ErrorCode.INTERNAL, "The simulator keeps no ids of this picture.")
    return ids


class ToolCalls:
    """Calls of tools that belong together.

    Attributes:
        session: Variables and images that the calls have collected.
        outlined: Index of the image that the newest mask is of.
        newest: Index of the newest image that `look` has taken.
    """

    def __init__(self, station: Station) -> None:
        self.station = station
        self.session = Session()
        self.outlined = self.newest = 0

    def call(self, name: str, **arguments: object) -> CallRecord:
        """Call one tool. Raises the ToolError of its result."""
        if name == SEGMENT:
            self.outlined = int(str(arguments["image_index"]))
        record = self.station.toolbox.call(name, arguments, self.session)
        if record.result.error is not None:
            raise record.result.error
        return record

    def look(self) -> Frame:
        """Take an image and its cloud. Raises ToolError as `call`."""
        self.newest = self.call("robot.capture_image").image_index or 0
        self.call("robot.get_depth_with_pointcloud")
        frame = self.session.newest_frame()
        assert frame is not None
        return frame

    def compute_grasp(self) -> CallRecord:
        """Ask for a grasp of the newest mask. Raises ToolError as `call`."""
        return self.call(
            COMPUTE,
            point_cloud="$point_cloud",
            mask="$segmentation_mask",
            focal_length_px="$focal_length_px",
            image_index=self.outlined,
        )

    def grasp(self, point: Callable[[Frame], tuple[float, float]]) -> CallRecord:
        """Look, segment, compute_grasp, execute_grasp: the record of the last.

        Args:
            point: Function that gives a normalized point on the object for the image that was taken.

        Raises:
            ToolError: The error of the first call that fails, and what `point` raises.
        """
        x, y = point(self.look())
        self.call(SEGMENT, x=x, y=y, image_index=self.newest)
        self.compute_grasp()
        return self.call(EXECUTE, grasp_pose="$grasp_pose")

    def grasp_closer(self, point: Callable[[Frame], tuple[float, float]]) -> CallRecord:
        """As `grasp`, by what the camera at the wrist sees of the place. Raises ToolError as `grasp`."""
        record = self.call("robot.capture_image")
        frame = self.session.newest_frame()
        assert frame is not None
        looked = self.call(LOOK, point=list(point(frame)), image_index=record.image_index)
        x, y = looked.result.value["point"]
        assert looked.image_index is not None
        self.call(SEGMENT, x=x, y=y, image_index=looked.image_index)
        self.compute_grasp()
        return self.call(EXECUTE, grasp_pose="$grasp_pose")


def grasp_by_tools(station: Station, index: int) -> ToolError | None:
    """Grasp the object of this index by the tools alone, pointed at in the middle of what is seen of it.

    Returns:
        What the tools reported; None for success.
    """

    def point(frame: Frame) -> tuple[float, float]:
        found = middle_of(true_ids(station, frame), index)
        if found is None:
            raise ToolError(ErrorCode.OBJECT_NOT_FOUND, "The object is hidden from the camera.")
        return found

    try:
        ToolCalls(station).grasp(point)
    except ToolError as error:
        return error
    return None
