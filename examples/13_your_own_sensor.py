"""Your own sensor and your own planner, for the simulation: a class with the methods of the port, chosen by name.

    python examples/13_your_own_sensor.py

You will see:

    the ideal camera measures ...% of the image, the sensor ...%
    the planner takes 1.5 times as long
"""

import numpy as np
from numpy.typing import NDArray

from toolhand.sim.camera.sensor import Measured
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.station import Station, StationConfig
from toolhand.tool_nodes.motion.planner import EmbeddedPlanner
from toolhand.tool_nodes.motion.planner_wrapper import PlannerWrapper
from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.port_names import PortNames
from toolhand.tool_nodes.types import CollisionScene, FloatArray, Goal, JointGoal, Trajectory


class ShortRange:
    """A depth sensor that measures from 0.6 to 1.2 m, with an error of 2 mm at any distance."""

    def measure(self, rgb: NDArray[np.uint8], depth: NDArray[np.float32], rng: np.random.Generator) -> Measured:
        """See toolhand.sim.camera.sensor.SensorModel."""
        depth = depth + np.float32(0.002) * rng.standard_normal(depth.shape, dtype=np.float32)
        return rgb, np.where((depth > 0.6) & (depth < 1.2), depth, np.float32(np.nan))


class Unhurried(PlannerWrapper):
    """The embedded planner, at two thirds of the speed that it is asked for."""

    def __init__(self, seed: int = 0, robot: RobotModel | None = None, planning_s: float | None = None) -> None:
        super().__init__(EmbeddedPlanner(seed, robot, planning_s))

    def plan(self, start: FloatArray, goal: Goal, scene: CollisionScene, speed: float = 1.0) -> Trajectory:
        """See ports.Planner."""
        return super().plan(start, goal, scene, speed * 2.0 / 3.0)


if __name__ == "__main__":
    station = Station(generate_scene(seed=3), StationConfig(ports=PortNames(sensor="ideal")))
    frame = station.camera.capture()
    _, depth = ShortRange().measure(frame.rgb.copy(), frame.depth.copy(), np.random.default_rng(0))
    measured = [f"{np.isfinite(image).mean():.0%}" for image in (frame.depth, depth)]
    print("the ideal camera measures {} of the image, the sensor {}".format(*measured))

    start, home = station.robot.park, JointGoal(station.robot.named_states["Home"])
    plans = [planner.plan(start, home, CollisionScene()) for planner in (EmbeddedPlanner(), Unhurried())]
    print(f"the planner takes {plans[1].duration / plans[0].duration:.1f} times as long")
