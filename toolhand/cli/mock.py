"""`toolhand mock`: simulated scenes, and images of real cameras, as data for the mock robot."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import tyro

from toolhand.agent_node.console.options import SensorName, parse_size
from toolhand.agent_node.console.terminal import AsJson, emit, say
from toolhand.agent_node.runs.mcap.frames import BASE_FRAME, recorded_frames
from toolhand.sim.mock.data import MAX_FRAMES, MAX_SEED, SIZES, MockFrame, read_dataset, write_dataset
from toolhand.sim.mock.importing import folder_frames
from toolhand.sim.mock.recording import record_frames
from toolhand.tool_nodes.port_names import DEFAULT_SENSOR, require_sensor
from toolhand.tool_nodes.results import invalid

RECORDING = "metadata.yaml"
"""What rosbag2 writes beside its files."""


def mock_record(
    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="DIR")],
    n: int = 20,
    seed: int = 0,
    size: str = "640x480",
    sensor: SensorName = DEFAULT_SENSOR,
    as_json: AsJson = False,
) -> int:
    """Record images, depth and object ids of random simulated scenes as a data set for the mock robot.

    The data set appears complete or not at all, and never replaces anything.

    Args:
        folder: Where the data set goes; it may not exist yet, or must be empty.
        n: Frames.
        seed: Seed of the first scene; each frame shows the next one.
        size: Width and height of the images, e.g. 640x480.
    """
    width, height = parse_size(size, SIZES)
    if not 1 <= n <= MAX_FRAMES:
        raise invalid(f"n must be from 1 to {MAX_FRAMES}, got {n}.")
    require_sensor(sensor)
    most = MAX_SEED - n + 1  # each frame counts one further
    if not 0 <= seed <= most:
        raise invalid(f"The seed must be from 0 to {most}, got {seed}.")
    made = f"toolhand mock record --n {n} --seed {seed} --size {width}x{height}"
    made += f" --sensor {sensor}" * (sensor != DEFAULT_SENSOR)
    write_dataset(folder, _with_progress(record_frames(n, seed, (width, height), sensor), n), n, seed, made)
    dataset = read_dataset(folder)
    size_bytes = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    if as_json:
        emit({"folder": str(folder), "n": dataset.n, "seed": seed, "size": [width, height], "bytes": size_bytes})
    else:
        print(f"{folder}: {dataset.n} frames of {width}x{height} px, {size_bytes / 1e6:.1f} MB")
    return 0


def mock_import(
    source: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="SOURCE")],
    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="DIR")],
    camera: Literal["scene", "wrist"] = "scene",
    base_frame: str = BASE_FRAME,
    as_json: AsJson = False,
) -> int:
    """Make RGB-D images of a real camera, or of a recorded run, a data set for the mock robot.

    SOURCE is an MCAP file, the folder that `ros2 bag record` makes, or one with rgb/, depth/ and intrinsics.json.

    Args:
        folder: Where the data set goes; it may not exist yet, or must be empty.
        camera: Which camera of an MCAP file.
        base_frame: Frame of the robot's base in the transforms of an MCAP file.
    """
    if source.is_dir() and not (source / RECORDING).exists():
        frames = list(folder_frames(source))
    else:
        seen = list(recorded_frames(source, camera, base_frame, say))
        if len(seen) > MAX_FRAMES:
            raise invalid(f"A data set has at most {MAX_FRAMES} frames, and {source} has {len(seen)}.")
        frames = [MockFrame(frame) for frame in seen]
    write_dataset(folder, frames, len(frames), 0, f"toolhand mock import {source.name}")
    dataset = read_dataset(folder)
    dataset.frame(0)
    if as_json:
        emit({"folder": str(folder), "n": dataset.n})
    else:
        print(f"{folder}: {dataset.n} frames")
    return 0


def _with_progress(frames: Iterator[MockFrame], n: int) -> Iterator[MockFrame]:
    for k, frame in enumerate(frames, start=1):
        say(f"  frame {k} of {n}: scene {frame.scene_seed}")
        yield frame
