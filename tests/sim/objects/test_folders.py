"""Folders of meshes as sets: what they are called, what becomes of them, and what is refused in one sentence."""

import logging
import multiprocessing
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.refusals import refused
from toolhand.sim.objects import folders
from toolhand.sim.objects.folders import folder_sets, use_objects
from toolhand.sim.objects.mesh_asset import MeshAsset
from toolhand.sim.objects.reading import mesh_child, pieces, solids
from toolhand.sim.objects.sets import find_asset
from toolhand.sim.scene.scenes import PlacedObject
from toolhand.tool_nodes import extras
from toolhand.tool_nodes.results import ErrorCode, ToolError

trimesh = pytest.importorskip("trimesh")
pytest.importorskip("coacd")
pytestmark = pytest.mark.usefixtures("cache", "no_folders")

BOX = trimesh.creation.box((0.04, 0.06, 0.10))


def used(folder: Path) -> dict[str, MeshAsset]:
    """The set of a folder."""
    use_objects(str(folder))
    (name,) = folder_sets()
    return {key: find_asset(f"{name}/{key}") for key in folder_sets()[name]}  # type: ignore[misc]


def only(folder: Path) -> MeshAsset:
    (item,) = used(folder).values()
    return item


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "My Things"
    made.mkdir()
    return made


def put(mesh: Any, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    mesh.export(path)
    return path


def cup() -> Any:
    wall = trimesh.creation.annulus(0.030, 0.034, 0.090)
    floor = trimesh.creation.cylinder(0.033, 0.005)
    floor.apply_translation([0, 0, -0.0475])
    return trimesh.util.concatenate([wall, floor])


# ---- Names ----


def test_published_sets_have_the_names_of_their_objects(folder: Path) -> None:
    for path in (
        "003_cracker_box/google_16k/textured.obj",
        "003_cracker_box/google_16k/nontextured.stl",
        "003_cracker_box/google_512k/textured.obj",
        "003_cracker_box/poisson/nontextured.ply",
        "Threshold_Mug_9/meshes/model.obj",
        "egad/A0.obj",
        "egad/B12.off",
        "plain/Coffee Mug.stl",
        "two/kitchen/mug.obj",
        "two/office/mug.ply",
        "both.obj",
        "both.glb",
        "urdfs/000/000_coll.obj",
        "soup/visual/soup.obj",
        "soup/collision/soup_0.obj",
    ):
        put(BOX, folder / path)
    (folder / "urdfs/000/000.urdf").write_text("<robot/>", encoding="utf-8")
    (folder / "readme.txt").write_text("no mesh", encoding="utf-8")
    use_objects(str(folder))
    (objects,) = folder_sets().values()
    assert list(folder_sets()) == ["my-things"]
    assert set(objects) == {
        *("003-cracker-box", "threshold-mug-9", "a0", "b12", "coffee-mug", "two-kitchen-mug", "two-office-mug"),
        *("both", "000", "soup"),
    }
    found = objects._found  # type: ignore[attr-defined]
    assert found["003-cracker-box"].path == folder / "003_cracker_box/google_16k/textured.obj"
    assert found["both"].path.suffix == ".glb"


def test_naming_the_objects_of_a_folder_reads_no_mesh(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for k in range(30):
        (folder / f"thing_{k}.stl").write_bytes(b"no mesh at all")
    monkeypatch.setattr(folders, "read_mesh", lambda *_: pytest.fail("a mesh was read"))
    use_objects(str(folder))
    assert len(folder_sets()["my-things"]) == 30


def test_processes_that_are_started_use_the_same_folders(folder: Path) -> None:
    put(BOX, folder / "brick.stl")
    use_objects(str(folder))
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        assert pool.apply(size_of, ("my-things/brick",)) == find_asset("my-things/brick").size_m
    use_objects("")
    assert not folder_sets()
    with pytest.raises(ToolError, match="There is no object set 'my-things'"):
        find_asset("my-things/brick")


def size_of(name: str) -> tuple[float, float, float]:
    return find_asset(name).size_m


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nowhere", "objects must name folders of meshes, got '.*nowhere'"),
        (
            "empty",
            "The folder 'empty' holds no objects: it must hold files of .urdf, .xml, .glb, .gltf, .obj, .ply",
        ),
        ("catalogue", "The folder 'catalogue' would be the set 'catalogue', and there is one"),
        ("___", "The folder '___' has no letter or digit in its name"),
    ],
)
def test_a_folder_that_is_no_set_is_refused_at_once(name: str, said: str, tmp_path: Path) -> None:
    if name != "nowhere":
        (tmp_path / name).mkdir()
    if name not in ("nowhere", "empty"):
        put(BOX, tmp_path / name / "brick.stl")
    with refused(ErrorCode.INVALID_ARGUMENT, said):
        use_objects(str(tmp_path / name))
    assert not folder_sets()


# ---- Bodies ----


def test_a_convex_mesh_is_one_solid_with_its_own_mass_and_inertia(folder: Path) -> None:
    put(BOX, folder / "brick.stl")
    (folder / "brick.yaml").write_text("{mass: 0.4, friction: 0.35, name: red brick, synonyms: [stone]}", "utf-8")
    brick = only(folder)
    assert (brick.name, brick.kind, brick.synonyms, brick.upright) == ("red brick", "brick", ("stone",), True)
    assert brick.size_m == pytest.approx((0.04, 0.06, 0.10))
    assert (len(brick.parts), brick.mass_kg, brick.contact.friction[0]) == (1, 0.4, 0.35)
    assert np.diag(brick.matter.inertia_m2) * 12 == pytest.approx([0.0136, 0.0116, 0.0052])


def test_the_centre_of_mass_is_where_the_mesh_has_it(folder: Path) -> None:
    cone = trimesh.creation.cone(0.03, 0.08)
    put(cone, folder / "cone.obj")
    spec = mujoco.MjSpec()
    PlacedObject("cone", "my-things/cone", (0.0, 0.0, 0.04), 0.0)
    only(folder).add_geoms(spec, spec.worldbody.add_body(name="cone"), "cone", 1.0, 1.0)
    model = spec.compile()
    assert model.body_ipos[1] == pytest.approx([0, 0, -0.02], abs=1e-4)


def test_a_cup_is_hollow_in_the_physics_and_is_taken_apart_once(
    folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(cup(), folder / "cup.ply")
    item = only(folder)
    assert 4 < len(item.parts) <= solids.MOST_PARTS
    assert item.cavity is not None
    assert item.cavity.half_extents_m[0] == pytest.approx(0.027, abs=0.004)
    assert item.cavity.rim_z - item.cavity.floor_z == pytest.approx(0.09, abs=0.006)
    assert item.container
    spec = mujoco.MjSpec()
    item.add_geoms(spec, spec.worldbody.add_body(name="cup", pos=[0, 0, item.size_m[2] / 2]), "cup", 1.0, 1.0)
    ball = spec.worldbody.add_body(name="ball", pos=[0, 0, 0.12])
    ball.add_freejoint()
    ball.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.01, 0, 0])
    model = spec.compile()
    data = mujoco.MjData(model)
    for _ in range(500):
        mujoco.mj_step(model, data)
    assert data.body("ball").xpos[2] < 0.025  # it lies on the floor of the cup
    (kept,) = cache.glob("*.solids")
    whole, taken_apart = kept.read_bytes(), []

    def decomposed(*given: Any) -> tuple[NDArray[np.float64], ...]:
        taken_apart.append(given)
        return item.parts

    monkeypatch.setattr(solids, "_decomposed", decomposed)
    folders._sets.cache_clear()
    assert all(np.array_equal(a, b) for a, b in zip(item.parts, only(folder).parts, strict=True))
    assert not taken_apart
    for k, damaged in enumerate((b"", whole[:100], b"x" * len(whole), whole[:-1] + bytes([whole[-1] ^ 1])), start=1):
        kept.write_bytes(damaged)
        folders._sets.cache_clear()
        only(folder)
        assert len(taken_apart) == k
        assert solids._read_kept(kept) is not None


def test_processes_that_take_a_mesh_apart_at_once_get_the_same(folder: Path, cache: Path) -> None:
    put(trimesh.creation.annulus(0.02, 0.03, 0.02, sections=12), folder / "ring.obj")
    use_objects(str(folder))
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        first, second = pool.map(parts_of, ["my-things/ring"] * 2, chunksize=1)
    assert first == second
    assert len(list(cache.iterdir())) == 1


def parts_of(name: str) -> list[bytes]:
    item = find_asset(name)
    assert isinstance(item, MeshAsset)
    return [part.tobytes() for part in item.parts]


def test_a_textured_mesh_is_seen_in_few_colours(folder: Path) -> None:
    from PIL import Image

    pixels = np.zeros((64, 64, 3), dtype=np.uint8)
    pixels[:, :32], pixels[:, 32:] = (220, 30, 20), (20, 60, 200)
    box = trimesh.creation.box((0.05, 0.05, 0.05))
    uv = np.column_stack([box.vertices[:, 0] / 0.05 + 0.5, box.vertices[:, 2] / 0.05 + 0.5])
    material = trimesh.visual.material.SimpleMaterial(image=Image.fromarray(pixels))
    box.visual = trimesh.visual.TextureVisuals(uv=uv, material=material)
    put(box, folder / "packet" / "textured.obj")
    packet = only(folder)
    assert {packet.colour, packet.secondary_colour} == {"red", "blue"}
    assert len(packet.skins) <= 4
    red = next(skin for skin in packet.skins if skin.rgb[0] > 0.8)
    assert red.mesh.vertices[:, 0].max() < 0.004  # the border between the colours runs through the triangles


def test_a_urdf_is_one_body_with_its_scale_pose_colour_and_mass(folder: Path) -> None:
    put(trimesh.creation.box((1, 1, 1)), folder / "block" / "unit.stl")
    (folder / "block" / "block.urdf").write_text(
        """<robot name="block"><material name="paint"><color rgba="0.9 0.1 0.1 1"/></material>
        <link name="base"><inertial><mass value="0.25"/></inertial><contact><lateral_friction value="0.8"/></contact>
          <visual><geometry><mesh filename="unit.stl" scale="0.04 0.05 0.02"/></geometry>
            <material name="paint"/></visual>
          <collision><geometry><mesh filename="package://block/unit.stl" scale="0.04 0.05 0.02"/></geometry></collision>
        </link>
        <link name="knob"><visual><origin xyz="0 0 0.01"/><geometry><cylinder radius="0.01" length="0.02"/></geometry>
        </visual></link>
        <joint name="on" type="fixed"><parent link="base"/><child link="knob"/><origin xyz="0 0 0.01"/></joint>
        </robot>""",
        encoding="utf-8",
    )
    block = only(folder)
    assert block.size_m == pytest.approx((0.04, 0.05, 0.04))
    assert (len(block.parts), block.mass_kg, block.contact.friction[0]) == (2, 0.25, 0.8)
    assert block.colour == "red"


def test_a_whole_folder_of_urdfs_may_be_scaled(folder: Path) -> None:
    (folder / "block.urdf").write_text(
        """<robot name="block"><link name="base"><collision><geometry><box size="0.1 0.06 0.04"/></geometry></collision>
        <visual><geometry><box size="0.1 0.06 0.04"/></geometry></visual></link></robot>""",
        encoding="utf-8",
    )
    (folder / "objects.yaml").write_text("defaults: {scale: 0.65}", "utf-8")
    assert only(folder).size_m == pytest.approx((0.065, 0.039, 0.026))


def test_glb_stands_as_its_format_says_and_up_says_otherwise(folder: Path) -> None:
    put(BOX, folder / "a.glb")
    put(BOX, folder / "b.obj")
    put(BOX, folder / "c.obj")
    (folder / "objects.yaml").write_text("objects: {c: {up: -x, scale: 0.5, kind: slab}}", "utf-8")
    objects = used(folder)
    assert objects["a"].size_m == pytest.approx((0.04, 0.10, 0.06))
    assert objects["b"].size_m == pytest.approx((0.04, 0.06, 0.10))
    assert objects["c"].size_m == pytest.approx((0.05, 0.03, 0.02))
    assert objects["c"].kind == "slab"


def test_a_folder_may_stand_for_the_meshes_of_a_package(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "site" / "some_assets"
    put(BOX, package / "things" / "brick.stl")
    (package / "__init__.py").write_text("raise RuntimeError('imported')", "utf-8")
    monkeypatch.syspath_prepend(str(package.parent))
    (folder / "objects.yaml").write_text("{package: some_assets, folder: things, defaults: {density: 1000}}", "utf-8")
    assert only(folder).mass_kg == pytest.approx(0.24)
    folders._sets.cache_clear()
    put(BOX, folder / "own.stl")
    rows = "objects: {best brick: {package: some_assets, mesh: things/brick.stl, mass: 0.1}}"
    (folder / "objects.yaml").write_text(rows, "utf-8")
    assert {key: item.mass_kg for key, item in used(folder).items()} == {
        "best-brick": 0.1,
        "own": pytest.approx(0.096),
    }


# ---- Repaired, and said ----


def inside_out() -> Any:
    mesh = BOX.copy()
    mesh.invert()
    return mesh


def with_a_hole() -> Any:
    mesh = BOX.subdivide().subdivide()
    return trimesh.Trimesh(mesh.vertices, mesh.faces[7:])


def in_millimetres() -> Any:
    return BOX.copy().apply_scale(1000)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (inside_out, "was inside out: its faces are turned"),
        (with_a_hole, "is open or crosses itself: its volume is that of its convex solids"),
        (in_millimetres, "is 100 units long, which are taken for millimetres; `scale` says otherwise"),
    ],
)
def test_what_can_be_repaired_is_repaired_and_said(
    make: Callable[[], Any], said: str, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    put(make(), folder / "brick.stl")
    with caplog.at_level(logging.WARNING, "toolhand.objects"):
        brick = only(folder)
    assert brick.size_m == pytest.approx((0.04, 0.06, 0.10))
    assert brick.matter.volume_m3 == pytest.approx(2.4e-4, rel=0.02)
    assert [record.message for record in caplog.records if said in record.message]


def test_a_fine_mesh_is_drawn_coarser_and_solid_still(folder: Path) -> None:
    ball = trimesh.creation.icosphere(6, 0.03)
    assert len(ball.faces) > 80_000
    put(ball, folder / "ball.stl")
    item = only(folder)
    assert sum(len(skin.mesh.faces) for skin in item.skins) <= 30_000
    assert max(len(part) for part in item.parts) <= 200
    assert not item.upright
    assert item.size_m == pytest.approx((0.06,) * 3, abs=1e-3)


# ---- Refused ----


def stl(triangles: int, content: bytes) -> bytes:
    return b"\0" * 80 + struct.pack("<I", triangles) + content


def obj(*vertices: str, faces: tuple[str, ...] = ("1 2 3", "1 3 4", "1 4 2", "2 4 3")) -> bytes:
    return "\n".join([*(f"v {v}" for v in vertices), *(f"f {f}" for f in faces)]).encode()


def urdf(mesh: str) -> bytes:
    geometry = f"<geometry><mesh filename='{mesh}'/></geometry>"
    return f"<robot name='a'><link name='b'><visual>{geometry}</visual></link></robot>".encode()


CLOUD = "\n".join(
    [
        "ply",
        "format ascii 1.0",
        "element vertex 1",
        *(f"property float {axis}" for axis in "xyz"),
        "end_header",
        "0 0 0\n",
    ]
).encode()
CORNERS = ("0 0 0", "0.05 0 0", "0 0.05 0", "0 0 0.05")
BROKEN: dict[str, tuple[str, bytes, str]] = {
    "no bytes": ("a.stl", b"", "The mesh a.stl is"),
    "cut short": ("a.stl", stl(12, b"\0" * 70), "The mesh a.stl is"),
    "too many triangles said": ("a.stl", stl(4_000_000_000, b"\0" * 50), "The mesh a.stl is"),
    "no triangles": ("a.obj", b"v 0 0 0\nv 0 0 1\n", "The mesh a.obj is"),
    "another format": ("a.glb", b"%PDF-1.4 nothing", "The mesh a.glb is damaged or not of the format .glb"),
    "a row that is not there": ("a.obj", obj(*CORNERS, faces=("1 2 99",)), "The mesh a.obj is damaged"),
    "not a number": ("a.obj", obj("nan 0 0", *CORNERS[1:]), "The mesh a.obj has coordinates that are no finite"),
    "infinite": ("a.obj", obj("inf 0 0", *CORNERS[1:]), "The mesh a.obj has coordinates that are no finite"),
    "flat": ("a.obj", obj("0 0 0", "0.1 0 0", "0 0.1 0", "0.1 0.1 0"), "a.obj is 0 mm thick, and an object must"),
    "a point": ("a.obj", obj(*("0 0 0",) * 4), "a.obj is 0 units long"),
    "five units": ("a.obj", obj("0 0 0", "5 0 0", "0 5 0", "0 0 5"), "a.obj is 5 units long, which is no object"),
    "a house": ("a.obj", obj("0 0 0", "9e3 0 0", "0 9e3 0", "0 0 9e3"), "a.obj is 9000 units long"),
    "too wide": ("a.obj", obj("0 0 0", "0.7 0 0", "0 0.7 0", "0 0 0.7"), "a.obj is 0.7 m long, and objects"),
    "a cloud": ("a.ply", CLOUD, "The mesh a.ply is"),
    "no URDF": ("a.urdf", b"<sdf/>", "the outermost element must be <robot>"),
    "URDF without geometry": ("a.urdf", b"<robot name='a'><link name='b'/></robot>", "1 to 128 geometries, got 0"),
    "URDF with a missing mesh": ("a.urdf", urdf("no.stl"), "the mesh 'no.stl' is not there"),
    "URDF that reads elsewhere": ("a.urdf", urdf("../outside.stl"), "lies outside of the folder of objects"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_what_cannot_be_repaired_is_one_sentence(what: str, folder: Path) -> None:
    name, content, said = BROKEN[what]
    put(BOX, folder.parent / "outside.stl")
    (folder / name).write_bytes(content)
    with pytest.raises(ToolError) as caught:
        only(folder)
    message = caught.value.message
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT
    assert said in message
    assert "\n" not in message
    assert len(message) < 400


def test_too_long_a_file_is_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    brick = {"path": str(put(BOX, folder / "brick.stl")), "root": str(folder)}
    monkeypatch.setattr(mesh_child, "LONGEST", 600)
    with pytest.raises(ToolError, match=r"The mesh brick\.stl cannot be read: it is longer than 600 bytes"):
        mesh_child.contents(brick)
    monkeypatch.undo()
    monkeypatch.setattr(pieces, "MOST_TRIANGLES", 11)
    with pytest.raises(ToolError, match=r"The mesh brick\.stl has 12 triangles, and 11 are allowed: simplify it"):
        mesh_child.contents(brick)


def test_links_lead_out_of_no_folder(folder: Path) -> None:
    outside = put(BOX, folder.parent / "outside.stl")
    os.symlink(outside, folder / "linked.stl")
    with pytest.raises(ToolError, match=r"The mesh linked\.stl cannot be read: it lies outside"):
        only(folder)


def test_a_pipe_is_not_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "pipe.stl")
    with pytest.raises(ToolError, match=r"The mesh pipe\.stl cannot be read: it is a named pipe"):
        only(folder)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- a list", "objects.yaml: it must be a mapping with the keys package, folder, defaults, objects"),
        ("{things: {}}", "objects.yaml, line 1: there is no key things"),
        (
            "objects: {brick: {mass: heavy}}",
            "objects.yaml, line 1: objects.brick.mass must be a finite number from 0.001 to 100, not 'heavy'",
        ),
        ("objects: {brick: {mass: .nan}}", "mass must be a finite number from 0.001 to 100"),
        ("objects: {brick: {friction: true}}", "friction must be a finite number from 0.05 to 5, not True"),
        ("objects: {brick: {up: north}}", "up must be one of x, y, z, -x, -y, -z, not 'north'"),
        ("objects: {brick: {shape: box}}", "there is no key objects.brick.shape, the nearest is scale"),
        ("objects: {wall: {mass: 1}}", "objects.yaml, 'wall': there is no such object in the folder"),
        ("objects: {wall: {mesh: ../outside.stl}}", "the mesh '../outside.stl' lies outside of My Things"),
        ("objects: {wall: {mesh: no.stl}}", "mesh must name a file of .urdf, .xml, .glb"),
        ("folder: ../..", "objects.yaml: folder must name a folder inside of My Things"),
        ("package: no_such_package", "there is no installed package 'no_such_package'"),
        ("objects: {brick: &a {mass: 1}, c: *a}", "objects.yaml, line 1: it is no plain YAML (aliases"),
        ("objects: {brick: {name: ''}}", "name must be a text of 1 to 60 characters"),
        ("objects: {brick: {synonyms: [1]}}", "objects.brick.synonyms[0] must be a text of 1 to 60 characters, not 1"),
    ],
)
def test_mistakes_in_what_is_said_of_objects_are_one_sentence(text: str, said: str, folder: Path) -> None:
    put(BOX, folder / "brick.stl")
    put(BOX, folder.parent / "outside.stl")
    (folder / "objects.yaml").write_text(text, "utf-8")
    with refused(ErrorCode.INVALID_ARGUMENT) as caught:
        use_objects(str(folder))
    assert said in caught.value.message


def test_without_the_extra_the_command_that_installs_it_is_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(BOX, folder / "brick.stl")

    def missing(name: str) -> Any:
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(extras.importlib, "import_module", missing)
    sentence = "Reading meshes needs trimesh, which cannot be imported: No module named 'trimesh'"
    with refused(ErrorCode.UNAVAILABLE, sentence, hint=r"Install it with: .*pip install .*objects"):
        mesh_child.contents({"path": str(folder / "brick.stl"), "root": str(folder)})
