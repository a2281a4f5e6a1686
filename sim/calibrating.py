"""A simulated station with a board, for a calibration whose truth is known."""

from __future__ import annotations

from toolhand.sim.camera.painted_board import BoardCamera, PaintedBoard
from toolhand.sim.camera.ray import camera_pose, wrist_camera
from toolhand.sim.station import Station
from toolhand.sim.world import World
from toolhand.tool_nodes.calibration.viewpoints import Arrangement
from toolhand.tool_nodes.geometry import pose
from toolhand.tool_nodes.types import FloatArray

BLUR_PX, NOISE = 0.6, 2.0
"""Blur [px] and noise [grey levels] of the images, standard deviations: a rectified image of a small sensor."""


def hand_pose(world: World) -> FloatArray:
    """T_base_gripper (4, 4) by the simulator."""
    body = world.data.body(world.robot.tip_frame)
    return pose(body.xmat.reshape(3, 3), body.xpos)


def board_camera(station: Station, said: Arrangement, painted: PaintedBoard) -> BoardCamera:
    """The camera of a station that is calibrated, with the board in its images where it is said to be.

    The board stands for itself alone: it has no weight and touches nothing.
    """
    size = station.config.image_size
    model = wrist_camera(station.robot, size) if said.on_hand else station.scene_camera()
    world = station.world
    return BoardCamera(
        station.wrist_camera if said.on_hand else station.camera,
        painted,
        model.K,
        lambda: camera_pose(world.model, world.data, model),
        lambda: said.Z if said.on_hand else hand_pose(world) @ said.Z,
        BLUR_PX,
        NOISE,
        station.config.seed,
    )
