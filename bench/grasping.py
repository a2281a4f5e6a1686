"""A grasp by the tools alone, without an agent: what the benchmarks of grasps and of foreign things have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from sim.station import Station
from tool_nodes.toolbox.toolbox import CallRecord, Session


def middle_of(ids: NDArray[np.int32], index: int) -> tuple[float, float] | None:
    """Normalized point (x, y) in the middle of the visible pixels of a thing, which is one of them; None where hidden.

    Args:
        ids: (H, W) indices of things.
        index: Index of the thing.
    """
    rows, columns = np.nonzero(ids == index)
    if not rows.size:
        return None
    middle = np.argmin((rows - np.median(rows)) ** 2 + (columns - np.median(columns)) ** 2)
    height, width = ids.shape
    return float((columns[middle] + 0.5) / width), float((rows[middle] + 0.5) / height)


def grasp_calls(station: Station, point: Callable[[], tuple[float, float]]) -> Iterator[CallRecord]:
    """The calls of a grasp, one after the other, the last one execute_grasp.

    Args:
        station: Where the thing is.
        point: Normalized point on the thing; asked for when the picture has been taken.

    Raises:
        ToolError: The error of the first call that fails.
    """
    session = Session()

    def call(name: str, **arguments: object) -> CallRecord:
        record = station.toolbox.call(name, arguments, session)
        if record.result.error is not None:
            raise record.result.error
        return record

    yield call("robot.capture_image")
    yield call("robot.get_depth_with_pointcloud")
    x, y = point()
    yield call("sam2.segment_from_point", x=x, y=y, image_index=0)
    yield call(
        "grasp_generator.compute_grasp",
        point_cloud="$point_cloud",
        mask="$segmentation_mask",
        focal_length_px="$focal_length_px",
        image_index=0,
    )
    yield call("robot.execute_grasp", grasp_pose="$grasp_pose")
