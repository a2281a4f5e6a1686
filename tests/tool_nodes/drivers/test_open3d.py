"""Without Open3D: the sentence that says what to install. With it: tests/tool_nodes/drivers/open3d."""

import sys
from collections.abc import Callable

import numpy as np
import pytest

from toolhand.tool_nodes import registry
from toolhand.tool_nodes.drivers import open3d
from toolhand.tool_nodes.results import ErrorCode, ToolError

POINTS = np.random.default_rng(0).random((30, 3))


@pytest.mark.parametrize(
    "use",
    [
        lambda: registry.make("boxes", "open3d"),
        lambda: open3d.smallest_box(POINTS),
        lambda: open3d.show([], "run"),
    ],
)
def test_each_function_says_what_to_install(use: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "open3d", None)
    with pytest.raises(ToolError) as caught:
        use()
    assert caught.value.code is ErrorCode.UNAVAILABLE
    assert caught.value.message.startswith("Open3D cannot be imported: ")
    assert "[open3d]" in caught.value.hint
    assert "libusb-1.0-0" in caught.value.hint
