"""Conversations full of odd images and odd variables, and toolboxes over one recorded image of a table."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw

from toolhand.sim.perception import Truth
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.station import Station
from toolhand.tool_nodes.backends import make_ports
from toolhand.tool_nodes.geometry import backproject
from toolhand.tool_nodes.registry import Setting
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.sandbox.executor import CodeExecutor
from toolhand.tool_nodes.stop_latch import StopLatch, StopWatch
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import Session, Toolbox
from toolhand.tool_nodes.tools.spacetools.bounding_box import BoundingBoxTools
from toolhand.tool_nodes.tools.spacetools.grasping import GraspTools
from toolhand.tool_nodes.tools.spacetools.mock_robot import MockRobot
from toolhand.tool_nodes.tools.spacetools.robot import RobotTools
from toolhand.tool_nodes.tools.suites import Backends, make_toolbox
from toolhand.tool_nodes.types import FloatArray, Frame, Grasped, GraspTarget, SkillOutcome, SkillRequest


class RecordedCamera:
    """Always the same image."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def capture(self) -> Frame:
        return self._frame


class RefusingHand:
    """No motion ever starts, so that calls of motion tools are quick."""

    def grasp(
        self, T_base_gripper: FloatArray, frame: Frame, target: GraspTarget | None = None, speed: float = 1.0
    ) -> Grasped:
        raise ToolError(ErrorCode.PLAN_FAILED, "There is no path.")

    def place(self, point_base: FloatArray, frame: Frame, speed: float = 1.0) -> None:
        raise ToolError(ErrorCode.PLAN_FAILED, "There is no path.")

    def skill(self, asked: SkillRequest, frame: Frame) -> SkillOutcome:
        raise ToolError(ErrorCode.PLAN_FAILED, "There is no path.")

    def holds(self) -> str | None:
        return None

    def job(self) -> AbstractContextManager[StopWatch]:
        return StopLatch().job()


def frozen(array: np.ndarray) -> np.ndarray:
    """The array, so that a tool that writes to what it was given fails."""
    array.flags.writeable = False
    return array


@pytest.fixture(scope="session")
def frame() -> Frame:
    frame = Station(load_scene(EXAMPLE_SCENE)).camera.capture()
    for array in (frame.rgb, frame.depth, frame.ids):
        assert array is not None
        frozen(array)
    return frame


@pytest.fixture(scope="session")
def make_box(frame: Frame) -> Iterator[Callable[[str], Toolbox]]:
    """A new toolbox of every suite: "sim" has a robot that refuses to move, "pixels" has no robot at all."""
    scene = load_scene(EXAMPLE_SCENE)
    code = CodeExecutor()

    def make(perception: str) -> Toolbox:
        sim = perception == "sim"
        camera = RecordedCamera(frame if sim else replace(frame, ids=None))
        truth = Truth([placed.item for placed in scene.objects])
        ports = make_ports(perception, setting=Setting(truth=truth))
        backends = Backends(
            pointer=ports.pointer,
            detector=ports.detector,
            segmenter=ports.segmenter,
            depth=ports.depth,
            reader=ports.reader,
            grasps=GraspTools(ports.grasps),
            boxes=BoundingBoxTools(),
            robot=RobotTools(camera, RefusingHand()) if sim else MockRobot(camera),
            code=code,
        )
        return make_toolbox(backends)

    yield make
    code.close()


@pytest.fixture(scope="session", params=["sim", "pixels"])
def box(request: pytest.FixtureRequest, make_box: Callable[[str], Toolbox]) -> Toolbox:
    return make_box(request.param)


@pytest.fixture(scope="session", params=["sim", "pixels"])
def twins(request: pytest.FixtureRequest, make_box: Callable[[str], Toolbox]) -> tuple[Toolbox, Toolbox]:
    """Two toolboxes that were made alike."""
    return make_box(request.param), make_box(request.param)


@pytest.fixture(scope="session")
def images(frame: Frame) -> list[SessionImage]:
    """One of every sort; 0 is the camera's image."""
    camera = SessionImage(frame.rgb, frame)
    rng = np.random.default_rng(0)
    drawn = Image.new("RGB", (200, 120), "white")
    draw = ImageDraw.Draw(drawn)
    draw.ellipse((20, 30, 70, 80), fill="red")
    draw.rectangle((120, 40, 169, 89), fill="blue")
    draw.text((20, 95), "HELLO 42", fill="black")
    shapes = np.array(drawn)
    unknown = np.full(shapes.shape[:2], np.nan, np.float32)
    ramp = np.broadcast_to(np.linspace(0, 255, 320).astype(np.uint8)[None, :, None], (240, 320, 3)).copy()
    noise = rng.integers(0, 256, (150, 200, 3)).astype(np.uint8)
    foreign = [(1, 1), (2000, 1), (1, 2000), (2000, 3000), (7, 9)]
    return [
        camera,
        camera.cropped(120, 100, 260, 200),
        camera.redrawn(frozen(np.full_like(frame.rgb, 90))),
        camera.cropped(150, 150, 151, 151),
        camera.cropped(300, 440, 340, 470),
        *(SessionImage(frozen(np.full((h, w, 3), 120, np.uint8))) for h, w in foreign),
        SessionImage(frozen(noise)),
        SessionImage(frozen(ramp)),
        SessionImage(frozen(shapes)),
        SessionImage(shapes, Frame(shapes, frozen(unknown), frame.K, frame.T_base_camera, stamp=5.0)),
    ]


@pytest.fixture(scope="session")
def variables(frame: Frame, images: list[SessionImage]) -> dict[str, Any]:
    """What earlier calls may have left, and much that no call leaves."""
    assert frame.ids is not None
    cloud = backproject(frame.depth, frame.K)
    huge = cloud.copy()
    huge[::2] *= np.float32(1e30)
    arrays = {
        "mask": frame.ids == 2,
        "all_mask": np.ones((480, 640), bool),
        "empty_mask": np.zeros((480, 640), bool),
        "small_mask": np.ones((3, 5), bool),
        "one_mask": np.ones((1, 1), bool),
        "no_mask": np.zeros((0, 5), bool),
        "flat_mask": np.ones(307200, bool),
        "cloud": cloud,
        "unknown_cloud": np.full_like(cloud, np.nan),
        "infinite_cloud": np.full_like(cloud, np.inf),
        "huge_cloud": huge,
        "zero_cloud": np.zeros_like(cloud),
        "small_cloud": np.ones((15, 3), np.float32),
        "no_cloud": np.zeros((0, 3), np.float32),
        "integer_cloud": np.ones((307200, 3), int),
        "depth": frame.depth,
        "unknown_depth": np.full((480, 640), np.nan, np.float32),
        "scalar_array": np.array(3.0),
        "complex": np.ones((480, 640), complex),
        "text_array": np.array(["a", "b"]),
        "six_dimensions": np.zeros((1, 1, 1, 1, 1, 1)),
        "pose": np.eye(4),
        "mirrored": np.diag([1.0, 1.0, -1.0, 1.0]),
        "unknown_pose": np.full((4, 4), np.nan),
        "far_pose": np.eye(4) + np.array([[0, 0, 0, 1e300]] * 3 + [[0, 0, 0, 0]]),
    }
    return {name: frozen(np.array(array)) for name, array in arrays.items()} | {
        "objects": np.array([None, {}], dtype=object),
        "focal": 660.0,
        "tiny_focal": 1e-300,
        "large_focal": 1e300,
        "zero_focal": 0.0,
        "unknown_focal": float("nan"),
        "point": (0.25, 0.75),
        "points": [(0.25, 0.75), (0.5, 0.5)],
        "ragged": [[1.0], [2.0, 3.0]],
        "nothing": None,
        "word": "red box",
        "image": images[0],
        "crop": images[1],
        "foreign": images[-2],
    }


@pytest.fixture(scope="session")
def make_session(images: list[SessionImage], variables: dict[str, Any]) -> Callable[[bool], Session]:
    """A new conversation that has seen much, or nothing yet."""
    return lambda empty: Session() if empty else Session(dict(variables), list(images))
