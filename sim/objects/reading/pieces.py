"""Pieces of foreign meshes, and the files that such a mesh names: what both unfold to is bounded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from toolhand.tool_nodes.files import MIB, read_file
from toolhand.tool_nodes.results import ToolError, invalid
from toolhand.tool_nodes.toolbox.image_files import ImageFileError, opened
from toolhand.tool_nodes.types import FloatArray

LONGEST = 64 * MIB
"""Longest file that is read, meshes and textures alike [bytes]; a scan of half a million triangles has 40 MiB."""
MOST_TRIANGLES = 500_000
"""Triangles of a mesh [-]: more than the finest published scans of household objects have."""
MOST_PIECES = 10_000
"""Pieces of a mesh, which have a material each [-]: a hundred times what objects of published sets have."""
_MOST_PIXELS = 8192**2
"""Pixels of all textures of a mesh [-]: 200 MB of memory."""
_ALL_NAMED = 4 * LONGEST
"""All files that a mesh names [bytes]."""
_IMAGES = ("PNG", "JPEG", "BMP", "TGA", "WEBP", "TIFF", "GIF", "PPM")
"""Formats of textures that are read; others of Pillow's run programs."""
_DETAIL = 40
"""A textured triangle is divided until its sides are shorter than this part of the object's longest side [-]: 2 to 4
mm, two pixels of a camera at one metre."""
_MOST_DIVIDED = 24_000
"""Triangles above which none is divided [-]: so many are fine enough by themselves."""
_SHOWN = 80
"""Characters of a name in a file that a message repeats."""


@dataclass(frozen=True, eq=False)
class MeshPiece:
    """Triangles with one material.

    Attributes:
        corners: (M, 3, 3) corners in the file's unit.
        rgb: (M, 3) colours in [0, 1]; NaN where there is none.
        uv: (M, 3, 2) texture coordinates, v upwards; None without a texture.
        texture: (H, W, 3) its image.
    """

    corners: FloatArray
    rgb: FloatArray
    uv: FloatArray | None = None
    texture: NDArray[np.uint8] | None = None


class NamedFiles:
    """The files that a mesh names, in its folder, and none outside of a root.

    Args:
        path: File of the mesh.
        root: Folder that nothing may lie outside of.

    Attributes:
        name: Name of the mesh in messages.
        remarks: A sentence for each file that is not there, or is read otherwise than named.
        refusal: The error that `refuse` raised; a reader may have gone on without the file.
    """

    def __init__(self, path: Path, root: Path) -> None:
        self.name = path.name
        self.remarks: list[str] = []
        self.refusal: ToolError | None = None
        self._path, self._root = path, root
        self._bytes, self._pixels = _ALL_NAMED, _MOST_PIXELS

    def content(self, name: str) -> bytes:
        """A file beside the mesh, by its name as it is or percent-encoded.

        Raises:
            KeyError: It is not there, which stands in the remarks then.
            OSError: It lies outside, is no regular file or too long.
            ToolError: INVALID_ARGUMENT where all files together are too long.
        """
        name = name.strip()
        names = (name, unquote(name), unquote(name).replace("\\", "/")) if "\0" not in name + unquote(name) else ()
        paths = [self._path.parent / each for each in names if "://" not in each]
        beside = self._path.with_suffix(".mtl")
        found = next((path for path in paths if path.exists()), None)
        if found is None and name.lower().endswith(".mtl") and beside.exists():
            found = beside
            self.say(f"{self.name} names {name[:_SHOWN]!r}, which is not there: {beside.name} is taken.")
        if found is None:
            self.say(f"{self.name} names {name[:_SHOWN]!r}, which is not there: what it says of colours is lost.")
            raise KeyError(name)
        content = read_file(found, LONGEST, self._root)
        self._bytes -= len(content)
        if self._bytes < 0:
            self.refuse(f"names files of more than {_ALL_NAMED // MIB} MiB, which is not read")
        return content

    def check_image(self, content: bytes, name: str) -> None:
        """Count the pixels of a texture by its header, before it is decoded.

        Raises:
            KeyError: It is of no format that is read, which stands in the remarks then.
            ToolError: INVALID_ARGUMENT where all textures have too many pixels.
        """
        try:
            with opened(content, _IMAGES, _MOST_PIXELS) as image:
                width, height = image.size
        except ImageFileError as error:
            self.say(f"The texture {name[:_SHOWN]!r} of {self.name} is left out: {error}.")
            raise KeyError(name) from None
        self._pixels -= width * height
        if self._pixels < 0:
            self.refuse(
                f"has textures of more than {_MOST_PIXELS:,} pixels (one of {width}x{height}): make them smaller"
            )

    def image(self, content: bytes, name: str) -> NDArray[np.uint8]:
        """A texture, (H, W, 3). Raises as `check_image`."""
        self.check_image(content, name)
        try:
            with opened(content, _IMAGES, _MOST_PIXELS) as image:
                return np.asarray(image.convert("RGB"))
        except ImageFileError as error:
            self.say(f"The texture {name[:_SHOWN]!r} of {self.name} is left out: {error}.")
            raise KeyError(name) from None

    def say(self, remark: str) -> None:
        """Add a remark, once."""
        if remark not in self.remarks and len(self.remarks) < 8:
            self.remarks.append(remark)

    def refuse(self, why: str) -> NoReturn:
        """Raises ToolError INVALID_ARGUMENT, as "The mesh NAME WHY.", and keeps it for readers that go on."""
        self.refusal = invalid(f"The mesh {self.name} {why}.")
        raise self.refusal

    def check_triangles(self, count: int) -> None:
        """Raises ToolError INVALID_ARGUMENT where a mesh has too many triangles."""
        if count > MOST_TRIANGLES:
            self.refuse(f"has {count:,} triangles, and {MOST_TRIANGLES:,} are allowed: simplify it")

    def check_pieces(self, count: int) -> None:
        """Raises ToolError INVALID_ARGUMENT where a mesh has too many pieces or materials."""
        if count > MOST_PIECES:
            self.refuse(f"has {count:,} pieces with a material each, and {MOST_PIECES:,} are allowed: join them")


def drawn(pieces: Sequence[MeshPiece], longest: float) -> tuple[FloatArray, FloatArray]:
    """Corners (K, 3, 3) of all triangles and their colours (K, 3); textured ones are divided until they are fine."""
    found = [_drawn(piece, longest / _DETAIL) for piece in pieces]
    return np.concatenate([corners for corners, _ in found]), np.concatenate([rgb for _, rgb in found])


def _drawn(piece: MeshPiece, side: float) -> tuple[FloatArray, FloatArray]:
    if piece.uv is None or piece.texture is None:
        return piece.corners, piece.rgb
    both = np.concatenate([piece.corners, piece.uv], axis=2)
    while len(both) < _MOST_DIVIDED:
        edges = np.linalg.norm(np.roll(both[:, :, :3], -1, axis=1) - both[:, :, :3], axis=2)
        large = edges.max(axis=1) > side
        if not large.any():
            break
        a, b, c = np.moveaxis(both[large], 1, 0)
        ab, bc, ca = (a + b) / 2, (b + c) / 2, (c + a) / 2
        quarters = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
        both = np.concatenate([both[~large], *(np.stack(quarter, axis=1) for quarter in quarters)])
    height, width = piece.texture.shape[:2]
    uv = np.nan_to_num(both[:, :, 3:].mean(axis=1))
    uv = np.where((uv >= 0.0) & (uv <= 1.0), uv, uv % 1.0)  # the upper end of the texture is not its lower one
    column = np.minimum((uv[:, 0] * width).astype(int), width - 1)
    row = np.minimum(((1.0 - uv[:, 1]) * height).astype(int), height - 1)
    return both[:, :, :3], piece.texture[row, column] / 255
