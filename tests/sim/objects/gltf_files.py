"""glTF files made by hand: a box with a colour, in the manners of exporters and of those who mean ill."""

import base64
import copy
import json
import struct
from typing import Any

import numpy as np

CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype="<f4") * (0.02, 0.05, 0.03)
FACES = np.array(
    [0, 1, 3, 0, 3, 2, 4, 6, 7, 4, 7, 5, 0, 4, 5, 0, 5, 1, 2, 3, 7, 2, 7, 6, 0, 2, 6, 0, 6, 4, 1, 5, 7, 1, 7, 3],
    dtype="<u2",
).reshape(12, 3)
POINTS = CORNERS.astype("<f4").tobytes()
BODY = POINTS + FACES.tobytes()
"""Positions at byte 0, indices behind them."""


def document(**more: Any) -> dict[str, Any]:
    """A box of 40 x 100 x 60 mm, y upwards."""
    return {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1, "material": 0}]}],
        "materials": [{"pbrMetallicRoughness": {"baseColorFactor": [0.9, 0.1, 0.1, 1.0]}}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 8, "type": "VEC3"},
            {"bufferView": 1, "componentType": 5123, "count": 36, "type": "SCALAR"},
        ],
        "bufferViews": [
            {"buffer": 0, "byteLength": len(POINTS)},
            {"buffer": 0, "byteOffset": len(POINTS), "byteLength": len(BODY) - len(POINTS)},
        ],
        "buffers": [{"byteLength": len(BODY)}],
    } | copy.deepcopy(more)


def glb(made: dict[str, Any], body: bytes = BODY) -> bytes:
    text = json.dumps(made).encode()
    text += b" " * (-len(text) % 4)
    body += b"\0" * (-len(body) % 4)
    chunks = struct.pack("<II", len(text), 0x4E4F534A) + text + struct.pack("<II", len(body), 0x004E4942) + body
    return b"glTF" + struct.pack("<II", 2, 12 + len(chunks)) + chunks


def gltf(made: dict[str, Any], uri: str = "", before: bytes = b"") -> bytes:
    made["buffers"][0]["uri"] = uri or "data:application/octet-stream;base64," + base64.b64encode(BODY).decode()
    return before + json.dumps(made).encode()


def with_views(made: dict[str, Any], body: bytes, *data: bytes) -> tuple[dict[str, Any], bytes]:
    """The document with a view for each of more data, and its body."""
    for each in data:
        body += b"\0" * (-len(body) % 4)
        made["bufferViews"].append({"buffer": 0, "byteOffset": len(body), "byteLength": len(each)})
        body += each
    made["buffers"][0]["byteLength"] = len(body)
    return made, body


def sparse() -> bytes:
    """The box, 100 mm high by a sparse accessor alone: its view says 20 mm."""
    flat = (CORNERS * (1, 0.2, 1)).astype("<f4").tobytes() + FACES.tobytes()
    made, body = with_views(document(), flat, np.arange(8, dtype="<u2").tobytes(), POINTS)
    made["accessors"][0]["sparse"] = {
        "count": 8,
        "indices": {"bufferView": 2, "componentType": 5123},
        "values": {"bufferView": 3},
    }
    return glb(made, body)


def sparse_alone() -> bytes:
    made, body = with_views(document(), BODY, np.arange(8, dtype="u1").tobytes())
    made["accessors"][0] = {"componentType": 5126, "count": 8, "type": "VEC3"} | {
        "sparse": {"count": 8, "indices": {"bufferView": 2, "componentType": 5121}, "values": {"bufferView": 0}}
    }
    return glb(made, body)


def quantized() -> bytes:
    """The box in whole numbers, its size in the scale of its node."""
    points = (np.sign(CORNERS) * 32767).astype("<i2")
    padded = np.column_stack([points, np.zeros(8, "<i2")]).astype("<i2").tobytes()
    made, body = with_views(document(extensionsRequired=["KHR_mesh_quantization"]), BODY, padded)
    made["bufferViews"][2]["byteStride"] = 8
    made["accessors"][0] = {"bufferView": 2, "componentType": 5122, "count": 8, "type": "VEC3", "normalized": True}
    made["nodes"][0]["scale"] = [0.02, 0.05, 0.03]
    return glb(made, body)


def without_scenes() -> bytes:
    made = document(nodes=[{"children": [1]}, {"mesh": 0}])
    del made["scenes"], made["scene"]
    return glb(made)


def strip_of_a_mirror() -> bytes:
    """The box below a mirrored node, not indexed."""
    made, body = with_views(document(), BODY, CORNERS[FACES.ravel()].astype("<f4").tobytes())
    made["accessors"][0] = {"bufferView": 2, "componentType": 5126, "count": 36, "type": "VEC3"}
    del made["meshes"][0]["primitives"][0]["indices"]
    made["nodes"] = [{"children": [1], "rotation": [0, 0, 0, 1]}, {"mesh": 0, "scale": [-1, 1, 1]}]
    return glb(made, body)


def glossy() -> bytes:
    made = document(extensionsUsed=["KHR_materials_pbrSpecularGlossiness"])
    shiny = {"KHR_materials_pbrSpecularGlossiness": {"diffuseFactor": [0.9, 0.1, 0.1, 1.0]}}
    made["materials"] = [{"extensions": shiny}]
    return glb(made)


def compressed(extension: str, required: bool = True) -> bytes:
    made = document(**{"extensionsRequired" if required else "extensionsUsed": [extension]})
    made["meshes"][0]["primitives"][0]["extensions"] = {extension: {"bufferView": 0, "attributes": {"POSITION": 0}}}
    for accessor in made["accessors"]:
        del accessor["bufferView"]
    return glb(made)


def textured(shown: bytes, material: str, image: dict[str, Any] | None = None) -> bytes:
    """The box with a texture over all of it, in one of the two forms of materials."""
    made, body = with_views(document(), BODY, np.tile(np.array([0.5, 0.5], "<f4"), 8).tobytes(), shown)
    made["accessors"].append({"bufferView": 2, "componentType": 5126, "count": 8, "type": "VEC2"})
    made["meshes"][0]["primitives"][0]["attributes"]["TEXCOORD_0"] = 2
    made["images"], made["textures"] = [image or {"bufferView": 3, "mimeType": "image/png"}], [{"source": 0}]
    made["materials"] = [{"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}]
    if material == "glossy":
        shiny = {"diffuseTexture": {"index": 0}}
        made["materials"] = [{"extensions": {"KHR_materials_pbrSpecularGlossiness": shiny}}]
    return glb(made, body)


def instances(n: int, times: int = 1) -> bytes:
    """The box in many nodes, so many times in one primitive."""
    made = document(nodes=[{"mesh": 0}] * n, scenes=[{"nodes": list(range(n))}])
    made["accessors"][1]["count"] *= times
    made["bufferViews"][1]["byteLength"] = made["buffers"][0]["byteLength"] = len(POINTS) + FACES.nbytes * times
    return glb(made, POINTS + FACES.tobytes() * times)


def nested(n: int) -> bytes:
    """The box at the end of a chain of nodes."""
    return glb(document(nodes=[*({"children": [k + 1]} for k in range(n)), {"mesh": 0}]))


def changed(path: str, value: Any) -> bytes:
    """The box with one value of its document changed: `accessors.0.count`."""
    made: Any = document()
    row, *keys = made, *path.split(".")
    for key in keys[:-1]:
        row = row[int(key)] if isinstance(row, list) else row[key]
    row[int(keys[-1]) if isinstance(row, list) else keys[-1]] = value
    return glb(made)
