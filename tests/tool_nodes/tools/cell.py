"""A station and one conversation, for tests of the tools that move the robot."""

from typing import Any

import numpy as np

from tests.gen3 import NAMED_STATES, pad_depth
from tests.stations import restored
from toolhand.sim.scene.scenes import Scene
from toolhand.sim.station import Station, StationConfig, StationState
from toolhand.tool_nodes.geometry import invert, pose, rotation_z
from toolhand.tool_nodes.motion.guard import MotionGuard
from toolhand.tool_nodes.results import ToolError
from toolhand.tool_nodes.toolbox.toolbox import Session
from toolhand.tool_nodes.tools.spacetools.robot import HAS_MOVED
from toolhand.tool_nodes.types import FloatArray


class Cell:
    """A station with one conversation.

    Args:
        scene: Scene on the table.
        suites: Names of the suites of tools.
        guard: Decides what may move; without one motions run at once.
    """

    def __init__(
        self, scene: Scene, suites: tuple[str, ...] = ("spacetools",), guard: MotionGuard | None = None
    ) -> None:
        config = StationConfig(suites=suites)
        self.station = Station(scene, config, guard=guard) if guard else restored(scene, config)
        self.world = self.station.world
        self.session = Session()
        self.T_base_camera = self.station.camera.capture().T_base_camera
        self.call("robot.capture_image")

    def save(self) -> tuple[StationState, Session]:
        """The moment, for `restore`."""
        return self.station.save(), self.session.fork()

    def restore(self, moment: tuple[StationState, Session]) -> None:
        """Go back to a moment within milliseconds; a stop is released."""
        state, session = moment
        self.station.arm.reset_stop()
        self.station.restore(state)
        self.session = session.fork()

    def call(self, name: str, /, **arguments: Any) -> Any:
        return self.station.toolbox.call(name, arguments, self.session).result

    def refusal(self, name: str, /, **arguments: Any) -> ToolError:
        result = self.call(name, **arguments)
        assert result.error is not None, result.text
        assert result.error.message.endswith(".")
        assert "\n" not in result.error.message
        assert result.text == f"Error {result.error.code}: {result.error}"
        assert result.image is None or result.error.code in HAS_MOVED
        return result.error

    def grasp(self, name: str = "toy block") -> Any:
        self.call("robot.get_depth_with_pointcloud")
        (point,) = self.call("roborefer.detect_one", obj_name=name, image_index=0).variables.values()
        self.call("sam2.segment_from_point", x=point[0], y=point[1], image_index=0)
        self.call(
            "grasp_generator.compute_grasp",
            point_cloud="$point_cloud",
            mask="$segmentation_mask",
            focal_length_px="$focal_length_px",
            image_index=0,
        )
        return self.call("robot.execute_grasp", grasp_pose="$grasp_pose")

    def put(self, item: str, x: float, y: float, z: float) -> None:
        """Put an object somewhere at once, upright, as a hand that the robot does not see would."""
        (placed,) = (placed for placed in self.station.scene.objects if placed.item == item)
        self.world.place_object(placed.id, np.array([x, y, z]), np.array([1.0, 0.0, 0.0, 0.0]))

    def in_camera(self, x: float, y: float, z: float = 0.0) -> list[float]:
        """A point of the base frame as the tools want it [m]."""
        return (invert(self.T_base_camera) @ (x, y, z, 1.0))[:3].tolist()

    def in_image(self, x: float, y: float) -> list[float]:
        """Where the image shows a point of the table."""
        u, v, w = self.station.camera.capture().K @ self.in_camera(x, y)
        return [(u / w + 0.5) / 640, (v / w + 0.5) / 480]

    def down_at(self, x: float, y: float, z: float) -> list[list[float]]:
        """Grasp pose in the camera frame with the closed pads at a point, from straight above."""
        R = rotation_z(0.0) @ np.diag([1.0, -1.0, -1.0])
        return (invert(self.T_base_camera) @ pose(R, (x, y, z + pad_depth(0.0)))).tolist()

    @property
    def block(self) -> FloatArray:
        """Where the block is (3,) [m]."""
        return self.world.snapshot().objects["toy_block_1"].position_m

    @property
    def holds_block(self) -> bool:
        return self.world.snapshot().objects["toy_block_1"].touching == {"gripper"}

    @property
    def parked(self) -> bool:
        return bool(np.abs(self.world.arm_position - NAMED_STATES["Park"]).max() < 0.02)
