"""The file of a calibration, the page to print, and the check before the first motion."""

from __future__ import annotations

import datetime
import math
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.gen3 import GEN3
from toolhand.bench.calibration.rig import Rig
from toolhand.tool_nodes.calibration.board_pdf import PAPERS, board_pdf
from toolhand.tool_nodes.calibration.charuco import MODULES, USUAL, CharucoBoard
from toolhand.tool_nodes.calibration.detection import find_corners, pattern
from toolhand.tool_nodes.calibration.files import (
    CameraCalibration,
    calibration_yaml,
    dated,
    description_hash,
    read_calibration_file,
    write_calibration,
)
from toolhand.tool_nodes.calibration.start_check import StartCheck
from toolhand.tool_nodes.geometry import quat_wxyz_from_matrix
from toolhand.tool_nodes.motion.robot_model import load_robot
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import Frame

MADE = CameraCalibration(
    robot=GEN3.name,
    description=description_hash(GEN3),
    camera="scene",
    parent="base_link",
    link="zed_camera_link",
    frame="zed_left_camera_frame_optical",
    position_m=(0.9, -0.1, 0.8),
    quat_wxyz=(math.cos(0.15), 0.0, 0.0, math.sin(0.15)),
    sd_mm=0.24,
    sd_deg=0.023,
    date=datetime.date(2026, 5, 31),
    board=USUAL,
    poses=15,
    rms_px=0.05,
    joint_sd_deg=0.021,
    intrinsics_px=(660.0, 660.0, 319.5, 239.5),
    size_px=(640, 480),
)


def test_a_file_gives_the_calibration_back(tmp_path: Path) -> None:
    path = tmp_path / "scene.yaml"
    write_calibration(path, MADE)
    read = read_calibration_file(path)
    np.testing.assert_allclose(read.T, MADE.T, atol=1e-7)
    assert calibration_yaml(read) == calibration_yaml(MADE)
    read.require_robot(GEN3)
    assert dated(read, datetime.date(2026, 6, 2)).startswith("the scene camera of gen3, made on 2026-05-31; 0.24 mm")
    assert "calibrate anew" in dated(read, datetime.date(2027, 6, 2))


TEXT = calibration_yaml(MADE)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (TEXT.replace("0.9000000", "0.9010000"), "its hash does not fit"),
        (TEXT.replace("poses: 15", "poses: 16"), "its hash does not fit"),
        (re.sub("sha256: .*", "", TEXT), "its hash does not fit"),
        (TEXT.replace("0.9000000", ".nan"), "position_m[0] must be a finite number"),
        (TEXT.replace("sd_mm: 0.2400", "sd_mm: .inf"), "sd_mm must be a finite number"),
        (TEXT.replace("0.9000000", "900.0"), "position_m[0] must be a finite number from -10 to 10"),
        (re.sub(r"quat_wxyz: .*", "quat_wxyz: [0.5, 0, 0, 0]", TEXT), "quat_wxyz must be a unit quaternion"),
        (re.sub(r"quat_wxyz: .*", "quat_wxyz: [1, 0, 0]", TEXT), "quat_wxyz must be a unit quaternion"),
        (TEXT.replace("camera: scene", "camera: ceiling"), "camera must be wrist or scene"),
        (TEXT.replace('"2026-05-31"', '"yesterday"'), "date must be a day such as"),
        (TEXT.replace("calibration: 1", "calibration: 2"), "calibration must be 1, not 2"),
        ("", "it must be a mapping with the keys robot, description"),
        ("[" * 50, "cannot be used"),
        ("a: &a b\nc: *a\n", "cannot be used"),
        ("x" * 100_000, "cannot be used"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_sentence(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "made.yaml"
    path.write_text(text)
    with pytest.raises(ToolError) as caught:
        read_calibration_file(path)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT
    assert words in caught.value.message
    assert "\n" not in caught.value.message


def test_a_calibration_of_another_robot_is_refused() -> None:
    with pytest.raises(ToolError, match="is of the robot gen3, but this one is jaco2"):
        MADE.require_robot(load_robot("jaco2_j2s7s300"))
    with pytest.raises(ToolError, match="another description"):
        replace(MADE, description="0" * 16).require_robot(GEN3)


@pytest.mark.parametrize(
    "name", ["./Größe (v2)", "кружка", "茶碗", "a: b # c", "yes", "1e5", " blanks ", 'a "b"', "x" * 300]
)
def test_a_calibration_is_of_a_description_however_its_folder_is_called(tmp_path: Path, name: str) -> None:
    write_calibration(tmp_path / "made.yaml", replace(MADE, robot=name, link="kamera-träger_1"))
    read = read_calibration_file(tmp_path / "made.yaml")
    assert (read.robot, read.link) == (name, "kamera-träger_1")
    read.require_robot(GEN3)


def test_the_page_shows_the_board_in_true_size() -> None:
    cells = pattern(USUAL)
    page = board_pdf(USUAL, cells)
    width, height = (float(value) for value in re.search(rb"MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", page).groups())  # type: ignore[union-attr]
    assert (width, height) == pytest.approx(tuple(side * 72 / 25.4 for side in PAPERS["a4"]), abs=1e-3)
    per_mm = 4.0
    sheet = np.full((round(210 * per_mm), round(297 * per_mm), 3), 255, np.uint8)
    for found in re.findall(rb"^([\d.]+) ([\d.]+) ([\d.]+) ([\d.]+) re$", page, re.MULTILINE):
        x, y, w, h = (float(value) * 25.4 / 72 * per_mm for value in found)
        top, low = sheet.shape[0] - y - h, sheet.shape[0] - y
        sheet[round(top) : round(low), round(x) : round(x + w)] = 0
    corners = find_corners(sheet, USUAL)
    assert len(corners.ids) == len(USUAL.corners)
    across = np.linalg.norm(corners.pixels[5] - corners.pixels[0]) / per_mm
    assert across == pytest.approx(5 * 35.0, abs=0.15)
    assert b"245 x 175 mm" in page
    start = int(re.search(rb"startxref\n(\d+)\n", page).group(1))  # type: ignore[union-attr]
    assert page[start:].startswith(b"xref")


@pytest.mark.parametrize(("board", "paper"), [(CharucoBoard(10, 7, 0.04), "a4"), (USUAL, "napkin")])
def test_a_board_that_does_not_fit_is_refused(board: CharucoBoard, paper: str) -> None:
    with pytest.raises(ToolError) as caught:
        board_pdf(board, np.zeros((board.rows * MODULES, board.columns * MODULES), bool), paper)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT


# -- the check before the first motion ---------------------------------------------------------------


@pytest.fixture(scope="module")
def scene_frame() -> Frame:
    return Rig("scene", 0).camera.capture()


def at(T: np.ndarray) -> CameraCalibration:
    return replace(MADE, position_m=tuple(T[:3, 3]), quat_wxyz=tuple(quat_wxyz_from_matrix(T[:3, :3])))


def checked(frame: Frame, made: CameraCalibration) -> tuple[StartCheck, list[int]]:
    looks: list[int] = []

    def capture() -> Frame:
        looks.append(1)
        return frame

    camera = SimpleNamespace(capture=capture)
    return StartCheck([made], GEN3, {"scene": camera}, lambda: GEN3.park), looks


def test_an_image_that_agrees_lets_motions_run_and_is_taken_once(scene_frame: Frame) -> None:
    made = at(scene_frame.T_base_camera)
    check, looks = checked(scene_frame, made)
    check.require()
    check.require()
    assert len(looks) == 1


@pytest.mark.parametrize(
    ("published", "kept", "K", "words"),
    [
        (0.0, 0.02, 1.0, "20.0 mm and 0.00 degrees from where its calibration"),
        (-0.12, -0.12, 1.0, "120 mm below the height that motions are planned with"),
        (0.03, 0.03, 1.0, "30 mm above"),
        (0.0, 0.0, 1.05, "focal length of 693.0 px"),
    ],
)
def test_nothing_moves_where_kinematics_camera_and_table_do_not_agree(
    scene_frame: Frame, published: float, kept: float, K: float, words: str
) -> None:
    shift = np.eye(4)
    shift[2, 3] = published
    frame = replace(scene_frame, T_base_camera=shift @ scene_frame.T_base_camera, K=scene_frame.K * [[K], [K], [1.0]])
    shift[2, 3] = kept
    check, _ = checked(frame, at(shift @ scene_frame.T_base_camera))
    for _ in range(2):  # and not the second time either
        with pytest.raises(ToolError) as caught:
            check.require()
        assert caught.value.code is ErrorCode.UNAVAILABLE
        assert words in caught.value.message
        assert caught.value.hint


def test_nothing_moves_where_no_camera_sees_the_table(scene_frame: Frame) -> None:
    frame = replace(scene_frame, depth=np.full_like(scene_frame.depth, np.nan))
    check, _ = checked(frame, at(scene_frame.T_base_camera))
    with pytest.raises(ToolError, match="Nothing moves before the calibration was checked"):
        check.require()


def test_without_calibrations_nothing_is_checked() -> None:
    StartCheck([], GEN3, {}, lambda: GEN3.park).require()
