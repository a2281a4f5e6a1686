"""Recorded images as a camera: `recorded:FOLDER` of the group `toolhand.camera`."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from toolhand.sim.mock.data import read_dataset
from toolhand.tool_nodes.types import Frame


class RecordedCamera:
    """Shows the frames of a data set, one after the other and from the first one again; stamped when they are shown.

    Args:
        model: Folder of the data set, see `toolhand.sim.mock.data`.
        camera: "scene" or "wrist"; what its frames say that they are from.
        node: The rclpy Node whose clock stamps them; the wall clock where None.

    Raises:
        ToolError: INVALID_ARGUMENT for a folder that is no data set.
    """

    def __init__(self, model: str, camera: str = "scene", node: Any = None) -> None:
        self._dataset, self._camera, self._node = read_dataset(model), camera, node
        self._shown = 0

    def capture(self) -> Frame:
        """See ports.Camera."""
        recorded = self._dataset.frame(self._shown % self._dataset.n).frame
        self._shown += 1
        now = time.time() if self._node is None else self._node.get_clock().now().nanoseconds / 1e9
        return replace(recorded, stamp=now, camera=self._camera)
