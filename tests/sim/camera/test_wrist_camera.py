"""The camera on the bracelet moves with the arm and sees what is below it."""

import numpy as np

from sim.scene.files import EXAMPLE_SCENE, load_scene
from sim.station import Station, StationConfig
from tests.gen3 import NAMED_STATES
from tool_nodes.geometry import matrix_from_quat_wxyz, rotation_angle
from tool_nodes.motion.kinematics import Kinematics


def test_the_wrist_camera_looks_along_the_gripper_and_sees_the_table() -> None:
    station = Station(load_scene(EXAMPLE_SCENE))
    frame = station.wrist_camera.capture()
    T_base_gripper = Kinematics().fk(NAMED_STATES["Park"])
    assert frame.camera == "wrist"
    assert np.linalg.norm(frame.T_base_camera[:3, 3] - T_base_gripper[:3, 3]) < 0.06
    assert frame.T_base_camera[2, 2] < -0.99
    assert frame.ids is not None
    assert len(np.unique(frame.ids[frame.ids >= 0])) >= 3
    body = station.world.data.body("camera_color_frame")
    assert rotation_angle(frame.T_base_camera[:3, :3], matrix_from_quat_wxyz(body.xquat)) < 1e-6


def test_pixel_perception_gets_no_ids_from_either_camera() -> None:
    station = Station(load_scene(EXAMPLE_SCENE), StationConfig(perception="pixels"))
    assert station.camera.capture().ids is None
    assert station.wrist_camera.capture().ids is None
    assert station.camera.capture() is station.camera.capture()
