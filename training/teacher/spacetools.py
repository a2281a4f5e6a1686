"""How SpaceTools' tools answer questions: pointing, segmenting, depth, boxes and grasps, as its figures 6 and 7 do."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from toolhand.agent_node.policies.scripted.steps import Done, Script
from toolhand.agent_node.policies.scripted.transcript import Response
from toolhand.tool_nodes.language.places import free_space_phrase
from toolhand.tool_nodes.results import ErrorCode
from toolhand.tool_nodes.types import ImagePoint
from toolhand.training.tasks.wordings import SIDE_WORDS
from toolhand.training.teacher.reading import ReadQuestion
from toolhand.training.teacher.steps import (
    Asking,
    Unread,
    after,
    asked,
    listed,
    numbers,
    one,
    positive,
    side_of,
    yes_no_or_letter,
)

_RELATIONS = {"left of": "left_of", "right of": "right_of", "in front of": "in_front_of", "behind": "behind"}
assert set(_RELATIONS) == set(SIDE_WORDS.values())


def _detect(name: str, tool: str = "roborefer.detect_one") -> tuple[str, dict[str, Any]]:
    return tool, {"obj_name": name, "image_index": 0}


def _segment(point: ImagePoint) -> tuple[str, dict[str, Any]]:
    return "sam2.segment_from_point", {"x": point[0], "y": point[1], "image_index": 0}


_CLOUD: tuple[str, dict[str, Any]] = ("depth_estimator.estimate_depth_with_pointcloud", {"image_index": 0})
_IN_SPACE = {
    "point_cloud": "$point_cloud",
    "mask": "$segmentation_mask",
    "focal_length_px": "$focal_length_px",
}


def _points_of(response: Response) -> tuple[ImagePoint, ...]:
    if not response.points:
        raise Unread("the pointer shows nothing", ErrorCode.OBJECT_NOT_FOUND)
    return response.points


def _found(name: str) -> Asking[ImagePoint]:
    points = yield from asked(f"Where is the {name}?", _points_of, _detect(name))
    return points[0]


def _in_space(
    name: str, then: str, read: Callable[[Response], list[float]], call: tuple[str, dict[str, Any]]
) -> Asking[list[float]]:
    """Find an object, outline it, and make a call that needs its mask and the cloud; gives what is read of its
    answer."""
    point = yield from _found(name)
    return (
        yield from asked(
            f"The {name} is at {one(point)}. I need its mask and {then}.",
            lambda mask, cloud, response: read(response),
            _segment(point),
            _CLOUD,
            call,
        )
    )


def _evaluated(count: int) -> Callable[[Response], list[float]]:
    """Reads `count` numbers from the code executor's output."""
    return lambda response: numbers(after(response.text, "Result:").partition("stdout")[0], count)


def _extent(response: Response) -> list[float]:
    return numbers(after(response.text, "Extent:"), 3)


def point(question: ReadQuestion) -> Script:
    """Point at an object."""
    found = yield from _found(question.blanks["a"])
    raise Done("The pointer shows it.", one(found))


def free_space(question: ReadQuestion) -> Script:
    """Point at free table."""
    phrase = free_space_phrase(_RELATIONS[question.blanks["where"]], [question.blanks["a"]])
    found = yield from _found(phrase)
    raise Done("There is room there.", one(found))


def count(question: ReadQuestion) -> Script:
    """Count what the pointer shows."""
    name = question.blanks["a"]
    found = yield from asked(f"Where are {name}?", _points_of, _detect(name, "roborefer.detect_all"))
    raise Done(f"I see {len(found)} of them.", str(len(found)))


def box(question: ReadQuestion) -> Script:
    """Frame a mask."""
    found = yield from _found(question.blanks["a"])
    crop = "vision_ops.mask_crop", {"image_index": 0, "mask": "$segmentation_mask"}

    def read(segmented: Response, cropped: Response) -> list[float]:
        height, width = positive(numbers(after(segmented.text, "boolean array,").replace("x", " "), 2))
        x1, y1, x2, y2 = numbers(after(cropped.text, "to box"), 4)
        return [x1 / width, y1 / height, x2 / width, y2 / height]

    framed = yield from asked("I need its mask, and the box around that.", read, _segment(found), crop)
    raise Done("That box encloses the mask.", one(framed))


def pose(question: ReadQuestion) -> Script:
    """Fit a box to the cloud, and project it."""
    yield from _in_space(question.blanks["a"], "a box around it", _extent, ("bounding_box.compute_bbox", _IN_SPACE))
    corners = "code_executor.eval", {"expression": "obb_corners_2d"}
    values = yield from asked("I look at its corners in full.", _evaluated(16), corners)
    raise Done("Those are its corners.", listed(list(zip(values[::2], values[1::2], strict=True))))


def grasp(question: ReadQuestion) -> Script:
    """Ask for a grasp; its five points are in the answer."""
    values = yield from _in_space(
        question.blanks["a"],
        "a grasp",
        lambda response: numbers(after(response.text, "gripper points:"), 10),
        ("grasp_generator.compute_grasp", {**_IN_SPACE, "image_index": 0}),
    )
    names = ("Grasp center", "Left finger base", "Right finger base", "Left finger tip", "Right finger tip")
    points = zip(names, values[::2], values[1::2], strict=True)
    raise Done("The gripper's five points.", ", ".join(f"{name}: {one((x, y))}" for name, x, y in points))


def size(question: ReadQuestion) -> Script:
    """The box's extent along the support's normal, its last one."""
    extent = yield from _in_space(
        question.blanks["a"], "its box for its height", _extent, ("bounding_box.compute_bbox", _IN_SPACE)
    )
    raise Done("The last extent is the height.", f"{extent[2]:.3f}")


def distance(question: ReadQuestion) -> Script:
    """Middles of two boxes."""
    middles = []
    for name in (question.blanks["a"], question.blanks["b"]):
        yield from _in_space(name, "its box for its middle", _extent, ("bounding_box.compute_bbox", _IN_SPACE))
        middle = "code_executor.eval", {"expression": "[sum(c[k] for c in obb_corners_3d) / 8 for k in range(3)]"}
        middles.append((yield from asked(f"Now I need the middle of the {name}.", _evaluated(3), middle)))
    raise Done("That is as far as it is from middle to middle.", f"{math.dist(*middles):.3f}")


def _places(question: ReadQuestion) -> Asking[list[tuple[float, float, float]]]:
    """(x, y, z) of the visible middles of both objects in the camera frame [m]."""
    names = question.blanks["a"], question.blanks["b"]

    def read(first: Response, second: Response, depth: Response) -> tuple[list[ImagePoint], list[float], float]:
        size = positive(numbers(after(depth.text, "map for").replace("x", " "), 2))
        (focal,) = positive(numbers(after(depth.text, "Focal length:"), 1))
        return [_points_of(first)[0], _points_of(second)[0]], size, focal

    points, (width, height), focal = yield from asked(
        f"Where are the {names[0]} and the {names[1]}, and how far away?",
        read,
        *(_detect(name) for name in names),
        ("depth_estimator.estimate_depth", {"image_index": 0}),
    )
    depths = yield from asked(
        "Now I need the depths at both points.",
        lambda *responses: [numbers(after(response.text, ") is"), 1)[0] for response in responses],
        *(("vision_ops.index_at", {"data": "$depth_map", "u": u, "v": v}) for u, v in points),
    )
    return [
        ((u - 0.5) * width * z / focal, (v - 0.5) * height * z / focal, z)
        for (u, v), z in zip(points, depths, strict=True)
    ]


def depth(question: ReadQuestion) -> Script:
    """Compare the depths at two points, as figure 7 does."""
    (_, _, z0), (_, _, z1) = yield from _places(question)
    raise Done(f"A is at {z0:.2f} m and B at {z1:.2f} m.", "A" if z0 < z1 else "B")


def relation(question: ReadQuestion) -> Script:
    """Compare the places of two objects; away from the camera the table rises in the image."""
    (x0, y0, z0), (x1, y1, z1) = yield from _places(question)
    words = side_of(x0 - x1, math.copysign(math.hypot(y0 - y1, z0 - z1), z0 - z1))
    raise Done(f"The first one is {words} the second.", yes_no_or_letter(question, words))


SCRIPTS = {
    "point": point, "free_space": free_space, "count": count, "box": box, "pose": pose, "grasp": grasp, "size": size,
    "distance": distance, "depth": depth, "yes_no": relation, "choice": relation,
}  # fmt: skip
"""Kind -> script."""
