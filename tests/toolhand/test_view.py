"""`toolhand view`: the clouds of a recording as files and images, in the base frame."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.tool_nodes.clouds.ply import read_ply
from tests.toolhand.test_mock_import import driver_messages, write_mcap
from toolhand.agent_node.runs.mcap.frames import recorded_frames
from toolhand.cli.view import cloud_of, image_of
from toolhand.sim.mock.recording import record_frame
from toolhand.tool_nodes.types import Frame

Cli = Callable[..., Any]


@pytest.fixture(scope="module")
def seen() -> Frame:
    return record_frame(3, (160, 120)).frame


def test_each_image_of_a_recording_becomes_a_cloud_and_an_image_of_it(tmp_path: Path, seen: Frame, cli: Cli) -> None:
    write_mcap(tmp_path / "zed.mcap", driver_messages(seen)[0])
    ended = cli("view", str(tmp_path / "zed.mcap"), "--json")
    assert ended.status == 0, ended.err
    document = json.loads(ended.out)
    assert document["folder"] == str(tmp_path / "clouds")
    first, second = document["clouds"]
    frames = list(recorded_frames(tmp_path / "zed.mcap"))
    for written, frame in zip((first, second), frames, strict=True):
        (points, colours), own = read_ply(Path(written["ply"])), cloud_of(frame)
        np.testing.assert_allclose(points, own.points, atol=1e-6)
        np.testing.assert_array_equal(colours, own.colours)
        with Image.open(written["png"]) as image:
            assert np.array_equal(np.asarray(image), image_of(own, frame))
    shown = np.asarray(image_of(cloud_of(frames[0]), frames[0]))
    assert shown.shape == (480, 1280, 3)
    for half in np.split(shown, 2, axis=1):
        assert len(np.unique(half.reshape(-1, 3), axis=0)) > 100  # objects, and not paper alone
    table = cloud_of(frames[0]).points[:, 2]
    assert abs(float(np.median(table))) < 0.02  # the base frame has the table at 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere"], "There is no recording nowhere"),
        (["zed.mcap", "--camera", "wrist"], "holds no colour pictures with depth of the wrist camera"),
        (["zed.mcap", "--base-frame", "moon"], "in moon is unknown"),
        (["zed.mcap", "--window"], "Open3D cannot be imported"),
    ],
)
def test_what_cannot_be_shown_is_one_sentence(words: list[str], said: str, cli: Cli, seen: Frame) -> None:
    write_mcap(Path("zed.mcap"), driver_messages(seen)[0])
    ended = cli("view", *words)
    assert ended.status in (1, 2)
    assert said in " ".join(ended.err.split())
    assert not Path("clouds").exists()
