"""Calibrations in a graph: published where the files have the cameras, and poses that a person takes."""

import datetime
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rclpy.parameter import Parameter
from rclpy.time import Time
from tf2_ros import Buffer, StaticTransformBroadcaster, TransformListener

from tests.gen3 import GEN3
from tests.tool_nodes.calibration.test_files import MADE
from toolhand.agent_node.ros.calibrating import take
from toolhand.bench.calibration.rig import Rig
from toolhand.tool_nodes.calibration.files import write_calibration
from toolhand.tool_nodes.geometry import pose, rotation_z
from toolhand.tool_nodes.results import ToolError, unavailable
from toolhand.tool_nodes.ros.bringup.cameras import dates_of
from toolhand.tool_nodes.ros.calibrated_frames import CalibratedFrames, declare_calibrations, transform_message
from toolhand.tool_nodes.ros.messages import rigid
from toolhand.tool_nodes.types import FloatArray, PoseGoal


def test_a_camera_is_published_where_its_file_has_it_once_its_driver_is_there(make_node: Any, wait_until: Any) -> None:
    node = make_node("calibrated")
    buffer = Buffer(node=node)
    TransformListener(buffer, node)
    frames = CalibratedFrames(node, [MADE], buffer)
    below = pose(rotation_z(0.7), [0.01, 0.06, 0.0])
    driver = StaticTransformBroadcaster(node)
    driver.sendTransform(transform_message(below, MADE.link, MADE.frame))
    wait_until(lambda: buffer.can_transform(MADE.parent, MADE.frame, Time()), "the camera hangs on the base")
    found = buffer.lookup_transform(MADE.parent, MADE.frame, Time()).transform
    p, q = found.translation, found.rotation
    np.testing.assert_allclose(rigid((p.x, p.y, p.z), (q.w, q.x, q.y, q.z)), MADE.T, atol=1e-9)
    assert not frames._waiting


def test_files_that_cannot_be_used_end_a_node_with_one_sentence(make_node: Any, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("scene.yaml", "again.yaml", "other.yaml")]
    for path, made in zip(
        files, (MADE, MADE, replace(MADE, robot="jaco2_j2s7s300", description="0" * 16)), strict=True
    ):
        write_calibration(path, made)
    scene, again, other = files
    for name, text, words in (
        ("twice", f"{scene}, {again}", "one file for each camera"),
        ("foreign", f"{other}", "is of the robot jaco2_j2s7s300"),
        ("absent", f"{tmp_path / 'none.yaml'}", "cannot be read"),
    ):
        node = make_node(name, parameter_overrides=[Parameter("calibration", value=text)])
        with pytest.raises(ToolError, match=words):
            declare_calibrations(node, GEN3)


def test_the_doctor_dates_calibrations(tmp_path: Path) -> None:
    path = tmp_path / "scene.yaml"
    write_calibration(path, MADE)
    assert dates_of("") == "no calibration is given"
    write_calibration(path, replace(MADE, date=datetime.date(2001, 1, 1)))
    with pytest.raises(ToolError, match="A calibration is old: the scene camera of gen3, made on 2001-01-01"):
        dates_of(str(path))


def test_a_person_takes_poses_by_enter_and_is_told_of_those_that_were_none(capsys: pytest.CaptureFixture[str]) -> None:
    rig = Rig("wrist", 0)
    home = GEN3.named_states["Home"]
    shown = iter(rig.said.views(rig.model.K, rig.model.size))
    good = rig.planner.plan(home, PoseGoal(next(shown)), rig.said.scene()).q[-1]
    # the camera is asked once for its size; then the arm is not at rest, moves during an image, sees nothing, and sees
    # the board
    reads = iter([home, None, home, home, home + 0.01, home, home, home, good, good, good, good])
    where = iter([home, home, GEN3.park, good])

    def capture() -> object:
        rig.put(next(where))
        return rig.camera.capture()

    def read() -> FloatArray:
        if (q := next(reads)) is None:
            raise unavailable("The arm is not at rest: joint_2 moves.")
        return q

    camera = SimpleNamespace(capture=capture)
    taken = take(camera, read, read, rig.said, GEN3, 2, iter(["", "", "", "", "q"]))
    assert len(taken) == 1
    np.testing.assert_array_equal(taken[0].joints, good)
    said = capsys.readouterr().err
    assert "Not taken: The arm is not at rest: joint_2 moves." in said
    assert "The arm still moved" in said
    assert "Not taken: The picture shows" in said
    assert "Proposed joints [degrees]" in said
