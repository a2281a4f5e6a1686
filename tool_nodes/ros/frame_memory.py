"""One object per image: what arrives again in another message is the frame that is already known."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from toolhand.tool_nodes.ros.messages import RosFrame, take_frame

_REMEMBERED = 4
"""Number of newest frames that are kept [-]."""


class FrameMemory:
    """Reads frames from messages. Equal content gives the same object, so that what was computed from it is reused.

    Args:
        camera: "scene" or "wrist" where all of them are of one camera; else each as its optical frame is named.
    """

    def __init__(self, camera: str | None = None) -> None:
        self._camera = camera
        self._known: deque[RosFrame] = deque(maxlen=_REMEMBERED)

    def take(self, message: Any) -> RosFrame:
        """The frame of a message; see `messages.take_frame`. Raises BadMessage."""
        return self.known(take_frame(message, self._camera))

    def known(self, frame: RosFrame) -> RosFrame:
        """The remembered frame that equals this one; this one where there is none."""
        for known in self._known:
            if _same(known, frame):
                return known
        self._known.append(frame)
        return frame


def _same(a: RosFrame, b: RosFrame) -> bool:
    return (
        (a.stamp_ns, a.frame_id, a.size) == (b.stamp_ns, b.frame_id, b.size)
        and np.array_equal(a.K, b.K)
        and np.array_equal(a.T_base_camera, b.T_base_camera)
        and np.array_equal(a.rgb, b.rgb)
        and np.array_equal(a.depth.view(np.int32), b.depth.view(np.int32))  # as bits, because NaN equals NaN there
    )
