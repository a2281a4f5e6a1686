"""The MoveIt package says one robot in all its files, and has what MoveIt's own loader looks for."""

import ast
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from tests.tool_nodes.robot_export.reading import Reader
from toolhand.tool_nodes.motion.robot_model import load_robot

ROBOTS = ("gen3", "jaco2_j2s7s300")
MANIPULATOR, GRIPPER = "manipulator", "gripper"


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def parts(package: Path) -> tuple[Reader, ET.Element]:
    """The URDF and the SRDF that `.setup_assistant` names, as MoveItConfigsBuilder looks for them."""
    named = read(package / ".setup_assistant")["moveit_setup_assistant_config"]
    return Reader(package / named["urdf"]["relative_path"]), ET.parse(
        package / named["srdf"]["relative_path"]
    ).getroot()


def chain(reader: Reader, base: str, tip: str) -> list[str]:
    above = {reader.end(joint, "child"): joint for joint in reader.joints}
    joints: list[str] = []
    while tip != base:
        joints.insert(0, above[tip])
        tip = reader.end(above[tip], "parent")
    return joints


@pytest.mark.parametrize("name", ROBOTS)
def test_groups_are_the_arm_and_its_gripper(exported: dict[str, Path], name: str) -> None:
    robot, (reader, srdf) = load_robot(name), parts(exported[name])
    assert srdf.attrib["name"] == reader.root.attrib["name"]
    arm, gripper = (srdf.find(f"group[@name='{group}']") for group in (MANIPULATOR, GRIPPER))
    assert arm is not None
    assert gripper is not None
    ends = arm[0].attrib
    joints = chain(reader, ends["base_link"], ends["tip_link"])
    turning = [joint for joint in joints if reader.joints[joint].attrib["type"] != "fixed"]
    assert turning == list(robot.arm_joints)
    fingers = [joint.attrib["name"] for joint in gripper]
    assert not set(fingers) & set(joints)
    assert robot.gripper.joint in fingers
    end = srdf.find("end_effector")
    assert end is not None
    # MoveIt asks that the link it hangs on belongs to the arm and not to the gripper.
    assert end.attrib["parent_link"] in {reader.end(joint, "child") for joint in joints}
    assert end.attrib["parent_link"] not in {reader.end(joint, "child") for joint in fingers}
    passive = {joint.attrib["name"] for joint in srdf.findall("passive_joint")}
    assert passive == {name for name, joint in reader.joints.items() if joint.find("mimic") is not None}


@pytest.mark.parametrize("name", ROBOTS)
def test_named_states_are_within_the_limits_of_the_urdf(exported: dict[str, Path], name: str) -> None:
    robot, (reader, srdf) = load_robot(name), parts(exported[name])
    states = {state.attrib["name"]: state for state in srdf.findall("group_state")}
    assert set(states) == {*robot.named_states, "Open", "Close"}
    for state in states.values():
        for value in state:
            joint = reader.joints[value.attrib["name"]]
            if joint.attrib["type"] != "continuous":
                limit = joint.find("limit")
                assert limit is not None
                assert float(limit.attrib["lower"]) <= float(value.attrib["value"]) <= float(limit.attrib["upper"])
    park = [float(value.attrib["value"]) for value in states["Park"]]
    np.testing.assert_array_equal(park, robot.park)


@pytest.mark.parametrize("name", ROBOTS)
def test_pairs_that_are_not_checked_are_neighbours_or_never_touch(exported: dict[str, Path], name: str) -> None:
    """Points on the surfaces in other configurations than those that were tried."""
    robot, (reader, srdf) = load_robot(name), parts(exported[name])
    pairs = [
        (pair.attrib["link1"], pair.attrib["link2"], pair.attrib["reason"]) for pair in srdf if "link1" in pair.attrib
    ]
    assert len({frozenset(pair[:2]) for pair in pairs}) == len(pairs)
    assert {link for pair in pairs for link in pair[:2]} <= reader.links
    joined = {frozenset((reader.end(joint, "parent"), reader.end(joint, "child"))) for joint in reader.joints}
    shaped = {shape.link for shape in reader.shapes()}
    assert {frozenset(pair[:2]) for pair in pairs} >= {pair for pair in joined if pair <= shaped}
    shapes = reader.shapes()
    points = {link: np.vstack([s.surface(0.02) for s in shapes if s.link == link]) for link in shaped}
    balls = {link: (p.mean(axis=0), np.linalg.norm(p - p.mean(axis=0), axis=1).max()) for link, p in points.items()}
    checked = {frozenset((a, b)) for a in shaped for b in shaped if a < b} - {frozenset(pair[:2]) for pair in pairs}
    never = {frozenset(pair[:2]) for pair in pairs if pair[2] == "Never"}
    closest = dict.fromkeys(checked | never, np.inf)
    rng = np.random.default_rng(77)
    for q in rng.uniform(*robot.sampled_range, (100, robot.dof)):
        jaws = rng.uniform(robot.gripper.open_at, robot.gripper.closed_at)
        poses = reader.poses({**dict(zip(robot.arm_joints, q, strict=True)), robot.gripper.joint: jaws})
        for pair in closest:
            first, second = sorted(pair)
            if near(poses, balls, first, second):
                T = np.linalg.inv(poses[second]) @ poses[first]
                moved = points[first] @ T[:3, :3].T + T[:3, 3]
                closest[pair] = min(closest[pair], *(s.distance(moved).min() for s in shapes if s.link == second))
    assert min(closest[pair] for pair in never) > 0.01
    assert min(closest[pair] for pair in checked) < 0.1  # and some of these come close in as few


def near(poses: dict[str, Any], balls: dict[str, tuple[Any, float]], first: str, second: str) -> bool:
    """Whether the balls around two links overlap."""
    centers = [poses[link][:3, :3] @ balls[link][0] + poses[link][:3, 3] for link in (first, second)]
    return float(np.linalg.norm(centers[0] - centers[1])) < balls[first][1] + balls[second][1]


@pytest.mark.parametrize("name", ROBOTS)
def test_controllers_of_moveit_are_those_of_ros2_control_and_of_the_drivers(
    exported: dict[str, Path], name: str
) -> None:
    robot, config = load_robot(name), exported[name] / "config"
    moveit, ros2_control = read(config / "moveit_controllers.yaml"), read(config / "ros2_controllers.yaml")
    manager = moveit["moveit_simple_controller_manager"]
    actions = [f"{controller}/{manager[controller]['action_ns']}" for controller in manager["controller_names"]]
    assert actions == [robot.trajectory_action, robot.gripper_action]
    kinds = [manager[controller]["type"] for controller in manager["controller_names"]]
    assert kinds == ["FollowJointTrajectory", "ParallelGripperCommand"]
    loaded = set(ros2_control["controller_manager"]["ros__parameters"]) - {"update_rate"}
    assert loaded == {"joint_state_broadcaster", *manager["controller_names"]}
    arm = ros2_control[manager["controller_names"][0]]["ros__parameters"]
    assert arm["joints"] == list(robot.arm_joints)
    for joint in robot.arm_joints:  # an arm that stays where it is must not be a success
        assert 0.0 < arm["constraints"][joint]["goal"] <= arm["constraints"][joint]["trajectory"]


@pytest.mark.parametrize("name", ROBOTS)
def test_the_files_are_there_that_moveit_looks_for(exported: dict[str, Path], name: str) -> None:
    """As `MoveItConfigsBuilder` of moveit_configs_utils 2.14 does, and `move_group` with what it finds."""
    package = exported[name]
    xml = ET.parse(package / "package.xml").getroot()
    assert (
        xml.findtext("name") == read(package / ".setup_assistant")["moveit_setup_assistant_config"]["urdf"]["package"]
    )
    assert f"project({xml.findtext('name')})" in (package / "CMakeLists.txt").read_text()
    config = package / "config"
    assert set(read(config / "kinematics.yaml")) == {MANIPULATOR}
    cpp = read(config / "moveit_cpp.yaml")
    for pipeline in cpp["planning_pipelines"]["pipeline_names"]:
        parameters = read(config / f"{pipeline}_planning.yaml")
        assert isinstance(parameters["planning_plugins"], list)
        for adapters in (parameters["request_adapters"], parameters["response_adapters"]):
            assert all("/" in adapter for adapter in adapters)
    ompl = read(config / "ompl_planning.yaml")
    assert set(ompl[MANIPULATOR]["planner_configs"]) <= set(ompl["planner_configs"])
    assert cpp["plan_request_params"]["planner_id"] in ompl["planner_configs"]
    assert 0.0 < ompl[MANIPULATOR]["longest_valid_segment_fraction"] < 0.01
    limits = read(config / "joint_limits.yaml")["joint_limits"]
    reader, _ = parts(package)
    assert set(limits) <= set(reader.joints)
    assert "cartesian_limits" in read(config / "pilz_cartesian_limits.yaml")
    launch = (package / "launch" / "move_group.launch.py").read_text()
    assert any(isinstance(node, ast.FunctionDef) for node in ast.parse(launch).body)
    assert f'MoveItConfigsBuilder("{reader.root.attrib["name"]}", package_name="{xml.findtext("name")}")' in launch


def test_no_file_holds_an_anchor_or_a_tag_that_other_readers_do_not_know(exported: dict[str, Path]) -> None:
    for path in exported["gen3"].rglob("*.y*ml"):
        text = path.read_text()
        assert "&id" not in text, path
        assert "!!" not in text, path
        for first, second in pairwise(text.splitlines()):
            assert "\t" not in first + second


def test_the_command_prints_its_seed_and_what_it_wrote(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from toolhand.cli.robot_export import robot_export

    assert robot_export(tmp_path / "out", "gen3", seed=5) == 0
    printed = capsys.readouterr().out
    assert "269 collision spheres" in printed
    assert "(seed 5)" in printed
    assert "(seed 5)" in (tmp_path / "out" / "README.md").read_text()
