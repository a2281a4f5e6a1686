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
"""So many characters of a wrong value are shown [characters]; chosen by hand."""


class RowError(ValueError):
    """Why a row cannot be used, as the end of a sentence."""


@dataclass(frozen=True)
class SetRow:
    """One row of a set's file.

    Attributes:
        folder: Of the whole set.
        file: The file that it stands in.
        fields: What stands there.
        split: The part of the set.
        position: Its number among the rows of the split, from 0; rows that cannot be used count.
    """

    folder: Path
    file: Path
    fields: Mapping[str, Any]
    split: str
    position: int


@dataclass(frozen=True)
class Question:
    """One question of a set.

    Attributes:
        id: Its name, the only one in the set; predictions go by it.
        text: What is asked, options included where a policy needs them.
        pictures: What it is asked about, in order; none where the set has videos.
        kind: How an answer is marked: a name of `training.data.sets.marks.MARKS`.
        truth: What the mark compares with; marks.py says what each kind has.
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


def value_of(fields: Mapping[str, Any], name: str) -> Any:
    """A field that must be there and not null. Raises RowError."""
    if fields.get(name) is None:
        raise RowError(f'it has no "{name}"')
    return fields[name]


def text_of(fields: Mapping[str, Any], name: str) -> str:
    """A field with a text that is not empty. Raises RowError."""
    value = value_of(fields, name)
    if not isinstance(value, str) or not value.strip():
        raise RowError(f'its "{name}" must be a text, got {shown(value)}')
    return value


def name_of(fields: Mapping[str, Any], name: str) -> str:
    """A text or a whole number, as a text: what ids and categories are. Raises RowError."""
    value = value_of(fields, name)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return text_of(fields, name)


def list_of(fields: Mapping[str, Any], name: str) -> list[Any]:
    """A field with a list that is not empty. Raises RowError."""
    value = value_of(fields, name)
    if not isinstance(value, Sequence) or isinstance(value, str | bytes) or not len(value):
        raise RowError(f'its "{name}" must be a list that is not empty, got {shown(value)}')
    return list(value)


def texts_of(fields: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """A field with a list of texts. Raises RowError."""
    values = list_of(fields, name)
    if not all(isinstance(value, str) for value in values):
        raise RowError(f'its "{name}" must be a list of texts, got {shown(values)}')
    return tuple(values)


def letter_of(fields: Mapping[str, Any], name: str, count: int) -> str:
    """The letter of the right one of `count` options, written like "B", "(B)" or "B." Raises RowError."""
    value = text_of(fields, name)
    found = re.fullmatch(r"\s*\(?\s*([A-Z])\s*\)?\s*\.?\s*", value)
    if found is None or ord(found[1]) - ord("A") >= count:
        raise RowError(f'its "{name}" must be the letter of one of {count} options, got {shown(value)}')
    return found[1]


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


def picture_in_base64(fields: Mapping[str, Any], name: str) -> bytes:
    """A picture file that stands in a text, in base64. Raises RowError."""
    try:
        return base64.b64decode(text_of(fields, name), validate=True)
    except (binascii.Error, ValueError) as error:
        raise RowError(f'its "{name}" is no base64') from error


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
