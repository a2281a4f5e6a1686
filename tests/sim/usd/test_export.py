"""A scene as USD: what the file holds by OpenUSD's own reading, and that what is wrong in one is found."""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.sim.usd.checking import UsdJob, check_scene
from tests.sim.usd.reading import ReadStage, validation_issues
from tests.toolhand.test_cli import cli as cli
from toolhand.sim.scene.files import named_scene, parse_scene
from toolhand.sim.usd.prims import object_paths, prim_name, prim_names
from toolhand.sim.usd.stage import usd_text
from toolhand.tool_nodes.motion.robot_model import load_robot

Cli = Callable[..., Any]


@cache
def example(robot: str = "gen3") -> str:
    return usd_text(named_scene("example"), load_robot(robot))


@pytest.mark.parametrize("robot", ["gen3", "jaco2_j2s7s300"])
def test_validators_find_nothing_and_the_physics_is_read_back(robot: str) -> None:
    record = check_scene(UsdJob("example", robot, postures=10))
    assert record.right, record


@pytest.mark.parametrize("kind", ["pile", "shelf"])
def test_objects_with_meshes_in_clutter_are_read_back(kind: str) -> None:
    record = check_scene(UsdJob(f"{kind}:31:generated:3", "gen3", postures=2))
    assert record.right, record


def test_the_same_scene_gives_the_same_bytes() -> None:
    assert usd_text(named_scene("example")) == example()


def test_five_joints_follow_the_driven_one_and_have_finite_limits() -> None:
    joints = ReadStage(example()).joints
    following = {name: joint for name, joint in joints.items() if joint.follows}
    assert len(following) == 5
    for joint in following.values():
        assert joint.follows is not None
        assert joint.follows[0] == "/World/Robot/Joints/robotiq_85_left_knuckle_joint"
        assert joint.drive is None
        assert sorted(np.abs(joint.limits).round(6).tolist()) == [0.0, 0.8]


def test_gains_are_per_degree() -> None:
    drive = re.search(r'def PhysicsRevoluteJoint "joint_1".*?stiffness = (\S+)', example(), re.DOTALL)
    assert drive is not None
    assert float(drive.group(1)) == pytest.approx(2000 * np.pi / 180, rel=1e-6)


@pytest.mark.parametrize(
    ("pattern", "replacement"),
    [
        (r"(def PhysicsRevoluteJoint \"joint_2\".*?stiffness = )\S+", r"\g<1>2000"),  # per radian
        (r"(def Xform \"red_box_1\".*?physics:mass = )\S+", r"\g<1>0.2"),
        (r"(def PhysicsRevoluteJoint \"joint_4\".*?physics:localPos0 = \()[^,]+", r"\g<1>0.01"),
        (r"(def Xform \"red_box_1\".*?xformOp:scale = \()[^,]+", r"\g<1>0.2"),
        (r"(rel physics:filteredPairs = )\[.*?\]", r"\g<1>[]"),
    ],
)
def test_what_is_wrong_in_a_file_is_found(pattern: str, replacement: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong, count = re.subn(pattern, replacement, example(), flags=re.DOTALL)
    assert count
    monkeypatch.setattr("tests.sim.usd.checking.usd_text", lambda scene, robot: wrong)
    assert not check_scene(UsdJob("example", "gen3", postures=10)).right


BAD_STAGE = """#usda 1.0
(
    defaultPrim = "World"
    metersPerUnit = 1
    upAxis = "Z"
)
def Xform "World"
{
    def Sphere "ellipsoid" (prepend apiSchemas = ["PhysicsCollisionAPI"])
    {
        double3 xformOp:scale = (1, 2, 1)
        uniform token[] xformOpOrder = ["xformOp:scale"]
    }
    def PhysicsFixedJoint "loose"
    {
        rel physics:body0 = </World/none>
    }
}
"""


def test_the_validators_see_what_physics_engines_refuse() -> None:
    found = {issue.partition(":")[0] for issue in validation_issues(BAD_STAGE)}
    assert {"ColliderNonUniformScale", "JointInvalidPrimRel"} <= found


def test_friction_of_its_own_is_less_than_the_pads_and_wins_over_them() -> None:
    """PhysX takes the least of two where one says so, unless the other one says that it takes the greatest."""

    def combined(grip: float) -> tuple[float, str]:
        scene = parse_scene(f"objects: [{{name: red box, position: [0.45, 0.1], grip: {grip}}}]", "a test")
        text = usd_text(scene)
        body = text[text.index('def Xform "red_box_1"') :]
        name = re.search(r"material:binding:physics = <(?:\S+)/(\w+)>", body)
        assert name is not None
        material = text[text.index(f'def Material "{name.group(1)}"') :]
        friction = re.search(r"dynamicFriction = (\S+)", material)
        mode = re.search(r'frictionCombineMode = "(\w+)"', material)
        assert friction is not None
        assert mode is not None
        return float(friction.group(1)), mode.group(1)

    pads = 'physxMaterial:frictionCombineMode = "average"'
    assert pads in example()
    own, mode = combined(1.0)
    assert mode == "max"
    assert combined(0.5) == (pytest.approx(own / 2), "min")
    assert combined(1.5 / own)[1] == "max"


def test_names_become_prims_once_each() -> None:
    assert prim_name("2nd box") == "_2nd_box"
    assert prim_names(["a b", "a_b"]) == {"a b": "a_b", "a_b": "a_b_2"}
    assert object_paths(["red_box_1"]) == {"red_box_1": "/World/Objects/red_box_1"}


def test_the_command_writes_the_file(cli: Cli, tmp_path: Path) -> None:
    ended = cli("scene", "example", "--usd", str(tmp_path / "scene.usda"))
    assert ended.status == 0, ended.err
    assert (tmp_path / "scene.usda").read_text() == example()
    refused = cli("scene", "example", "--usd", str(tmp_path / "scene.obj"))
    assert refused.status == 2
    assert ".usda" in refused.err
