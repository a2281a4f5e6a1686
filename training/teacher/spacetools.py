"""How SpaceTools' tools answer questions: pointing, segmenting, depth, boxes and grasps, as its figures 6 and 7 do."""

from __future__ import annotations

import math
from typing import Any

from agent_node.policies.scripted.steps import Done, Script
from agent_node.policies.scripted.transcript import PicturePoint, Response
from tool_nodes.language.places import free_space_phrase
from training.tasks.wordings import SIDE_WORDS
from training.teacher.reading import ReadQuestion
from training.teacher.steps import Asking, after, asked, listed, no_answer, numbers, one, side_of, yes_no_or_letter

_RELATIONS = {"left of": "left_of", "right of": "right_of", "in front of": "in_front_of", "behind": "behind"}
assert set(_RELATIONS) == set(SIDE_WORDS.values())


def _detect(name: str, tool: str = "roborefer.detect_one") -> tuple[str, dict[str, Any]]:
    return tool, {"obj_name": name, "image_index": 0}


def _segment(point: PicturePoint) -> tuple[str, dict[str, Any]]:
    return "sam2.segment_from_point", {"x": point[0], "y": point[1], "image_index": 0}


_CLOUD: tuple[str, dict[str, Any]] = ("depth_estimator.estimate_depth_with_pointcloud", {"image_index": 0})
_IN_SPACE = {
    "point_cloud": "$point_cloud",
    "mask": "$segmentation_mask",
    "focal_length_px": "$focal_length_px",
}


def _point_of(response: Response, name: str) -> PicturePoint:
    if not response.points:
        raise no_answer(f"the {name} is not seen")
    return response.points[0]


def _found(name: str) -> Any:
    (response,) = yield from asked(f"Where is the {name}?", _detect(name))
    return _point_of(response, name)


def _in_space(name: str, then: str, *more: tuple[str, dict[str, Any]]) -> Asking:
    """Find a thing, outline it, and make the calls that need its mask and the cloud; gives all those answers."""
    point = yield from _found(name)
    return (
        yield from asked(f"The {name} is at {one(point)}. I need its mask and {then}.", _segment(point), _CLOUD, *more)
    )


def point(question: ReadQuestion) -> Script:
    """Point at a thing."""
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
    (response,) = yield from asked(f"Where are {name}?", _detect(name, "roborefer.detect_all"))
    raise Done(f"I see {len(response.points)} of them.", str(len(response.points)))


def box(question: ReadQuestion) -> Script:
    """Frame a mask."""
    found = yield from _found(question.blanks["a"])
    crop = "vision_ops.mask_crop", {"image_index": 0, "mask": "$segmentation_mask"}
    segmented, cropped = yield from asked("Its mask, and the box around that.", _segment(found), crop)
    height, width = numbers(after(segmented.text, "boolean array,").replace("x", " "))[:2]
    x1, y1, x2, y2 = numbers(after(cropped.text, "to box"))[:4]
    raise Done("That box encloses the mask.", one([x1 / width, y1 / height, x2 / width, y2 / height]))


def pose(question: ReadQuestion) -> Script:
    """Fit a box to the cloud, and project it."""
    yield from _in_space(question.blanks["a"], "a box around it", ("bounding_box.compute_bbox", _IN_SPACE))
    (response,) = yield from asked("The corners in full.", ("code_executor.eval", {"expression": "obb_corners_2d"}))
    values = numbers(after(response.text, "Result:").partition("stdout")[0])[:16]
    raise Done("Those are its corners.", listed(list(zip(values[::2], values[1::2], strict=True))))


def grasp(question: ReadQuestion) -> Script:
    """Ask for a grasp; its five points are in the answer."""
    responses = yield from _in_space(
        question.blanks["a"], "a grasp", ("grasp_generator.compute_grasp", {**_IN_SPACE, "image_index": 0})
    )
    values = numbers(after(responses[-1].text, "gripper points:"))[:10]
    names = ("Grasp center", "Left finger base", "Right finger base", "Left finger tip", "Right finger tip")
    points = zip(names, values[::2], values[1::2], strict=True)
    raise Done("The gripper's five points.", ", ".join(f"{name}: {one((x, y))}" for name, x, y in points))


def size(question: ReadQuestion) -> Script:
    """The box's extent along the support's normal, its last one."""
    responses = yield from _in_space(
        question.blanks["a"], "its box for its height", ("bounding_box.compute_bbox", _IN_SPACE)
    )
    extent = numbers(after(responses[-1].text, "Extent:"))[:3]
    raise Done("The last extent is the height.", f"{extent[2]:.3f}")


def distance(question: ReadQuestion) -> Script:
    """Middles of two boxes."""
    middles = []
    for name in (question.blanks["a"], question.blanks["b"]):
        yield from _in_space(name, "its box for its middle", ("bounding_box.compute_bbox", _IN_SPACE))
        expression = "[sum(c[k] for c in obb_corners_3d) / 8 for k in range(3)]"
        (response,) = yield from asked(f"The middle of the {name}.", ("code_executor.eval", {"expression": expression}))
        middles.append(numbers(after(response.text, "Result:").partition("stdout")[0])[:3])
    raise Done("From middle to middle.", f"{math.dist(*middles):.3f}")


def _places(question: ReadQuestion) -> Any:
    """(x, y, z) of the visible middles of both things in the camera frame [m]."""
    first, second = question.blanks["a"], question.blanks["b"]
    responses = yield from asked(
        f"Where are the {first} and the {second}, and how far away?",
        _detect(first),
        _detect(second),
        ("depth_estimator.estimate_depth", {"image_index": 0}),
    )
    points = [_point_of(response, name) for response, name in zip(responses, (first, second), strict=False)]
    width, height = numbers(after(responses[2].text, "map for").replace("x", " "))[:2]
    focal = numbers(after(responses[2].text, "Focal length:"))[0]
    read = yield from asked(
        "The depths at both points.",
        *(("vision_ops.index_at", {"data": "$depth_map", "u": u, "v": v}) for u, v in points),
    )
    depths = [numbers(after(response.text, ") is"))[0] for response in read]
    return [
        ((u - 0.5) * width * z / focal, (v - 0.5) * height * z / focal, z)
        for (u, v), z in zip(points, depths, strict=True)
    ]


def depth(question: ReadQuestion) -> Script:
    """Compare the depths at two points, as figure 7 does."""
    (_, _, z0), (_, _, z1) = yield from _places(question)
    raise Done(f"A is at {z0:.2f} m and B at {z1:.2f} m.", "A" if z0 < z1 else "B")


def relation(question: ReadQuestion) -> Script:
    """Compare the places of two things; away from the camera the table rises in the picture."""
    (x0, y0, z0), (x1, y1, z1) = yield from _places(question)
    words = side_of(x0 - x1, math.copysign(math.hypot(y0 - y1, z0 - z1), z0 - z1))
    raise Done(f"The first one is {words} the second.", yes_no_or_letter(question, words))


SCRIPTS = {
    "point": point, "free_space": free_space, "count": count, "box": box, "pose": pose, "grasp": grasp, "size": size,
    "distance": distance, "depth": depth, "yes_no": relation, "choice": relation,
}  # fmt: skip
"""Kind -> script."""
