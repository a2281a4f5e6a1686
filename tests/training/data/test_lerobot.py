"""LeRobot v3.0: the files and fields that its reader asks for, whole episodes, and honest numbers."""

import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from toolhand.sim.station import Station, StationConfig
from toolhand.sim.tasks.tasks import random_task
from toolhand.tool_nodes.results import ToolError
from toolhand.training.data import demonstrations
from toolhand.training.data.arrow import parquet
from toolhand.training.data.demonstrations import LOG_HZ, Demonstration
from toolhand.training.data.formats import lerobot
from toolhand.training.data.formats.lerobot import CAMERA, LeRobotWriter, colour_statistics

STEPS = ("timestamp", "frame_index", "episode_index", "index", "task_index")
"""Features that LeRobot has in every data set, lerobot.utils.constants.DEFAULT_FEATURES."""


def shown(seed: int, frames: int = 4, text: str = "pick it", **changes: Any) -> Demonstration:
    rng = np.random.default_rng(seed)
    states = rng.normal(size=(frames, 3)).astype(np.float32)
    images = rng.integers(0, 256, (frames, 12, 16, 3), dtype=np.uint8)
    made = Demonstration(text, 5, ("a", "b", "gripper_opening"), states, images, seed % 2 == 0, 0.5, "gen3", seed)
    return replace(made, **changes)


def write_lerobot(episodes: Iterable[Demonstration], folder: Path) -> LeRobotWriter:
    writer = LeRobotWriter(folder)
    for episode in episodes:
        writer.add(episode)
    writer.finish()
    return writer


def rows(folder: Path, pattern: str) -> list[dict[str, Any]]:
    return [row for file in sorted(folder.glob(pattern)) for row in parquet().read_table(file).to_pylist()]


def test_frames_read_back_are_those_that_were_written(tmp_path: Path) -> None:
    episodes = [shown(0), shown(1, 3, "place it"), shown(2, 5)]
    writer = write_lerobot(episodes, tmp_path / "set")
    assert (writer.episodes, writer.frames, writer.successes) == (3, 12, 2)
    frames = rows(tmp_path / "set", "data/*/*.parquet")
    assert [frame["index"] for frame in frames] == list(range(12))
    for number, episode in enumerate(episodes):
        mine = [frame for frame in frames if frame["episode_index"] == number]
        assert np.array_equal(np.array([frame["observation.state"] for frame in mine], np.float32), episode.states)
        assert [frame["action"] for frame in mine[:-1]] == [frame["observation.state"] for frame in mine[1:]]
        assert mine[-1]["action"] == mine[-1]["observation.state"]
        for frame, image in zip(mine, episode.images, strict=True):
            with Image.open(io.BytesIO(frame[CAMERA]["bytes"])) as read:
                assert np.array_equal(np.asarray(read), image)
        assert np.allclose([frame["timestamp"] for frame in mine], np.arange(len(mine)) / 5)
        assert [frame["frame_index"] for frame in mine] == list(range(len(mine)))
        assert [frame["next.done"] for frame in mine] == [False] * (len(mine) - 1) + [True]
        assert mine[-1]["next.success"] is episode.success
        assert [frame["next.reward"] for frame in mine] == [0.0] * (len(mine) - 1) + [0.5]
    assert [frame["task_index"] for frame in frames] == [0] * 4 + [1] * 3 + [0] * 5


def test_meta_has_what_the_reader_asks_for(tmp_path: Path) -> None:
    write_lerobot([shown(0), shown(1, 3, "place it")], tmp_path)
    info = json.loads((tmp_path / "meta" / "info.json").read_text())
    assert (info["codebase_version"], info["fps"], info["video_path"]) == ("v3.0", 5, None)
    assert (info["total_episodes"], info["total_frames"], info["total_tasks"]) == (2, 7, 2)
    assert info["splits"] == {"train": "0:2"}
    assert set(info["features"]) == {
        CAMERA,
        "observation.state",
        "action",
        "next.reward",
        "next.done",
        "next.success",
        *STEPS,
    }
    assert info["features"][CAMERA] == {
        "dtype": "image",
        "shape": [12, 16, 3],
        "names": ["height", "width", "channels"],
    }
    assert [info["features"][name]["dtype"] for name in STEPS] == ["float32", *["int64"] * 4]
    (first, second) = rows(tmp_path, "meta/episodes/*/*.parquet")
    place = {"chunk_index": first["data/chunk_index"], "file_index": first["data/file_index"]}
    assert (tmp_path / info["data_path"].format(**place)).is_file()
    assert (first["meta/episodes/chunk_index"], first["meta/episodes/file_index"]) == (0, 0)
    assert [(row["episode_index"], row["tasks"], row["length"]) for row in (first, second)] == [
        (0, ["pick it"], 4),
        (1, ["place it"], 3),
    ]
    assert [(row["dataset_from_index"], row["dataset_to_index"]) for row in (first, second)] == [(0, 4), (4, 7)]
    tasks = parquet().read_table(tmp_path / "meta" / "tasks.parquet")
    assert tasks.to_pylist() == [{"task_index": 0, "task": "pick it"}, {"task_index": 1, "task": "place it"}]
    assert json.loads(tasks.schema.metadata[b"pandas"])["index_columns"] == ["task"]
    known = json.loads(parquet().read_schema(next(tmp_path.glob("data/*/*.parquet"))).metadata[b"huggingface"])
    assert set(known["info"]["features"]) == set(info["features"])


def test_statistics_are_those_of_all_frames_and_pixels(tmp_path: Path) -> None:
    episodes = [shown(0), shown(1, 3)]
    write_lerobot(episodes, tmp_path)
    found = json.loads((tmp_path / "meta" / "stats.json").read_text())
    states = np.concatenate([episode.states for episode in episodes]).astype(float)
    pixels = np.concatenate([episode.images for episode in episodes]).reshape(-1, 3) / 255
    for values, statistics in ((states, found["observation.state"]), (pixels, found[CAMERA])):
        for name, expected in (
            ("min", values.min(0)),
            ("max", values.max(0)),
            ("mean", values.mean(0)),
            ("std", values.std(0)),
        ):
            assert np.allclose(np.ravel(statistics[name]), expected), name
        for q in (1, 10, 50, 90, 99):
            assert np.allclose(np.ravel(statistics[f"q{q:02d}"]), np.quantile(values, q / 100, axis=0), atol=0.01), q
        assert statistics["count"] == [7]
    assert np.shape(found[CAMERA]["mean"]) == (3, 1, 1)
    first = rows(tmp_path, "meta/episodes/*/*.parquet")[0]
    assert np.allclose(first["stats/observation.state/mean"], episodes[0].states.mean(0))
    assert np.allclose(np.ravel(first[f"stats/{CAMERA}/max"]), episodes[0].images.reshape(-1, 3).max(0) / 255)


def test_one_colour_has_no_spread() -> None:
    counts = np.zeros((3, 256), np.int64)
    counts[:, 200] = 50
    statistics = colour_statistics(counts, 1)
    assert np.allclose(np.ravel(statistics["std"]), 0.0, atol=1e-7)
    assert {float(np.ravel(statistics[name])[0]) for name in ("min", "q01", "q50", "q99", "max")} == {200 / 255}


def test_a_killed_run_leaves_a_data_set_of_whole_episodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lerobot, "FILE_BYTES", 1)  # a file an episode

    def killed() -> Iterator[Demonstration]:
        yield from (shown(0), shown(1, 3))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_lerobot(killed(), tmp_path / "set")
    info = json.loads((tmp_path / "set" / "meta" / "info.json").read_text())
    assert (info["total_episodes"], info["total_frames"]) == (2, 7)
    assert len(rows(tmp_path / "set", "data/*/*.parquet")) == 7
    written = rows(tmp_path / "set", "meta/episodes/*/*.parquet")
    places = [(row["data/file_index"], row["meta/episodes/file_index"]) for row in written]
    assert places == [(0, 0), (1, 1)]
    assert not list(tmp_path.rglob("*.part"))
    with pytest.raises(ToolError, match="nothing is replaced"):
        LeRobotWriter(tmp_path / "set")


def test_episodes_that_do_not_belong_together_and_none_at_all_are_told(tmp_path: Path) -> None:
    writer = LeRobotWriter(tmp_path / "set")
    writer.add(shown(0))
    for other, told in (
        (shown(1, fps=25), "one rate: 5, not 25"),
        (shown(1, robot="jaco"), "one robot"),
        (shown(1, images=np.zeros((4, 6, 8, 3), np.uint8)), "one picture size"),
    ):
        with pytest.raises(ToolError, match=told):
            writer.add(other)
    assert writer.episodes == 1
    with pytest.raises(ToolError, match="no episode to be written"):
        write_lerobot([], tmp_path / "none")
    assert not (tmp_path / "none").exists()


# -- a real episode ----------------------------------------------------------------------------------


def test_an_episode_is_seen_at_a_steady_rate_from_what_was_logged() -> None:
    config = StationConfig(image_size=(160, 120), sleep=True)
    (seen,) = demonstrations.demonstrations(1, 3, config, "pick", fps=5)
    assert seen.text == random_task(3, "pick").text
    assert seen.success
    assert (seen.reward, seen.seed, seen.robot) == (1.0, 3, "gen3")
    count, width = seen.states.shape
    assert seen.images.shape == (count, 120, 160, 3)
    assert width == len(seen.names) == 8
    station = Station(random_task(3, "pick").scene, config)
    assert np.allclose(seen.states[0, :7], station.robot.park, atol=0.02)
    assert seen.states[0, 7] > seen.states[-1, 7]  # the jaws have closed around something
    speeds = np.abs(np.diff(seen.states[:, :7], axis=0)) * seen.fps
    assert 0.1 < speeds.max() < 2.0  # rad/s
    assert (seen.images[0] != seen.images[count // 2]).any()


def test_rates_that_the_log_does_not_have_and_bad_numbers_are_refused() -> None:
    for fps in (0, 10, LOG_HZ + 1):
        with pytest.raises(ToolError, match="fps must be one of 1, 5, 25"):
            next(demonstrations.demonstrations(1, fps=fps))
    for n, seed in ((0, 0), (1, -1)):
        with pytest.raises(ToolError, match=r"must be [01] or more"):
            next(demonstrations.demonstrations(n, seed))
