"""glTF 2.0 and GLB as triangles, counted before they are unfolded.

The names are those of the specification: https://registry.khronos.org/glTF/specs/2.0/glTF-2.0.html
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from toolhand.sim.objects.reading.pieces import LONGEST, MOST_TRIANGLES, MeshPiece, NamedFiles
from toolhand.tool_nodes import plain_json
from toolhand.tool_nodes.types import FloatArray

_COMPONENTS = {5120: "i1", 5121: "u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
"""componentType -> type of a number."""
_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}
"""type -> numbers of an element; matrices are of skins, which stand as they are modelled."""
_POINTS, _TRIANGLES, _STRIP, _FAN = 0, 4, 5, 6
"""mode of a primitive; those between draw lines."""
_JSON, _BIN = 0x4E4F534A, 0x004E4942
"""Types of the chunks of a GLB."""
_EXTENSIONS = ("KHR_mesh_quantization", "KHR_texture_transform", "EXT_texture_webp", "KHR_materials_", "KHR_lights_")
"""Extensions, or how their names begin, that a file may require: they are read, or concern the light alone."""
_COMPRESSED = ("KHR_draco_mesh_compression", "EXT_meshopt_compression", "KHR_meshopt_compression")
"""Extensions that hold the geometry in another form."""

GltfRow = Mapping[str, Any]


class Damaged(ValueError):
    """What is wrong with a file, as the end of a sentence."""


def read_gltf(content: bytes, files: NamedFiles) -> Iterator[MeshPiece]:
    """The triangles of the scene that a file shows, in metres, y upwards.

    Raises:
        Damaged, ValueError: It is no such file.
        OSError: As `NamedFiles.content`.
        ToolError: INVALID_ARGUMENT for what is not read or too large.
    """
    document, binary = _parts(content, files)
    required = document.get("extensionsRequired") or []
    unread = [str(name) for name in required if not str(name).startswith(_EXTENSIONS)]
    if unread:
        files.refuse(f"needs the extension {unread[0][:60]}, which is not read: export it without")
    yield from _Gltf(document, binary, files).pieces()


def _parts(content: bytes, files: NamedFiles) -> tuple[GltfRow, bytes | None]:
    """The JSON of a file, and the binary chunk of a GLB."""
    text, binary = content, None
    if content[:4] == b"glTF":
        if content[4:8] != b"\x02\0\0\0":
            files.refuse("is of glTF 1, and glTF 2 is read")
        chunks: dict[int, bytes] = {}
        at = 12
        while at + 8 <= len(content):
            length, kind = (int.from_bytes(content[at + k : at + k + 4], "little") for k in (0, 4))
            chunks.setdefault(kind, content[at + 8 : at + 8 + length])
            at += 8 + length
        text, binary = chunks.get(_JSON, b""), chunks.get(_BIN)
    document = plain_json.load(text.removeprefix(b"\xef\xbb\xbf"))
    if not isinstance(document, dict) or not isinstance(document.get("asset"), dict):
        raise Damaged("it has no asset, as every glTF has")
    if not str(document["asset"].get("version", "")).startswith("2."):
        files.refuse("is of another version of glTF, and glTF 2 is read")
    return document, binary


class _Gltf:
    def __init__(self, document: GltfRow, binary: bytes | None, files: NamedFiles) -> None:
        self._document, self._binary, self._files = document, binary, files
        self._buffers: dict[int, bytes] = {}
        self._textures: dict[int, NDArray[np.uint8] | None] = {}
        self._copied = 0

    def pieces(self) -> Iterator[MeshPiece]:
        placed = []
        for primitive, T in self._placed():
            placed.append((primitive, T))
            self._files.check_pieces(len(placed))
        for primitive, T in placed:
            piece = self._piece(primitive, T)
            if piece is not None:
                yield piece

    # ---- The tree of nodes ----

    def _placed(self) -> Iterator[tuple[GltfRow, FloatArray]]:
        """The primitives of all nodes and the pose of each, counted before one is read."""
        triangles, seen = 0, set()
        todo = [(node, np.eye(4)) for node in self._roots()]
        while todo:
            index, T_parent = todo.pop()
            node = self._row("nodes", index)
            if index in seen:
                raise Damaged(f"its node {index} hangs in more than one place")
            seen.add(index)
            T = T_parent @ _local(node)
            todo += [(child, T) for child in reversed(_list(node, "children"))]
            if "mesh" not in node:
                continue
            if "EXT_mesh_gpu_instancing" in _row(node, "extensions"):
                self._files.refuse("needs the extension EXT_mesh_gpu_instancing, which is not read: export it without")
            for primitive in _list(self._row("meshes", node["mesh"]), "primitives"):
                count = self._count(primitive)
                if count:
                    triangles += count
                    self._files.check_triangles(triangles)
                    yield primitive, T

    def _roots(self) -> list[Any]:
        if self._document.get("scenes"):
            return _list(self._row("scenes", self._document.get("scene", 0)), "nodes")
        nodes = _list(self._document, "nodes")
        hang = {child for node in nodes if isinstance(node, dict) for child in _list(node, "children")}
        return [index for index in range(len(nodes)) if index not in hang]

    def _count(self, primitive: Any) -> int:
        """Triangles of a primitive [-]."""
        if not isinstance(primitive, dict):
            raise Damaged("a primitive is no object")
        compressed = next((name for name in _COMPRESSED if name in _row(primitive, "extensions")), "")
        accessor = primitive.get("indices", _row(primitive, "attributes").get("POSITION"))
        if accessor is None:
            return 0
        row = self._row("accessors", accessor)
        if compressed and "bufferView" not in row:
            self._files.refuse(f"needs the extension {compressed}, which is not read: export it without")
        n, mode = _whole(row, "count"), _whole(primitive, "mode", _TRIANGLES)
        return {_TRIANGLES: n // 3, _STRIP: max(n - 2, 0), _FAN: max(n - 2, 0)}.get(mode, 0)

    def _piece(self, primitive: GltfRow, T: FloatArray) -> MeshPiece | None:
        attributes = _row(primitive, "attributes")
        if "POSITION" not in attributes:
            return None
        if "indices" in primitive:
            rows = self._numbers(primitive["indices"], None, (1,)).astype(np.int64).ravel()
        else:
            rows = np.arange(_whole(self._row("accessors", attributes["POSITION"]), "count"))
        rows = _in_threes(rows, _whole(primitive, "mode", _TRIANGLES))
        if np.linalg.det(T[:3, :3]) < 0:
            rows = rows[:, ::-1]  # a mirrored node turns its triangles over
        corners = self._numbers(attributes["POSITION"], rows.ravel(), (3,)).astype(float) @ T[:3, :3].T + T[:3, 3]
        corners = corners.reshape(-1, 3, 3)
        unpainted = np.full((len(corners), 3), np.nan)
        material = self._row("materials", primitive["material"]) if "material" in primitive else None
        factor, texture = _paint(material or {})
        image = self._texture(texture)
        key = f"TEXCOORD_{_texcoord(texture)}"
        if image is not None and key in attributes:
            uv = self._numbers(attributes[key], rows.ravel(), (2,)).astype(float)
            uv = _moved(uv, _row(_row(texture, "extensions"), "KHR_texture_transform")) * (1, -1) + (0, 1)
            return MeshPiece(corners, unpainted, uv.reshape(-1, 3, 2), image)
        if "COLOR_0" in attributes:
            rgb = self._numbers(attributes["COLOR_0"], rows.ravel(), (3, 4)).astype(float)[:, :3]
            return MeshPiece(corners, rgb.reshape(-1, 3, 3).mean(axis=1) * factor)
        return MeshPiece(corners, unpainted if material is None else np.tile(factor, (len(corners), 1)))

    # ---- Numbers ----

    def _numbers(self, accessor: Any, rows: NDArray[np.int64] | None, widths: tuple[int, ...]) -> Any:
        """Elements (N, width) of an accessor, those of some rows; normalized ones in [0, 1] or [-1, 1]."""
        row = self._row("accessors", accessor)
        count, dtype, width = _whole(row, "count"), _component(row), _WIDTHS.get(str(row.get("type")), 0)
        if width not in widths or (rows is not None and len(rows) and int(rows.max()) >= count):
            raise Damaged(f"its accessor {accessor} does not hold what is taken of it")
        sparse, values = _row(row, "sparse"), None
        if "bufferView" in row:
            values = self._view(row, count, dtype, width)
        elif not sparse:
            raise Damaged(f"its accessor {accessor} has no data")
        if sparse:
            self._copied += count
            if self._copied > 3 * MOST_TRIANGLES:
                raise Damaged("its sparse accessors have too many elements")
            values = np.zeros((count, width), dtype) if values is None else np.array(values)
            changed = _whole(sparse, "count")
            indices = _row(sparse, "indices")
            at = self._view(indices, changed, _component(indices), 1).ravel()
            if len(at) and int(at.max()) >= count:
                raise Damaged(f"its accessor {accessor} changes elements that are not there")
            values[at] = self._view(_row(sparse, "values"), changed, dtype, width)
        assert values is not None
        picked = values if rows is None else values[rows]
        if row.get("normalized") and picked.dtype.kind in "iu":
            picked = np.maximum(picked / np.iinfo(picked.dtype).max, -1.0)
        return picked

    def _view(self, row: GltfRow, count: int, dtype: np.dtype[Any], width: int) -> Any:
        """Elements (count, width) where they lie in a buffer; nothing is copied."""
        index = row.get("bufferView")
        view = self._row("bufferViews", index)
        if any(name in _row(view, "extensions") for name in _COMPRESSED):
            self._files.refuse("needs the extension EXT_meshopt_compression, which is not read: export it without")
        buffer, begin, length = self._span(view)
        item = width * dtype.itemsize
        stride, offset = _whole(view, "byteStride") or item, _whole(row, "byteOffset")
        if stride < item or (count and offset + stride * (count - 1) + item > length):
            raise Damaged(f"its bufferView {index} is shorter than what is taken of it")
        return np.ndarray((count, width), dtype, buffer, begin + offset if count else 0, (stride, dtype.itemsize))

    def _span(self, view: GltfRow) -> tuple[bytes, int, int]:
        """A buffer, and where a view of it begins and how long it is [bytes]."""
        buffer = self._buffer(view.get("buffer"))
        begin, length = _whole(view, "byteOffset"), _whole(view, "byteLength")
        if begin + length > len(buffer):
            raise Damaged("a bufferView of it is longer than its buffer")
        return buffer, begin, length

    def _buffer(self, index: Any) -> bytes:
        row = self._row("buffers", index)
        if index not in self._buffers:
            if "uri" in row:
                self._buffers[index] = self._resource(row["uri"], needed=True)
            elif index == 0 and self._binary is not None:
                self._buffers[index] = self._binary
            else:
                raise Damaged(f"its buffer {index} has no data")
        return self._buffers[index]

    def _resource(self, uri: Any, needed: bool) -> bytes:
        """What a URI names: data in itself, or a file beside. Raises KeyError for what is not there and not needed."""
        if not isinstance(uri, str):
            raise Damaged("a URI of it is no text")
        if uri.startswith("data:"):
            kind, _, data = uri.partition(",")
            if not kind.endswith(";base64") or len(data) > 2 * LONGEST:
                raise Damaged("data in it are not in base64, or too long")
            try:
                return base64.b64decode(data, validate=True)
            except binascii.Error as error:
                raise Damaged("data in it are not in base64") from error
        try:
            return self._files.content(uri)
        except KeyError:
            if needed:
                self._files.refuse(f"names its data {uri[:80]!r}, and there is no such file beside it")
            raise

    def _texture(self, info: GltfRow) -> NDArray[np.uint8] | None:
        """The image of a texture, (H, W, 3); None where there is none that is read."""
        if "index" not in info:
            return None
        texture = self._row("textures", info["index"])
        source = _row(_row(texture, "extensions"), "EXT_texture_webp").get("source", texture.get("source"))
        if source is None:
            return None
        image = self._row("images", source)
        if source not in self._textures:
            name = str(image.get("uri") or image.get("name") or f"image {source}")
            try:
                if "bufferView" in image:
                    buffer, begin, length = self._span(self._row("bufferViews", image["bufferView"]))
                    content = buffer[begin : begin + length]
                else:
                    content = self._resource(image.get("uri"), needed=False)
                self._textures[source] = self._files.image(content, "data" if name.startswith("data:") else name)
            except KeyError:
                self._textures[source] = None
        return self._textures[source]

    def _row(self, table: str, index: Any) -> GltfRow:
        """A row of one of the document's tables."""
        rows = _list(self._document, table)
        if type(index) is not int or not 0 <= index < len(rows) or not isinstance(rows[index], dict):
            raise Damaged(f"it has no {table[:-1]} {index!r:.20}")
        found: GltfRow = rows[index]
        return found


def _local(node: GltfRow) -> FloatArray:
    """(4, 4) pose of a node in its parent."""
    if "matrix" in node:
        return _floats(node, "matrix", 16, ()).reshape(4, 4).T
    T = np.eye(4)
    if "rotation" in node:
        quat_xyzw = _floats(node, "rotation", 4, ())
        if not quat_xyzw.any():
            raise Damaged("a rotation of it is zero")
        T[:3, :3] = Rotation.from_quat(quat_xyzw).as_matrix()
    T[:3, :3] *= _floats(node, "scale", 3, (1, 1, 1))
    T[:3, 3] = _floats(node, "translation", 3, (0, 0, 0))
    return T


def _paint(material: GltfRow) -> tuple[FloatArray, GltfRow]:
    """The colour of a material, and its texture."""
    glossy = _row(_row(material, "extensions"), "KHR_materials_pbrSpecularGlossiness")
    if glossy:
        return _floats(glossy, "diffuseFactor", 4, (1, 1, 1, 1))[:3], _row(glossy, "diffuseTexture")
    rough = _row(material, "pbrMetallicRoughness")
    return _floats(rough, "baseColorFactor", 4, (1, 1, 1, 1))[:3], _row(rough, "baseColorTexture")


def _texcoord(texture: GltfRow) -> int:
    moved = _row(_row(texture, "extensions"), "KHR_texture_transform")
    return _whole(moved, "texCoord", _whole(texture, "texCoord"))


def _moved(uv: FloatArray, by: GltfRow) -> FloatArray:
    """Texture coordinates (N, 2) after KHR_texture_transform."""
    angle = float(_floats({"rotation": [by.get("rotation", 0.0)]}, "rotation", 1, ())[0])
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    return (uv * _floats(by, "scale", 2, (1, 1))) @ turn.T + _floats(by, "offset", 2, (0, 0))


def _in_threes(rows: NDArray[np.int64], mode: int) -> NDArray[np.int64]:
    """Corners (M, 3) of the triangles of a list, a strip or a fan."""
    if mode == _TRIANGLES:
        return rows[: len(rows) // 3 * 3].reshape(-1, 3)
    n = max(len(rows) - 2, 0)
    if mode == _FAN:
        return np.column_stack([np.full(n, rows[0]) if n else rows[:0], rows[1 : n + 1], rows[2 : n + 2]])
    found = np.column_stack([rows[:n], rows[1 : n + 1], rows[2 : n + 2]])
    found[1::2] = found[1::2, [1, 0, 2]]  # every second triangle of a strip is turned over
    return found


def _component(row: GltfRow) -> np.dtype[Any]:
    found = _COMPONENTS.get(_whole(row, "componentType"))
    if found is None:
        raise Damaged("an accessor of it has numbers of no type")
    return np.dtype(found)


def _whole(row: GltfRow, key: str, default: int = 0) -> int:
    value = row.get(key, default)
    if type(value) is not int or value < 0:
        raise Damaged(f"{key} is {value!r:.20}, and must be a whole number")
    return value


def _floats(row: GltfRow, key: str, n: int, default: tuple[float, ...]) -> FloatArray:
    values = row.get(key, default)
    plain = isinstance(values, list | tuple) and len(values) == n
    if not plain or not all(isinstance(value, int | float) and type(value) is not bool for value in values):
        raise Damaged(f"{key} must be {n} numbers")
    return np.array(values, dtype=float)


def _list(row: GltfRow, key: str) -> list[Any]:
    value = row.get(key) or []
    if not isinstance(value, list):
        raise Damaged(f"{key} is no list")
    return value


def _row(row: GltfRow, key: str) -> GltfRow:
    value = row.get(key) or {}
    if not isinstance(value, dict):
        raise Damaged(f"{key} is no object")
    return value
