"""`toolhand calibrate`: where a camera is, by images of a printed board."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import tyro

from toolhand.agent_node.console.options import require_at_least
from toolhand.agent_node.console.terminal import AsJson, emit, say
from toolhand.tool_nodes.calibration.board_pdf import board_pdf
from toolhand.tool_nodes.calibration.charuco import CharucoBoard, parse_board
from toolhand.tool_nodes.calibration.files import (
    CameraCalibration,
    FrameNames,
    calibration_of,
    dated,
    read_calibration_file,
    write_calibration,
)
from toolhand.tool_nodes.calibration.viewpoints import BOARD_AT, CameraPlace
from toolhand.tool_nodes.files import why, write_whole
from toolhand.tool_nodes.motion.robot_model import RobotModel, load_robot
from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.robot_names import DEFAULT_ROBOT

if TYPE_CHECKING:
    from toolhand.tool_nodes.calibration.guiding import BoardSighting
    from toolhand.tool_nodes.calibration.solving import HandEye
    from toolhand.tool_nodes.types import Frame

BoardText = Annotated[
    str, tyro.conf.arg(metavar="COLUMNSxROWS:MM", help="The board: squares along both sides, and their width [mm].")
]
USUAL_BOARD = "7x5:35"


def calibrate_board(
    out: Annotated[Path, tyro.conf.arg(metavar="PDF")] = Path("board.pdf"),
    board: BoardText = USUAL_BOARD,
    paper: str = "a4",
) -> int:
    """Write the board to print as a PDF in true size, with its size written on it.

    Args:
        out: The file.
        paper: Sheet: a4, a3, a2 or letter.
    """
    from toolhand.tool_nodes.calibration.detection import pattern

    made = parse_board(board)
    try:
        write_whole(out, board_pdf(made, pattern(made), paper))
    except OSError as error:
        raise invalid(f"Cannot write {out}: {why(error)}.") from error
    print(f"{out}: print it at 100 %, and measure it: {1000 * made.size_m[0]:g} x {1000 * made.size_m[1]:g} mm.")
    return 0


def calibrate_run(
    camera: Annotated[CameraPlace, tyro.conf.arg(metavar="wrist|scene")] = "wrist",
    out: Annotated[Path, tyro.conf.arg(metavar="YAML")] = Path("calibration.yaml"),
    board: BoardText = USUAL_BOARD,
    at: tuple[float, float] = BOARD_AT,
    poses: int = 15,
    approval: str = "ask-motion",
    seed: int = 0,
    robot: str = DEFAULT_ROBOT,
    as_json: AsJson = False,
) -> int:
    """Calibrate a camera of the simulated robot: guided poses, each planned and approved, and the file of the result.

    Args:
        camera: The camera at the wrist, with the board on the table; or the one beside the table, with the board held.
        out: The file.
        at: Middle of the board on the table, x y in the base frame [m].
        poses: Poses to take.
        approval: ask-motion asks at this terminal before each motion, dry-run moves nothing, auto asks nobody.
        seed: Seeds the planner and the noise.
        robot: Which robot.
    """
    from toolhand.agent_node.console.approve import TerminalApprover
    from toolhand.sim.calibrating import board_camera
    from toolhand.sim.camera.painted_board import PaintedBoard
    from toolhand.sim.camera.ray import LAMP_POSITION
    from toolhand.sim.scene.scenes import TABLE_RGB, Scene
    from toolhand.sim.station import Station, StationConfig
    from toolhand.tool_nodes.calibration.charuco import MODULES
    from toolhand.tool_nodes.calibration.detection import pattern
    from toolhand.tool_nodes.calibration.guiding import GuidedCalibration
    from toolhand.tool_nodes.calibration.viewpoints import usual_arrangement
    from toolhand.tool_nodes.motion.guard import MotionGuard, parse_mode
    from toolhand.tool_nodes.motion.limits import MotionLimits
    from toolhand.tool_nodes.port_names import PortNames

    require_at_least(1, poses=poses)
    made, model = parse_board(board), load_robot(robot)
    guard = MotionGuard(parse_mode(approval), TerminalApprover(), MotionLimits(robot=model))
    bare = Scene(seed, (), tuple(LAMP_POSITION), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), TABLE_RGB[0], "calibration")
    station = Station(bare, StationConfig(seed=seed, robot=robot, ports=PortNames(sensor="ideal")), guard=guard)
    said = usual_arrangement(model, camera, made, at)
    looking = board_camera(station, said, PaintedBoard(pattern(made), made.square_m / MODULES))
    guided = GuidedCalibration(station.arm, station.planner, looking, station.camera, said, guard, model, say)
    return finish(guided.take(poses), model, camera, made, out, as_json)


def finish(
    taken: Sequence[BoardSighting],
    robot: RobotModel,
    camera: CameraPlace,
    board: CharucoBoard,
    out: Path,
    as_json: bool,
    frames_of: FrameNames | None = None,
    at: tuple[float, float] = BOARD_AT,
) -> int:
    """Solve, check against the table, write, and say how good it is."""
    from toolhand.tool_nodes.calibration.solving import check_poses, solve
    from toolhand.tool_nodes.calibration.table_check import check_table
    from toolhand.tool_nodes.calibration.viewpoints import usual_arrangement

    said = usual_arrangement(robot, camera, board, at)
    joints = np.array([sighting.joints for sighting in taken]).reshape(-1, robot.dof)
    check_poses(robot, joints, said.on_hand)
    K, size = taken[0].frame.K, taken[0].frame.size
    corners = [sighting.corners for sighting in taken]
    found = solve(robot, joints, corners, board, K, size, said.on_hand)
    frames: list[Frame] = [sighting.frame for sighting in taken]
    seen = check_table(found, said, frames, corners)
    made = calibration_of(found, robot, camera, frames_of, board, K, size, datetime.date.today())
    write_calibration(out, made)
    if as_json:
        emit(_document(made) | {"file": str(out), "table_seen": seen})
        return 0
    print(_summary(made, found))
    print(
        "The table is where motions expect it." if seen else "No picture showed the table: its height is not checked."
    )
    print(f"{out}: give it to kinova.launch.yaml as calibration:={out}")
    return 0


def _summary(made: CameraCalibration, found: HandEye) -> str:
    return (
        f"The {made.camera} camera is known to {made.sd_mm:.2f} mm and {made.sd_deg:.3f} degrees (standard deviations, "
        f"{made.poses} poses); corners fit to {made.rms_px:.2f} px, joints to {made.joint_sd_deg:.3f} degrees."
    )


def _document(made: CameraCalibration) -> dict[str, Any]:
    return {
        "success": True,
        "robot": made.robot,
        "camera": made.camera,
        "date": made.date.isoformat(),
        "sd_mm": round(made.sd_mm, 4),
        "sd_deg": round(made.sd_deg, 5),
        "poses": made.poses,
        "T_parent_camera": made.T.tolist(),
    }


def calibrate_record(
    camera: Annotated[CameraPlace, tyro.conf.arg(metavar="wrist|scene")] = "wrist",
    out: Annotated[Path, tyro.conf.arg(metavar="YAML")] = Path("calibration.yaml"),
    board: BoardText = USUAL_BOARD,
    driver: str = "",
    link: str = "",
    poses: int = 15,
    robot: str = DEFAULT_ROBOT,
    as_json: AsJson = False,
) -> int:
    """Calibrate a camera of a ROS 2 graph: a person moves the arm to each pose, and Enter takes it; nothing is moved.

    Args:
        camera: The camera at the wrist, with the board on the table; or the one beside the table, with the board held.
        out: The file.
        driver: The driver that names its topics, zed, kinova_vision or realsense; as usual for the camera where empty.
        link: Frame of the camera's body, which the camera node is to publish; as usual for the camera where empty.
        poses: Poses to take; fewer end it with q.
        robot: Which robot.
    """
    from toolhand.tool_nodes.ros.client import use_client

    require_at_least(1, poses=poses)
    made, model = parse_board(board), load_robot(robot)
    use_client()
    from toolhand.agent_node.ros.calibrating import record

    taken, frames_of = record(model, camera, made, driver, link, poses)
    return finish(taken, model, camera, made, out, as_json, frames_of)


def calibrate_check(
    files: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="YAML")],
    robot: str = DEFAULT_ROBOT,
    as_json: AsJson = False,
) -> int:
    """Check files of calibrations: whole, unchanged, of this robot, and how old.

    The motion node compares them with images before the first motion.

    Args:
        files: The files.
        robot: Robot that they must be of.
    """
    if not files:
        raise invalid("Name a file of a calibration.")
    model = load_robot(robot)
    documents = []
    for path in files:
        made = read_calibration_file(path)
        made.require_robot(model)
        documents.append(_document(made) | {"file": str(path), "age_days": made.age_days(datetime.date.today())})
        if not as_json:
            print(f"{path}: {dated(made, datetime.date.today())}.")
    if as_json:
        emit({"success": True, "calibrations": documents})
    return 0
