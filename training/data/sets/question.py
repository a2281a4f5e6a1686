"""A question of a public set, and how fields of a row become parts of one.

Whatever is read here comes from somebody else's files: a field that is missing or of another kind is a `RowError`,
whose words end a sentence that begins with file and row.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tool_nodes.toolbox.picture_files import USUAL, PictureFileError, opened
from tool_nodes.types import FloatArray

PictureFile = Path | bytes
"""A picture file, or what would be in it."""

SHOWN = 60
"""Longest part of a wrong value that is shown [characters]; a round figure."""


class RowError(ValueError):
    """Why a row cannot be used, as the end of a sentence."""


@dataclass(frozen=True)
class SetRow:
    """One row of a set's file; its methods read a column, and raise RowError where it holds something else.

    Attributes:
        folder: folder of the whole set.
        file: file that the row stands in.
        fields: values by column.
        split: part of the set.
        position: number among the rows of the split, from 0; rows that cannot be used count.
    """

    folder: Path
    file: Path
    fields: Mapping[str, Any]
    split: str
    position: int

    def value(self, column: str) -> Any:
        """What is there, and not null."""
        if self.fields.get(column) is None:
            raise RowError(f'it has no "{column}"')
        return self.fields[column]

    def text(self, column: str) -> str:
        """A text that is not empty."""
        value = self.value(column)
        if not isinstance(value, str) or not value.strip():
            raise RowError(f'its "{column}" must be a text, got {shown(value)}')
        return value

    def name(self, column: str) -> str:
        """A text or a whole number, as a text: what ids are."""
        value = self.value(column)
        return str(value) if isinstance(value, int) and not isinstance(value, bool) else self.text(column)

    def values(self, column: str) -> list[Any]:
        """A list that is not empty."""
        value = self.value(column)
        if not isinstance(value, Sequence) or isinstance(value, str | bytes) or not len(value):
            raise RowError(f'its "{column}" must be a list that is not empty, got {shown(value)}')
        return list(value)

    def texts(self, column: str) -> tuple[str, ...]:
        """A list of texts."""
        values = self.values(column)
        if not all(isinstance(value, str) for value in values):
            raise RowError(f'its "{column}" must be a list of texts, got {shown(values)}')
        return tuple(values)

    def kept(self, *columns: str) -> dict[str, Any]:
        """Columns as they are, None for one that is not there."""
        return {column: self.fields.get(column) for column in columns}

    def letter(self, column: str, count: int) -> str:
        """The letter of the right one of `count` options, written like "B", "(B)" or "B."."""
        value = self.text(column)
        found = re.fullmatch(r"\s*\(?\s*([A-Z])\s*\)?\s*\.?\s*", value)
        if found is None or ord(found[1]) - ord("A") >= count:
            raise RowError(f'its "{column}" must be the letter of one of {count} options, got {shown(value)}')
        return found[1]

    def numbered(self, column: str, count: int) -> str:
        """The letter of the right one of `count` options, written as its number from 0."""
        value = self.fields.get(column)
        chosen = int(value) if isinstance(value, str) and value.isdecimal() else value
        if not isinstance(chosen, int) or isinstance(chosen, bool) or not 0 <= chosen < count:
            raise RowError(f'its "{column}" must be the number of one of {count} options, got {shown(value)}')
        return chr(ord("A") + chosen)

    def picture(self, column: str) -> PictureFile:
        """A picture as Parquet files have it, see `picture_of`."""
        return picture_of(self.value(column), self.folder)

    def pictures(self, column: str) -> tuple[PictureFile, ...]:
        """A list of pictures as Parquet files have them."""
        return tuple(picture_of(image, self.folder) for image in self.values(column))

    def named_picture(self, column: str, folder: Path | None = None) -> Path:
        """A picture file by its name in a folder, that of the set where None."""
        return picture_at(folder or self.folder, self.text(column))

    def base64_picture(self, column: str) -> bytes:
        """A picture file that stands in a text, in base64."""
        text = self.text(column)
        try:
            return base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError) as error:
            raise RowError(f'its "{column}" is no base64') from error


@dataclass(frozen=True)
class Question:
    """One question of a set.

    Attributes:
        id: Its name, the only one in the set; predictions go by it.
        text: The question, options included where a policy needs them.
        pictures: Pictures that it is about, in order; none where the set has videos.
        kind: How an answer is marked: a name of `training.data.sets.marks.MARKS`.
        truth: Value that the mark compares with; marks.py describes it for each kind.
        options: Texts of the choices, A first; empty where there are none.
        category: The row of a report that it counts in.
        meta: Whatever else its set says of it, as the set names it.
    """

    id: str
    text: str
    pictures: tuple[PictureFile, ...]
    kind: str
    truth: Any
    options: tuple[str, ...] = ()
    category: str = "all"
    meta: Mapping[str, Any] = field(default_factory=dict)


def lettered(options: Sequence[str]) -> str:
    """Options in lines of their own: "(A) the first"."""
    return "\n".join(f"({chr(ord('A') + k)}) {option}" for k, option in enumerate(options))


def picture_at(folder: Path, name: Any) -> Path:
    """A picture file by its name within a folder. Raises RowError: it is not there, or lies elsewhere."""
    if not isinstance(name, str) or not name.strip():
        raise RowError(f"the name of a picture must be a text, got {shown(name)}")
    parts = PurePosixPath(name.replace("\\", "/"))
    if parts.is_absolute() or ".." in parts.parts or "\0" in name:
        raise RowError(f"its picture {shown(name)} lies outside the set")
    path = folder.joinpath(*parts.parts)
    if not path.is_file():
        raise RowError(f"its picture {shown(name)} is absent")
    return path


def picture_of(value: Any, folder: Path) -> PictureFile:
    """A picture as Parquet files have it: its bytes, or {"bytes": ..., "path": ...}. Raises RowError."""
    if isinstance(value, Mapping):
        inside = value.get("bytes")
        return picture_at(folder, value.get("path")) if inside is None else picture_of(inside, folder)
    if not isinstance(value, bytes) or not value:
        raise RowError(f"a picture must be the bytes of a picture file, got {shown(value)}")
    return value


def rgb_of(picture: PictureFile) -> NDArray[np.uint8]:
    """The pixels of a picture, uint8 (H, W, 3). Raises RowError."""
    try:
        with opened(picture, USUAL) as image:
            return np.asarray(image.convert("RGB"))
    except PictureFileError as error:
        raise RowError(f"its picture cannot be read: {error}") from error


def mask_of(picture: PictureFile) -> FloatArray:
    """A mask as float64 (H, W) in 0..1: the only or first channel of the picture. Raises RowError."""
    try:
        with opened(picture, USUAL) as image:
            pixels = np.asarray(image if image.mode in ("L", "LA", "RGB", "RGBA") else image.convert("L"))
    except PictureFileError as error:
        raise RowError(f"its mask cannot be read: {error}") from error
    return np.asarray(pixels if pixels.ndim == 2 else pixels[:, :, 0], np.float64) / 255.0


def shown(value: Any) -> str:
    """The beginning of a wrong value, for an error."""
    text = repr(value[:SHOWN] if isinstance(value, str | bytes) else value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
