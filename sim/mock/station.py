"""A station without a robot: recorded frames, the perception of any other station, and motions that always succeed."""

from __future__ import annotations

from dataclasses import replace

from toolhand.sim.mock.data import MockFrame
from toolhand.sim.perception import Truth
from toolhand.sim.station import StationConfig
from toolhand.tool_nodes.backends import make_ports
from toolhand.tool_nodes.motion.robot_model import load_robot
from toolhand.tool_nodes.ports import Camera
from toolhand.tool_nodes.registry import Setting
from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.sandbox.executor import CodeExecutor
from toolhand.tool_nodes.tools.spacetools.bounding_box import BoundingBoxTools
from toolhand.tool_nodes.tools.spacetools.grasping import GraspTools
from toolhand.tool_nodes.tools.spacetools.mock_robot import MockCamera, MockRobot
from toolhand.tool_nodes.tools.suites import Backends, make_toolbox
from toolhand.tool_nodes.types import Frame


class StillCamera:
    """A camera that always gives the same frame."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def capture(self) -> Frame:
        """See ports.Camera."""
        return self._frame


class MockStation:
    """The tools over one recorded frame; nothing moves, and no arm limits the grasps.

    Args:
        recorded: Frame that the camera returns, e.g. `read_dataset().frame(3)`.
        config: Perception, seed, noise and suites as for `toolhand.sim.station.Station`; its camera is not used. The
            simulator's truth knows objects by the recorded ids and labels.

    Raises:
        ToolError: INVALID_ARGUMENT for an unknown backend, one that needs ids for a frame that was recorded without, a
            planner or a sensor.
    """

    def __init__(self, recorded: MockFrame, config: StationConfig | None = None) -> None:
        self.config = config = config or StationConfig()
        config.ports.require_no_robot()
        self.recorded = recorded
        self.robot = load_robot(config.robot)
        setting = Setting(config.seed, truth=Truth((), config.noise), robot=self.robot)
        self.ports = make_ports(config.perception, config.ports, setting)
        frame, truth = recorded.frame, next(self.ports.over_truth, None)
        if truth is not None and frame.ids is None:
            raise invalid(
                f"The perception backend {truth.backend!r} needs object ids, and this frame was recorded without.",
                "Use the perception backend 'pixels'.",
            )
        self.camera: Camera = StillCamera(
            frame if truth is not None else replace(frame, ids=None, labels=None, texts=None)
        )
        robot = MockCamera if config.role == "observer" else MockRobot
        ports = self.ports
        backends = Backends(
            pointer=ports.pointer,
            detector=ports.detector,
            segmenter=ports.segmenter,
            depth=ports.depth,
            reader=ports.reader,
            grasps=GraspTools(ports.grasps, robot=self.robot),
            boxes=BoundingBoxTools(ports.boxes),
            robot=robot(self.camera, recorded.cloud),
            code=CodeExecutor(),
            second_pointer=ports.second_pointer,
        )
        self.toolbox = make_toolbox(backends, config.suites)
