"""What a camera saw about a thing: edges that leak, guesses that it looked through, and what the thing lies on."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage

from tests.tool_nodes.grasp.test_sampling import Thing, box, picture
from tool_nodes import geometry
from tool_nodes.grasp.sampling import AnalyticGraspGenerator
from tool_nodes.grasp.seen_depth import SeenDepth
from tool_nodes.perception.shape_completion import complete_shape
from tool_nodes.types import BoolArray, FloatArray, Frame


def seen(*things: Thing, target: int = 0) -> tuple[Frame, SeenDepth, BoolArray]:
    """A picture, the view of one thing, and the mask (H, W) that the view keeps of it."""
    frame = picture(*things)
    assert frame.ids is not None
    cloud = geometry.backproject(frame.depth, frame.K)
    view, kept = SeenDepth.of(cloud, (frame.ids == target).ravel(), frame.T_base_camera)
    return frame, view, kept.reshape(frame.ids.shape)


def test_the_picture_is_put_together_from_the_cloud_alone() -> None:
    frame, view, kept = seen((0.45, 0.1, box(20)))
    assert view.pitch == pytest.approx(1.0 / frame.K[0, 0], rel=1e-3)
    assert frame.ids is not None
    assert (kept == (frame.ids == 0)).mean() > 0.999
    assert int(view.mask.sum()) == int(kept.sum())


def test_a_mask_that_leaks_onto_what_stands_behind_is_trimmed() -> None:
    things = (0.40, 0.0, box(0)), (0.32, 0.0, box(0, 0.02, 0.12, 0.09))
    frame = picture(*things)
    assert frame.ids is not None
    mask = ndimage.binary_dilation(frame.ids == 0, iterations=3) & (frame.ids >= 0)
    assert (mask & (frame.ids == 1)).sum() > 50
    cloud = geometry.backproject(frame.depth, frame.K)
    _, kept = SeenDepth.of(cloud, mask.ravel(), frame.T_base_camera)
    assert (kept & (frame.ids == 1).ravel()).sum() < 10
    generator = AnalyticGraspGenerator()
    leaked, clean = (generator.generate(cloud, m, frame.T_base_camera) for m in (mask, frame.ids == 0))
    assert leaked.widths_m[0] == pytest.approx(clean.widths_m[0], abs=0.002)


def test_a_thing_that_another_one_parts_in_two_stays_whole() -> None:
    frame, _, kept = seen((0.40, 0.0, box(0, 0.015, 0.09, 0.03)), (0.50, 0.0, box(0, 0.01, 0.02, 0.06)))
    assert frame.ids is not None
    assert kept.sum() > 0.97 * (frame.ids == 0).sum()


def test_what_lies_on_another_thing_is_known_to() -> None:
    below = '<geom type="box" size=".06 .06 .03" pos="0 0 .03"/>'
    upper = '<geom type="box" size=".02 .03 .02" pos="0 0 .08"/>'
    assert seen((0.45, 0.0, below), (0.45, 0.0, upper), target=1)[1].support_height() == pytest.approx(0.06, abs=0.006)
    assert seen((0.45, 0.0, below), (0.45, 0.2, box(0)), target=1)[1].support_height() == 0.0


def dome(radius: float, height: float) -> FloatArray:
    """The upper half of a ball, its rim at half of the height of a thing that stands on the table (N, 3)."""
    azimuth, polar = np.meshgrid(np.linspace(0.0, 2.0 * np.pi, 60), np.linspace(0.05, 0.5 * np.pi, 20))
    z = height - radius + radius * np.cos(polar)
    level = radius * np.sin(polar)
    return np.column_stack([(level * np.cos(azimuth)).ravel(), (level * np.sin(azimuth)).ravel(), z.ravel()])


def test_a_fitted_body_that_was_looked_through_is_not_believed() -> None:
    points = dome(0.034, 0.1)

    def seen_free(guessed: FloatArray) -> BoolArray:
        return np.asarray(np.hypot(guessed[:, 0], guessed[:, 1]) > 0.036)

    assert np.ptp(complete_shape(points)[:, 0]) > 0.075
    assert np.ptp(complete_shape(points, 0.0, seen_free)[:, 0]) < 0.073
