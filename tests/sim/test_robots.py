"""Robots that are data: the Jaco picks by physics, and two robots work side by side in one process."""

import ast
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.stations import FAST
from toolhand.agent_node.agent import Agent
from toolhand.agent_node.policies.scripted.policy import ScriptedPolicy
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.station import Station
from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.toolbox.toolbox import Session

ROOT = Path(__file__).parents[2]
ROBOTS = ("gen3", "jaco2_j2s7s300")


def station_of(robot: str) -> Station:
    return Station(load_scene(EXAMPLE_SCENE), replace(FAST, robot=robot, seed=1))


def steps_of_a_pick(station: Station) -> Iterator[str]:
    """Picks up the red box with the tools, a step at a time."""
    session = Session()

    def use(name: str, **arguments: object) -> dict[str, object]:
        result = station.toolbox.call(name, arguments, session).result
        assert result.error is None, str(result.error)
        return result.variables

    yield from map(str, use("robot.capture_image"))
    yield from map(str, use("robot.get_depth_with_pointcloud"))
    (point,) = use("roborefer.detect_one", obj_name="red box", image_index=0).values()
    yield "detected"
    use("sam2.segment_from_point", x=point[0], y=point[1], image_index=0)  # type: ignore[index]
    yield "segmented"
    use(
        "grasp_generator.compute_grasp",
        point_cloud="$point_cloud",
        mask="$segmentation_mask",
        focal_length_px="$focal_length_px",
        image_index=0,
    )
    yield "chosen"
    use("robot.execute_grasp", grasp_pose="$grasp_pose")
    yield "grasped"


def what_moved(station: Station) -> bytes:
    return b"".join(np.float64(t).tobytes() + qpos.tobytes() for t, qpos in station.world.log)


@pytest.mark.parametrize("robot", ROBOTS)
def test_a_sentence_is_carried_out_by_physics(robot: str) -> None:
    station = station_of(robot)
    episode = Agent(ScriptedPolicy(), station.toolbox).run("pick up the red box")
    assert episode.success, episode.answer
    history = station.world.hold(1.0)
    held = [state for state in history[-1].objects.values() if "gripper" in state.touching]
    assert len(held) == 1
    assert all(snapshot.objects[held[0].id].position_m[2] > 0.15 for snapshot in history)


def test_two_robots_in_one_process_do_as_each_does_alone() -> None:
    alone = {}
    for robot in ROBOTS:
        station = station_of(robot)
        list(steps_of_a_pick(station))
        alone[robot] = what_moved(station)
        assert station.manipulator.held is not None
    together = {robot: station_of(robot) for robot in ROBOTS}
    for _ in zip(*(steps_of_a_pick(station) for station in together.values()), strict=True):
        pass
    assert {robot: what_moved(station) for robot, station in together.items()} == alone
    assert alone["gen3"] != alone["jaco2_j2s7s300"]


def test_no_module_holds_a_robot() -> None:
    """Neither loads one when it is imported, nor knows one's links by name."""
    for room in ("tool_nodes", "sim", "agent_node", "bench", "training", "toolhand"):
        for file in (ROOT / room).rglob("*.py"):
            tree = ast.parse(file.read_text(encoding="utf-8"))
            names = [
                node.func.id
                for statement in tree.body
                if isinstance(statement, ast.Assign | ast.AnnAssign | ast.Expr)
                for node in ast.walk(statement)
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            ]
            assert "load_robot" not in names, file
            texts = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
            assert not [text for text in texts if text.startswith(("robotiq_", "j2s7s300_", "joint_1"))], file


def test_the_robot_of_a_station_is_everywhere_the_same() -> None:
    station = station_of("jaco2_j2s7s300")
    robot = station.robot
    assert isinstance(robot, RobotModel)
    assert station.world.robot is robot
    assert station.manipulator.robot is robot
    assert station.manipulator.guard.robot is robot
