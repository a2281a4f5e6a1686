"""Folders as people have them: MJCF beside meshes, collision meshes, names of any script, and what is said of them."""

import logging
import os
import shutil
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from toolhand.sim.objects import folders
from toolhand.sim.objects.folders import FolderSet, folder_sets, plain_name, use_objects
from toolhand.sim.objects.mesh_asset import MeshAsset
from toolhand.sim.objects.reading import solids
from toolhand.sim.scene.clutter import clutter_scene
from toolhand.tool_nodes.results import ToolError

trimesh = pytest.importorskip("trimesh")
pytest.importorskip("coacd")
pytestmark = pytest.mark.usefixtures("cache", "no_folders")

BOX = trimesh.creation.box((0.04, 0.06, 0.10))
LIBERO = """<mujoco model="soup">
  <compiler angle="radian"/>
  <asset>
    <mesh file="visual/soup_vis.msh" name="seen" scale="0.01 0.01 0.01"/>
    <mesh file="collision/a.stl" scale="0.01 0.01 0.01"/>
    <mesh file="collision/b.stl" scale="0.01 0.01 0.01"/>
  </asset>
  <worldbody><body><body name="object">
    <geom type="mesh" mesh="seen" conaffinity="0" contype="0" group="1" rgba="0.9 0.1 0.1 1"/>
    <geom type="mesh" mesh="a" group="0" friction="0.9 0.3 0.1" mass="0.1"/>
    <geom type="mesh" mesh="b" group="0" friction="0.9 0.3 0.1" mass="0.2" euler="0 0 3.141592653589793"/>
  </body><site name="top" pos="0 0 0.1"/></body></worldbody>
</mujoco>"""
ROBOSUITE = """<mujoco model="can">
  <default><default class="touched"><geom group="0" condim="4" friction="0.95 0.3 0.1"/></default>
    <default class="seen"><geom group="1" contype="0" conaffinity="0" mass="0.0001"/></default></default>
  <asset><mesh file="meshes/can.obj" name="can_mesh" scale="0.9 0.9 1.5"/>
    <material name="tin" rgba="0.1 0.2 0.8 1"/></asset>
  <worldbody><body childclass="touched"><body name="object" quat="0.7071068 0 0 0.7071068">
    <geom mesh="can_mesh" type="mesh"/>
    <geom mesh="can_mesh" class="seen" type="mesh" material="tin"/>
    <geom type="cylinder" size="0.01 0.005" pos="0 0 0.08"/>
  </body></body></worldbody>
</mujoco>"""


SIDES = [((0.1, 0.1, 0.01), (0, 0, -0.03))] + [
    (size, at)
    for sign in (-1, 1)
    for size, at in (((0.01, 0.1, 0.05), (sign * 0.045, 0, 0)), ((0.08, 0.01, 0.05), (0, sign * 0.045, 0)))
]
"""Floor and walls of a tub: sizes, and where they are [m]."""


def side(size: tuple[float, ...], at: tuple[float, ...]) -> Any:
    made = trimesh.creation.box(size)
    made.apply_translation(at)
    return made


def put(mesh: Any, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    mesh.export(path)
    return path


def msh(mesh: Any) -> bytes:
    points, faces = np.asarray(mesh.vertices, "<f4"), np.asarray(mesh.faces, "<i4")
    return struct.pack("<4i", len(points), 0, 0, len(faces)) + points.tobytes() + faces.tobytes()


def make_objects(folder: Path) -> FolderSet:
    folders._sets.cache_clear()
    use_objects(str(folder))
    (found,) = folder_sets().values()
    return found


def asset(found: FolderSet, name: str) -> MeshAsset:
    made = found[name]
    assert isinstance(made, MeshAsset)
    return made


@pytest.fixture
def no_coacd(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solids, "_decomposed", lambda *_: pytest.fail("CoACD was run"))


@pytest.mark.usefixtures("no_coacd")
def test_an_mjcf_says_scale_and_pose_of_its_meshes_and_which_of_them_touch(tmp_path: Path) -> None:
    ring = trimesh.creation.annulus(3.0, 3.3, 10.0)
    (tmp_path / "soup" / "visual").mkdir(parents=True)
    (tmp_path / "soup" / "visual" / "soup_vis.msh").write_bytes(msh(ring))
    half = trimesh.creation.box((3.3, 6.6, 10.0))
    half.apply_translation((1.65, 0, 0))
    put(half, tmp_path / "soup" / "collision" / "a.stl")
    put(half, tmp_path / "soup" / "collision" / "b.stl")
    (tmp_path / "soup" / "soup.xml").write_text(LIBERO, "utf-8")
    put(trimesh.creation.cylinder(0.03, 0.1), tmp_path / "meshes" / "can.obj")
    (tmp_path / "can.xml").write_text(ROBOSUITE, "utf-8")
    put(BOX, tmp_path / "meshes" / "loose.obj")
    (tmp_path / "arena.xml").write_text("<mujoco><option/></mujoco>", "utf-8")
    found = make_objects(tmp_path)
    assert set(found) == {"soup", "can", "loose"}
    soup = asset(found, "soup")
    assert soup.size_m == pytest.approx((0.066, 0.066, 0.1), abs=1e-4)
    assert (soup.colour, len(soup.parts), soup.mass_kg) == ("red", 2, pytest.approx(0.3))
    assert soup.contact.friction[0] == 0.9
    can = asset(found, "can")
    assert can.size_m[2] == pytest.approx(0.075 + 0.085, abs=1e-3)
    assert can.size_m[0] == pytest.approx(0.054, abs=1e-3)
    assert (can.colour, len(can.parts)) == ("blue", 2)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("0.01 0.01 0.01", "0.01 0.01"), "scale must be 3 finite numbers"),
        (("0.01 0.01 0.01", "0 0.01 0.01"), "scale must not be zero along an axis"),
        (("visual/soup_vis.msh", "gone.stl"), "the mesh 'gone.stl' is not there"),
        (("visual/soup_vis.msh", "../outside.stl"), "lies outside of the folder of objects"),
        (("visual/soup_vis.msh", "soup.dae"), "a mesh must be one of .glb"),
        (('mesh="a"', 'mesh="c"'), "there is no mesh 'c' among the assets"),
        (('mesh="a" group', 'class="d" mesh="a" group'), "there is no default class 'd'"),
        (('type="mesh" mesh="a"', 'type="sdf"'), "a geom must be a mesh, box"),
        (("<compiler", '<include file="/etc/passwd"/><compiler'), "what it includes is not read"),
        (("</mujoco>", ""), "is no XML"),
    ],
)
def test_what_is_wrong_with_an_mjcf_is_one_sentence(change: tuple[str, str], said: str, tmp_path: Path) -> None:
    folder = tmp_path / "set"
    put(BOX.copy().apply_scale(100), folder / "collision" / "a.stl")
    put(BOX.copy().apply_scale(100), folder / "collision" / "b.stl")
    put(BOX, tmp_path / "outside.stl")
    (folder / "visual").mkdir()
    (folder / "visual" / "soup_vis.msh").write_bytes(msh(BOX.copy().apply_scale(100)))
    (folder / "soup.xml").write_text(LIBERO.replace(*change, 1), "utf-8")
    with pytest.raises(ToolError) as caught:
        make_objects(folder)["soup"]
    assert said in caught.value.message
    assert "\n" not in caught.value.message


@pytest.mark.usefixtures("no_coacd")
@pytest.mark.parametrize(
    "names",
    [
        ("cup.obj", ["cup_col.obj"]),
        ("cup.obj", ["collision/cup_0.stl", "collision/cup_1.stl"]),
        ("cup/visual/model.obj", ["cup/collision/model_collision_0.obj"]),
        ("cup/textured.obj", ["cup/cup_vhacd.obj"]),
        ("cup/cup.obj", ["cup/Collision/0.obj", "cup/Collision/1.obj"]),
    ],
)
def test_collision_meshes_that_lie_beside_are_what_touches(names: tuple[str, list[str]], tmp_path: Path) -> None:
    seen, touched = names
    put(trimesh.creation.annulus(0.02, 0.03, 0.06), tmp_path / seen)
    for name in touched:
        put(trimesh.creation.cylinder(0.03, 0.06), tmp_path / name)
    put(BOX, tmp_path / "another" / "brick.obj")
    found = make_objects(tmp_path)
    assert set(found) == {"cup", "brick"}
    read = found.read("cup")
    assert (len(read.asset.parts), read.asset.cavity) == (len(touched), None)
    assert f"What touches are the {len(touched)} collision mesh" in read.remarks[0]


def test_collision_meshes_of_something_else_are_not_used_and_that_is_said(tmp_path: Path) -> None:
    put(BOX, tmp_path / "brick.obj")
    put(BOX.copy().apply_scale(2), tmp_path / "brick_col.obj")
    read = make_objects(tmp_path).read("brick")
    assert read.asset.size_m == pytest.approx((0.04, 0.06, 0.10))
    assert "what they enclose is not where the object is" in read.remarks[0]


def test_names_keep_the_letters_of_their_script_and_never_come_to_mean_another_object(tmp_path: Path) -> None:
    stems = ["Größe (v2)", "кружка", "茶碗", "हिन्दी", "Gro\u0308ße", "a b", "a-b", "___", "!!"]
    for stem in stems:
        put(BOX, tmp_path / f"{stem}.stl")
    first = {name: make_objects(tmp_path).file(name) for name in make_objects(tmp_path)}
    assert {"größe-v2", "кружка", "茶碗", "हिन्दी", "größe"} <= set(first)
    assert len(first) == len(stems)
    assert sorted(name for name in first if name.startswith("object-")) == sorted(
        name for name, file in first.items() if file in ("___.stl", "!!.stl")
    )
    put(BOX, tmp_path / "_-_.stl")
    put(BOX, tmp_path / "0.stl")
    (tmp_path / "a b.stl").unlink()
    second = {name: make_objects(tmp_path).file(name) for name in make_objects(tmp_path)}
    assert all(file == first[name] for name, file in second.items() if name in first)
    assert plain_name("Größe (v2)") == plain_name("Gro\u0308ße (v2)") == "größe-v2"
    named = tmp_path / "Größe (v2)"
    named.mkdir()
    shutil.move(tmp_path / "кружка.stl", named / "кружка.stl")
    assert make_objects(named)["кружка"].name == "кружка"
    assert list(folder_sets()) == ["größe-v2"]


def test_a_mesh_that_objects_yaml_names_is_no_second_object(tmp_path: Path) -> None:
    put(BOX, tmp_path / "scans" / "tex_0815.obj")
    put(BOX, tmp_path / "brick.obj")
    (tmp_path / "objects.yaml").write_text(
        "objects: {milk-carton: {mesh: scans/tex_0815.obj}, half: {mesh: brick.obj, scale: 0.5}, brick: {mass: 0.3}}",
        "utf-8",
    )
    assert set(make_objects(tmp_path)) == {"milk-carton", "half", "brick"}


def test_what_a_scene_leaves_out_of_a_folder_is_said_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    put(BOX, tmp_path / "brick.stl")
    put(trimesh.util.concatenate([side(*each) for each in SIDES]), tmp_path / "tub.stl")
    (tmp_path / "house.obj").write_bytes(b"v 0 0 0\nv 9 0 0\nv 0 9 0\nv 0 0 9\nf 1 2 3\nf 1 3 4\nf 1 4 2\nf 2 4 3\n")
    found = make_objects(tmp_path)
    name = plain_name(tmp_path.name)
    folders.say_once.cache_clear()
    assert found["tub"].container
    with caplog.at_level(logging.WARNING, "toolhand.objects"):
        for seed in range(2):
            clutter_scene("packed", seed, [name], n=3)
    said = [record.message for record in caplog.records if "is left out" in record.message]
    assert len(said) == 2
    assert any(f"{name}/tub is left out: it is a container" in message for message in said)
    assert any(f"{name}/house is left out: house.obj is 9 units long" in message for message in said)
    assert os.environ[folders.OBJECTS_PATH] == str(tmp_path)
