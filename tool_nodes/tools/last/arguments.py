"""Arguments of skills: what a skill file may call a kind, and the Python type behind it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from toolhand.tool_nodes.toolbox.arguments import (
    ArgumentType,
    InvalidValue,
    Lookup,
    NumberArgument,
    TextArgument,
    are_shares,
    finite_number,
    image_at,
    show,
)
from toolhand.tool_nodes.toolbox.images import SessionImage

_MAX_LABELS = 20
"""Most labels of a call, which bounds its time: each is a detection."""
_IMAGE = re.compile(r"image-(0|[1-9][0-9]{0,5})")


@dataclass(frozen=True)
class ImageNameArgument:
    """An image of the conversation as LAST writes it, "image-0". Never a path: no file is ever opened."""

    def schema(self) -> dict[str, Any]:
        """JSON schema."""
        return {"type": "string", "pattern": f"^{_IMAGE.pattern}$"}

    def parse(self, value: Any, lookup: Lookup) -> SessionImage:
        """The image."""
        known = len(lookup.images)
        if not known:
            raise InvalidValue("refers to an image, but there is none yet")
        match = _IMAGE.fullmatch(value) if isinstance(value, str) else None
        if match is None or int(match.group(1)) >= known:
            raise InvalidValue(f'must be "image-N" with N between 0 and {known - 1}, got {show(value)}')
        return image_at(lookup, int(match.group(1)))


@dataclass(frozen=True)
class LabelsArgument:
    """Object queries: a list of names. One that is repeated is looked for once."""

    def schema(self) -> dict[str, Any]:
        """JSON schema."""
        return {"type": "array", "items": TextArgument().schema(), "minItems": 1, "maxItems": _MAX_LABELS}

    def parse(self, value: Any, lookup: Lookup) -> list[str]:
        """The names."""
        if not isinstance(value, (list, tuple)):
            raise InvalidValue(f'must be a list of strings such as ["a person", "a frisbee"], got {show(value)}')
        if not 1 <= len(value) <= _MAX_LABELS:
            raise InvalidValue(f"must hold 1 to {_MAX_LABELS} strings, got {len(value)}")
        return list(dict.fromkeys(TextArgument().parse(label, lookup) for label in value))


@dataclass(frozen=True)
class NumbersArgument:
    """A list of finite numbers of a certain length; `form` shows it, e.g. "[x1, y1, x2, y2]"."""

    form: str

    unit = "pixels"
    """Short schemas say it."""

    def schema(self) -> dict[str, Any]:
        """JSON schema."""
        length = self._length
        return {"type": "array", "items": {"type": "number"}, "minItems": length, "maxItems": length}

    def parse(self, value: Any, lookup: Lookup) -> list[float]:
        """The numbers."""
        if not isinstance(value, (list, tuple)) or len(value) != self._length:
            raise InvalidValue(f"must be {self.form}, got {show(value)}")
        numbers = [finite_number(number) for number in value]
        if are_shares(numbers):
            raise InvalidValue(f"is in pixels: multiply shares by the picture's width and height, got {show(value)}")
        return numbers

    @property
    def _length(self) -> int:
        return self.form.count(",") + 1


KINDS: Mapping[str, tuple[ArgumentType, Any]] = {
    "image": (ImageNameArgument(), SessionImage),
    "labels": (LabelsArgument(), list[str]),
    "text": (TextArgument(), str),
    "score": (NumberArgument(0.0, 1.0), float),
    "number": (NumberArgument(), float),
    "box": (NumbersArgument("[x1, y1, x2, y2]"), list[float]),
    "point": (NumbersArgument("[x, y]"), list[float]),
}
"""What a skill file may write as `kind`: how a value is checked, and what the skill's steps receive."""
