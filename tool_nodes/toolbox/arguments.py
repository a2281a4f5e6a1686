"""Argument types: each knows its JSON schema and how to check a value, arrays by `$variable` included.

A tool writes `mask: Mask`; the model writes `"mask": "$segmentation_mask"`; the tool receives the array.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Annotated, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from toolhand.tool_nodes.toolbox.images import PackedImage, SessionImage
from toolhand.tool_nodes.types import BoolArray, FloatArray

VARIABLE = re.compile(r"^\$[A-Za-z_]\w*$")

_SHOWN_VARIABLES = 8
"""Newest variables that a refusal names."""
_SHOWN_CHARACTERS = 240
"""Most characters of names in the answer to a wrong one: a long conversation must not make it grow."""


class Lookup(Protocol):
    """Where kinds resolve references: the variables and images of one conversation."""

    @property
    def variables(self) -> Mapping[str, Any]:
        """Values by name, without the dollar sign."""

    @property
    def images(self) -> Sequence[SessionImage]:
        """Images in the order of their indices."""


class Level(IntEnum):
    """The order in which a value is checked (E-ViC, section E.7)."""

    INDEX = 1
    TYPE = 2
    CARDINALITY = 3
    BOUNDS = 4
    GEOMETRY = 5


class InvalidValue(ValueError):
    """Why a value does not fit its kind; the text completes the sentence "argument 'x' ..."."""

    def __init__(self, text: str, level: Level = Level.TYPE) -> None:
        super().__init__(text)
        self.level = level


class MissingVariable(InvalidValue):
    """A `$variable` that does not exist.

    Args:
        name: Its name, without the dollar sign.
        text: See `InvalidValue`.
        known: The variables that there are, in words.
    """

    def __init__(self, name: str, text: str, known: str) -> None:
        super().__init__(f"{text}; known variables: {known}")
        self.name = name
        self.told = text


def describe(value: Any) -> str:
    """A short description of a value for a model: kind and shape, never the content of arrays."""
    if isinstance(value, SessionImage):
        return f"image, {value.rgb.shape[0]}x{value.rgb.shape[1]}x3"
    if isinstance(value, np.ndarray):
        kind = "boolean array" if value.dtype == np.bool_ else "numpy array"
        return f"{kind}, {'x'.join(str(n) for n in value.shape)}"
    if isinstance(value, float):
        return "float"
    if isinstance(value, (list, tuple)):
        return f"list of {len(value)}"
    return type(value).__name__


def show(value: Any) -> str:
    """At most 60 characters of a value, for a sentence about it."""
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # nested too deeply, or an integer of thousands of digits
        return f"a value of type {type(value).__name__} too large to show"
    return shortened(text.replace("\n", " "))  # arrays


def shortened(text: str) -> str:
    """At most 60 characters of a text."""
    return text if len(text) <= 60 else text[:57] + "..."


def resolve(value: Any, lookup: Lookup) -> Any:
    """The value behind a `$name`; any other value unchanged."""
    if not (isinstance(value, str) and value.startswith("$")):
        return value
    if not VARIABLE.fullmatch(value):
        raise InvalidValue(f"must be a variable such as $name, got {show(value)}")
    if value[1:] not in lookup.variables:
        if (why := getattr(lookup, "forgotten", {}).get(value[1:])) is not None:
            raise InvalidValue(f"refers to {shortened(value)}, which is gone: {why}; make it anew")
        named = [f"${shortened(name)} ({describe(v)})" for name, v in lookup.variables.items()]
        newest = named[-_SHOWN_VARIABLES:]
        while len(", ".join(newest)) > _SHOWN_CHARACTERS:
            del newest[0]
        known = ", ".join(newest) or "none yet"
        if len(named) > len(newest):
            known += f" and {len(named) - len(newest)} older ones"
        raise MissingVariable(value[1:], f"refers to {shortened(value)}, which does not exist", known)
    return lookup.variables[value[1:]]


def image_at(lookup: Lookup, index: int) -> SessionImage:
    """The image of an index that is within bounds. Raises InvalidValue where it is too old to be kept for use."""
    image = lookup.images[index]
    if isinstance(image, PackedImage):
        last = len(lookup.images) - 1
        oldest = next((i for i in range(index, last) if not isinstance(lookup.images[i], PackedImage)), last)
        raise InvalidValue(
            f"refers to image {index}, which is too old and was dropped: usable are 0 and {oldest} to {last}; "
            "look again with robot.capture_image",
            Level.INDEX,
        )
    return image


def _in_pixels(lookup: Lookup, side: str) -> str:
    """What to do with pixels where a share of an image is wanted; "" where no image is known."""
    images = [image for image in lookup.images if not isinstance(image, PackedImage)]
    newest = next((image for image in reversed(images) if image.frame is not None), images[-1] if images else None)
    if newest is None:
        return ""
    width, height = newest.size
    number = {"width": str(width), "height": str(height)}.get(side, f"{width} and {height}")
    return f": divide pixels by the picture's {side}, {number}"


def are_shares(numbers: Iterable[float]) -> bool:
    """True where coordinates can only be meant as shares of an image, from 0 to 1: some are no whole numbers."""
    known = list(numbers)
    return bool(known) and all(0.0 <= n <= 1.0 for n in known) and any(n != int(n) for n in known)


def reference_schema(what: str) -> dict[str, Any]:
    """JSON schema of a `$variable` that holds what is named."""
    return {"type": "string", "pattern": VARIABLE.pattern, "description": f"variable holding a {what}"}


class ArgumentType(Protocol):
    """A type of argument: its JSON schema and its check."""

    def schema(self) -> dict[str, Any]:
        """Its JSON schema."""

    def parse(self, value: Any, lookup: Lookup) -> Any:
        """The checked Python value. Raises InvalidValue."""


def whole_number(value: Any) -> Any:
    """2 where 2.0 was written, which is an integer in JSON Schema: some clients know no others; else the value."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def finite_number(value: Any) -> float:
    """The value as a finite float; a boolean or a string is none. Raises InvalidValue."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.floating, np.integer)):
        raise InvalidValue(f"must be a number, got {show(value)}")
    try:
        number = float(value)
    except OverflowError:
        raise InvalidValue("must be a finite number, got an integer beyond the range of a float") from None
    if not math.isfinite(number):
        raise InvalidValue(f"must be a finite number, got {number}")
    return number


@dataclass(frozen=True)
class NumberArgument:
    """A finite number in [low, high].

    Attributes:
        low, high: Bounds.
        exclusive_low: The lower bound itself is refused.
        share_of: "width" or "height", of which side of an image it is a share; "" for other numbers.
        reference: A `$variable` that holds a number is accepted too.
        derived: It is the focal length of the image that the variables beside it belong to, unless it is given.
    """

    low: float = -math.inf
    high: float = math.inf
    exclusive_low: bool = False
    reference: bool = False
    derived: bool = False
    share_of: str = ""

    def of_image(self, image: SessionImage) -> float | None:
        """What it is where a call leaves it out; None where that is not known."""
        return None if image.view is None else float(image.view.K[0, 0])

    def schema(self) -> dict[str, Any]:
        """JSON schema of the number, or of a reference to one where that is accepted."""
        number: dict[str, Any] = {"type": "number"}
        if math.isfinite(self.low):
            number["exclusiveMinimum" if self.exclusive_low else "minimum"] = self.low
        if math.isfinite(self.high):
            number["maximum"] = self.high
        return {"anyOf": [number, reference_schema("number")]} if self.reference else number

    def parse(self, value: Any, lookup: Lookup) -> float:
        """The number."""
        number = finite_number(resolve(value, lookup) if self.reference else value)
        low_ok = number > self.low if self.exclusive_low else number >= self.low
        if not (low_ok and number <= self.high):
            if self.exclusive_low:
                bound = f"greater than {self.low:g}" + (f" and at most {self.high:g}" if self.high < math.inf else "")
            else:
                bound = f"between {self.low:g} and {self.high:g}"
            pixels = _in_pixels(lookup, self.share_of) if self.share_of and number > self.high else ""
            raise InvalidValue(f"must be {bound}, got {number:g}{pixels}")
        return number


@dataclass(frozen=True)
class CountArgument:
    """A whole number from 1 on."""

    def schema(self) -> dict[str, Any]:
        """JSON schema."""
        return {"type": "integer", "minimum": 1}

    def parse(self, value: Any, lookup: Lookup) -> int:
        """The number."""
        value = whole_number(value)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise InvalidValue(f"must be a whole number from 1 on, got {show(value)}")
        return value


@dataclass(frozen=True)
class TextArgument:
    """A text of limited length; an empty one is refused where `least` is 1."""

    max_length: int = 300
    least: int = 1

    def schema(self) -> dict[str, Any]:
        """JSON schema."""
        return {"type": "string", "minLength": self.least, "maxLength": self.max_length}

    def parse(self, value: Any, lookup: Lookup) -> str:
        """The text, stripped."""
        if not isinstance(value, str):
            raise InvalidValue(f"must be a string, got {show(value)}")
        text = value.strip()
        if not self.least <= len(text) <= self.max_length:
            raise InvalidValue(f"must have {self.least} to {self.max_length} characters, got {len(text)}")
        return text


@dataclass(frozen=True)
class ImageArgument:
    """An image, by its index in the conversation or by a variable that holds one."""

    derived = True
    """It is the image that the variables beside it belong to, unless it is given."""

    def of_image(self, image: SessionImage) -> SessionImage:
        """What it is where a call leaves it out."""
        return image

    def schema(self) -> dict[str, Any]:
        """JSON schema of the index or of a reference to an image."""
        return {"anyOf": [{"type": "integer", "minimum": 0}, reference_schema("picture")]}

    def parse(self, value: Any, lookup: Lookup) -> SessionImage:
        """The image."""
        value = resolve(whole_number(value), lookup)
        if isinstance(value, SessionImage):
            return value
        if isinstance(value, bool) or not isinstance(value, int):
            raise InvalidValue(f"must be the integer index of an image, got {show(value)}", Level.INDEX)
        if not lookup.images:
            raise InvalidValue("refers to an image, but none was taken or shown yet", Level.INDEX)
        if not 0 <= value < len(lookup.images):
            raise InvalidValue(f"must be between 0 and {len(lookup.images) - 1}, got {show(value)}", Level.INDEX)
        return image_at(lookup, value)


@dataclass(frozen=True)
class SessionArgument:
    """The conversation itself, which the toolbox passes: no caller gives it, and no schema shows it."""

    def schema(self) -> dict[str, Any]:
        """Never shown."""
        return {}

    def parse(self, value: Any, lookup: Lookup) -> Lookup:
        """The conversation."""
        return lookup


@dataclass(frozen=True)
class ArrayArgument:
    """A numpy array: by `$variable`, or written out where `literal` allows it.

    Attributes:
        what: Name in messages, e.g. "segmentation mask (H, W)".
        shape: Required shape; None matches any length of an axis.
        boolean: True for masks.
        mixed: Numbers, booleans and images are all accepted.
        literal: Nested JSON lists are accepted.
        finite: NaN and infinities are refused.
        newest: A point or place in the newest image, whichever that is.
    """

    what: str
    shape: tuple[int | None, ...] | None = None
    boolean: bool = False
    mixed: bool = False
    literal: bool = False
    finite: bool = False
    low: float = -math.inf
    high: float = math.inf
    newest: bool = False

    def schema(self) -> dict[str, Any]:
        """JSON schema: a reference, or nested lists where they are allowed."""
        reference = reference_schema(self.what)
        if not self.literal:
            return reference
        items: dict[str, Any] = {"type": "number"}
        if math.isfinite(self.low):
            items |= {"minimum": self.low, "maximum": self.high}
        for length in reversed(self.shape or (None,)):
            items = {"type": "array", "items": items}
            if length is not None:
                items |= {"minItems": length, "maxItems": length}
        return {"anyOf": [items, reference]}

    def parse(self, value: Any, lookup: Lookup) -> NDArray[Any]:
        """The array, checked for type, shape and range."""
        literal = self.literal and isinstance(value, (list, tuple))
        if not literal and not (isinstance(value, str) and value.startswith("$")) and not isinstance(value, np.ndarray):
            form = (
                f"a {self.what}, written as numbers or as a $variable"
                if self.literal
                else f"a $variable holding a {self.what}"
            )
            raise InvalidValue(f"must be {form}, got {show(value)}")
        found = resolve(value, lookup)
        if self.mixed and isinstance(found, SessionImage):
            return found.rgb
        try:
            array = np.asarray(found)
        except ValueError as error:
            raise InvalidValue(f"must be a {self.what}, got a ragged list") from error
        if self.boolean:
            if array.dtype != np.bool_:
                raise InvalidValue(f"must be a {self.what}, got {describe(found)}")
        elif array.dtype.kind not in ("fiub" if self.mixed else "fiu"):
            raise InvalidValue(f"must be a {self.what} of numbers, got {describe(found)}")
        wanted = self.shape
        if wanted is not None and (
            array.ndim != len(wanted) or any(w not in (None, n) for w, n in zip(wanted, array.shape, strict=False))
        ):
            raise InvalidValue(f"must be a {self.what}, got shape {array.shape}")
        if self.finite and not np.isfinite(array).all():
            raise InvalidValue("must not hold NaN or infinite numbers")
        if array.size and not self.boolean and math.isfinite(self.low):
            lowest, highest = float(np.min(array)), float(np.max(array))
            if lowest < self.low or highest > self.high:
                worst = lowest if lowest < self.low else highest
                pixels = _in_pixels(lookup, "width and height") if self.high == 1.0 < worst else ""
                raise InvalidValue(f"must hold numbers between {self.low:g} and {self.high:g}, got {worst:g}{pixels}")
        return array.astype(float) if self.literal and array.dtype.kind in "iu" else array


@dataclass(frozen=True)
class OrNoneArgument:
    """An argument that a call may leave out, or give as null: some models write all that a schema lists.

    Attributes:
        kind: Its type where it is given.
    """

    kind: ArgumentType

    @property
    def newest(self) -> bool:
        """See `ArrayArgument`."""
        return bool(getattr(self.kind, "newest", False))

    def schema(self) -> dict[str, Any]:
        """JSON schema of what is given."""
        return self.kind.schema()

    def parse(self, value: Any, lookup: Lookup) -> Any:
        """The value, or None."""
        return None if value is None else self.kind.parse(value, lookup)


CallingSession = Annotated[Lookup, SessionArgument()]
Text = Annotated[str, TextArgument()]
UnitX = Annotated[float, NumberArgument(0.0, 1.0, share_of="width")]
UnitY = Annotated[float, NumberArgument(0.0, 1.0, share_of="height")]
Unit = Annotated[float, NumberArgument(0.0, 1.0)]
FocalLength = Annotated[float, NumberArgument(0.0, 1e6, exclusive_low=True, reference=True, derived=True)]
ImageIndex = Annotated[SessionImage, ImageArgument()]
ImageIndexOrNone = Annotated[SessionImage | None, OrNoneArgument(ImageArgument())]
Data = Annotated[NDArray[Any], ArrayArgument("numeric array (H, W) or (H, W, C)", mixed=True)]
_MASK = ArrayArgument("boolean segmentation mask (H, W)", (None, None), boolean=True)
Mask = Annotated[BoolArray, _MASK]
PointCloud = Annotated[NDArray[np.float32], ArrayArgument("point cloud (N, 3)", (None, 3))]
Points2D = Annotated[
    FloatArray, ArrayArgument("list of [x, y] points", (None, 2), literal=True, finite=True, low=0.0, high=1.0)
]
_POINT = ArrayArgument("point [x, y]", (2,), literal=True, finite=True, low=0.0, high=1.0)
"""Normalized point of an image: 0 and 1 are its edges [-]."""
Point2D = Annotated[FloatArray, _POINT]
NewestPoint2D = Annotated[FloatArray, replace(_POINT, newest=True)]
NewestPoint2DOrNone = Annotated[FloatArray | None, OrNoneArgument(replace(_POINT, newest=True))]
NewestBoxOrNone = Annotated[
    FloatArray | None,
    OrNoneArgument(replace(_POINT, what="box [left, top, right, bottom]", shape=(4,), newest=True)),
]
NewestMaskOrNone = Annotated[BoolArray | None, OrNoneArgument(replace(_MASK, newest=True))]
CountOrNone = Annotated[int | None, OrNoneArgument(CountArgument())]
FARTHEST_M = 100.0
"""Farthest coordinate of a point or pose that the arm is sent to [m]: far beyond any arm and far below
what overflows in a point cloud's float32."""
_PLACE = ArrayArgument("point [x, y, z]", (3,), literal=True, finite=True, low=-FARTHEST_M, high=FARTHEST_M)
"""Point in space, of which no coordinate is beyond FARTHEST_M [m]."""
Point3D = Annotated[FloatArray, _PLACE]
NewestPoint3D = Annotated[FloatArray, replace(_PLACE, newest=True)]
Pose = Annotated[
    FloatArray, ArrayArgument("pose (4, 4)", (4, 4), literal=True, finite=True, low=-FARTHEST_M, high=FARTHEST_M)
]
