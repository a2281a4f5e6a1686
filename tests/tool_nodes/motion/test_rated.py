"""No robot folder is faster or stronger than its URDF, its maker's limits or the guard's own; nothing is clipped."""

import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.gen3 import GEN3
from toolhand.tool_nodes.motion.kinematics import Kinematics
from toolhand.tool_nodes.motion.limits import MotionLimits, check_trajectory
from toolhand.tool_nodes.motion.rated import MAX_ACCELERATION, MAX_SPEED, known_arm, known_gripper
from toolhand.tool_nodes.motion.robot_model import JACO2, load_robot
from toolhand.tool_nodes.motion.robot_spec import load_robot_spec
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import Trajectory


def change(folder: Path, suffix: str, old: str, new: str, everywhere: bool = False) -> None:
    (file,) = folder.glob(f"*{suffix}")
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, -1 if everywhere else 1))


def other_build(folder: Path) -> None:
    """Make it an arm and fingers of no known maker: the upper arm is 30 mm longer, the fingers' joints are 2 mm off."""
    change(folder, ".urdf", 'xyz="0 -0.21038 -0.006375"', 'xyz="0 -0.24038 -0.006375"')
    change(folder, "robot.yaml", "pivot: [0.03060114, 0.05490452]", "pivot: [0.03060114, 0.05690452]")


def refused(folder: Path, words: str) -> None:
    with pytest.raises(ToolError, match=words) as caught:
        load_robot_spec(load_robot(str(folder)))
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT
    assert str(folder) in caught.value.message


IN_ROBOT_YAML = [
    ("velocity: 1.3963", "velocity: 3", "velocity must be at most 2 rad/s, the most that any robot .* got 3"),
    (
        "velocity: 1.3963",
        "velocity: 1.5",
        r"arm\[0\].velocity must be at most 1.3963 rad/s, the joint's in .*urdf, got 1.5",
    ),
    ("velocity: 1.2218", "velocity: 1.3963", r"arm\[4\].velocity must be at most 1.2218 rad/s"),
    ("acceleration: 8.6", "acceleration: 30", "acceleration must be at most 10 rad/s.2, the most that any robot"),
    ("  speed: 0.5", "  speed: 5", "gripper.speed must be at most 0.5 rad/s, the joint's in"),
    ("closing: [0.0, 0.8]", "closing: [-0.1, 0.8]", "closing must stay in the joint's range|max_opening differs"),
]


@pytest.mark.parametrize(("old", "new", "words"), IN_ROBOT_YAML)
@pytest.mark.parametrize("known", [True, False])
def test_more_than_the_urdf_is_refused_for_any_robot(folder: Path, old: str, new: str, words: str, known: bool) -> None:
    if not known:
        other_build(folder)
    change(folder, "robot.yaml", old, new)
    refused(folder, words)


def test_three_and_thirty_are_refused_though_the_urdf_says_so_too(folder: Path) -> None:
    for name in ("velocity: 1.3963", "velocity: 1.2218"):
        change(folder, "robot.yaml", name, "velocity: 3", everywhere=True)
    change(folder, "robot.yaml", "acceleration: 8.6", "acceleration: 30", everywhere=True)
    for name in ('velocity="1.3963"', 'velocity="1.2218"'):
        change(folder, ".urdf", name, 'velocity="3"', everywhere=True)
    other_build(folder)
    refused(folder, "velocity must be at most 2 rad/s")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            'velocity="1.3963"',
            'velocity="1.9"',
            "its velocity of 1.9 is above 1.3963 rad/s, that of the Kinova Gen3 7-DoF",
        ),
        ('effort="39"', 'effort="80"', "its effort of 80 is above 39 N m, that of the Kinova Gen3"),
        ('lower="-2.24" upper="2.24"', 'lower="-2.24" upper="2.5"', "its upper of 2.5 is above 2.24 rad"),
        ('lower="-2.24" upper="2.24"', 'lower="-2.5" upper="2.24"', "its lower of -2.5 is below -2.24 rad"),
        ('effort="50" velocity="0.5"', 'effort="50" velocity="2"', "its velocity of 2 is above 0.5 .* Robotiq 2F-85"),
        ('effort="50" velocity="0.5"', 'effort="90" velocity="0.5"', "its effort of 90 is above 50 N m"),
    ],
)
def test_a_known_arms_urdf_may_not_be_made_faster_and_another_arms_may(
    folder: Path, old: str, new: str, words: str
) -> None:
    change(folder, ".urdf", old, new)
    mine = Path(shutil.copytree(folder, folder.parent / "another_build"))
    refused(folder, words)
    other_build(mine)
    load_robot_spec(load_robot(str(mine)))


def test_a_range_may_not_be_left_out_of_a_known_arms_urdf(folder: Path) -> None:
    change(folder, ".urdf", '<joint name="joint_2" type="revolute">', '<joint name="joint_2" type="continuous">')
    change(folder, "robot.yaml", "{name: joint_2, lower: -2.24, upper: 2.24, ", "{name: joint_2, ")
    refused(folder, "it must be revolute, from -2.24 to 2.24 rad")


def test_names_do_not_hide_which_arm_it_is(folder: Path) -> None:
    for name in ("robot.yaml", "simulation.yaml", ".urdf"):
        (file,) = folder.glob(f"*{name}")
        file.write_text(re.sub(r"joint_(\d)", r"axis_\1", file.read_text()))
    change(folder, ".urdf", 'velocity="1.3963"', 'velocity="1.9"')
    refused(folder, 'name="axis_1".*its velocity of 1.9 is above 1.3963')


@pytest.mark.parametrize("old", ['velocity="1.3963"', 'effort="39"'])
def test_a_urdf_without_the_limit_is_refused(folder: Path, old: str) -> None:
    other_build(folder)
    change(folder, ".urdf", old, "")
    refused(folder, "it must have a <limit> with (velocity|effort) above 0")


@pytest.mark.parametrize("force", ["200", "0", "-8"])
def test_jaws_that_press_harder_than_the_urdf_allows_are_refused(folder: Path, force: str) -> None:
    change(folder, "simulation.yaml", "force_limit: 8", f"force_limit: {force}")
    refused(folder, "gripper.force_limit must be (at most 100|above 0)")


def test_the_robots_that_come_along_are_known_and_within() -> None:
    for robot, arm, gripper in (
        (GEN3, "Kinova Gen3 7-DoF", "Robotiq 2F-85"),
        (load_robot(str(JACO2)), "Kinova Jaco2 j2s7s300", "Kinova's three fingers"),
    ):
        found, fingers = known_arm(robot.urdf, robot.arm_joints), known_gripper(robot.gripper)
        assert found is not None
        assert fingers is not None
        assert (found["name"], fingers["name"]) == (arm, gripper)
        assert np.allclose(found["velocity"], robot.velocity)
        assert np.allclose(found["acceleration"], robot.acceleration)
        load_robot_spec(robot)


def fast(speed: float, acceleration: float) -> Trajectory:
    """Joint 7 alone, from rest to a speed [rad/s] and back."""
    ramp = max(speed / acceleration, 0.01)
    t = np.arange(0.0, 2 * ramp + 0.005, 0.01)
    v = np.minimum(t, np.maximum(2 * ramp - t, 0.0)) * acceleration
    turn = np.concatenate([[0.0], np.cumsum((v[1:] + v[:-1]) / 2 * 0.01)])
    q, qd = np.tile(GEN3.park, (len(t), 1)), np.zeros((len(t), GEN3.dof))
    q[:, 6] += turn
    qd[:, 6] = v
    return Trajectory(GEN3.arm_joints, t, q, qd)


def test_the_guard_has_a_bound_that_no_robot_lifts() -> None:
    lifted = replace(GEN3, velocity=np.full(7, 100.0), acceleration=np.full(7, 1000.0))
    with pytest.raises(ToolError, match=r"may turn with 2 rad/s and 10 rad/s.2 at most, whatever a folder says"):
        MotionLimits(robot=lifted)
    limits = MotionLimits(robot=GEN3)
    object.__setattr__(limits, "robot", lifted)
    check_trajectory(fast(0.9 * MAX_SPEED, 0.9 * MAX_ACCELERATION), 0.0, limits, Kinematics(robot=GEN3))
    for trajectory in (fast(3.0, 9.0), fast(1.0, 30.0)):
        with pytest.raises(ToolError, match="the most for any robot"):
            check_trajectory(trajectory, 0.0, limits, Kinematics(robot=GEN3))
