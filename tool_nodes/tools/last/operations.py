"""LAST's atomic operations o: X -> Y (equation 1): calls of a perception module, and Python utilities.

Each is a typed function in a registry; a skill file names it, and the loader checks a skill's wiring against its types.
An operation that looks takes `finder` first, which stands for the module that LAST names, and says which backend
answered.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any, TypeVar, get_args, get_type_hints

import numpy as np

from toolhand.tool_nodes.drawing import colourize_depth
from toolhand.tool_nodes.geometry import backproject
from toolhand.tool_nodes.perception.object_finder import ObjectFinder, joined
from toolhand.tool_nodes.ports import Answer
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid
from toolhand.tool_nodes.toolbox.arguments import show
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.tools.last import rendering
from toolhand.tool_nodes.tools.last.objects import (
    CentroidRow,
    CountRow,
    CropRow,
    DepthMap,
    DepthRange,
    DepthRow,
    Detected,
    MissingRow,
    Outlined,
    PointMap,
    PointRow,
    Region,
    SizeRow,
)
from toolhand.tool_nodes.types import Detection

MIN_SIDE = 8
"""The shortest side of a crop [px]."""

MAX_SIDE = 4096
"""The longest side of an enlarged image [px]."""

_SHOWN_LABELS = 3
"""Most labels that are named where none was found."""

_POINT_WINDOW_PX = 4
"""A 3D point is the median over this many pixels around the point on the object, to each side."""

_NOT_THERE = frozenset({ErrorCode.OBJECT_NOT_FOUND, ErrorCode.NOT_RECOGNISED})
"""What a detector says of a label without a detection."""

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Operation:
    """One atomic operation.

    Attributes:
        name: Name in skill files.
        module: The module that LAST names for it, e.g. "GroundingDINO".
        function: Function that does it.
        inputs: Name to type, without `finder`.
        required: Inputs without a default.
        output: Type of the result; of an operation that looks, of its answer's value.
        looks: True if `finder` comes first.
    """

    name: str
    module: str
    function: Callable[..., Any]
    inputs: Mapping[str, Any]
    required: frozenset[str]
    output: Any
    looks: bool


OPERATIONS: dict[str, Operation] = {}
"""Every operation by its name."""


def operation(module: str) -> Callable[[F], F]:
    """Enter a typed function in the registry, under its own name."""

    def enter(function: F) -> F:
        hints = get_type_hints(function)
        output = hints.pop("return")
        parameters = signature(function).parameters
        required = frozenset(name for name, p in parameters.items() if p.default is Parameter.empty) - {"finder"}
        looks = hints.pop("finder", None) is not None
        if looks:
            (output,) = get_args(output)
        name = function.__name__
        OPERATIONS[name] = Operation(name, module, function, hints, required, output, looks)
        return function

    return enter


# -- perception modules ----------------------------------------------------------------------------


@operation("GroundingDINO")
def detect(
    finder: ObjectFinder, image: SessionImage, labels: Sequence[str], threshold: float = 0.1, at_least: float = 1.0
) -> Answer[list[Detected]]:
    """Everything that the labels name, with a score of at least the threshold.

    Args:
        finder: Looks.
        image: Where.
        labels: Names of the objects to find.
        threshold: In [0, 1].
        at_least: Least number of objects; for a skill that counts, 0.

    Raises:
        ToolError: OBJECT_NOT_FOUND when there are fewer; NOT_RECOGNISED when no label means anything to the detector,
            or the image does not.
    """
    found: list[Detected] = []
    hints: list[str] = []
    backends: list[str] = []
    unknown: list[ToolError] = []
    for label in labels:
        try:
            answer = finder.detect(image, label)
        except ToolError as error:
            if error.code not in _NOT_THERE:
                raise
            unknown += [error] * (error.code is ErrorCode.NOT_RECOGNISED)
            hints.append(str(error))
            continue
        backends.append(answer.backend)
        kept = [detection for detection in answer.value if detection.score >= threshold]
        if not kept:
            best = max((detection.score for detection in answer.value), default=0.0)
            hints.append(f"No detection of {label!r} has a score of at least {threshold:g}; the best has {best:.2f}.")
        found += [_detected(detection, n, image) for n, detection in enumerate(kept, 1)]
    known = len(unknown) < len(labels)
    if len(found) < (at_least if known else 1):
        names = ", ".join(show(label) for label in labels[:_SHOWN_LABELS])
        if len(labels) > _SHOWN_LABELS:
            names += f" and {len(labels) - _SHOWN_LABELS} more"
        none = "" if len(labels) == 1 else f"None of {names} was found. "
        code = ErrorCode.OBJECT_NOT_FOUND if known else ErrorCode.NOT_RECOGNISED
        raise ToolError(code, none + hints[0], backend=unknown[0].backend if unknown else "")
    return Answer(found, joined(backends))


def _detected(found: Detection, number: int, image: SessionImage) -> Detected:
    width, height = image.size
    left, top, right, bottom = found.box
    middle = (left + right) / 2 / width, (top + bottom) / 2 / height
    return Detected(found.label, number, found.box, found.point or middle, found.score, sure=found.point is not None)


@operation("SAM2")
def segment(finder: ObjectFinder, image: SessionImage, objects: Sequence[Detected]) -> Answer[list[Outlined]]:
    """The outline of each detected object, prompted with the point on it or its box. Raises ToolError EMPTY_MASK."""
    outlined = []
    backends = []
    for item in objects:
        answer = finder.outline(image, Detection(item.box, item.label, item.score, item.point if item.sure else None))
        found = answer.value
        outlined.append(Outlined(item.label, item.number, found.box, found.point, item.score, found.mask))
        backends.append(answer.backend)
    return Answer(outlined, joined(backends))


@operation("DepthAnything-v2")
def estimate_depth(finder: ObjectFinder, image: SessionImage) -> Answer[DepthMap]:
    """Depth of every pixel [m]. Raises ToolError as ports.DepthEstimator."""
    found = finder.depth_of(image)
    return Answer(DepthMap(found.value[0]), found.backend)


@operation("VGGT")
def reconstruct(finder: ObjectFinder, image: SessionImage) -> Answer[PointMap]:
    """The 3D point of every pixel in the camera frame [m]. Raises ToolError as `estimate_depth` does."""
    found = finder.depth_of(image)
    depth, focal = found.value
    return Answer(PointMap(backproject(depth, image.intrinsics(focal)).reshape(*depth.shape, 3)), found.backend)


# -- Python utilities: parts of an image ----------------------------------------------------------


@operation("Python")
def region(
    image: SessionImage,
    box: Sequence[float] | None = None,
    center: Sequence[float] | None = None,
    zoom_factor: float = 1.0,
) -> Region:
    """The region that a bounding box names, or a center and size: the image's size divided by the zoom factor.

    A box must lie in the image; it is rounded outward to whole pixels. A region about a center is shifted inside.

    Raises:
        ToolError: INVALID_ARGUMENT.
    """
    width, height = image.size
    if (box is None) == (center is None):
        raise invalid(
            "Give either 'box' or 'center', not both." if box else "Give 'box', or 'center' and 'zoom_factor'."
        )
    if box is not None:
        x1, y1, x2, y2 = box
        if not (0 <= x1 < x2 <= width and 0 <= y1 < y2 <= height):
            shown = ", ".join(f"{number:g}" for number in box)
            raise invalid(
                f"box must be [x1, y1, x2, y2] with 0 <= x1 < x2 <= {width}, 0 <= y1 < y2 <= {height}, got [{shown}]."
            )
        found = Region(math.floor(x1), math.floor(y1), math.ceil(x2), math.ceil(y2))
    else:
        assert center is not None
        cx, cy = center
        if not (0 <= cx <= width and 0 <= cy <= height):
            raise invalid(f"center must lie within [0, {width}] x [0, {height}], got [{cx:g}, {cy:g}].")
        w, h = max(round(width / zoom_factor), 1), max(round(height / zoom_factor), 1)
        left, top = min(max(round(cx - w / 2), 0), width - w), min(max(round(cy - h / 2), 0), height - h)
        found = Region(left, top, left + w, top + h)
    sides = found.right - found.left, found.bottom - found.top
    if min(sides) < MIN_SIDE:
        raise invalid(f"The region is {sides[0]}x{sides[1]} px; at least {MIN_SIDE} px a side are needed.")
    return found


@operation("Python")
def crop(image: SessionImage, region: Region) -> SessionImage:
    """The region of the image."""
    return image.cropped(region.left, region.top, region.right, region.bottom)


@operation("Python")
def enlarge(image: SessionImage, factor: float) -> SessionImage:
    """The image, enlarged by a factor. Raises ToolError INVALID_ARGUMENT where it would be larger than MAX_SIDE."""
    width, height = (round(side * factor) for side in image.size)
    if factor != 1.0 and max(width, height) > MAX_SIDE:
        raise invalid(
            f"A zoom factor of {factor:g} would make a picture of {width}x{height} px; a side may have {MAX_SIDE} px."
        )
    return image.resized(width, height)


@operation("Python")
def describe_crop(region: Region, image: SessionImage) -> CropRow:
    """What was cut out, and how large the image of it is."""
    size = region.right - region.left, region.bottom - region.top
    return CropRow(region.left, region.top, region.right, region.bottom, *size, *image.size)


@operation("Python")
def patch(image: SessionImage, item: Outlined) -> SessionImage:
    """The image cut to one object, white outside its mask."""
    left, top, right, bottom = item.box
    cut = image.cropped(left, top, right, bottom)
    mask = item.mask[top:bottom, left:right, None]
    return cut.redrawn(np.where(mask, cut.rgb, np.uint8(255)))


# -- Python utilities: numbers ---------------------------------------------------------------------


@operation("Python")
def box_centroids(objects: Sequence[Detected]) -> list[CentroidRow]:
    """The middle of each box."""
    return [CentroidRow(item.label, item.number, *item.centre, item.score) for item in objects]


@operation("Python")
def mask_centroids(objects: Sequence[Outlined]) -> list[CentroidRow]:
    """The mean of each mask's pixels."""
    return [CentroidRow(item.label, item.number, *_mask_centroid(item), item.score) for item in objects]


@operation("Python")
def mask_sizes(objects: Sequence[Outlined]) -> list[SizeRow]:
    """Centroid, width, height and area of each mask."""
    rows = []
    for item in objects:
        left, top, right, bottom = item.box
        area = int(np.count_nonzero(item.mask))
        share = 100.0 * area / item.mask.size
        rows.append(SizeRow(item.label, item.number, *_mask_centroid(item), right - left, bottom - top, area, share))
    return rows


@operation("Python")
def count(objects: Sequence[Detected], labels: Sequence[str]) -> list[CountRow]:
    """How many objects each label has; labels without any are left to `not_found`."""
    rows = []
    for label in labels:
        places = [item.centre for item in objects if item.label == label]
        if places:
            rows.append(CountRow(label, len(places), ", ".join(f"({x:.0f}, {y:.0f})" for x, y in places)))
    return rows


@operation("GroundingDINO")
def not_found(
    finder: ObjectFinder, image: SessionImage, objects: Sequence[Detected], labels: Sequence[str]
) -> Answer[list[MissingRow]]:
    """The labels that nothing answers, and why: the detector knows that there is none, or cannot know."""
    known = {item.label for item in objects}
    rows = []
    backends = []
    for label in labels:
        if label in known:
            continue
        row = MissingRow(label, "not found", "0")
        try:
            backends.append(finder.detect(image, label).backend)
            row = MissingRow(label, "not found with a score as high as that", "0")
        except ToolError as error:
            if error.code not in _NOT_THERE:
                raise
            backends.append(error.backend)
            if error.code is ErrorCode.NOT_RECOGNISED:
                row = MissingRow(label, "not recognised", "unknown")
        rows.append(row)
    return Answer(rows, joined(backends))


@operation("Python")
def average_depth(objects: Sequence[Detected], depth: DepthMap) -> list[DepthRow]:
    """Mean depth of the known pixels within each detected region (section 3.1). Raises ToolError NO_DEPTH."""
    rows = []
    for item in objects:
        left, top, right, bottom = item.box
        inside = depth.depth[top:bottom, left:right]
        rows.append(DepthRow(item.label, item.number, _mean(inside, f"in the box of {item.label!r}"), *item.box))
    return rows


@operation("Python")
def depth_range(depth: DepthMap) -> DepthRange:
    """Nearest, farthest and mean depth of the image. Raises ToolError NO_DEPTH."""
    average = _mean(depth.depth, "in this picture")
    return DepthRange(float(np.nanmin(depth.depth)), float(np.nanmax(depth.depth)), average)


@operation("Python")
def nearest(objects: Sequence[Detected], depth: DepthMap) -> list[Detected]:
    """The one object with the smallest average depth. Raises ToolError NO_DEPTH."""
    rows = average_depth(objects, depth)
    return [objects[int(np.argmin([row.depth for row in rows]))]]


@operation("Python")
def locate(objects: Sequence[Detected], points: PointMap) -> list[PointRow]:
    """The 3D point that is seen at each object, as a median over the pixels around it. Raises ToolError NO_DEPTH."""
    height, width = points.points.shape[:2]
    rows = []
    for item in objects:
        u, v = min(int(item.point[0] * width), width - 1), min(int(item.point[1] * height), height - 1)
        left, top, right, bottom = item.box
        reach = _POINT_WINDOW_PX
        around = points.points[
            max(v - reach, top) : min(v + reach + 1, bottom), max(u - reach, left) : min(u + reach + 1, right)
        ].reshape(-1, 3)
        known = around[np.isfinite(around[:, 2])]
        if not len(known):
            raise _no_depth(f"at {item.label!r}")
        rows.append(PointRow(item.label, item.number, *(float(number) for number in np.median(known, axis=0))))
    return rows


# -- Python utilities: images --------------------------------------------------------------------


@operation("Python")
def draw_boxes(image: SessionImage, objects: Sequence[Detected] = ()) -> SessionImage:
    """Labelled boxes over the image."""
    return image.redrawn(rendering.labelled_boxes(image.rgb, [(item.box, _title(item)) for item in objects]))


@operation("Python")
def draw_masks(image: SessionImage, objects: Sequence[Outlined]) -> SessionImage:
    """Translucent masks over the image, a colour for each object."""
    return image.redrawn(rendering.coloured_masks(image.rgb, [item.mask for item in objects]))


@operation("Python")
def draw_depth(image: SessionImage, depth: DepthMap) -> SessionImage:
    """The image's depth as colours, with a scale on its right."""
    return image.redrawn(colourize_depth(depth.depth))


@operation("Python")
def montage(image: SessionImage, patches: Sequence[SessionImage]) -> SessionImage:
    """The image with patches of it on its right."""
    return image.redrawn(rendering.montage(image.rgb, [cut.rgb for cut in patches]))


@operation("Python")
def draw_3d(image: SessionImage, points: PointMap, places: Sequence[PointRow], colours: SessionImage) -> SessionImage:
    """The image beside the scene from above: x to the right, z away from the camera [m], and the places in it.

    Args:
        image: Image on the left.
        points: Point of every pixel of `colours`.
        places: Marked from above.
        colours: The image that gives the points their colours.
    """
    marks = [((row.X, row.Z), _title(row)) for row in places]
    above = rendering.seen_from_above(points.points, colours.rgb, marks, side=image.size[1])
    return image.redrawn(np.concatenate([image.rgb, above], axis=1))


def _mask_centroid(item: Outlined) -> tuple[float, float]:
    rows, columns = np.nonzero(item.mask)
    return float(columns.mean()), float(rows.mean())


def _title(item: Detected | PointRow) -> str:
    """What stands at an object in an image: short, even where its label is a sentence."""
    return f"{' '.join(item.label.split())[:40]} {item.number}"


def _mean(depth: np.ndarray, where: str) -> float:
    known = depth[np.isfinite(depth)]
    if not known.size:
        raise _no_depth(where)
    return float(known.mean())


def _no_depth(where: str) -> ToolError:
    return ToolError(ErrorCode.NO_DEPTH, f"No depth is known {where}.", "Look at another picture.")
