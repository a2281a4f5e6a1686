"""Images with depth, calibration and camera pose out of a recording, of a run or of a camera's driver."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rclpy_zenoh.interfaces import deserialize, get_class
from toolhand.agent_node.runs.mcap import ros_messages as ros
from toolhand.agent_node.runs.mcap.reading import read_messages
from toolhand.tool_nodes.camera_names import REALSENSE, WRIST, ZED, CameraTopics
from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.ros.client import use_client

if TYPE_CHECKING:
    from toolhand.tool_nodes.types import Frame

BASE_FRAME = "base_link"
"""The robot's base in transforms, unless another frame is named."""

_OWN = {
    name: CameraTopics(f"/camera/{name}/image", f"/camera/{name}/camera_info", f"/camera/{name}/depth")
    for name in ("scene", "wrist")
}
_KNOWN = {
    "scene": (_OWN["scene"], *(names.topics for names in ZED.values()), REALSENSE.topics),
    "wrist": (_OWN["wrist"], WRIST.topics, REALSENSE.topics),
}
"""Topics that are looked for, by camera."""


def recorded_frames(
    path: Path, camera: str = "scene", base_frame: str = BASE_FRAME, left_out: Callable[[str], None] | None = None
) -> Iterator[Frame]:
    """The images of a camera that have depth, in the order of their stamps, as the live camera would have given them.

    Args:
        path: A rosbag2 file (MCAP) or the folder of one: of a run with `--record-depth`, or of the ZED wrapper,
            kinova_vision or realsense2_camera, with depth that is registered to the colours; raw or compressed.
        camera: "scene" or "wrist".
        base_frame: Frame of the robot's base.
        left_out: Told why an image among others is left out, in one sentence.

    Raises:
        ToolError: INVALID_ARGUMENT for a file that is damaged, or without such images, with the reason of the first.
    """
    use_client(graph=False)  # the live reader is written for rclpy's types
    from toolhand.tool_nodes.ros.recorded_camera import TF, TF_STATIC, compressed_topics, frames_of

    known = {names: compressed_topics(names) for names in _KNOWN[camera]}
    kinds = {TF: ros.TF_MESSAGE, TF_STATIC: ros.TF_MESSAGE}
    for names, topics in known.items():
        kinds[names.camera_info] = ros.CAMERA_INFO
        for topic in (one for kind in topics.values() for one in kind):
            kinds[topic] = ros.IMAGE if topic in (names.image, names.depth) else ros.COMPRESSED_IMAGE
    messages = [message for file in _files(path) for message in read_messages(file, kinds)]
    present = {topic for topic, _, _ in messages}
    complete = [names for names, topics in known.items() if all(present & {*kind} for kind in topics.values())]
    if not complete:
        raise invalid(
            f"{path} holds no colour pictures with depth of the {camera} camera.",
            "A run keeps depth with --record-depth.",
        )
    names = complete[0]
    chosen = {next(topic for topic in kind if topic in present) for kind in known[names].values()}
    chosen |= {names.camera_info, TF, TF_STATIC}
    read = ((topic, deserialize(packet, get_class(kinds[topic]))) for topic, _, packet in messages if topic in chosen)
    reasons: list[str] = []
    found = False
    for frame in frames_of(read, names, camera, base_frame, reasons.append):
        found = True
        yield frame
    if reasons and not found:
        raise invalid(f"{path} holds no picture of the {camera} camera that can be used: {reasons[0]}")
    if reasons and left_out is not None:
        left_out(f"{len(reasons)} pictures of {path} are left out; the first: {reasons[0]}")


def _files(path: Path) -> list[Path]:
    """The files of a recording: itself, or those in the folder that `ros2 bag record` makes, in their order."""
    if not path.is_dir():
        return [path]
    files = sorted(path.glob("*.mcap"), key=lambda file: (len(file.name), file.name))  # bag_2 stands before bag_10
    if not files:
        raise invalid(f"{path} holds no MCAP file.", "Other formats of rosbag2 are converted by `ros2 bag convert`.")
    return files
