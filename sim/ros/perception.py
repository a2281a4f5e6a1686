"""The simulator's perception for nodes: what a frame lacks, the object ids, comes from the simulator's own topics."""

from __future__ import annotations

import json
import threading
import zlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import Image
from std_msgs.msg import String

from toolhand.sim.perception import SimPerception
from toolhand.sim.ros.labels import described
from toolhand.tool_nodes.catalogue import Description, load_catalogue
from toolhand.tool_nodes.perception.certainty import Candidate
from toolhand.tool_nodes.perception.frame_perception import FramePerception
from toolhand.tool_nodes.perception.frames import FrameCache
from toolhand.tool_nodes.results import ErrorCode, ToolError, unavailable
from toolhand.tool_nodes.ros.messages import header_of, nanoseconds
from toolhand.tool_nodes.types import Frame, Segmentation

IDS_TOPICS = ("/sim/scene_camera/instance_ids", "/sim/wrist_camera/instance_ids")
LABELS_TOPIC = "/sim/labels"
WAIT_S = 3.0
"""How long the ids of an image, or the labels, may come after the question [s]. On a busy machine 1.2 MB over UDP took
more than a second."""

IDS_DEPTH = 8
"""Images whose ids wait for a slow reader [-]."""

IDS_KEPT_S = 180.0
"""How long ids are kept for a late question [s, of the images' stamps]: a language model on a processor asks seconds
after it has looked, and the commands of people later. Packed, those of ten images a second of two
cameras are 20 MB."""

_Capture = tuple[str, int]
"""Frame id of the camera and stamp [ns]."""


class _PackedIds:
    """Object ids of an image, in a hundredth of the memory."""

    def __init__(self, ids: NDArray[np.int32]) -> None:
        small = ids.astype(np.int16) if abs(int(ids.min())) < 2**15 > int(ids.max()) else ids
        self._shape, self._type = small.shape, small.dtype
        self._bytes = zlib.compress(small.tobytes(), level=1)

    def unpacked(self) -> NDArray[np.int32]:
        """As they were."""
        return np.frombuffer(zlib.decompress(self._bytes), self._type).reshape(self._shape).astype(np.int32)


class SimTopics:
    """What sim_node publishes about its images and the objects in them.

    Args:
        node: Listens; its executor needs a thread for that while a question waits.
    """

    def __init__(self, node: Node) -> None:
        self._changed = threading.Condition()
        self._items: list[Description] | None = None
        self._ids: OrderedDict[_Capture, _PackedIds] = OrderedDict()
        group = MutuallyExclusiveCallbackGroup()  # labels and ids are taken in the order in which they came
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        node.create_subscription(String, LABELS_TOPIC, self._on_labels, latched, callback_group=group)
        for topic in IDS_TOPICS:
            node.create_subscription(Image, topic, self._on_ids, QoSProfile(depth=IDS_DEPTH), callback_group=group)

    def items(self) -> list[Description]:
        """Words for the objects in the order of the ids; another list for each world. Raises UNAVAILABLE."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._items is not None, WAIT_S):
                raise unavailable(
                    f"The simulator's perception got no labels on {LABELS_TOPIC}.",
                    "Start sim_node, or use the perception backend 'pixels'.",
                )
            assert self._items is not None
            return self._items

    def with_ids(self, frame: Frame) -> Frame:
        """The frame with its object ids.

        Raises:
            ToolError: IMAGE_UNUSABLE for an image whose ids are no longer kept; UNAVAILABLE where those of newer
                ones do not come either.
        """
        header = header_of(frame)
        capture = header.frame_id, nanoseconds(header.stamp)
        with self._changed:
            self._changed.wait_for(lambda: capture in self._ids, WAIT_S)
            packed, kept = self._ids.get(capture), list(self._ids)
        ids = None if packed is None else packed.unpacked()
        if ids is None or ids.shape != frame.rgb.shape[:2]:
            newer = any(camera == capture[0] and stamp >= capture[1] for camera, stamp in kept)
            raise ToolError(
                ErrorCode.IMAGE_UNUSABLE if newer else ErrorCode.UNAVAILABLE,
                f"The simulator's perception has no object ids for the picture of {frame.stamp:.3f} s from "
                f"{header.frame_id}.",
                "Take a new picture, or use the perception backend 'pixels'.",
            )
        return replace(frame, ids=ids)

    def _on_labels(self, message: String) -> None:
        items = [described(entry) for entry in json.loads(message.data)]
        with self._changed:
            self._items = items
            self._ids.clear()  # images of this world may have the stamps of those of the last one
            self._changed.notify_all()

    def _on_ids(self, message: Image) -> None:
        packed = _PackedIds(np.frombuffer(message.data, "<i4").reshape(message.height, message.width))
        with self._changed:
            capture = message.header.frame_id, nanoseconds(message.header.stamp)
            self._ids[capture] = packed
            self._ids.move_to_end(capture)
            while next(iter(self._ids))[1] < capture[1] - IDS_KEPT_S * 1e9:
                self._ids.popitem(last=False)
            self._changed.notify_all()


_topics: WeakKeyDictionary[Node, SimTopics] = WeakKeyDictionary()


def topics_of(node: Node) -> SimTopics:
    """What sim_node sends to a node: one listener, whatever seeds come."""
    if node not in _topics:
        _topics[node] = SimTopics(node)
        load_catalogue()  # now rather than in the first question; it is kept
    return _topics[node]


class RosSimPerception(FramePerception):
    """`SimPerception` over the topics of sim_node.

    Args:
        topics: Where ids and names come from.
        seed: Seeds every random choice.
    """

    backend = SimPerception.backend
    reads_truth = True

    def __init__(self, topics: SimTopics, seed: int) -> None:
        self._topics = topics
        self._seed = seed
        self._items: list[Description] | None = None

    def points(self, frame: Frame, text: str) -> list[tuple[float, float]]:
        """See `SimPerception.points`; errors as SimTopics.with_ids."""
        perception = self._of_this_world()
        return perception.points(self._with_ids(frame), text)

    def candidates(self, frame: Frame, text: str) -> list[Candidate]:
        """See `SimPerception.candidates`; errors as SimTopics.with_ids."""
        perception = self._of_this_world()
        return perception.candidates(self._with_ids(frame), text)

    def masks_at(self, frame: Frame, points: Sequence[tuple[float, float]]) -> list[Segmentation]:
        """See `SimPerception.masks_at`; errors as SimTopics.with_ids."""
        perception = self._of_this_world()
        return perception.masks_at(self._with_ids(frame), points)

    def masks(self, frame: Frame) -> list[Segmentation]:
        """See `SimPerception.masks`; errors as SimTopics.with_ids."""
        perception = self._of_this_world()
        return perception.masks(self._with_ids(frame))

    def depth(self, frame: Frame) -> tuple[NDArray[np.float32], float]:
        """See `SimPerception.depth`."""
        return self._of_this_world().depth(frame)

    def _of_this_world(self) -> SimPerception:
        items = self._topics.items()
        if items is not self._items:
            self._items = items
            self._perception = SimPerception(items, seed=self._seed)
            self._with_ids = FrameCache(self._topics.with_ids)
        return self._perception
