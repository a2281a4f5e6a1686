"""The naive control generator: one grasp, straight down, whatever stands around."""

from __future__ import annotations

import numpy as np
import pytest

from tests.tool_nodes.grasp.test_sampling import box, picture
from tool_nodes import geometry, registry
from tool_nodes.grasp.top_down import TopDownGraspGenerator
from tool_nodes.results import ErrorCode, ToolError


@pytest.mark.parametrize("neighbour", [(), ((0.45, 0.06, box(0, 0.02, 0.02, 0.06)),)])
def test_it_goes_straight_down_across_the_narrow_side_whatever_stands_there(neighbour: tuple) -> None:  # type: ignore[type-arg]
    frame = picture((0.45, 0.0, box(30, 0.02, 0.045)), *neighbour)
    assert frame.ids is not None
    cloud = geometry.backproject(frame.depth, frame.K)
    found = TopDownGraspGenerator().generate(cloud, (frame.ids == 0).ravel(), frame.T_base_camera)
    T = frame.T_base_camera @ found.T_camera_gripper[0]
    assert T[2, 2] == pytest.approx(-1.0)
    assert np.hypot(T[0, 3] - 0.45, T[1, 3]) < 0.015
    narrow = geometry.rotation_z(np.radians(30.0))[:3, 0]
    assert abs(T[:3, 0] @ narrow) > np.cos(np.radians(10.0))
    assert len(found.scores) == found.sampled == 1


def test_what_lies_flat_on_the_table_is_refused() -> None:
    frame = picture((0.45, 0.0, box(0, 0.03, 0.03, 0.0015)))
    assert frame.ids is not None
    cloud = geometry.backproject(frame.depth, frame.K)
    with pytest.raises(ToolError) as caught:
        TopDownGraspGenerator().generate(cloud, (frame.ids == 0).ravel(), frame.T_base_camera)
    assert caught.value.code is ErrorCode.NO_GRASP


def test_it_is_chosen_by_its_name() -> None:
    made = registry.make("grasps", "top_down", registry.Setting(0))
    assert made.backend == "top_down"
