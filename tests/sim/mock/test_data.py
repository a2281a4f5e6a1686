"""Recorded data sets: written complete or not at all, read back, made again; nothing wrong is accepted."""

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import yaml
from PIL import Image

from toolhand.cli.mock import mock_record
from toolhand.sim.mock.data import SHIPPED, MockFrame, read_dataset, write_dataset
from toolhand.sim.mock.recording import record_frame
from toolhand.tool_nodes.geometry import backproject
from toolhand.tool_nodes.results import ErrorCode, ToolError


@cache
def small() -> MockFrame:
    return record_frame(0, (96, 72))


def write(folder: Path, *frames: MockFrame) -> Path:
    write_dataset(folder, frames or (small(),), max(len(frames), 1), seed=0, made="by a test")
    return folder


def refusal(act: Callable[[], object]) -> ToolError:
    with pytest.raises(ToolError) as caught:
        act()
    assert "\n" not in caught.value.message
    assert caught.value.message.endswith(".")
    return caught.value


# -- the shipped set -------------------------------------------------------------------------------


def test_twenty_frames_are_shipped_in_at_most_four_megabytes() -> None:
    dataset = read_dataset()
    assert (dataset.name, dataset.n, dataset.seed) == ("mock_frames", 20, 0)
    assert dataset.made == "toolhand mock record --n 20 --seed 0 --size 640x480"
    files = [file for file in SHIPPED.rglob("*") if file.is_file()]
    assert len(files) == 1 + 20 * 4
    assert sum(file.stat().st_size for file in files) <= 4_000_000


@pytest.mark.parametrize("index", range(20))
def test_every_shipped_frame_is_complete(index: int) -> None:
    recorded = read_dataset().frame(index)
    frame = recorded.frame
    assert frame.size == (640, 480)
    assert frame.depth.shape == (480, 640)
    assert np.isfinite(frame.depth).mean() > 0.7
    assert recorded.focal_length_px == 660.0
    assert recorded.scene_seed == index
    assert frame.stamp == index
    assert frame.labels
    assert frame.ids is not None
    assert -1 in frame.ids
    assert frame.ids.max() < len(frame.labels)


def test_the_command_that_made_the_shipped_set_makes_it_again(tmp_path: Path) -> None:
    assert mock_record(tmp_path / "again", n=1, seed=7) == 0
    old, new = read_dataset().frame(7), read_dataset(tmp_path / "again").frame(0)
    assert new.frame.labels == old.frame.labels
    assert np.allclose(new.frame.T_base_camera, old.frame.T_base_camera, atol=1e-12)
    # Another processor may round a few pixels the other way.
    assert np.mean(new.frame.rgb != old.frame.rgb) < 1e-3
    assert np.mean(new.frame.ids != old.frame.ids) < 1e-3
    millimetre = np.abs(new.frame.depth - old.frame.depth) > 0.0015
    assert np.mean(millimetre) < 1e-3


# -- there and back --------------------------------------------------------------------------------


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    before, after = small(), read_dataset(write(tmp_path / "set")).frame(0)
    assert np.array_equal(after.frame.rgb, before.frame.rgb)
    assert np.array_equal(after.frame.ids, before.frame.ids)
    assert np.array_equal(after.frame.K, before.frame.K)
    assert np.array_equal(after.frame.T_base_camera, before.frame.T_base_camera)
    assert after.frame.labels == before.frame.labels
    assert np.array_equal(np.isnan(after.frame.depth), np.isnan(before.frame.depth))
    assert np.nanmax(np.abs(after.frame.depth - before.frame.depth)) <= 0.000501


def test_depth_is_stored_as_16_bit_millimetres_with_zero_where_unknown(tmp_path: Path) -> None:
    depth = small().frame.depth.copy()
    depth[0, :4] = np.nan, 1.2344, 65.535, 70.0
    folder = write(tmp_path / "set", replace(small(), frame=replace(small().frame, depth=depth)))
    with Image.open(folder / "000" / "depth.png") as stored:
        assert stored.mode == "I;16"
        assert np.asarray(stored)[0, :4].tolist() == [0, 1234, 65535, 0]
    assert np.isnan(read_dataset(folder).frame(0).frame.depth[0, [0, 3]]).all()


def test_a_frame_without_ids_has_no_labels(tmp_path: Path) -> None:
    bare = replace(small(), frame=replace(small().frame, ids=None, labels=None), scene_seed=None)
    after = read_dataset(write(tmp_path / "set", bare)).frame(0)
    assert after.frame.ids is None
    assert after.frame.labels is None
    assert after.scene_seed is None


def test_a_recorded_cloud_is_used_and_a_missing_one_is_back_projected(tmp_path: Path) -> None:
    frame = small().frame
    cloud = np.full((frame.depth.size, 3), 0.5, np.float32)
    dataset = read_dataset(write(tmp_path / "set", replace(small(), cloud=cloud), small()))
    assert np.array_equal(dataset.frame(0).point_cloud(), cloud)
    without = dataset.frame(1)
    assert without.cloud is None
    assert np.array_equal(without.point_cloud(), backproject(without.frame.depth, frame.K), equal_nan=True)


# -- written complete or not at all ----------------------------------------------------------------


def test_a_recording_that_breaks_off_leaves_nothing_behind(tmp_path: Path) -> None:
    def broken() -> Iterator[MockFrame]:
        yield small()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_dataset(tmp_path / "set", broken(), 2, seed=0, made="")
    assert list(tmp_path.iterdir()) == []


def test_an_empty_folder_is_filled_and_a_full_one_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    write(tmp_path / "set")
    before = sorted(tmp_path.rglob("*"))
    error = refusal(lambda: write(tmp_path / "set"))
    assert error.code is ErrorCode.INVALID_ARGUMENT
    assert "not an empty folder" in error.message
    assert sorted(tmp_path.rglob("*")) == before


def test_a_folder_that_cannot_be_made_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert refusal(lambda: write(tmp_path / "file" / "set")).code is ErrorCode.UNAVAILABLE


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"n": 0}, "n must be from 1 to 1000, got 0."),
        ({"n": 1001}, "n must be from 1 to 1000"),
        ({"seed": -1, "n": 1}, "The seed must be from 0 to 9223372036854775807, got -1."),
        ({"seed": 2**63 - 1, "n": 2}, "The seed must be from 0 to 9223372036854775806, got 9223372036854775807."),
        ({"size": "640"}, "size must be WIDTHxHEIGHT with sides from 64 to 2048 pixels, e.g. 640x480, got '640'."),
        ({"size": "63x480"}, "size must be WIDTHxHEIGHT"),
        ({"size": "99999x99999"}, "size must be WIDTHxHEIGHT"),
    ],
)
def test_the_command_says_what_is_allowed(tmp_path: Path, wrong: dict[str, object], sentence: str) -> None:
    error = refusal(lambda: mock_record(tmp_path / "set", **wrong))  # type: ignore[arg-type]
    assert sentence in error.message
    assert list(tmp_path.iterdir()) == []


# -- nothing wrong is accepted ---------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "set")


def read_first(folder: Path) -> object:
    return read_dataset(folder).frame(0)


def edit(path: Path, **changes: object) -> None:
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | changes))


EYE = np.eye(4).tolist()
K = [[100.0, 0, 47.5], [0, 100.0, 35.5], [0, 0, 1.0]]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"size": [640, 480]}, "image.png: the picture is 96x72, but frame.yaml says 640x480"),
        ({"size": [0, 72]}, "size[0] must be a whole number from 64 to 2048"),
        ({"size": "big"}, "size must be a list of 2 whole numbers"),
        ({"K": [[1, 0, 0], [0, 1, 0]]}, "K must be [[fx, 0, cx]"),
        ({"K": [[-1, 0, 0], [0, 1, 0], [0, 0, 1]]}, "with positive fx and fy"),
        ({"K": [[100, 3, 0], [0, 100, 0], [0, 0, 1]]}, "K must be [[fx, 0, cx]"),
        ({"K": K, "focal_length_px": 99.0}, "focal_length_px must be K's fx, 100, not 99"),
        ({"T_base_camera": [[2 * v for v in row] for row in EYE]}, "T_base_camera must be a rigid 4x4 transform"),
        ({"T_base_camera": np.full((4, 4), np.nan).tolist()}, "T_base_camera[0][0] must be a finite number"),
        ({"stamp": -1.0}, "stamp must be a finite number from 0 to"),
        ({"stamp": True}, "stamp must be a finite number"),
        ({"scene_seed": "7"}, "scene_seed must be a whole number"),
        ({"labels": ["one"]}, "ids.png: it shows object"),
        ({"labels": "names"}, "labels must be a list of"),
        ({"labels": [""]}, "labels[0] must be a name of 1 to 100 characters"),
        ({"extra": 1}, "there is no key extra"),
    ],
)
def test_a_wrong_value_names_its_file_and_what_is_allowed(
    folder: Path, changes: dict[str, object], sentence: str
) -> None:
    edit(folder / "000" / "frame.yaml", **changes)
    error = refusal(lambda: read_first(folder))
    assert error.code is ErrorCode.INVALID_ARGUMENT
    assert error.message.startswith("set/000/")
    assert sentence in error.message


@pytest.mark.parametrize("name", ["image.png", "depth.png", "frame.yaml", "dataset.yaml"])
@pytest.mark.parametrize("how", ["missing", "empty", "torn", "binary"])
def test_a_file_that_is_missing_or_broken_is_named(folder: Path, name: str, how: str) -> None:
    path = folder / name if name == "dataset.yaml" else folder / "000" / name
    content = path.read_bytes()
    path.unlink()
    if how != "missing":
        path.write_bytes({"empty": b"", "torn": content[: len(content) // 2], "binary": b"\xff\xfe\x00"}[how])
    assert name in refusal(lambda: read_first(folder)).message


@pytest.mark.parametrize(
    ("name", "pixels", "sentence"),
    [
        ("image.png", np.zeros((72, 96), np.uint8), "the picture must be 8-bit RGB, not of mode L"),
        ("depth.png", np.zeros((72, 96), np.uint8), "the picture must be 16-bit grey, not of mode L"),
        ("depth.png", np.zeros((70, 96), np.uint16), "the picture is 96x70, but frame.yaml says 96x72"),
        ("ids.png", np.full((72, 96), 200, np.uint8), "it shows object 200, but frame.yaml has"),
        ("ids.png", np.zeros((72, 96, 3), np.uint8), "8 or 16-bit grey"),
    ],
)
def test_an_image_of_another_form_is_refused(folder: Path, name: str, pixels: np.ndarray, sentence: str) -> None:
    Image.fromarray(pixels).save(folder / "000" / name)
    assert sentence in refusal(lambda: read_first(folder)).message


@pytest.mark.parametrize(
    "cloud",
    [
        np.zeros((10, 3), np.float32),
        np.zeros((96 * 72, 3), np.int32),
        np.full((96 * 72, 3), np.inf, np.float32),
        np.array([{"code": 1}], dtype=object),
    ],
    ids=["short", "integers", "infinite", "pickled"],
)
def test_a_wrong_cloud_is_refused_and_nothing_is_unpickled(folder: Path, cloud: np.ndarray) -> None:
    np.save(folder / "000" / "point_cloud.npy", cloud, allow_pickle=True)
    assert refusal(lambda: read_first(folder)).message.startswith("set/000/point_cloud.npy: ")


def test_a_cloud_that_promises_more_than_it_holds_is_refused(folder: Path) -> None:
    path = folder / "000" / "point_cloud.npy"
    np.save(path, np.zeros((96 * 72, 3), np.float32))
    path.write_bytes(path.read_bytes()[:-5000])
    assert "no complete array" in refusal(lambda: read_first(folder)).message


def test_labels_without_ids_and_frames_that_are_not_there_are_refused(folder: Path) -> None:
    (folder / "000" / "ids.png").unlink()
    assert "labels name the objects of ids.png, which is missing" in refusal(lambda: read_first(folder)).message
    assert "has the frames 0 to 0, not 1" in refusal(lambda: read_dataset(folder).frame(1)).message
    shutil.rmtree(folder / "000")
    assert "set/000 is missing" in refusal(lambda: read_dataset(folder)).message
    assert "There is no folder" in refusal(lambda: read_dataset(folder / "nowhere")).message


def test_yaml_that_grows_by_aliases_is_refused_at_once(folder: Path) -> None:
    lines = ["a0: &a0 [0, 0, 0, 0, 0, 0, 0, 0, 0]"]
    lines += [f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 9)}]" for k in range(1, 30)]
    path = folder / "000" / "frame.yaml"
    path.write_text(path.read_text().replace("scene_seed: 0", "scene_seed: 0\n" + "\n".join(lines)))
    assert "aliases are not allowed" in refusal(lambda: read_first(folder)).message


@pytest.mark.parametrize("name", ["frame.yaml", "image.png", "point_cloud.npy"])
def test_what_is_no_file_is_not_waited_for(folder: Path, name: str) -> None:
    path = folder / "000" / name
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    assert name in refusal(lambda: read_first(folder)).message
