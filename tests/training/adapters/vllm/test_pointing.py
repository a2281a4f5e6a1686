"""The pointers behind a server against a real vLLM: random weights point nowhere, and that is what they say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.toolbox.images import SessionImage

if TYPE_CHECKING:
    from tests.training.adapters.vllm.conftest import Served

adapter = pytest.importorskip("toolhand.tool_nodes.models.pointing_server")


@pytest.mark.parametrize("name", ["PointingServer", "RoboRefer"])
def test_images_are_taken_many_at_once_and_answers_without_a_point_are_said(server: Served, name: str) -> None:
    made = np.random.default_rng(0)
    images = [SessionImage(made.integers(0, 255, (90, 60 + 40 * k, 3), dtype=np.uint8)) for k in range(8)]
    pointer = getattr(adapter, name)(f"tiny@{server.url}?batch=8&deadline=600&tokens=8")
    for answer in pointer.batch([(image, "the red can") for image in images]):
        assert isinstance(answer, ToolError)
        assert answer.code is ErrorCode.NOT_RECOGNISED, answer
    wrong = getattr(adapter, name)(f"other@{server.url}?deadline=600")
    (answer,) = wrong.batch([(images[0], "the red can")])
    assert answer.code is ErrorCode.UNAVAILABLE
