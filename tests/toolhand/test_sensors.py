"""`--sensor` of every command that has a simulated camera."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

COMMANDS = [
    ("run", "pick up the red box"),
    ("scene", "--image", "scene.png"),
    ("call", "roborefer.detect_one"),
    ("mock", "record", "frames"),
    ("rollouts", "collect", "--out", "rollouts"),
    ("data", "lerobot", "--out", "episodes"),
    ("data", "synth", "--out", "trajectories"),
    ("train", "dirl", "--preset", "qwen2.5-vl-3b"),
    ("bench", "manipulation"),
    ("bench", "crowded"),
    ("bench", "grasp"),
    ("bench", "perception"),
    ("bench", "policy"),
]
"""Words of a command, without its sensor."""

Cli = Callable[..., Any]


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words[:2]))
def test_every_command_with_a_simulated_camera_takes_a_sensor_and_refuses_one_that_is_none(
    cli: Cli, words: tuple[str, ...], tmp_path: Path
) -> None:
    ended = cli(*words, "--sensor", "nowhere")
    assert ended.status == 2
    assert "There is no sensor 'nowhere': it must be" in " ".join(ended.err.split())
    assert not list(tmp_path.iterdir()), "nothing is begun"


def test_recorded_frames_are_what_the_sensor_measures(cli: Cli) -> None:
    for sensor in ("stereo", "ideal"):
        assert cli("mock", "record", sensor, "--n", "1", "--size", "160x120", "--sensor", sensor).status == 0
    depth = [np.asarray(Image.open(next(Path(sensor).rglob("depth.png"))), float) for sensor in ("stereo", "ideal")]
    assert 0 < np.abs(depth[0] - depth[1]).mean() < 10, "millimetres"
    recorded_by = [path.read_text("utf-8") for path in Path("ideal").iterdir() if path.is_file()]
    assert "--sensor ideal" in "".join(recorded_by)
