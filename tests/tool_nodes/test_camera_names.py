"""The cameras' names: in one place, and what recordings and layouts refer to."""

import json
from pathlib import Path

import pytest

from toolhand.tool_nodes.camera_names import OPTICAL_FRAMES, REALSENSE, WRIST, ZED

ROOT = Path(__file__).parents[2]
DRIVERS = (*ZED.values(), WRIST, REALSENSE)
NAMES = {topic for driver in DRIVERS for topic in (*vars(driver.topics).values(), driver.depth_info)} | {
    driver.optical_frame for driver in DRIVERS
}
SOURCES = [
    path
    for folder in ("tool_nodes", "sim", "agent_node", "bench", "training", "launch")
    for pattern in ("*.py", "*.yaml")
    for path in sorted((ROOT / folder).rglob(pattern))
    if path.name != "camera_names.py"
]


def test_only_one_file_of_the_code_names_topics_and_frames() -> None:
    assert len(SOURCES) > 100
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        assert not [name for name in NAMES if f'"{name}' in text or f'"{name.lstrip("/")}"' in text], path


@pytest.mark.parametrize("driver", DRIVERS, ids=lambda driver: driver.optical_frame)
def test_topics_are_absolute_and_each_is_another(driver) -> None:  # type: ignore[no-untyped-def]
    topics = [*vars(driver.topics).values(), driver.depth_info]
    assert all(topic.startswith("/") for topic in topics)
    assert len(set(topics)) == 4


def test_the_layout_shows_the_frame_that_recordings_have() -> None:
    layout = json.loads((ROOT / "agent_node" / "runs" / "mcap" / "foxglove_layout.json").read_text(encoding="utf-8"))
    shown = layout["configById"]["3D!robot"]["transforms"]
    assert f"frame:{OPTICAL_FRAMES['scene']}" in shown
