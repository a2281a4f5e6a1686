"""What is exported says the same robot as the project has it, to a reader that shares no code with it."""

import os
import shutil
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from tests.gen3 import GEN3
from tests.refusals import refused
from tests.tool_nodes.robot_export.reading import Reader, directions, uncovered
from toolhand.tool_nodes.motion.kinematics import Kinematics
from toolhand.tool_nodes.motion.robot_model import load_robot
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.robot_export.folder import export_robot

ROBOTS = ("gen3", "jaco2_j2s7s300")


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def urdf_of(folder: Path) -> Reader:
    (path,) = (folder / "config").glob("*.urdf")
    return Reader(path)


def spheres_of(folder: Path) -> list[dict[str, Any]]:
    (xrdf,) = (folder / "curobo").glob("*.xrdf")
    document = read(xrdf)
    spheres = document["geometry"][document["collision"]["geometry"]]["spheres"]
    assert [ball["radius"] for ball in spheres.pop("attached_object")] == [-100.0]  # none, until something is held
    return [
        read(folder / "curobo" / "v0.7.yml")["robot_cfg"]["kinematics"]["collision_spheres"],
        read(folder / "curobo" / "v0.8.yml")["robot_cfg"]["kinematics"]["collision_spheres"],
        spheres,
    ]


@pytest.mark.parametrize("name", ROBOTS)
def test_spheres_cover_every_primitive_and_stay_close_to_its_link(exported: dict[str, Path], name: str) -> None:
    shapes = urdf_of(exported[name]).shapes()
    for spheres in spheres_of(exported[name]):
        assert set(spheres) == {shape.link for shape in shapes}
        for link, balls in spheres.items():
            of_link = [shape for shape in shapes if shape.link == link]
            centers = np.array([ball["center"] for ball in balls])
            radii = np.array([ball["radius"] for ball in balls])
            for shape in of_link:
                assert uncovered(shape.surface(0.004), centers, radii) <= 0.0, link
            around = (centers[:, None] + radii[:, None, None] * directions(200)).reshape(-1, 3)
            assert np.min([shape.distance(around) for shape in of_link], axis=0).max() <= 0.0121, link


@pytest.mark.parametrize("name", ROBOTS)
def test_the_exported_urdf_moves_as_the_planner_says(exported: dict[str, Path], name: str) -> None:
    robot, reader = load_robot(name), urdf_of(exported[name])
    kinematics, rng = Kinematics(robot), np.random.default_rng(3)
    for version, base in (("v0.7.yml", "ee_link"), ("v0.8.yml", "tool_frames")):
        document = read(exported[name] / "curobo" / version)["robot_cfg"]["kinematics"]
        tip = document[base] if isinstance(document[base], str) else document[base][0]
        joints = document["cspace"]["joint_names"]
        assert joints == [*robot.arm_joints, *document["lock_joints"]]
        for q in rng.uniform(*robot.sampled_range, (25, robot.dof)):
            poses = reader.poses(dict(zip(joints, q, strict=False)))
            T = np.linalg.inv(poses[document["base_link"]]) @ poses[tip]
            np.testing.assert_allclose(T, kinematics.fk(q), atol=1e-6)


@pytest.mark.parametrize("name", ROBOTS)
def test_limits_are_those_that_the_planner_keeps(exported: dict[str, Path], name: str) -> None:
    robot, folder = load_robot(name), exported[name]
    reader, limits = urdf_of(folder), read(folder / "config" / "joint_limits.yaml")["joint_limits"]
    cspace = read(folder / "curobo" / "v0.8.yml")["robot_cfg"]["kinematics"]["cspace"]
    for index, joint in enumerate(robot.arm_joints):
        element = reader.joints[joint].find("limit")
        assert element is not None
        assert float(element.attrib["velocity"]) == limits[joint]["max_velocity"] == robot.velocity[index]
        if not robot.continuous[index]:
            assert (float(element.attrib["lower"]), float(element.attrib["upper"])) == (
                robot.lower[index],
                robot.upper[index],
            )
        assert limits[joint]["max_acceleration"] == cspace["max_acceleration"][index] == robot.acceleration[index]
        assert limits[joint]["max_jerk"] == cspace["max_jerk"][index]
        np.testing.assert_allclose(cspace["max_jerk"][index], robot.acceleration[index] / robot.jerk_time)
    assert cspace["default_joint_position"][:-1] == robot.park.tolist()


@pytest.mark.parametrize("name", ROBOTS)
def test_curobo_and_xrdf_name_only_links_and_joints_of_the_urdf(exported: dict[str, Path], name: str) -> None:
    folder, reader = exported[name], urdf_of(exported[name])
    known = reader.links | {"attached_object"}
    for version in ("v0.7.yml", "v0.8.yml"):
        document = read(folder / "curobo" / version)["robot_cfg"]["kinematics"]
        links = document["collision_link_names"]
        assert known >= {document["base_link"], *links, *document["self_collision_buffer"]}
        assert set(document["self_collision_buffer"]) == set(links)
        for link, others in document["self_collision_ignore"].items():
            assert {link, *others} <= set(links)
        assert set(document["lock_joints"]) < set(reader.joints)
        assert (folder / document["urdf_path"]).is_file()
        cspace = document["cspace"]
        assert len({len(values) for values in cspace.values()}) == 1
    assert "ee_link" in read(folder / "curobo" / "v0.7.yml")["robot_cfg"]["kinematics"]
    newer = read(folder / "curobo" / "v0.8.yml")["robot_cfg"]["kinematics"]
    assert newer["format_version"] == 2.0
    assert set(newer["grasp_contact_link_names"]) <= set(newer["collision_link_names"])
    (xrdf,) = (folder / "curobo").glob("*.xrdf")
    document = read(xrdf)
    assert (document["format"], document["format_version"]) == ("xrdf", 1.0)
    assert document["collision"]["geometry"] == document["self_collision"]["geometry"]
    assert set(document["tool_frames"]) <= reader.links
    (frame,) = (one["add_frame"] for one in document["modifiers"] if "add_frame" in one)
    assert (frame["frame_name"], frame["parent_frame_name"]) == ("attached_object", document["tool_frames"][0])
    assert set(document["collision"]["buffer_distance"]) == set(newer["collision_link_names"])
    assert document["self_collision"]["ignore"] == newer["self_collision_ignore"]
    assert len(document["cspace"]["acceleration_limits"]) == len(document["cspace"]["joint_names"])


def test_the_same_seed_gives_the_same_bytes(exported: dict[str, Path], folder: Path, tmp_path: Path) -> None:
    again = export_robot(load_robot(str(folder)), tmp_path / "again")  # another object, for which all is done again
    assert [(exported["gen3"] / name).read_bytes() for name in again.files] == [
        (again.folder / name).read_bytes() for name in again.files
    ]


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with refused(ErrorCode.INVALID_ARGUMENT, "is not an empty folder; an export never replaces anything"):
        export_robot(GEN3, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_folder_that_cannot_be_made_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with refused(ErrorCode.UNAVAILABLE, "Cannot write"):
        export_robot(GEN3, tmp_path / "file" / "robot")
    assert os.listdir(tmp_path) == ["file"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(GEN3.folder, tmp_path / "my_robot"))


def change(folder: Path, old: str, new: str) -> None:
    (file,) = folder.glob("*.urdf")
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new, 1))


def box_stl(half: np.ndarray) -> bytes:
    corners = np.array([[(k >> axis & 1) * 2 - 1 for axis in range(3)] for k in range(8)]) * half
    faces = [(0, 2, 1), (1, 2, 3), (4, 5, 6), (5, 7, 6), (0, 1, 4), (1, 5, 4), (2, 6, 3), (3, 6, 7), (0, 4, 2)]
    faces += [(2, 4, 6), (1, 3, 5), (3, 7, 5)]
    triangles = [struct.pack("<12fH", 0, 0, 0, *corners[list(face)].ravel(), 0) for face in faces]
    return b"\0" * 80 + struct.pack("<I", len(faces)) + b"".join(triangles)


def test_a_mesh_is_covered_and_goes_along(folder: Path, tmp_path: Path) -> None:
    half = np.array([0.03, 0.04, 0.078])
    (folder / "meshes").mkdir()
    (folder / "meshes" / "base column.stl").write_bytes(box_stl(half))
    change(
        folder,
        '<collision name="base_column"><origin xyz="0 0 0.078"/><geometry><cylinder radius="0.046" length="0.156"/>',
        '<collision name="base_column"><origin xyz="0 0 0.078"/><geometry><mesh filename="meshes/base column.stl"/>',
    )
    out = export_robot(load_robot(str(folder)), tmp_path / "out")
    assert "meshes/0_base_column.stl" in out.files
    assert 'filename="package://gen3_robotiq_2f_85_moveit_config/meshes/0_base_column.stl"' in (
        out.folder / "config" / "gen3_robotiq_2f_85.urdf"
    ).read_text().replace("'", '"')
    balls = spheres_of(out.folder)[0]["base_link"]
    centers = np.array([ball["center"] for ball in balls])
    radii = np.array([ball["radius"] for ball in balls])
    from tests.tool_nodes.robot_export.reading import Shape

    T = np.eye(4)
    T[2, 3] = 0.078
    box = Shape("base_link", T, "box", 2 * half)
    assert uncovered(box.surface(), centers, radii) <= 0.0
    around = (centers[:, None] + radii[:, None, None] * directions(200)).reshape(-1, 3)
    assert box.distance(around).max() <= 0.0121


def test_what_curobo_cannot_say_is_refused_with_the_line(folder: Path, tmp_path: Path) -> None:
    change(folder, '<axis xyz="0 -1 0"/>', '<axis xyz="0 -0.6 0.8"/>')
    with pytest.raises(ToolError, match=r"line \d+, <axis>: of the joint .*: cuRobo needs an axis of its frame"):
        export_robot(load_robot(str(folder)), tmp_path / "out")
    assert not (tmp_path / "out").exists()
