"""Questions that are answered with a shape in the image: a 2D box, the corners of a 3D one, a grasp's five points."""

from __future__ import annotations

from functools import cache, partial

import numpy as np

from toolhand.sim.objects.asset import ObjectAsset
from toolhand.sim.objects.sets import find_asset
from toolhand.sim.scene.scenes import PlacedObject
from toolhand.tool_nodes.geometry import pose, transform
from toolhand.tool_nodes.motion.robot_model import load_robot
from toolhand.tool_nodes.types import FloatArray
from toolhand.training.rewards import evic, spacetools
from toolhand.training.rewards.grasp import oriented_grasp
from toolhand.training.tasks.answers import rows
from toolhand.training.tasks.drawn import draw_asked, is_plain
from toolhand.training.tasks.question import Marking, QuestionTask, Truth, asked_of_table
from toolhand.training.tasks.seen import TRUTH_SIZE, T_base_object, corners, extents
from toolhand.training.tasks.splits import Split

RIGHT_BOX = 0.7
"""IoU from which on a 2D box is right [-]; a round figure."""
RIGHT_POSE = 0.7
"""IoU of the hulls from which on a pose is right [-]; a round figure."""
RIGHT_GRASP = 0.5
"""`toolhand.training.rewards.grasp` from which on a grasp is right [-]: 15 degrees, and a quarter of a hand."""
GRASP_SCALE = 0.2
"""d of NNCE, for which the paper has no value [image widths], an open gripper's."""
TILTS = np.deg2rad(np.arange(-75.0, 76.0, 15.0))
"""True grasps come from straight above to nearly level [rad]."""
SLACK_M = 0.012
"""The jaws are this much wider open than the object is [m]."""
MOST_COMPARED = 40
"""True grasps that an answer is compared with, those whose points are nearest [-]."""

_BOX = ("spacetools.mean_iou", "evic.iou")
BOX = Marking(
    lambda answer: rows(answer, 4, 1),
    lambda answer, truth: {_BOX[0]: spacetools.mean_iou(answer, truth), _BOX[1]: evic.iou(answer, truth)},
    lambda terms: terms[_BOX[0]] >= RIGHT_BOX,
    f"an IoU of {RIGHT_BOX:g} or more",
    _BOX,
)
POSE = Marking(
    lambda answer: rows(answer, 2, 8),
    lambda answer, truth: {"spacetools.pose_iou": spacetools.pose_iou(answer, truth)},
    lambda terms: terms["spacetools.pose_iou"] >= RIGHT_POSE,
    f"an IoU of {RIGHT_POSE:g} or more",
    ("spacetools.pose_iou",),
)


def _grasp_terms(answer: FloatArray, truth: Truth) -> dict[str, float]:
    """Against the true grasp that is best for each reward: an object can be taken in many ways."""
    true = np.array(truth)
    nearest = np.argsort(np.linalg.norm(true - answer, axis=2).mean(axis=1))[:MOST_COMPARED]
    aspect = TRUTH_SIZE[0] / TRUTH_SIZE[1]
    return {
        "spacetools.nnce": max(spacetools.nnce(answer, grasp, GRASP_SCALE) for grasp in true[nearest]),
        "spacetools.mace": max(
            spacetools.mace(answer, grasp, float(np.linalg.norm(grasp[2] - grasp[1])), as_printed=False)
            for grasp in true[nearest]
        ),
        "grasp": max(oriented_grasp(answer, grasp, aspect) for grasp in true[nearest]),
    }


GRASP = Marking(
    lambda answer: rows(answer, 2, 5),
    _grasp_terms,
    lambda terms: terms["grasp"] >= RIGHT_GRASP,
    f"near a true grasp (grasp {RIGHT_GRASP:g} or more)",
    ("grasp", "spacetools.nnce", "spacetools.mace"),
)


_FITS = {
    "box": is_plain,
    "pose": lambda item: is_plain(item) and _has_edges(item),
    "grasp": lambda item: item.graspable and (_has_edges(item) or _is_round(item)),
}
_MARKINGS = {"box": BOX, "pose": POSE, "grasp": GRASP}


def _make(rng: np.random.Generator, seed: int, split: Split, kind: str) -> QuestionTask | None:
    asked = draw_asked(rng, split, _FITS[kind])
    if asked is None:
        return None
    seen, target, name = asked
    truth: Truth
    if kind == "box":
        truth = tuple(seen.box(target).tolist())
    elif kind == "pose":
        truth = tuple(map(tuple, seen.project(corners(target)).tolist()))
    else:
        poses = true_grasps(target.item)
        points = seen.project(transform(T_base_object(target), poses).reshape(-1, 3))
        truth = tuple(tuple(map(tuple, grasp)) for grasp in points.reshape(-1, 5, 2).tolist())
    return asked_of_table(rng, kind, seed, split, seen.scene, truth, (name,), _MARKINGS[kind])


make_box = partial(_make, kind="box")
"""The 2D box of an object: around its visible pixels."""
make_pose = partial(_make, kind="pose")
"""The eight corners of the 3D box of an object with edges."""
make_grasp = partial(_make, kind="grasp")
"""The five points of a grasp of an object that is round or rectangular from above."""


@cache
def true_grasps(item: str) -> FloatArray:
    """(N, 5, 3) points of the gripper at grasps of a product that stands alone, in its body frame [m].

    The jaws close across it, along its sides or, where it is round, in every direction; the hand comes from above or
    from a side, at several heights, and no finger reaches below the table. What stands beside it is left out.
    """
    product = find_asset(item)
    gripper = load_robot().gripper
    size = extents_of(item)
    yaws = np.deg2rad(np.arange(0.0, 180.0, 15.0)) if _is_round(product) else np.array([0.0, np.pi / 2])
    found = []
    for yaw in yaws:
        width = float(size[0] if _is_round(product) or yaw == 0.0 else size[1])
        if width + SLACK_M > gripper.max_opening:
            continue
        points = gripper.points(width + SLACK_M)
        closing = np.array([np.cos(yaw), np.sin(yaw), 0.0])
        level = np.array([-np.sin(yaw), np.cos(yaw), 0.0])
        for tilt in TILTS:
            approach = np.sin(tilt) * level - np.cos(tilt) * np.array([0.0, 0.0, 1.0])
            for sign in (1.0, -1.0):
                R = np.column_stack([sign * closing, np.cross(approach, sign * closing), approach])
                for z in np.arange(-size[2] / 2 + 0.01, size[2] / 2, 0.015):
                    T = pose(R, np.array([0.0, 0.0, z]) - R @ points[0])
                    placed = transform(T, points)
                    if placed[:, 2].min() >= -size[2] / 2:
                        found.append(placed)
    return np.array(found).reshape(-1, 5, 3)


def extents_of(item: str) -> FloatArray:
    """(3,) extents of a product along its own axes [m]."""
    return extents(PlacedObject("", item, (0.0, 0.0, 0.0), 0.0))


def _has_edges(item: ObjectAsset) -> bool:
    return bool({"rectangular", "square"} & set(item.attributes)) and item.shape in ("box", "carton")


def _is_round(item: ObjectAsset) -> bool:
    return item.shape in ("can", "jar", "tube", "bottle")
