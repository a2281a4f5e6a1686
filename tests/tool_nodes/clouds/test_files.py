"""PLY: what was written comes back, and what cannot be written is one sentence."""

from pathlib import Path

import numpy as np
import pytest

from tests.tool_nodes.clouds.ply import read_ply
from toolhand.tool_nodes.clouds.files import write_cloud
from toolhand.tool_nodes.results import ErrorCode, ToolError

POINTS = np.array([[0.1, 0.2, 0.3], [-1.0, 0.0, 2.5], [np.nan, 0.0, 0.0], [7.0, 8.0, 9.0]])
COLOURS = np.array([[255, 0, 1], [2, 3, 4], [9, 9, 9], [200, 100, 50]], np.uint8)


@pytest.mark.parametrize("coloured", [False, True])
def test_a_cloud_comes_back_without_what_is_not_finite(tmp_path: Path, coloured: bool) -> None:
    write_cloud(tmp_path / "cloud.ply", POINTS, COLOURS if coloured else None)
    points, colours = read_ply(tmp_path / "cloud.ply")
    np.testing.assert_array_equal(points, POINTS[[0, 1, 3]].astype(np.float32))
    np.testing.assert_array_equal(colours, COLOURS[[0, 1, 3]] if coloured else np.empty((3, 0)))


@pytest.mark.parametrize(
    ("path", "cloud", "colours", "said"),
    [
        ("/dev/null/cloud.ply", POINTS, None, "cannot be written"),
        ("cloud.ply", POINTS, COLOURS[:2], "Colours must be uint8 (4, 3)"),
        ("cloud.ply", POINTS[2:3], None, "at least 1 finite points"),
    ],
)
def test_what_cannot_be_written_is_one_sentence(
    tmp_path: Path, path: str, cloud: np.ndarray, colours: np.ndarray | None, said: str
) -> None:
    with pytest.raises(ToolError) as caught:
        write_cloud(tmp_path / path, cloud, colours)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT
    assert said in caught.value.message
    assert list(tmp_path.iterdir()) == []
