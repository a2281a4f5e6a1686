"""What is wrong with a URDF is said in one sentence with file, line and element; nothing hangs, nothing is guessed."""

import os
import shutil
import struct
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.gen3 import GEN3
from toolhand.sim.model import build_model
from toolhand.sim.scene.generator import generate_scene
from toolhand.tool_nodes.motion.kinematics import Kinematics
from toolhand.tool_nodes.motion.packages import PACKAGE_PATH, find_package, mesh_file
from toolhand.tool_nodes.motion.robot_model import JACO2, RobotModel, load_robot
from toolhand.tool_nodes.results import ErrorCode, ToolError

JOINT_2 = '<joint name="joint_2" type="revolute">'
LIMIT_2 = '<limit lower="-2.24" upper="2.24" effort="39" velocity="1.3963"/>'
SHOULDER = '<link name="shoulder_link">'
ORIGIN_2 = '<origin xyz="0 0.005375 -0.12838" rpy="1.5707963267948966 0 0"/>'
MESHED = '<collision name="base_column"><geometry><mesh filename="{}"/></geometry></collision>'


def urdf_of(folder: Path) -> Path:
    (file,) = folder.glob("*.urdf")
    return file


def change(folder: Path, old: str, new: str) -> None:
    text = urdf_of(folder).read_text()
    assert old in text
    urdf_of(folder).write_text(text.replace(old, new, 1))


def use(folder: Path) -> RobotModel:
    """Load a robot and make both of its models, with what stands on a table."""
    robot = load_robot(str(folder))
    Kinematics(robot=robot)
    build_model(generate_scene(0, n_objects=1), robot)
    return robot


def refused(folder: Path, words: str) -> None:
    with pytest.raises(ToolError, match=words) as caught:
        use(folder)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT
    assert str(folder) in caught.value.message
    assert "\n" not in caught.value.message
    assert len(caught.value.message) < 600


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (SHOULDER, '<link nane="shoulder_link">', r"line \d+, <link>: its attribute name is missing .* has nane"),
        (JOINT_2, '<joint type="revolute">', r"line \d+, <joint>: its attribute name is missing"),
        (JOINT_2, '<joint name="joint_2">', 'line 44, <joint name="joint_2">: type must be one of revolute.* missing'),
        (JOINT_2, '<joint name="joint_2" type="hinge">', "type must be one of .*; got 'hinge'"),
        (JOINT_2, '<joint name="joint_1" type="revolute">', "the name is taken by another <joint>"),
        (SHOULDER, '<link name="base_link">', "the name is taken by another <link>"),
        ('upper="2.24"', 'upper="${2.24}"', "upper holds an expression of xacro, .*xacro FILE > FILE.urdf"),
        ('upper="2.24"', 'upper="2,24"', "upper must be a finite number, with a point and no comma, got '2,24'"),
        ('upper="2.24"', 'upper="-3"', "lower -2.24 is above upper -3"),
        ('velocity="1.3963"', 'velocity="-1"', "velocity must not be negative"),
        (LIMIT_2, "", "a revolute joint must have an element <limit>"),
        ('<child link="half_arm_1_link"/>', '<child link="nowhere"/>', "its child 'nowhere' is no link of the file"),
        ('<parent link="shoulder_link"/>', '<parent link="nowhere"/>', "its parent 'nowhere' is no link of the file"),
        ('<parent link="shoulder_link"/>', "", "it must have an element <parent>"),
        ('<parent link="shoulder_link"/>', '<parent link="half_arm_1_link"/>', "joins the link .* to itself"),
        ('<child link="half_arm_1_link"/>', '<child link="shoulder_link"/>', "joins the link .* to itself"),
        ('<child link="half_arm_2_link"/>', '<child link="half_arm_1_link"/>', "to itself|is the child of"),
        ('<child link="half_arm_2_link"/>', '<child link="shoulder_link"/>', "is the child of .* too; a link has one"),
        ('<parent link="base_link"/>', '<parent link="bracelet_link"/>', "it closes a cycle of joints"),
        (ORIGIN_2, '<origin xyz="0 nan 0"/>', "xyz must be 3 finite numbers"),
        (ORIGIN_2, '<origin xyz="0 inf 0"/>', "xyz must be 3 finite numbers"),
        (ORIGIN_2, '<origin xyz="0 0"/>', "xyz must be 3 finite numbers"),
        ('<axis xyz="0 0 1"/>', '<axis xyz="0 0 0"/>', "xyz must not be zero"),
        (
            '<mass value="1.3773"/>',
            '<mass value="0"/>',
            "the joint 'joint_1' moves it, so that it must have an <inertial>",
        ),
        ('<mass value="1.3773"/>', '<mass value="-1"/>', "the mass must not be negative"),
        ('ixx="0.00457"', 'ixx="0"', "must have an <inertial> with a mass and ixx"),
        ('ixx="0.00457"', 'ixx="9"', "the physics refuses it: .*inertia"),
        ('radius="0.046" length="0.156"', 'radius="-0.046" length="0.156"', "radius must be greater than 0"),
        ('<cylinder radius="0.046" length="0.156"/>', "", "it must hold <box>, <cylinder>, <sphere> or <mesh>"),
        ('<cylinder radius="0.046" length="0.156"/>', '<mesh filename="a.stl"/>', "the mesh 'a.stl' is not there"),
        ('<mimic joint="robotiq_85_left_knuckle_joint" multiplier="1"/>', '<mimic joint="x"/>', "'x' is no joint"),
        (
            'effort="50" velocity="0.5"/>',
            'effort="50" velocity="0.5"/><mimic joint="robotiq_85_right_knuckle_joint"/>',
            "it mimics itself over other joints",
        ),
        ("<robot name", "<robots name", "is no XML"),
        ('<mujoco><compiler fusestatic="false"', "<mujoco><compiler fusestatic='maybe'", "the physics refuses it"),
    ],
)
def test_an_oddity_is_named_with_line_and_element(folder: Path, old: str, new: str, words: str) -> None:
    change(folder, old, new)
    refused(folder, words)


def test_the_line_is_that_of_the_element(folder: Path) -> None:
    change(folder, 'upper="2.24"', 'upper="two"')
    line = next(n for n, text in enumerate(urdf_of(folder).read_text().splitlines(), 1) if 'upper="two"' in text)
    refused(folder, f"line {line}, <limit>: upper must be a finite number, got 'two'")


def test_no_inertials_at_all_are_refused(folder: Path) -> None:
    tree = ET.parse(urdf_of(folder))
    for link in tree.getroot().findall("link"):
        for inertial in link.findall("inertial"):
            link.remove(inertial)
    tree.write(urdf_of(folder))
    refused(folder, "must have an <inertial>")


def test_a_file_of_another_kind_is_refused(folder: Path) -> None:
    urdf_of(folder).write_text("<mujoco><worldbody/></mujoco>")
    refused(folder, "line 1, <mujoco>: the outermost element must be <robot>")
    urdf_of(folder).write_text('<robot name="r" xmlns:xacro="x">\n<xacro:macro name="m"/></robot>')
    refused(folder, 'line 2, <xacro:macro name="m">: this is xacro')


def test_a_file_that_nests_without_end_is_refused(folder: Path) -> None:
    urdf_of(folder).write_text("<robot>" + "<a>" * 100_000)
    refused(folder, "elements may be 64 deep")


@pytest.mark.parametrize(
    ("declared", "codec"),
    [("ISO-8859-1", "latin-1"), ("UTF-16", "utf-16"), ("windows-1252", "cp1252"), ("UTF-8", "utf-8")],
)
def test_the_declared_encoding_is_honoured(folder: Path, declared: str, codec: str) -> None:
    text = urdf_of(folder).read_text().replace('<?xml version="1.0"?>', f'<?xml version="1.0" encoding="{declared}"?>')
    text = text.replace("<!-- The arm -->", "<!-- Armgelenk Öl, für später -->")
    text = text.replace('<material name="shell">', '<material name="Gehäuse">', 1)
    urdf_of(folder).write_bytes(text.encode(codec))
    robot = use(folder)
    assert "Gehäuse" in robot.urdf_text()
    assert np.allclose(Kinematics(robot=robot).fk(GEN3.park), Kinematics(robot=GEN3).fk(GEN3.park))


def test_bytes_that_are_not_of_the_declared_encoding_are_refused(folder: Path) -> None:
    data = urdf_of(folder).read_bytes().replace(b"<!-- The arm -->", b"<!-- \xd6l -->")
    urdf_of(folder).write_bytes(data)
    refused(folder, "is no XML: not well-formed")
    urdf_of(folder).write_bytes(data.replace(b'<?xml version="1.0"?>', b'<?xml version="1.0" encoding="klingon"?>'))
    refused(folder, "is no XML: unknown encoding")


def test_a_pipe_is_refused_and_not_waited_for(folder: Path) -> None:
    urdf_of(folder).unlink()
    os.mkfifo(folder / "gen3_robotiq_2f_85.urdf")
    refused(folder, "it must be a regular file")


def test_a_file_without_end_is_refused(folder: Path) -> None:
    urdf_of(folder).write_bytes(b" " * 8_000_001)
    refused(folder, "a robot's file may have 8000000 bytes")


def test_pads_that_are_no_shapes_are_refused_and_those_of_a_link_are_taken(folder: Path) -> None:
    """Shapes of other people's URDFs have no names."""
    file = folder / "simulation.yaml"
    text = file.read_text()
    geoms = "geoms: [left_pad_1, left_pad_2, right_pad_1, right_pad_2]"
    assert geoms in text
    file.write_text(text.replace(geoms, "links: [robotiq_85_left_finger_tip_link, robotiq_85_right_finger_tip_link]"))
    use(folder)
    for number, pads in enumerate(("geoms: [nose]", "links: [base_link]", "geoms: []")):
        other = Path(shutil.copytree(folder, folder.parent / str(number)))
        (other / "simulation.yaml").write_text(text.replace(geoms, pads))
        refused(other, "pads (names no collision shape|must name)")


# -- meshes ------------------------------------------------------------------------------------------


def stl(folder: Path, name: str) -> Path:
    """A binary STL: a box of 92 x 92 x 156 mm with a corner at (-46, -46, 0) mm."""
    corners = [(x, y, z) for x in (-0.046, 0.046) for y in (-0.046, 0.046) for z in (0.0, 0.156)]
    sides = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
    faces = [face for a, b, c, d in sides for face in ((a, b, c), (a, c, d))]
    data = bytes(80) + struct.pack("<I", len(faces))
    for face in faces:
        data += struct.pack("<12f", 0, 0, 0, *(value for k in face for value in corners[k])) + b"\0\0"
    (folder / "meshes").mkdir(parents=True, exist_ok=True)
    file = folder / "meshes" / name
    file.write_bytes(data)
    return file


def package(folder: Path, name: str) -> Path:
    made = folder / name
    made.mkdir(parents=True)
    (made / "package.xml").write_text(f"<package><name>{name}</name></package>")
    stl(made, "base_link.STL")
    (made / "meshes" / "base_link.dae").write_text("<COLLADA/>")
    return made


BASE = (
    '<collision name="base_column"><origin xyz="0 0 0.078"/>'
    '<geometry><cylinder radius="0.046" length="0.156"/></geometry></collision>'
)
SEEN = (
    '<link name="seen"><visual><geometry><mesh filename="package://kortex_description/meshes/base_link.dae"/></geometry>'
    '</visual></link><joint name="seen_joint" type="fixed"><parent link="base_link"/><child link="seen"/></joint>'
    "</robot>"
)


def with_mesh(folder: Path, address: str) -> None:
    change(folder, BASE, MESHED.format(address))


@pytest.mark.parametrize("layout", ["itself", "a folder of packages", "a repository of packages", "ament"])
def test_a_mesh_of_a_package_is_found(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layout: str
) -> None:
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    with_mesh(folder, "package://kortex_description/meshes/base_link.STL")
    change(folder, "</robot>", SEEN)
    refused(folder, "the package 'kortex_description' is not found; source its workspace .*--package-path")
    if layout == "ament":
        package(tmp_path / "ros" / "share", "kortex_description")
        index = tmp_path / "ros" / "share" / "ament_index" / "resource_index" / "packages"
        index.mkdir(parents=True)
        (index / "kortex_description").write_text("")
        monkeypatch.setenv("AMENT_PREFIX_PATH", f"{tmp_path / 'none'}:{tmp_path / 'ros'}")
    else:
        made = package(tmp_path / "src" / "ros2_kortex", "kortex_description")
        place = {"itself": made, "a folder of packages": made.parent, "a repository of packages": made.parent.parent}
        monkeypatch.setenv(PACKAGE_PATH, str(place[layout]))
    robot = use(folder)
    model = build_model(generate_scene(0, n_objects=1), robot)
    geom = model.geom("base_column")
    assert model.nmesh == 1
    assert np.allclose(sorted(model.geom_aabb[geom.id][3:]), [0.046, 0.046, 0.078], atol=1e-4)


def test_nothing_is_read_outside_the_robot_and_the_packages(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = package(tmp_path / "src", "kortex_description")
    outside = stl(tmp_path / "elsewhere", "secret.stl")
    (made / "meshes" / "link.stl").symlink_to(outside)
    monkeypatch.setenv(PACKAGE_PATH, str(made.parent))
    for address, words in {
        "package://kortex_description/../../elsewhere/meshes/secret.stl": "is outside the robot's folder",
        "package://kortex_description/%2e%2e/%2e%2e/elsewhere/meshes/secret.stl": "is outside the robot's folder",
        "package://kortex_description/meshes/link.stl": "is outside the robot's folder",
        "package://../kortex_description/meshes/base_link.STL": "is not found",
        "package://kortex_description": "is not there",
        str(outside): "is outside the robot's folder",
        f"file://{outside}": "is outside the robot's folder",
        "http://example.org/base.stl": "by package://, file:// or a path, not by http://",
        "": "must not be empty",
        "/dev/zero": "is outside the robot's folder",
    }.items():
        with pytest.raises(ValueError, match=words):
            mesh_file(address, folder)
    assert mesh_file(str(made / "meshes" / "base_link.STL"), folder).is_file()
    assert mesh_file(f"file://{stl(folder, 'own.stl')}", folder).is_file()
    assert mesh_file("meshes/own.stl", folder).is_file()
    assert find_package("..") is None


def test_a_mesh_that_is_none_is_refused(folder: Path) -> None:
    file = stl(folder, "base.stl")
    with_mesh(folder, "meshes/base.stl")
    file.write_bytes(b"solid ascii\nendsolid\n")
    other = Path(shutil.copytree(folder, folder.parent / "other"))
    refused(folder, "the physics refuses it: .*0_base.stl")
    shutil.move(other / "meshes" / "base.stl", other / "meshes" / "base.dae")
    change(other, "base.stl", "base.dae")
    refused(other, "a mesh for collisions must be .stl or .obj")


# -- any change at all -------------------------------------------------------------------------------

VALUES = ("", "abc", "nan", "-1", "0", "1,5", "1e999", "0 0", "0 0 0", "world", "joint_1", "${x}", "\u00e9", "1e-320")


def _drop_attribute(rng: np.random.Generator, root: ET.Element, element: ET.Element) -> None:
    if element.attrib:
        del element.attrib[str(rng.choice(sorted(element.attrib)))]


def _alter_attribute(rng: np.random.Generator, root: ET.Element, element: ET.Element) -> None:
    if element.attrib:
        element.set(str(rng.choice(sorted(element.attrib))), str(rng.choice(VALUES)))


def _rename_attribute(rng: np.random.Generator, root: ET.Element, element: ET.Element) -> None:
    if element.attrib:
        key = str(rng.choice(sorted(element.attrib)))
        element.set(key + "x", element.attrib.pop(key))


def _drop_element(rng: np.random.Generator, root: ET.Element, element: ET.Element) -> None:
    for parent in root.iter():
        if element in list(parent):
            parent.remove(element)
            return


def _repeat_element(rng: np.random.Generator, root: ET.Element, element: ET.Element) -> None:
    for parent in root.iter():
        if element in list(parent):
            parent.append(element)
            return


def _swap_link(rng: np.random.Generator, root: ET.Element, element: ET.Element) -> None:
    ends = [end for joint in root.findall("joint") for end in joint if end.tag in ("parent", "child")]
    first, second = (ends[int(rng.integers(len(ends)))] for _ in range(2))
    first.set("link", second.attrib.get("link", ""))


CHANGES: tuple[Callable[[np.random.Generator, ET.Element, ET.Element], None], ...] = (
    _drop_attribute,
    _alter_attribute,
    _alter_attribute,
    _rename_attribute,
    _drop_element,
    _repeat_element,
    _swap_link,
)


@pytest.mark.parametrize("source", [GEN3.folder, JACO2], ids=["gen3", "jaco2"])
def test_any_change_of_a_urdf_works_or_is_refused_in_a_sentence(source: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    worked = 0
    for trial in range(60):
        folder = Path(shutil.copytree(source, tmp_path / str(trial)))
        tree = ET.parse(urdf_of(folder))
        root = tree.getroot()
        elements = [element for part in root.findall("link") + root.findall("joint") for element in part.iter()]
        for _ in range(int(rng.integers(1, 3))):
            CHANGES[int(rng.integers(len(CHANGES)))](rng, root, elements[int(rng.integers(len(elements)))])
        tree.write(urdf_of(folder), encoding="utf-8")
        error = what_is_said(folder)
        worked += error is None
        if error is not None:
            assert error.code is ErrorCode.INVALID_ARGUMENT, (trial, error.message)
            assert "\n" not in error.message, (trial, error.message)
    assert 0 < worked < 60


def what_is_said(folder: Path) -> ToolError | None:
    try:
        use(folder)
    except ToolError as error:
        return error
    return None
