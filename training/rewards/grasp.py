"""A reward of five grasp points that sees how the gripper is turned. Ours, of no paper."""

from __future__ import annotations

from typing import Any

import numpy as np

from toolhand.tool_nodes.types import FloatArray
from toolhand.training.rewards.shapes import answered_rows, positive, true_rows, wrong
from toolhand.training.rewards.spacetools import GRASP_POINTS

ANGLE_SIGMA = np.deg2rad(20.0)
"""Angle at which the score has fallen to 0.61 [rad]: 18 degrees are a grasp, 64 are none."""
CENTRE_SIGMA = 0.5
"""Distance of the centres at which it has fallen to 0.61 [gripper widths]: half a hand."""


def oriented_grasp(points: Any, truth: Any, aspect: float = 1.0) -> float:
    """exp(-(d / w)^2 / (2 * 0.5^2)) exp(-angle^2 / (2 * 20 deg^2)), 0..1: the right place times the right direction.

    d is the distance of the grasp centers and w the true distance of the finger bases. The angle is the larger one of
    the direction in which the jaws close (from base to base; the gripper is the same turned by half, so left and
    right may be swapped) and of the direction in which the hand comes (from the middle of the bases to the middle of
    the tips). A factor of 0 cannot be made good by the other, as it can in the sum of `spacetools.mace`. A predicted
    gripper without a direction scores 0.

    Args:
        points, truth: (5, 2) normalized image points or (5, 3) in metres: grasp center, left and right finger base,
            left and right finger tip.
        aspect: Width of the image by its height, because angles are not those of normalized points unless it is
            square; 1 for points in pixels or metres.

    Raises:
        ToolError: INVALID_ARGUMENT for true points that are none, or whose bases, or middles of bases and tips,
            coincide.
    """
    columns = 2 if answered_rows(truth, 3, GRASP_POINTS) is None else 3
    stretch = np.array([positive(aspect, "aspect"), 1.0, 1.0])[:columns]
    true = true_rows(truth, "grasp points", columns, GRASP_POINTS) * stretch
    closing, coming = _closing(true), _coming(true)
    if closing is None or coming is None:
        raise wrong("The true grasp must have finger bases that differ, and tips away from them.")
    said = answered_rows(points, columns, GRASP_POINTS)
    if said is None:
        return 0.0
    said = said * stretch
    said_closing, said_coming = _closing(said), _coming(said)
    if said_closing is None or said_coming is None:
        return 0.0
    angle = max(_angle(abs(float(said_closing @ closing))), _angle(float(said_coming @ coming)))
    moved = np.linalg.norm(said[0] - true[0]) / np.linalg.norm(true[2] - true[1])
    return float(np.exp(-0.5 * ((moved / CENTRE_SIGMA) ** 2 + (angle / ANGLE_SIGMA) ** 2)))


def _closing(points: FloatArray) -> FloatArray | None:
    return _unit(points[2] - points[1])


def _coming(points: FloatArray) -> FloatArray | None:
    return _unit(points[3] + points[4] - points[1] - points[2])


def _unit(vector: FloatArray) -> FloatArray | None:
    length = float(np.linalg.norm(vector))
    return vector / length if length > 0 else None


def _angle(cosine: float) -> float:
    return float(np.arccos(np.clip(cosine, -1.0, 1.0)))
