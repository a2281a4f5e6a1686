"""What meshes in the wild are read as, and that none unfolds to more than is allowed."""

import io
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.sim.objects import gltf_files as made
from toolhand.sim.objects.reading import mesh_child
from toolhand.sim.objects.reading.mesh_files import read_mesh
from toolhand.tool_nodes.results import ErrorCode, ToolError

trimesh = pytest.importorskip("trimesh")

BOX = trimesh.creation.box((0.04, 0.10, 0.06))
TRIANGLE = struct.pack("<12fH", *[0.0] * 12, 0)
SPARSE = {"count": 1, "indices": {"bufferView": 1, "componentType": 5123}, "values": {"bufferView": 0}}
DRACO, MESHOPT = "KHR_draco_mesh_compression", "EXT_meshopt_compression"
SHORT = "is shorter than what is taken"


def read(folder: Path, name: str, content: bytes) -> dict[str, Any]:
    """A file as the child reads it, in this process."""
    (folder / name).write_bytes(content)
    found = mesh_child.contents({"path": str(folder / name), "root": str(folder)})
    return found | {"remarks": json.loads(found["remarks"])}


def refused(folder: Path, name: str, content: bytes) -> str:
    with pytest.raises(ToolError) as caught:
        read(folder, name, content)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT
    assert "\n" not in caught.value.message
    assert len(caught.value.message) < 400
    return caught.value.message


def png(width: int, height: int, colour: tuple[int, int, int] = (230, 26, 26), mode: str = "RGB") -> bytes:
    from PIL import Image

    buffer = io.BytesIO()
    Image.new(mode, (width, height), colour if mode == "RGB" else 0).save(buffer, "PNG")
    return buffer.getvalue()


def off(head: str, of_points: str = "", of_faces: str = "") -> bytes:
    points = [f"{x} {y} {z}{of_points}" for x, y, z in np.round(made.CORNERS.tolist(), 6)]
    faces = [f"3 {a} {b} {c}{of_faces}" for a, b, c in made.FACES]
    return "\n".join([f"{head}8 12 0", "# a comment", *points, *faces]).encode()


def exported(kind: str, **options: Any) -> bytes:
    content = BOX.export(file_type=kind, **options)
    return content if isinstance(content, bytes) else content.encode()


RED = (0.9, 0.1, 0.1)
BOXES: dict[str, tuple[str, Callable[[], bytes], tuple[float, ...] | None]] = {
    "GLB": ("a.glb", lambda: made.glb(made.document()), RED),
    "glTF that holds its data": ("a.gltf", lambda: made.gltf(made.document()), RED),
    "glTF that begins with a byte order mark": ("a.gltf", lambda: made.gltf(made.document(), "", b"\xef\xbb\xbf"), RED),
    "glTF that names its data percent-encoded": (
        "a.gltf",
        lambda: made.gltf(made.document(), "my%20b%C3%B6x.bin"),
        RED,
    ),
    "glTF that names its data as it is": ("a.gltf", lambda: made.gltf(made.document(), "my böx.bin"), RED),
    "sparse accessor over a view": ("a.glb", made.sparse, RED),
    "sparse accessor alone": ("a.glb", made.sparse_alone, RED),
    "quantized": ("a.glb", made.quantized, RED),
    "no scenes": ("a.glb", made.without_scenes, RED),
    "not indexed, below a mirrored node": ("a.glb", made.strip_of_a_mirror, RED),
    "specular-glossiness": ("a.glb", made.glossy, RED),
    "specular-glossiness with a texture": ("a.glb", lambda: made.textured(png(8, 8), "glossy"), RED),
    "texture": ("a.glb", lambda: made.textured(png(8, 8), "rough"), RED),
    "a long chain of nodes": ("a.glb", lambda: made.nested(3_000), RED),
    "compressed with a plain form beside": ("a.glb", lambda: made.changed("extensionsUsed", ["KHR_draco"]), RED),
    "binary STL": ("a.stl", lambda: exported("stl"), None),
    "binary STL with bytes appended": ("a.stl", lambda: exported("stl") + b"made by an exporter", None),
    "binary STL whose head begins with solid": (
        "a.stl",
        lambda: b"solid a".ljust(80) + exported("stl")[80:] + b"x",
        None,
    ),
    "STL in text": ("a.stl", lambda: exported("stl_ascii"), None),
    "STL in text with a byte order mark": ("a.stl", lambda: b"\xef\xbb\xbf" + exported("stl_ascii"), None),
    "OBJ with a byte order mark": ("a.obj", lambda: b"\xef\xbb\xbf" + exported("obj"), None),
    "OFF": ("a.off", lambda: off("OFF\n"), None),
    "OFF whose numbers follow at once": ("a.off", lambda: off("OFF"), None),
    "OFF with colours of points": ("a.off", lambda: off("COFF\n", " 0.9 0.1 0.1 1.0"), RED),
    "OFF with colours of points in whole numbers": ("a.off", lambda: off("COFF\n", " 230 26 26 255"), RED),
    "OFF with normals and colours": ("a.off", lambda: off("CNOFF\n", " 0 0 1 230 26 26 255"), RED),
    "OFF with normals": ("a.off", lambda: off("NOFF\n", " 0 0 1"), None),
    "OFF with colours of faces": ("a.off", lambda: off("OFF\n", "", " 230 26 26"), RED),
    "PLY in text": ("a.ply", lambda: exported("ply", encoding="ascii"), None),
}


@pytest.mark.parametrize("what", BOXES)
def test_a_box_is_the_same_box_in_every_manner_of_writing_it(what: str, tmp_path: Path) -> None:
    name, content, colour = BOXES[what]
    (tmp_path / "my böx.bin").write_bytes(made.BODY)
    found = read(tmp_path, name, content())
    assert np.ptp(found["vertices"], axis=0) == pytest.approx((0.04, 0.10, 0.06), abs=1e-5)
    assert (len(found["faces"]), found["closed"], found["remarks"]) == (12, True, [])
    area = trimesh.Trimesh(found["vertices"], found["faces"], process=False)
    assert area.volume == pytest.approx(0.04 * 0.10 * 0.06, rel=1e-3)
    if colour is None:
        assert np.isnan(found["rgb"]).all() or np.ptp(found["rgb"]) == 0  # the reader's own grey
    else:
        assert found["rgb"] == pytest.approx(np.tile(colour, (len(found["rgb"]), 1)), abs=0.01)


TOO_MUCH: dict[str, tuple[str, Callable[[], bytes], str]] = {
    "instances": ("a.glb", lambda: made.instances(9_000, 200), "500,000 are allowed"),
    "instances of little": ("a.glb", lambda: made.instances(10_001), "10,001 pieces with a material each"),
    "a node in two places": ("a.glb", lambda: made.changed("nodes.0.children", [0]), "hangs in more than one place"),
    "an accessor without a view": (
        "a.glb",
        lambda: made.changed("accessors.0", {"componentType": 5126, "count": 700_000_000, "type": "VEC3"}),
        "its accessor 0 has no data",
    ),
    "a sparse accessor of many": (
        "a.glb",
        lambda: made.changed(
            "accessors.0",
            {"componentType": 5126, "count": 700_000_000, "type": "VEC3", "sparse": SPARSE},
        ),
        "too many elements",
    ),
    "more points than bytes": ("a.glb", lambda: made.changed("accessors.0.count", 9), SHORT),
    "more triangles than bytes": ("a.glb", lambda: made.changed("accessors.1.count", 37), SHORT),
    "a view beyond its buffer": ("a.glb", lambda: made.changed("bufferViews.0.byteLength", 10**9), "longer than its"),
    "a buffer that is not there": ("a.glb", lambda: made.changed("bufferViews.0.buffer", 7), "it has no buffer 7"),
    "a stride of nothing": ("a.glb", lambda: made.changed("bufferViews.0.byteStride", 1), SHORT),
    "another count": ("a.glb", lambda: made.changed("accessors.0.count", True), "count is True, and must be a whole"),
    "numbers of no type": ("a.glb", lambda: made.changed("accessors.0.componentType", 1), "numbers of no type"),
    "points of one number": ("a.glb", lambda: made.changed("accessors.0.type", "SCALAR"), "not hold what is taken"),
    "a matrix of words": ("a.glb", lambda: made.changed("nodes.0.matrix", ["a"] * 16), "matrix must be 16 numbers"),
    "nodes that are none": ("a.glb", lambda: made.changed("nodes", {"mesh": 0}), "nodes is no list"),
    "a texture of 144 million pixels": (
        "a.glb",
        lambda: made.textured(png(12_000, 12_000, mode="1"), "rough"),
        "one of 12000x12000",
    ),
    "the same, specular-glossiness": (
        "a.glb",
        lambda: made.textured(png(12_000, 12_000, mode="1"), "glossy"),
        "one of 12000x12000",
    ),
    "Draco": ("a.glb", lambda: made.compressed(DRACO), f"needs the extension {DRACO}"),
    "Draco that is not said to be required": (
        "a.glb",
        lambda: made.compressed(DRACO, required=False),
        f"needs the extension {DRACO}",
    ),
    "meshopt": ("a.glb", lambda: made.compressed(MESHOPT), f"needs the extension {MESHOPT}"),
    "an extension to come": (
        "a.glb",
        lambda: made.changed("extensionsRequired", ["XY_new"]),
        "needs the extension XY_new, which is not",
    ),
    "data that are not there": (
        "a.gltf",
        lambda: made.gltf(made.document(), "gone%20far.bin"),
        "names its data 'gone%20far.bin', and there",
    ),
    "data elsewhere": ("a.gltf", lambda: made.gltf(made.document(), "http://a/b.bin"), "names its data 'http:"),
    "glTF 1": ("a.glb", lambda: b"glTF\1\0\0\0" + bytes(12), "is of glTF 1, and glTF 2 is read"),
    "materials of an OBJ": ("a.obj", lambda: exported("obj") + b"\nusemtl a" * 10_001, "10,001 pieces with a material"),
    "triangles of an OFF": ("a.off", lambda: b"OFF 3 2000000000 0", "2,000,000,000 triangles"),
    "one face of an OFF": ("a.off", lambda: b"OFF\n1 1 0\n0 0 0\n2000 " + b"0 " * 2000, "names points that are"),
    "OFF of four dimensions": ("a.off", lambda: off("4OFF\n", " 1"), "of another dimension"),
    "OFF in binary": ("a.off", lambda: b"OFF BINARY\n\0\0\0\1", "does not begin with OFF and numbers in text"),
}


@pytest.mark.parametrize("what", TOO_MUCH)
def test_what_is_too_much_or_not_read_is_named_before_it_is_unfolded(what: str, tmp_path: Path) -> None:
    name, content, said = TOO_MUCH[what]
    assert said in refused(tmp_path, name, content())


def test_what_a_mesh_names_and_is_not_there_is_said(tmp_path: Path) -> None:
    box = exported("obj").decode()
    (tmp_path / "carton.mtl").write_text("newmtl paint\nKd 0.9 0.1 0.1\nmap_Kd gone.png\n", "utf-8")
    named = f"mtllib textured.mtl\nusemtl paint\n{box}".encode()
    assert read(tmp_path, "other.obj", named)["remarks"] == [
        "other.obj names 'textured.mtl', which is not there: what it says of colours is lost."
    ]
    taken = read(tmp_path, "carton.obj", named)
    assert taken["remarks"][0] == "carton.obj names 'textured.mtl', which is not there: carton.mtl is taken."
    assert taken["rgb"] == pytest.approx(np.tile(RED, (12, 1)), abs=0.01)
    lost = read(tmp_path, "a.glb", made.textured(b"", "rough", {"uri": "label%201.png"}))
    assert lost["remarks"] == ["a.glb names 'label%201.png', which is not there: what it says of colours is lost."]
    (tmp_path / "label 1.png").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n")
    lost = read(tmp_path, "a.glb", made.textured(b"", "rough", {"uri": "label%201.png"}))
    assert "is no PNG, JPEG" in lost["remarks"][0]


def test_textures_are_counted_together(tmp_path: Path) -> None:
    (tmp_path / "large.png").write_bytes(png(6_000, 6_000, mode="1"))
    (tmp_path / "a.mtl").write_text("".join(f"newmtl m{k}\nmap_Kd large.png\n" for k in range(3)), "utf-8")
    assert "textures of more than 67,108,864 pixels" in refused(tmp_path, "a.obj", b"mtllib a.mtl\n" + exported("obj"))


def test_a_reader_that_takes_too_much_is_ended_in_a_sentence_and_the_next_file_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from toolhand.sim.objects.reading import mesh_files
    from toolhand.tool_nodes.children import Child

    (tmp_path / "good.stl").write_bytes(exported("stl"))
    small = Child("toolhand.sim.objects.reading.mesh_child:contents", cpu_s=60, memory=2**20)
    monkeypatch.setattr(mesh_files, "_READER", small)
    with pytest.raises(ToolError, match=r"The mesh good\.stl cannot be read: it (takes more than|ended)") as caught:
        read_mesh(tmp_path / "good.stl", tmp_path)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT
    monkeypatch.undo()
    assert len(read_mesh(tmp_path / "good.stl", tmp_path).faces) == 12
