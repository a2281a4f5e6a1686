"""Images and long texts of rollouts, each kept once, by the hash of what it shows or says."""

from __future__ import annotations

import functools
import hashlib
import io
import re
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from toolhand.agent_node.runs.folder import write_atomically
from toolhand.tool_nodes.files import MIB, read_file
from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.toolbox.image_files import MAX_FILE_BYTES, ImageFileError, opened

_NAME = re.compile(r"[0-9a-f]{64}")

_TEXT_BYTES = 64 * MIB
"""Longest text that is read [bytes], far above what a model is given."""

_TEXTS = 64
"""Texts, those read last, that stay in memory [-]: system prompts and schemas, which all rollouts share."""


class ImageSource(Protocol):
    """Has images by their hash, as a `ImageStore`."""

    def get(self, name: str) -> NDArray[np.uint8]:
        """The image, uint8 RGB (H, W, 3). Raises ToolError INVALID_ARGUMENT where there is none."""


class ImageStore:
    """A folder of images (PNG) and long texts, which many processes may write at once.

    Args:
        folder: Where it lies; made by what is first added.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)
        self._written: set[str] = set()
        self._read = functools.lru_cache(_TEXTS)(self._read_text)

    def add(self, rgb: NDArray[np.uint8]) -> str:
        """Keep an image, whole or not at all.

        Args:
            rgb: uint8 (H, W, 3).

        Returns:
            SHA-256 of its size and pixels, in hexadecimal digits.

        Raises:
            ToolError: INVALID_ARGUMENT for what is no image; UNAVAILABLE where it cannot be written.
        """
        name = hash_of(rgb)
        if name not in self._written:
            path = self.path(name)
            if not path.exists():
                buffer = io.BytesIO()
                Image.fromarray(rgb).save(buffer, format="PNG", compress_level=1)
                write_atomically(path, buffer.getvalue())
            self._written.add(name)
        return name

    def get(self, name: str) -> NDArray[np.uint8]:
        """The image of a hash, uint8 RGB (H, W, 3).

        Raises:
            ToolError: INVALID_ARGUMENT where there is none, or its file shows something else.
        """
        path = self.path(name)
        try:
            with opened(read_file(path, MAX_FILE_BYTES, self.folder), ("PNG",)) as image:
                rgb = np.asarray(image.convert("RGB"))
        except (ImageFileError, OSError) as error:
            raise invalid(
                f"The store has no picture {name[:12]} that can be read: {getattr(error, 'strerror', '') or error}."
            ) from error
        if hash_of(rgb) != name:
            raise invalid(f"The picture {name[:12]} of the store is not what it was.")
        return rgb

    def path(self, name: str) -> Path:
        """Where the image of a hash lies. Raises ToolError INVALID_ARGUMENT for what is no hash."""
        return self.folder / "pictures" / _checked(name)[:2] / f"{name}.png"

    def add_text(self, text: str) -> str:
        """Keep a text, whole or not at all; its SHA-256. Raises ToolError UNAVAILABLE where it cannot be written."""
        encoded = text.encode("utf-8", "surrogatepass")
        name = hashlib.sha256(encoded).hexdigest()
        if name not in self._written:
            path = self._text_path(name)
            if not path.exists():
                write_atomically(path, encoded)
            self._written.add(name)
        return name

    def get_text(self, name: str) -> str:
        """The text of a hash. Raises ToolError INVALID_ARGUMENT where there is none, or it is not what it was."""
        return self._read(name)

    def _read_text(self, name: str) -> str:
        path = self._text_path(name)
        try:
            encoded = read_file(path, _TEXT_BYTES, self.folder)
        except OSError as error:
            raise invalid(f"The store has no text {name[:12]} that can be read: {error.strerror}.") from error
        if hashlib.sha256(encoded).hexdigest() != name:
            raise invalid(f"The text {name[:12]} of the store is not what it was.")
        return encoded.decode("utf-8", "surrogatepass")

    def _text_path(self, name: str) -> Path:
        return self.folder / "texts" / f"{_checked(name)}.txt"


def hash_of(rgb: NDArray[np.uint8]) -> str:
    """SHA-256 of an image's size and pixels. Raises ToolError INVALID_ARGUMENT for what is no uint8 (H, W, 3)."""
    if not isinstance(rgb, np.ndarray) or rgb.dtype != np.uint8 or rgb.ndim != 3 or rgb.shape[2] != 3 or not rgb.size:
        raise invalid("A picture must be an array of uint8 with the shape (H, W, 3).")
    digest = hashlib.sha256(f"{rgb.shape[0]}x{rgb.shape[1]}".encode())
    digest.update(np.ascontiguousarray(rgb).data)
    return digest.hexdigest()


def _checked(name: str) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise invalid(f"{str(name)[:20]!r} is no SHA-256 in hexadecimal digits.")
    return name
