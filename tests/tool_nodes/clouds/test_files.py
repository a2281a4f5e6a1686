"""PLY and PCD: what was written comes back, what others write is read, and what is damaged is one sentence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from toolhand.tool_nodes.clouds.files import read_cloud, write_cloud
from toolhand.tool_nodes.results import ErrorCode, ToolError

POINTS = np.array([[0.1, 0.2, 0.3], [-1.0, 0.0, 2.5], [np.nan, 0.0, 0.0], [7.0, 8.0, 9.0]])
COLOURS = np.array([[255, 0, 1], [2, 3, 4], [9, 9, 9], [200, 100, 50]], np.uint8)


@pytest.mark.parametrize("suffix", [".ply", ".pcd", ".PLY"])
@pytest.mark.parametrize("coloured", [False, True])
def test_a_cloud_comes_back_without_what_is_not_finite(tmp_path: Path, suffix: str, coloured: bool) -> None:
    path = tmp_path / f"cloud{suffix}"
    write_cloud(path, POINTS, COLOURS if coloured else None)
    read = read_cloud(path)
    np.testing.assert_array_equal(read.points, POINTS[[0, 1, 3]].astype(np.float32))
    if coloured:
        assert read.colours is not None
        np.testing.assert_array_equal(read.colours, COLOURS[[0, 1, 3]])
    else:
        assert read.colours is None


ASCII_PLY = (
    "ply\nformat ascii 1.0\ncomment by hand\nelement vertex 2\nproperty double x\nproperty double y\n"
    "property double z\nproperty uchar red\nproperty uchar green\nproperty uchar blue\nelement face 1\n"
    "property list uchar int vertex_index\n"
    "end_header\n0 0.5 1 255 128 0\n1 2 3 0 0 9\n3 0 1 0\n"
)
ASCII_PCD = (
    "# .PCD v0.7\nVERSION 0.7\nFIELDS x y z _ intensity\nSIZE 4 4 4 1 4\nTYPE F F F U F\nCOUNT 1 1 1 1 1\n"
    "WIDTH 2\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS 2\nDATA ascii\n0 0.5 1 0 7\n1 2 3 0 8\n"
)


def test_files_of_other_programs_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.ply").write_text(ASCII_PLY)
    (tmp_path / "a.pcd").write_text(ASCII_PCD)
    for name in ("a.ply", "a.pcd"):
        np.testing.assert_allclose(read_cloud(tmp_path / name).points, [[0.0, 0.5, 1.0], [1.0, 2.0, 3.0]])
    colours = read_cloud(tmp_path / "a.ply").colours
    assert colours is not None
    assert colours.tolist() == [[255, 128, 0], [0, 0, 9]]
    big = np.array([[1.0, 2.0, 3.0]], ">f4")
    header = (
        "ply\nformat binary_big_endian 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\n"
    )
    (tmp_path / "big.ply").write_bytes(header.encode() + b"end_header\n" + big.tobytes())
    assert read_cloud(tmp_path / "big.ply").points.tolist() == [[1.0, 2.0, 3.0]]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.ply", b"", "it does not begin with ply"),
        ("a.ply", b"ply\n" + b"comment\n" * 5000, "its header has no line end_header"),
        ("a.ply", b"ply\nformat ascii 1.0\nend_header\n", "its first element is not vertex"),
        ("a.ply", ASCII_PLY.replace("ascii 1.0", "gzip 1.0").encode(), "its format 'gzip' is not ascii"),
        ("a.ply", ASCII_PLY.replace("vertex 2", "vertex 999999999").encode(), "it says that it has 999999999 points"),
        ("a.ply", ASCII_PLY.replace("vertex 2", "vertex -2").encode(), "it says that it has -2 points"),
        ("a.ply", ASCII_PLY.replace("double z", "list uchar int z").encode(), "which no point has"),
        ("a.ply", ASCII_PLY.replace("double z", "double w").encode(), "is no PLY file with x, y and z"),
        ("a.ply", ASCII_PLY.replace("vertex 2", "vertex 9").encode(), "is no PLY file"),
        ("a.ply", ASCII_PLY.replace("ascii 1.0", "binary_little_endian 1.0").encode(), "it is cut short"),
        (
            "a.ply",
            ASCII_PLY.replace("0 0.5 1", "nan nan nan").replace("1 2 3 0", "inf 0 0 0").encode(),
            "finite points",
        ),
        ("a.pcd", ASCII_PCD.replace("ascii", "binary_compressed").encode(), "not ascii or binary"),
        ("a.pcd", ASCII_PCD.replace("ascii", "binary").encode(), "it is cut short"),
        ("a.pcd", ASCII_PCD.replace("SIZE 4 4", "SIZE 9 9").encode(), "is no PCD file"),
        ("a.pcd", ASCII_PCD.replace("POINTS 2\n", "").encode(), "is no PCD file"),
        ("a.pcd", b"\xff\xfe\nDATA", "is no PCD file"),
    ],
)
def test_a_damaged_file_is_one_sentence(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ToolError) as caught:
        read_cloud(tmp_path / name)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT
    assert said in caught.value.message + (caught.value.hint or "")
    assert "\n" not in caught.value.message


def test_what_cannot_be_written_or_read_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=r"must end with .ply or .pcd, not 'cloud.obj'"):
        write_cloud(tmp_path / "cloud.obj", POINTS)
    with pytest.raises(ToolError, match="cannot be written"):
        write_cloud(Path("/dev/null/cloud.ply"), POINTS)
    with pytest.raises(ToolError, match="cannot be read"):
        read_cloud(tmp_path / "none.ply")
    with pytest.raises(ToolError, match=r"Colours must be uint8 \(4, 3\)"):
        write_cloud(tmp_path / "cloud.ply", POINTS, COLOURS[:2])
    with pytest.raises(ToolError, match="at least 1 finite points"):
        write_cloud(tmp_path / "cloud.ply", POINTS[2:3])
    assert list(tmp_path.iterdir()) == []
