"""Parts of a cluster are measured by what is known of them, however little that is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tool_nodes.geometry import intrinsics, pose
from tool_nodes.perception.clusters import find_clusters
from tool_nodes.perception.division import united
from tool_nodes.perception.surface import find_surface
from tool_nodes.types import Frame


def test_a_part_of_three_points_that_lie_low_is_measured() -> None:
    depth = np.ones((240, 320), np.float32)
    depth[100:130, 140:180] = 0.95
    rgb = np.full((240, 320, 3), 120, np.uint8)
    T = pose(np.diag([1.0, -1.0, -1.0]), (0.5, 0.0, 1.0))
    frame = Frame(rgb, depth, intrinsics(330.0, 320, 240), T, 0.0)
    surface = find_surface(frame)
    (cluster,) = find_clusters(frame, surface)
    mask = np.zeros_like(cluster.mask)
    mask[90, 150:153] = True
    low = united(surface, T[:3, 3], [replace(cluster, mask=mask)])
    assert low.mask.sum() == 3
    assert low.extents.size[2] < 0.01
