"""A station without a robot: recorded frames, the perception of any other station, and motions that always succeed."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

from sim.drawings.text_truth import SimTextReader
from sim.mock.data import MockFrame
from sim.perception import SimPerception
from sim.station import PerceptionName, StationConfig
from tool_nodes.grasp.sampling import AnalyticGraspGenerator
from tool_nodes.motion.robot_model import load_robot
from tool_nodes.perception.pixels import PixelPerception
from tool_nodes.perception.text import PixelTextReader
from tool_nodes.ports import Camera, TextReader
from tool_nodes.results import ErrorCode, ToolError
from tool_nodes.sandbox.executor import CodeExecutor
from tool_nodes.toolbox.toolbox import Toolbox
from tool_nodes.tools.spacetools.bounding_box import BoundingBoxTools
from tool_nodes.tools.spacetools.grasping import GraspTools
from tool_nodes.tools.spacetools.mock_robot import MockCamera, MockRobot
from tool_nodes.tools.suites import Backends, make_toolbox
from tool_nodes.types import Frame


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
        recorded: What the camera sees, e.g. `read_dataset().frame(3)`.
        config: Perception, seed, noise and suites as for `sim.station.Station`; its camera is not used. "sim" knows
            things by the recorded ids and labels, "pixels" sees colour and depth only.

    Raises:
        ToolError: INVALID_ARGUMENT for an unknown perception, or "sim" for a frame that was recorded without ids.
    """

    def __init__(self, recorded: MockFrame, config: StationConfig | None = None) -> None:
        self.config = config = config or StationConfig()
        if config.perception not in get_args(PerceptionName):
            allowed = " or ".join(get_args(PerceptionName))
            raise ToolError(ErrorCode.INVALID_ARGUMENT, f"perception must be {allowed}, got {config.perception!r}.")
        frame, truth = recorded.frame, config.perception == "sim"
        if truth and frame.ids is None:
            raise ToolError(
                ErrorCode.INVALID_ARGUMENT,
                "The perception backend 'sim' needs object ids, and this frame was recorded without.",
                "Use the perception backend 'pixels'.",
            )
        self.robot = load_robot(config.robot)
        self.camera: Camera = StillCamera(frame if truth else replace(frame, ids=None, labels=None, texts=None))
        self.perception: PixelPerception | SimPerception = (
            SimPerception((), config.noise, config.seed) if truth else PixelPerception()
        )
        self.reader: TextReader = SimTextReader(config.seed) if truth else PixelTextReader()
        self._recorded = recorded
        self.toolbox = self.new_toolbox()

    def new_toolbox(self) -> Toolbox:
        """The tools for one more conversation: what tools remember, such as the grasps they gave, is not shared."""
        config = self.config
        robot = MockCamera if config.role == "observer" else MockRobot
        backends = Backends(
            perception=self.perception,
            reader=self.reader,
            grasps=GraspTools(AnalyticGraspGenerator(config.seed, self.robot), robot=self.robot),
            boxes=BoundingBoxTools(),
            robot=robot(self.camera, self._recorded.cloud),
            code=CodeExecutor(),
        )
        return make_toolbox(backends, config.suites)
