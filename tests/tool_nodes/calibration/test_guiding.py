"""Guided poses: planned, approved, and taken."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.gen3 import GEN3
from tests.refusals import refused
from toolhand.cli.main import main
from toolhand.sim.calibrating import board_camera
from toolhand.sim.camera.painted_board import PaintedBoard
from toolhand.sim.station import Station, StationConfig
from toolhand.tool_nodes.calibration.charuco import MODULES, USUAL
from toolhand.tool_nodes.calibration.detection import pattern
from toolhand.tool_nodes.calibration.guiding import GuidedCalibration
from toolhand.tool_nodes.calibration.viewpoints import CameraPlace, usual_arrangement
from toolhand.tool_nodes.motion.approval import Decision, MotionRequest
from toolhand.tool_nodes.motion.guard import Mode, MotionGuard
from toolhand.tool_nodes.motion.limits import MotionLimits
from toolhand.tool_nodes.port_names import PortNames
from toolhand.tool_nodes.results import ErrorCode


class Person:
    """Approves the first motions, and refuses the others."""

    def __init__(self, approves: int) -> None:
        self.left, self.asked = approves, list[MotionRequest]()

    def decide(self, request: MotionRequest) -> Decision:
        self.asked.append(request)
        self.left -= 1
        return Decision(self.left >= 0, "", request.hash, "test")


@pytest.fixture(scope="module")
def station() -> Station:
    from toolhand.sim.scene.scenes import TABLE_RGB, Scene

    bare = Scene(0, (), (0.8, -0.75, 1.9), (0.0,) * 3, (0.0,) * 3, TABLE_RGB[0], "bare")
    return Station(bare, StationConfig(ports=PortNames(sensor="ideal")))


def guided(station: Station, camera: CameraPlace, guard: MotionGuard, said: list[str]) -> GuidedCalibration:
    arrangement = usual_arrangement(GEN3, camera, USUAL)
    looking = board_camera(station, arrangement, PaintedBoard(pattern(USUAL), USUAL.square_m / MODULES))
    return GuidedCalibration(
        station.arm, station.planner, looking, station.camera, arrangement, guard, GEN3, said.append
    )


def test_every_motion_is_approved_and_the_first_that_is_refused_ends_it(station: Station) -> None:
    person = Person(approves=1)
    guard = MotionGuard(Mode.ASK, person, MotionLimits(robot=GEN3))
    with refused(ErrorCode.NOT_APPROVED):
        guided(station, "wrist", guard, []).take(3)
    assert len(person.asked) == 2
    assert person.asked[0].what.startswith("Calibration, pose 1 of 3: the gripper goes to x=")
    assert person.asked[0].image is not None
    np.testing.assert_allclose(station.arm.state().q, person.asked[0].legs[0].q[-1], atol=0.01)


def test_a_dry_run_moves_nothing(station: Station) -> None:
    before = station.arm.state().q
    with refused(ErrorCode.NOT_APPROVED):
        guided(station, "scene", MotionGuard(Mode.DRY_RUN, None, MotionLimits(robot=GEN3)), []).take(1)
    np.testing.assert_array_equal(station.arm.state().q, before)


def test_poses_are_taken_where_the_joints_are_read_and_the_arm_parks(station: Station) -> None:
    guard = MotionGuard(Mode.AUTO, None, MotionLimits(robot=GEN3))
    said: list[str] = []
    taken = guided(station, "scene", guard, said).take(2)
    assert [sentence[:16] for sentence in said] == ["The board goes i", "The board is tak"]
    assert len(taken) == 2
    assert np.abs(taken[0].joints - taken[1].joints).max() > 0.1
    assert all(len(sighting.corners.ids) >= 8 for sighting in taken)
    assert np.abs(GEN3.joint_difference(station.arm.state().q, GEN3.park)).max() < 0.02


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as end:
        main(list(words))
    out, err = capsys.readouterr()
    return int(end.value.code or 0), out, err


def test_commands_write_the_board_and_refuse_what_cannot_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pdf = tmp_path / "board.pdf"
    assert run(capsys, "calibrate", "board", "--out", str(pdf))[0] == 0
    assert pdf.read_bytes().startswith(b"%PDF")
    status, _, err = run(capsys, "calibrate", "board", "--board", "9x9:50", "--out", str(pdf))
    assert status == 2
    assert "does not fit on a4" in err
    status, out, _ = run(capsys, "calibrate", "check", str(pdf), "--json")
    assert status == 2
    assert "cannot be used" in json.loads(out)["answer"]
    status, _, err = run(capsys, "calibrate", "run", "--approval", "dry-run", "--out", str(tmp_path / "x.yaml"))
    assert "nothing has moved" in err
    assert not (tmp_path / "x.yaml").exists()
