"""The board in simulated images: found, or refused with what to do."""

from dataclasses import replace

import numpy as np
import pytest

from tests.refusals import refused
from toolhand.bench.calibration.rig import Rig
from toolhand.sim.camera.painted_board import PaintedBoard
from toolhand.tool_nodes.calibration.board_poses import board_pose
from toolhand.tool_nodes.calibration.charuco import MODULES, USUAL, CharucoBoard, parse_board
from toolhand.tool_nodes.calibration.detection import find_corners, pattern
from toolhand.tool_nodes.calibration.solving import solve
from toolhand.tool_nodes.calibration.table_check import check_table
from toolhand.tool_nodes.calibration.table_plane import require_table, table_plane
from toolhand.tool_nodes.geometry import intrinsics, pose, project, transform
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import FloatArray, Frame

SIZE = (640, 480)
K = intrinsics(628.0, *SIZE)
TILTED = pose(np.array([[0.98, -0.17, 0.1], [0.17, 0.985, 0.02], [-0.1, -0.003, 0.995]]), [-0.13, -0.08, 0.45])
TILTED[:3, :3] = np.linalg.svd(TILTED[:3, :3])[0] @ np.linalg.svd(TILTED[:3, :3])[2]


def make_image(
    T: FloatArray = TILTED, board: CharucoBoard = USUAL, mirrored: bool = False, noise: float = 2.0
) -> Frame:
    rgb = np.full((SIZE[1], SIZE[0], 3), 120, np.uint8)
    depth = np.full(SIZE[::-1], 1.0, np.float32)
    painted = PaintedBoard(pattern(board), board.square_m / MODULES, mirrored=mirrored)
    rgb, depth = painted.draw(rgb, depth, K, T)
    rgb = np.clip(rgb + noise * np.random.default_rng(0).standard_normal(rgb.shape), 0, 255).astype(np.uint8)
    return Frame(rgb, depth, K, np.eye(4), 0.0)


def test_corners_are_found_where_the_board_truly_is() -> None:
    found = find_corners(make_image().rgb, USUAL)
    assert len(found.ids) == len(USUAL.corners)
    true = project(transform(TILTED, USUAL.corners), K)
    assert np.abs(found.pixels - true).max() < 0.25
    T = board_pose(found, USUAL.corners, K)
    assert np.linalg.norm(T[:3, 3] - TILTED[:3, 3]) < 0.0005


def test_what_is_nearer_hides_the_board_and_its_depth_is_drawn() -> None:
    frame = make_image()
    assert frame.depth.min() == pytest.approx(0.45, abs=0.04)
    rgb = np.full((SIZE[1], SIZE[0], 3), 120, np.uint8)
    near = np.full(SIZE[::-1], 0.2, np.float32)
    painted = PaintedBoard(pattern(USUAL), USUAL.square_m / MODULES)
    assert (painted.draw(rgb, near, K, TILTED)[0] == 120).all()


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (make_image(mirrored=True), "The board is mirrored"),
        (replace(make_image(), rgb=np.full_like(make_image().rgb, 3)), "too dark"),
        (make_image(pose(np.eye(3), [0.14, 0.05, 0.45])), "of the board's 24 corners"),
        (make_image(pose(np.eye(3), [-0.12, -0.09, -1.0])), "no marker of it is to be seen"),
    ],
)
def test_an_image_without_enough_of_the_board_says_why_and_what_to_do(frame: Frame, words: str) -> None:
    with refused(ErrorCode.IMAGE_UNUSABLE) as caught:
        find_corners(frame.rgb, USUAL)
    assert words in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize("text", ["", "7x5", "7x5:0", "2x5:35", "20x20:35", "7x5:-3", "7x5:nan", "7x5:1e9", "a" * 9999])
def test_a_board_that_is_none_is_one_sentence(text: str) -> None:
    with refused(ErrorCode.INVALID_ARGUMENT, within=200):
        parse_board(text)


def test_a_board_is_read_as_it_is_written() -> None:
    assert parse_board("9x6:27.5") == CharucoBoard(9, 6, 0.0275)
    assert parse_board(str(CharucoBoard(9, 6, 0.0275))) == CharucoBoard(9, 6, 0.0275)


def test_a_camera_is_calibrated_by_images() -> None:
    rig = Rig("wrist", 7)
    taken = rig.take(8)
    found = solve(rig.robot, taken.joints, taken.seen, rig.said.board, K=rig.model.K, size=SIZE, on_hand=True)
    assert np.linalg.norm(found.X[:3, 3] - rig.X[:3, 3]) < 0.0008
    assert found.intrinsics.noise_px < 0.1
    assert check_table(found, rig.said, taken.frames, taken.seen)


@pytest.mark.parametrize(("table_m", "words"), [(-0.12, "120 mm below"), (0.12, "120 mm above")])
def test_a_pedestal_is_named_by_the_board_on_the_table(table_m: float, words: str) -> None:
    rig = Rig("wrist", 0, table_m=table_m)
    taken = rig.take(10, drawn=False)
    found = solve(rig.robot, taken.joints, taken.seen, rig.said.board, rig.model.K, SIZE, on_hand=True)
    with refused(ErrorCode.UNAVAILABLE, words) as caught:
        check_table(found, rig.said, (), ())
    assert "pedestal" in caught.value.hint or "higher" in caught.value.hint


def test_the_table_is_measured_by_depth_wherever_it_is() -> None:
    rig = Rig("scene", 0)
    frame = rig.camera.capture()
    plane = table_plane(frame)
    assert abs(plane.height_m) < 0.001
    assert plane.tilt_rad < np.radians(0.1)
    lifted = replace(frame, T_base_camera=pose(np.eye(3), [0.0, 0.0, -0.12]) @ frame.T_base_camera)
    assert table_plane(lifted).height_m == pytest.approx(-0.12, abs=0.001)
    with pytest.raises(ToolError, match=r"2\.0 degrees askew"):
        require_table(0.0, np.radians(2.0), "the scene camera")
    with pytest.raises(ToolError, match="has no depth"):
        table_plane(replace(frame, depth=np.full_like(frame.depth, np.nan)))
    sideways = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
    turned = replace(frame, T_base_camera=pose(sideways @ frame.T_base_camera[:3, :3], frame.T_base_camera[:3, 3]))
    with pytest.raises(ToolError, match=r"No table is to be seen|sees nothing within"):
        table_plane(turned)
