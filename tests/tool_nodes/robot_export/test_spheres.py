"""The balls cover every shape and stick out of it by no more than they may, as geometry says that knows only points."""

from __future__ import annotations

import numpy as np
import pytest

from tests.tool_nodes.robot_export.reading import Shape, directions, uncovered
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.robot_export.shapes import BOX, CYLINDER, LinkShape
from toolhand.tool_nodes.robot_export.spheres import EXCESS, cover_box, cover_cylinder, cover_hull, cover_links


def sticks_out(shape: Shape, centers: np.ndarray, radii: np.ndarray) -> float:
    around = (centers[:, None] + radii[:, None, None] * directions(400)).reshape(-1, 3)
    return float(shape.distance(around).max())


@pytest.mark.parametrize("excess", [0.005, EXCESS, 0.02])
def test_boxes_and_cylinders_of_any_size_are_covered_and_kept_to(excess: float) -> None:
    rng = np.random.default_rng(0)
    for _ in range(8):
        half = rng.uniform(0.002, 0.06, 3)
        centers, radii = cover_box(half, excess)
        box = Shape("", np.eye(4), "box", 2 * half)
        assert uncovered(box.surface(0.004), centers, radii) <= 1e-9, half
        assert sticks_out(box, centers, radii) <= excess + 1e-9, half
        radius, half_length = rng.uniform(0.004, 0.06), rng.uniform(0.002, 0.1)
        centers, radii = cover_cylinder(radius, half_length, excess)
        cylinder = Shape("", np.eye(4), "cylinder", np.array([radius, 2 * half_length]))
        assert uncovered(cylinder.surface(0.004), centers, radii) <= 1e-9, (radius, half_length)
        assert sticks_out(cylinder, centers, radii) <= excess + 1e-9, (radius, half_length)


@pytest.mark.parametrize(("radius", "half_length"), [(0.046, 0.078), (0.15, 0.02), (0.05, 0.001), (0.002, 0.3)])
def test_plates_columns_and_rods_are_covered_too(radius: float, half_length: float) -> None:
    centers, radii = cover_cylinder(radius, half_length, EXCESS)
    cylinder = Shape("", np.eye(4), "cylinder", np.array([radius, 2 * half_length]))
    assert uncovered(cylinder.surface(0.006), centers, radii) <= 1e-9
    assert sticks_out(cylinder, centers, radii) <= EXCESS + 1e-9


def test_of_a_large_box_only_the_surface_is_covered() -> None:
    half = np.array([0.08, 0.1, 0.09])
    centers, radii = cover_box(half, EXCESS)
    box = Shape("", np.eye(4), "box", 2 * half)
    assert uncovered(box.surface(0.005), centers, radii) <= 1e-9
    assert uncovered(np.zeros((1, 3)), centers, radii) > 0.0


def test_the_surface_of_a_hull_is_covered() -> None:
    half = np.array([0.03, 0.02, 0.05])
    corners = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).T.reshape(-1, 3) * half
    centers, radii = cover_hull(corners, EXCESS)
    box = Shape("", np.eye(4), "box", 2 * half)
    assert uncovered(box.surface(0.001), centers, radii) <= 0.0
    assert sticks_out(box, centers, radii) <= EXCESS + 1e-9
    assert len(radii) < 60


def test_a_slanted_hull_is_covered_everywhere() -> None:
    rng = np.random.default_rng(4)
    corners = rng.normal(size=(12, 3)) * (0.02, 0.03, 0.05)
    centers, radii = cover_hull(corners, EXCESS)
    a, b, c = (corners[rng.integers(12, size=4000)] for _ in range(3))
    weights = rng.dirichlet((1, 1, 1), 4000)
    inside = weights[:, :1] * a + weights[:, 1:2] * b + weights[:, 2:] * c  # on no face, most of them
    from scipy.spatial import ConvexHull

    hull = ConvexHull(corners)
    depth = -(inside @ hull.equations[:, :3].T + hull.equations[:, 3]).max(axis=1)
    assert uncovered(inside[depth < 1e-9], centers, radii) <= 0.0
    around = (centers[:, None] + radii[:, None, None] * directions(200)).reshape(-1, 3)
    # Outside a hull the largest distance from the planes of its faces is less than the distance from the hull itself.
    assert float((around @ hull.equations[:, :3].T + hull.equations[:, 3]).max(axis=1).max()) <= EXCESS + 1e-9


def test_what_cannot_be_covered_is_refused_in_a_sentence() -> None:
    flat = np.array([(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (1.0, 1.0, 0.0)])
    with pytest.raises(ToolError, match="must have a volume") as caught:
        cover_hull(flat, EXCESS)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT
    huge = LinkShape("pedestal", BOX, np.eye(4), (0.4, 0.4, 0.4), np.empty((0, 3)))
    with pytest.raises(ToolError, match="more than 2000 collision spheres: 'pedestal'"):
        cover_links((huge,))
    with pytest.raises(ToolError, match="A box of 4 x 4 x 4 m takes too many spheres"):
        cover_box(np.array([2.0, 2.0, 2.0]), EXCESS)
    with pytest.raises(ToolError, match="too large"):
        cover_hull(10.0 * np.vstack([flat, (0.0, 0.0, 1.0)]), EXCESS)


def test_balls_lie_in_the_frame_of_the_link() -> None:
    T = np.eye(4)
    T[:3, :3] = [[0, 0, 1], [1, 0, 0], [0, 1, 0]]
    T[:3, 3] = (0.1, -0.2, 0.3)
    balls = cover_links((LinkShape("tube", CYLINDER, T, (0.03, 0.1), np.empty((0, 3))),))["tube"]
    centers, radii = np.array([ball.center for ball in balls]), np.array([ball.radius for ball in balls])
    shape = Shape("tube", T, "cylinder", np.array([0.03, 0.2]))
    assert uncovered(shape.surface(), centers, radii) <= 0.0
    assert sticks_out(shape, centers, radii) <= EXCESS + 2e-6
