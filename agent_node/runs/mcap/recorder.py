"""A run as `run.mcap`: what was said, called, seen and moved, on one clock, for Foxglove, rosbag2 and our own replay.

The recorder is a listener of the agent. It keeps packets and not what tools returned, so that a long conversation
costs what its images cost as JPEG. The file is written at the end, also at that of an interrupted run.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from toolhand.agent_node.events import RECORDED, Event, Listener, ToolAnswered, ignore
from toolhand.agent_node.runs.folder import jpeg_bytes, write_atomically
from toolhand.agent_node.runs.mcap import RUN_FILE
from toolhand.agent_node.runs.mcap import ros_messages as ros
from toolhand.agent_node.runs.mcap.bag import Compression, Entry, write_bag
from toolhand.agent_node.runs.mcap.robot_tree import moving_links, robot_links
from toolhand.agent_node.runs.mcap.scene_markers import SEEN, TRUTH, TruthLog, seen_markers, truth_markers
from toolhand.tool_nodes.camera_names import OPTICAL_FRAMES
from toolhand.tool_nodes.motion.robot_model import RobotModel, load_robot
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid
from toolhand.tool_nodes.toolbox.images import CameraView, SessionImage
from toolhand.tool_nodes.toolbox.toolbox import CallRecord
from toolhand.tool_nodes.types import FloatArray, Frame

LAYOUT_FILE = "foxglove_layout.json"
FORMAT = "2"
"""Version of what the `/toolhand` topics say; no other one is read."""

VOLATILE = ("began", "command", "run_dir", "time_to_first_motion_s", "version", "wall_s")
"""Entries of `result.json` that differ between runs of one seed; they are in the file's metadata record, not in its
messages."""

COMMAND, OUTCOME = "/toolhand/command", "/toolhand/outcome"
"""Topics of the first step and, of a run that came to its end, of the last one; see
`toolhand.agent_node.events.RECORDED`."""
IMAGES = "/toolhand/picture"

_BASE_FRAME = "base_link"
_FARTHEST_MM = 65_535
"""Farthest depth that 16UC1 can hold [mm]."""
_SHOWN_CHARACTERS = 2000
"""Longest line of the log that tells the run [characters]."""


@dataclass(frozen=True)
class MotionLog:
    """Measured joint positions.

    Attributes:
        times: (N,) [s], on the recorder's clock, not decreasing.
        joint_names: J names, as in the URDF.
        positions: (N, J) [rad].
        velocities: (N, J) [rad/s], NaN where the driver reports none; None where none are known.
    """

    times: FloatArray
    joint_names: Sequence[str]
    positions: FloatArray
    velocities: FloatArray | None = None
    robot: RobotModel = field(default_factory=load_robot)

    def __post_init__(self) -> None:
        shape = (len(self.times), len(self.joint_names))
        for what, values in (("positions", self.positions), ("velocities", self.velocities)):
            if values is not None and (self.times.ndim != 1 or values.shape != shape):
                raise invalid(f"Joint {what} must be {shape} for their times and names, got {values.shape}.")
        finite = np.isfinite(self.times).all() and np.isfinite(self.positions).all()
        if not finite or np.any(np.diff(self.times, prepend=0.0) < 0):
            raise invalid("Joint positions and times must be finite, times 0 or more and in order.")


class Recorder:
    """Records every step of a command as ROS messages.

    Args:
        task: The operator's sentence.
        clock: Time now [s], 0 or more: simulated where there is a simulation.
        listener: Called with every step after it.
        raw: Keep images as sensor_msgs/Image instead of JPEG.
        depth: Keep the depth of camera images, too, as 16UC1 in millimetres (REP 118): 0.6 MB each of 640x480 before
            the file is compressed.
    """

    def __init__(
        self,
        task: str,
        clock: Callable[[], float],
        listener: Listener = ignore,
        raw: bool = False,
        depth: bool = False,
    ) -> None:
        self._clock = clock
        self._listener = listener
        self._raw, self._depth = raw, depth
        self._entries: list[Entry] = []
        self._events = 0
        self._walls: list[float] = []
        self._placed: dict[str, tuple[float, bytes]] = {}
        self._tell(self._now(), COMMAND, _json({"task": task, "format": FORMAT}), f"command: {task}")

    @property
    def heard(self) -> int:
        """How many steps it has heard."""
        return self._events - 1

    def hear(self, event: Event) -> None:
        """Keep an event; see `toolhand.agent_node.events.Listener`."""
        now = self._now()
        if event.kind in RECORDED:
            said = event.document()
            if isinstance(event, ToolAnswered):
                said["image_topic"] = self._image(now, event.record)
                self._walls.append(event.record.wall_s)
            line = ": ".join(filter(None, (event.verb, event.line())))
            self._tell(now, event.topic, said if isinstance(said, str) else _json(said), line, event.failed)
        self._listener(event)

    def write(
        self,
        run_dir: Path,
        motion: MotionLog | None = None,
        result: Mapping[str, Any] | None = None,
        compression: Compression = "zstd",
        truth: TruthLog | None = None,
    ) -> Path:
        """Write `run.mcap`, `metadata.yaml` and a Foxglove layout into the folder of the run.

        Args:
            motion: Positions and velocities of the joints; None where not known.
            result: Content of `result.json`; None where the run was interrupted before there was one.
            truth: Where objects were, by the simulator; None where there is none.

        Returns:
            The file.

        Raises:
            ToolError: UNAVAILABLE when a file cannot be written, or without the package mcap.
        """
        last = list(self._entries)
        note = {"format": FORMAT, "calls_wall_s": json.dumps(self._walls)}
        if result is not None:
            settled = {key: value for key, value in result.items() if key not in VOLATILE}
            changing = {key: value for key, value in result.items() if key in VOLATILE}
            data = ros.packet(ros.STRING, data=ros.ros_text(_json(settled)))
            last.append(Entry(self._now(), OUTCOME, ros.STRING, data, self._events))
            note["result"] = ros.ros_text(_json(changing))
        entries = [*_motion_entries(motion), *last] if motion is not None else last
        if truth is not None:
            marked = truth_markers(truth, _BASE_FRAME)
            entries = [*(Entry(now, TRUTH, ros.MARKER_ARRAY, data) for now, data in marked), *entries]
        entries.sort(key=lambda entry: entry.time_ns)
        path = run_dir / RUN_FILE
        robot = load_robot() if motion is None else motion.robot
        write_bag(path, [*_fixed_entries(entries[0].time_ns, robot), *entries], {"toolhand": note}, compression)
        write_layout(run_dir / LAYOUT_FILE)
        return path

    def _now(self) -> int:
        now = self._clock()
        if not (math.isfinite(now) and now >= 0.0):
            raise ToolError(ErrorCode.INTERNAL, f"The recorder's clock must be finite and 0 or more, got {now}.")
        return round(now * 1e9)

    def _add(self, now: int, topic: str, type_name: str, sequence: int = 0, /, **values: Any) -> None:
        self._entries.append(Entry(now, topic, type_name, ros.packet(type_name, **values), sequence))

    def _tell(self, now: int, topic: str, text: str, shown: str, failed: bool = False) -> None:
        """An event, numbered, and the line that logs show of it."""
        self._add(now, topic, ros.STRING, self._events, data=ros.ros_text(text))
        self._events += 1
        level = ros.ERROR if failed else ros.INFO
        line = ros.ros_text(shown if len(shown) <= _SHOWN_CHARACTERS else f"{shown[:_SHOWN_CHARACTERS]}...")
        self._add(now, "/rosout", ros.LOG, 0, stamp=ros.stamp(now), level=level, name="toolhand", msg=line)

    def _image(self, now: int, record: CallRecord) -> str | None:
        """Keep the image that came with a result; its topic."""
        rgb = record.result.image
        if rgb is None or record.image_index is None:
            return None
        view = record.view
        if view is None:
            topic, head = IMAGES, ros.header(now)
        else:
            frame = _camera_frame(record)
            topic = IMAGES if frame is None else f"/camera/{view.camera}/image"
            head = ros.header(round(view.stamp * 1e9), OPTICAL_FRAMES.get(view.camera, view.camera))
            self._place_camera(now, view)
            self._calibrate(now, f"{topic.removesuffix('/image')}/camera_info", head, view, rgb.shape[:2])
            if frame is not None and np.isfinite(frame.depth).any():
                self._entries.append(Entry(now, SEEN, ros.MARKER_ARRAY, seen_markers(now, frame, _BASE_FRAME)))
                if self._depth:
                    self._keep_depth(now, f"/camera/{view.camera}/depth", head, frame)
        if self._raw:
            height, width = rgb.shape[:2]
            pixels = np.ascontiguousarray(rgb).reshape(-1)
            self._add(
                now,
                topic,
                ros.IMAGE,
                record.image_index,
                header=head,
                height=height,
                width=width,
                encoding="rgb8",
                step=3 * width,
                data=pixels,
            )
            return topic
        topic += "/compressed"
        jpeg = np.frombuffer(jpeg_bytes(rgb), np.uint8)
        self._add(now, topic, ros.COMPRESSED_IMAGE, record.image_index, header=head, format="jpeg", data=jpeg)
        return topic

    def _keep_depth(self, now: int, topic: str, head: Any, frame: Frame) -> None:
        """The depth of an image in whole millimetres, 0 where unknown (REP 118)."""
        height, width = frame.depth.shape
        metres = np.nan_to_num(frame.depth, nan=0.0, posinf=0.0, neginf=0.0)
        millimetres = np.clip(np.round(metres * 1000.0), 0, _FARTHEST_MM).astype("<u2")
        self._add(
            now,
            topic,
            ros.IMAGE,
            header=head,
            height=height,
            width=width,
            encoding="16UC1",
            step=2 * width,
            data=millimetres.reshape(-1).view(np.uint8),
        )

    def _place_camera(self, now: int, view: CameraView) -> None:
        """Where a camera stood when it saw something; the robot's own links carry the one on the wrist."""
        seen = (view.stamp, view.T_base_camera.tobytes())
        if view.camera == "wrist" or self._placed.get(view.camera) == seen:
            return
        self._placed[view.camera] = seen
        child, T = OPTICAL_FRAMES.get(view.camera, view.camera), view.T_base_camera
        moved = _transform(round(view.stamp * 1e9), _BASE_FRAME, child, T[:3, 3], _quaternion(T))
        self._add(now, "/tf", ros.TF_MESSAGE, transforms=[moved])

    def _calibrate(self, now: int, topic: str, head: Any, view: CameraView, shape: tuple[int, ...]) -> None:
        """The calibration of an image of (height, width), without distortion."""
        k = view.K.reshape(9)
        p = np.column_stack([view.K, np.zeros(3)]).reshape(12)
        self._add(
            now,
            topic,
            ros.CAMERA_INFO,
            header=head,
            height=shape[0],
            width=shape[1],
            distortion_model="plumb_bob",
            d=np.zeros(5),
            k=k,
            r=np.eye(3).reshape(9),
            p=p,
        )


def write_layout(path: Path) -> None:
    """Copy the Foxglove layout: images, robot, joints and conversation of a run.

    Raises:
        ToolError: UNAVAILABLE when the file cannot be written.
    """
    write_atomically(path, Path(__file__).with_name(LAYOUT_FILE).read_bytes())


def _camera_frame(record: CallRecord) -> Frame | None:
    """The frame that a camera took, where the image is all of it; None for a drawing, a crop or a foreign image."""
    images = (value for value in record.result.variables.values() if isinstance(value, SessionImage))
    whole = (p.frame for p in images if p.window is None and p.frame is not None and p.frame.rgb is p.rgb)
    return next((frame for frame in whole if frame.rgb is record.result.image), None)


def _fixed_entries(start_ns: int, robot: RobotModel) -> list[Entry]:
    """What is true from the start: the robot's description and the links that do not move."""
    description = ros.packet(ros.STRING, data=robot.urdf_text())
    fixed = [
        _transform(start_ns, link.parent, link.child, link.translation, link.rotation.as_quat(scalar_first=True))
        for link in robot_links(robot)
        if link.fixed
    ]
    tree = ros.packet(ros.TF_MESSAGE, transforms=fixed)
    return [
        Entry(start_ns, "/robot_description", ros.STRING, description, latched=True),
        Entry(start_ns, "/tf_static", ros.TF_MESSAGE, tree, latched=True),
    ]


def _motion_entries(motion: MotionLog) -> list[Entry]:
    names = list(motion.joint_names)
    moving = moving_links(motion.robot, {name: motion.positions[:, index] for index, name in enumerate(names)})
    entries = []
    for row, time in enumerate(motion.times):
        now = round(float(time) * 1e9)
        known = {} if motion.velocities is None else {"velocity": motion.velocities[row].astype(float)}
        joints = ros.packet(
            ros.JOINT_STATE, header=ros.header(now), name=names, position=motion.positions[row].astype(float), **known
        )
        entries.append(Entry(now, "/joint_states", ros.JOINT_STATE, joints))
        if moving:
            transforms = [_transform(now, link.parent, link.child, link.translation, q[row]) for link, q in moving]
            entries.append(Entry(now, "/tf", ros.TF_MESSAGE, ros.packet(ros.TF_MESSAGE, transforms=transforms)))
    return entries


def _transform(now: int, parent: str, child: str, translation: FloatArray, quat_wxyz: FloatArray) -> Any:
    result = ros.message(ros.TRANSFORM, header=ros.header(now, parent), child_frame_id=child)
    at, turn = result.transform.translation, result.transform.rotation
    at.x, at.y, at.z = translation.tolist()
    turn.w, turn.x, turn.y, turn.z = quat_wxyz.tolist()
    return result


def _quaternion(T: FloatArray) -> FloatArray:
    from scipy.spatial.transform import Rotation

    return Rotation.from_matrix(T[:3, :3]).as_quat(scalar_first=True)


def _json(document: Any) -> str:
    """JSON; what it cannot say, such as NaN, is written as text."""
    try:
        return json.dumps(_plain(document), ensure_ascii=False, allow_nan=False, default=str)
    except (ValueError, RecursionError):
        return json.dumps(str(type(document).__name__))


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
