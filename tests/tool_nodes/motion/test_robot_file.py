"""What is wrong with a robot.yaml is said in one sentence that names the file and the key."""

from pathlib import Path

import numpy as np
import pytest

from tests.gen3 import GEN3
from toolhand.tool_nodes import registry
from toolhand.tool_nodes.motion.guard import MotionGuard
from toolhand.tool_nodes.motion.kinematics import Kinematics
from toolhand.tool_nodes.motion.limits import MotionLimits
from toolhand.tool_nodes.motion.robot_model import ROBOTS, find_robot, load_robot
from toolhand.tool_nodes.results import ErrorCode, ToolError


def change(folder: Path, old: str, new: str) -> None:
    file = folder / "robot.yaml"
    text = file.read_text()
    assert text.count(old) == 1
    file.write_text(text.replace(old, new))


JOINT_2 = "{name: joint_2, lower: -2.24, upper: 2.24, velocity: 1.3963, acceleration: 8.6, weight: 1.0}"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("jerk_time: 0.1", "", "jerk_time is missing"),
        ("jerk_time: 0.1", "no_time: 0.1", "there is no key no_time, the nearest is jerk_time; the keys are"),
        ("jerk_time: 0.1", "jerk_time: 0", "jerk_time must be a finite number above 0, not 0"),
        ("jerk_time: 0.1", "jerk_time: soon", "jerk_time must be a finite number above 0, not 'soon'"),
        ("jerk_time: 0.1", "jerk_time: .inf", "jerk_time must be a finite number above 0, not inf"),
        ("jerk_time: 0.1", "jerk_time: 0.1\ncolour: red", "there is no key colour; the keys are urdf, .*, ros"),
        ("urdf: gen3_robotiq_2f_85.urdf", "urdf: none.urdf", "none.urdf is missing"),
        ("tip_frame: end_effector_link", "tip_frame: nose", "tip_frame names no link of .*'nose'"),
        ("name: joint_2,", "name: joint_22,", r"arm\[1\].name names no joint of .*'joint_22'"),
        (JOINT_2, JOINT_2.replace("joint_2", "joint_4"), "arm must name the joints between base and end_effector_link"),
        ("lower: -2.24, upper: 2.24", "lower: 2.24, upper: -2.24", r"arm\[1\].upper must be greater than lower"),
        ("lower: -2.24, upper: 2.24,", "lower: -2.24,", r"arm\[1\].upper is missing"),
        ("lower: -2.24, upper: 2.24,", "", r"arm\[1\].lower does not fit the joint, which has a range"),
        ("lower: -2.24, upper: 2.24", "lower: -2.5, upper: 2.24", r"arm\[1\].lower and upper reach beyond"),
        ("name: joint_1,", "name: joint_1, lower: -1, upper: 1,", r"arm\[0\].lower does not fit .* has no range"),
        ("  Park: [-0.00803,", "  Parked: [-0.00803,", "named_states.Park is missing"),
        ("Home: [0.0, 0.26,", "Home: [0.26,", "named_states.Home must be a list of 7 finite numbers"),
        ("Home: [0.0, 0.26,", "Home: [0.0, 2.6,", "named_states.Home takes joint_2 out of its range"),
        ("high: [0.85, 0.62, 0.95]", "high: [0.85, -0.7, 0.95]", "reach.box.high must be above low"),
        (
            "radius: [0.27, 0.69]",
            "radius: [0.69, 0.27]",
            r"reach.radius must be .* the lower one first, not \[0.69, ",
        ),
        ("joint: robotiq_85_left_knuckle_joint", "joint: thumb", "gripper.joint names no joint"),
        (
            "max_opening: 0.085",
            "max_opening: 0.1",
            "gripper.max_opening differs from what the crank opens to, 0.0849 m",
        ),
        ("closing: [0.0, 0.8]", "closing: [0.0, 0.5]", "gripper.closing leaves the jaws open"),
        ("max_width: 0.078", "max_width: 0.09", "gripper.max_width must not be greater than max_opening"),
        ("step: 0.0155, mirrored: true", "step: 0.0155, mirrored: 1", r"volume.boxes\[1\].mirrored must be true or"),
        (
            "step: 0.0155, mirrored: true",
            "step: 0, mirrored: true",
            r"gripper.volume.boxes\[1\].step must be a finite number above 0, not 0",
        ),
    ],
)
def test_a_mistake_is_named_with_file_and_key(folder: Path, old: str, new: str, words: str) -> None:
    change(folder, old, new)
    with pytest.raises(ToolError, match=words) as caught:
        load_robot(str(folder))
    assert str(folder) in caught.value.message
    assert caught.value.message.count("\n") == 0


def test_a_document_that_is_no_mapping_is_refused(folder: Path) -> None:
    (folder / "robot.yaml").write_text("- a robot\n")
    with pytest.raises(ToolError, match=r"robot\.yaml: it must be a mapping with the keys urdf, .*, ros, not \['a rob"):
        load_robot(str(folder))


def test_simulation_values_that_are_missing_are_named(folder: Path) -> None:
    file = folder / "simulation.yaml"
    file.write_text(file.read_text().replace("  impratio: 10", "  ratio: 10"))
    with pytest.raises(ToolError, match=r"simulation\.yaml: a value is missing .*impratio"):
        Kinematics(robot=load_robot(str(folder)))


def test_a_robot_of_ones_own_is_a_folder_with_the_three_files(folder: Path) -> None:
    mine = load_robot(str(folder))
    q = np.linspace(-1.0, 1.0, 7)
    assert np.array_equal(Kinematics(robot=mine).fk(q), Kinematics(robot=GEN3).fk(q))
    assert mine.folder == folder


def test_an_unknown_robot_is_answered_with_those_that_are_known() -> None:
    with pytest.raises(ToolError, match="There is no robot 'r2d2'") as caught:
        find_robot("r2d2")
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT
    assert all(name in (caught.value.hint or "") for name in ROBOTS)


def test_the_entry_points_are_the_robots_that_come_along_and_lead_to_their_folders() -> None:
    assert set(registry.names("robot")) == set(ROBOTS)
    for name in ROBOTS:
        assert Path(registry.load("robot", name)) == find_robot(name)


@pytest.mark.parametrize("name", ROBOTS)
def test_what_is_loaded_is_shared_and_cannot_be_written(name: str) -> None:
    robot = load_robot(name)
    assert load_robot(name) is robot
    for array in (robot.lower, robot.velocity, robot.park, robot.reach.low):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0
    with pytest.raises(AttributeError):
        robot.name = "other"  # type: ignore[misc]


def test_limits_and_guard_of_one_robot_serve_no_other() -> None:
    from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
    from toolhand.sim.station import Station, StationConfig

    guard = MotionGuard(limits=MotionLimits(robot=GEN3))
    with pytest.raises(ToolError, match="limits are those of gen3, but the robot is jaco2_j2s7s300"):
        Station(load_scene(EXAMPLE_SCENE), StationConfig(robot="jaco2_j2s7s300"), guard=guard)
