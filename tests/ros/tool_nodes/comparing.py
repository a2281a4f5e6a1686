"""One conversation with the same tools twice, in process and over ROS, whose results must be equal."""

from typing import Any

import numpy as np

from toolhand.tool_nodes.results import ErrorCode, ToolResult
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import CallRecord, Session, Toolbox

TOLERANCE = 1e-6
"""Of single doubles [m], [s]: times are summed up, which changes the last digits."""


class Both:
    """One conversation with the tools in process and over ROS."""

    def __init__(self, local: Toolbox, remote: Toolbox) -> None:
        self._sides = ((local, Session()), (remote, Session()))

    def __call__(self, name: str, **arguments: Any) -> ToolResult:
        """Call a tool on both sides; returns the result that both gave."""
        result = self._compare(name, arguments)
        assert result.ok, result.text
        return result

    def refused(self, name: str, **arguments: Any) -> ErrorCode:
        """The code of the error that both sides gave, in the same words."""
        error = self._compare(name, arguments).error
        assert error is not None
        return error.code

    def told_alike(self, name: str, **arguments: Any) -> None:
        """Call a tool on both sides, and compare only what a policy reads."""
        local, remote = self._call(name, arguments)
        assert local.result.ok, local.result.text
        assert remote.result.text == local.result.text, f"{remote.result.text}\nbut in process: {local.result.text}"

    def _call(self, name: str, arguments: dict[str, Any]) -> list[CallRecord]:
        return [box.call(name, arguments, session) for box, session in self._sides]

    def _compare(self, name: str, arguments: dict[str, Any]) -> ToolResult:
        local, remote = self._call(name, arguments)
        assert remote.result.text == local.result.text, f"{remote.result.text}\nbut in process: {local.result.text}"
        assert remote.image_index == local.image_index
        same(remote.result.image, local.result.image)
        same(dict(remote.result.variables), dict(local.result.variables))
        same(remote.result.value, local.result.value)
        return local.result


def same(a: Any, b: Any) -> None:
    """Images, depth, clouds, masks and poses to the last bit; single doubles within `TOLERANCE`; all else equal."""
    if isinstance(b, SessionImage):
        same(a.rgb, b.rgb)
        assert a.frame is not None
        assert b.frame is not None
        assert round(a.frame.stamp * 1e9) == round(b.frame.stamp * 1e9)
        assert a.frame.camera == b.frame.camera
        for name in ("rgb", "depth", "K", "T_base_camera"):
            same(getattr(a.frame, name), getattr(b.frame, name))
    elif isinstance(b, dict):
        assert a.keys() == b.keys()
        for key in b:
            same(a[key], b[key])
    elif isinstance(b, np.ndarray):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        assert np.array_equal(a, b, equal_nan=b.dtype.kind == "f")
    elif isinstance(b, tuple | list) and any(isinstance(value, np.ndarray) for value in b):
        for one, other in zip(a, b, strict=True):
            same(one, other)
    elif isinstance(b, float):
        assert abs(a - b) <= TOLERANCE
    else:
        assert a == b, f"{a!r} but in process {b!r}"
